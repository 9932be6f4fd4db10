import type { App } from '../../app/app.ts';
import { readMountState } from '../mount-state/operations.ts';
import { readRevocationState } from '../mount-state/revocations.store.ts';
import type { MountState } from '../mount-state/state.ts';
import { type CrlScope, isListedIn } from './builder/job.ts';
import { readBetween } from './builder/jobs.ts';
import { findClassOf, planScope } from './issuer-class.ts';
import { ALL, COMPLETE, crlName } from './kind.ts';
import { readCrlConfig } from './settings.operations.ts';
import { findCrl } from './store.ts';

/** Revocations that are looked at one by one; of more all are taken to be on the CRL. */
const MOST = 1000;

/**
 * Warns whoever revokes a certificate that the CRL will not show it, as there would be too many entries.
 *
 * @param issuer_id of who issued the certificate
 * @see P-303
 */
export async function warnOfLength(
  app: App,
  mount_id: string,
  issuer_id: string,
): Promise<string[]> {
  const config = await readCrlConfig(app, mount_id);
  const { max_crl_entries: most, disable, unified_crl_on_existing_paths } = config;
  if (most === -1 || disable) return [];
  const { revision, epoch } = await readRevocationState(app.db, mount_id);
  const mountState = await readMountState(app, mount_id);
  // No list has more entries than the mount has ever had revocations and has issuers that are revoked, which are
  // on one by themselves: of most mounts no list need be read.
  if (revision + countRevoked(mountState) <= most) return [];
  const issuers = findClassOf(mountState, issuer_id);
  if (!issuers) return [];
  const of = unified_crl_on_existing_paths ? ALL : app.config.cluster_name;
  const stored = await findCrl(app.db, mount_id, crlName(issuers.id, { ...COMPLETE, of }));
  const { revision: after = 0, entries = 0 } = stored ?? {};
  // A list that was built since then has all that there was.
  let added = Math.max(0, revision - after);
  if (entries + added <= most) return [];
  if (added <= MOST) {
    const scope: CrlScope = JSON.parse(planScope(mountState, issuers, { epoch, disable, of }));
    const belongs = isListedIn(scope);
    added = 0;
    for await (const row of readBetween(app.db, scope, { mount_id, after, up_to: revision })) {
      if (belongs(row)) added += 1;
    }
  }
  if (entries + added <= most) return [];
  return [
    `the CRL would have more than max_crl_entries (${most}) entries, and the last one stays in force without this revocation: raise it in config/crl, or set it to -1`,
  ];
}

function countRevoked({ issuers }: MountState): number {
  let count = 0;
  for (const { revoked_at_ms } of issuers.values()) if (revoked_at_ms !== undefined) count += 1;
  return count;
}
