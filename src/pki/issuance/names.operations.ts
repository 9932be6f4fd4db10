import type { App } from '../../app/app.ts';
import { doFor } from '../../core/fairness/asking.ts';
import { OWN_PARTY } from '../../core/fairness/party.ts';
import { holdMount } from '../../mounts/store.ts';
import type { SignedLeaf } from './signing.operations.ts';

/**
 * Writes the names of a certificate that has too many for its own write set, before it. Until the certificate is there
 * nothing is found by them, so they need no record.
 */
export async function writeNames(app: App, names: SignedLeaf['names']): Promise<void> {
  try {
    for (const { insert } of names.pages) {
      await app.store.commit([holdMount({ id: names.mount_id }), ...insert]);
    }
  } catch (error) {
    await takeBackNames(app, names);
    throw error;
  }
}

/**
 * Removes them where there will be no certificate. This is the server's own work, so that a caller whose writes are
 * refused leaves none behind. Rows that stay, as when the server is killed, lead to no certificate.
 */
export function takeBackNames(app: App, { pages }: SignedLeaf['names']): Promise<void> {
  return doFor(OWN_PARTY, async () => {
    for (const { remove } of pages) await app.store.commit([remove()]).catch(() => {});
  });
}
