import type { App } from '../../app/app.ts';
import { doFor } from '../../core/fairness/asking.ts';
import { OWN_PARTY } from '../../core/fairness/party.ts';
import { holdMount } from '../../mounts/store.ts';
import type { SignedLeaf } from './signing.operations.ts';

/**
 * Has the names of a certificate that are too many for its own write set written before it. They tell nobody anything
 * until it is there, so that they need no record.
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
 * Takes them back where there will be no certificate, in the server's own name: whoever has no room for more writes
 * leaves none behind. What stays, as when the server is killed, leads to no certificate.
 */
export function takeBackNames(app: App, { pages }: SignedLeaf['names']): Promise<void> {
  return doFor(OWN_PARTY, async () => {
    for (const { remove } of pages) await app.store.commit([remove()]).catch(() => {});
  });
}
