import type { OwnPath } from '../../acl/name-form.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { invalid } from '../../core/failure.ts';
import type { Effect } from '../../store/write.ts';
import { classIdOf, findClassOf } from '../crl/issuer-class.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import { rememberFormer } from '../mount-state/operations.ts';
import { CONCERNED, ownPaths } from '../mount-state/own-paths.ts';
import { findRevocation } from '../mount-state/revocations.store.ts';
import type { MountState } from '../mount-state/state.ts';
import { planLastingEntry, rememberRevocation } from './revocation.operations.ts';

/** What goes with the removal of issuers, whoever removes them: what is to be known of them afterwards. */
export async function planAfterRemoval(
  app: App,
  mount_id: string,
  mountState: MountState,
  removed: readonly Issuer[],
): Promise<Effect[]> {
  const gone = new Set(removed.map(({ id }) => id));
  // Who signed those beneath them is known as long as they are there.
  const concerned = [...mountState.issuers.values()].filter(
    ({ id, signed_by }) => gone.has(id) || gone.has(signed_by),
  );
  for (const issuer of removed) {
    if (!gone.has(issuer.signed_by)) await requireRoomOnCrl(app, mount_id, mountState, issuer);
  }
  const staying = [...mountState.issuers.values()].filter(({ id }) => !gone.has(id));
  return [
    ...(await planLasting(app, mount_id, mountState, concerned)),
    ...rememberFormer(
      mount_id,
      mountState,
      removed.map((issuer) => ({ id: issuer.id, class: classIdOf(issuer) })),
      new Set(staying.map(classIdOf)),
    ),
  ];
}

/**
 * Refuses to remove a revoked issuer that its signer's CRL would lose by that: entries go by the serial number, which
 * another revoked certificate of the mount has.
 *
 * @throws Failure `invalid`
 * @see P-337
 */
async function requireRoomOnCrl(
  app: App,
  mount_id: string,
  mountState: MountState,
  { certificate, revoked_at_ms, signed_by }: Issuer,
): Promise<void> {
  const signer = mountState.issuers.get(signed_by);
  if (!signer || revoked_at_ms === undefined || certificate.notAfter < app.now() / 1000) return;
  const entry = await findRevocation(app.db, mount_id, certificate.serial);
  if (!entry || findClassOf(mountState, entry.issuer_id)?.id === classIdOf(signer)) return;
  throw invalid(
    'another revoked certificate has the serial number of this revoked issuer, which would not be on the CRL of its signer any more: it stays until it has ended',
  );
}

/** @see P-246, P-248 */
async function planLasting(
  app: App,
  mount_id: string,
  mountState: MountState,
  issuers: readonly Issuer[],
): Promise<Effect[]> {
  const lasting: Effect[] = [];
  /** A serial number has one entry: of several authorities elsewhere some may have the same. */
  const entered = new Set<string>();
  for (const issuer of issuers) {
    const { serial } = issuer.certificate;
    lasting.push(...rememberRevocation(mount_id, issuer));
    if (entered.has(serial)) continue;
    const entry = await planLastingEntry(app, mount_id, mountState, issuer);
    if (entry.length > 0) entered.add(serial);
    lasting.push(...entry);
  }
  return lasting;
}

/** The own paths of issuers that are removed together: each could be by itself. */
export function pathsOfRemoved(
  caller: Caller,
  { defaults }: MountState,
  issuers: Iterable<Issuer>,
): OwnPath[] {
  return [...issuers].flatMap(({ id, name }) => {
    const ref = id === defaults.default_issuer ? 'default' : '';
    return ownPaths(caller, 'issuer', { ref, id, name }, CONCERNED);
  });
}
