import type { OwnPath } from '../../acl/name-form.ts';
import type { Caller } from '../../app/caller.ts';
import { pathsOfRemoved, planAfterRemoval } from '../issuers/removal.operations.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import { deleteIssuer } from '../mount-state/issuers.store.ts';
import { changeMountState, readMountState } from '../mount-state/operations.ts';
import type { MountState } from '../mount-state/state.ts';
import { type AutoTidy, cutoffOf, type TidyRequest } from './fields.ts';
import type { TidyOperation, TidyWork } from './work.ts';

/** Issuers of one write set: each of them changes the whole state of the mount. */
const AT_ONCE = 50;

function listExpired({ issuers, defaults }: MountState, { now, request }: TidyWork): Issuer[] {
  return listEnded(issuers, now, request).filter(({ id }) => id !== defaults.default_issuer);
}

const listEnded = (
  issuers: MountState['issuers'],
  now: number,
  { issuer_safety_buffer }: Pick<TidyRequest, 'issuer_safety_buffer'>,
): Issuer[] => {
  const before = cutoffOf(now, issuer_safety_buffer);
  return [...issuers.values()].filter(({ certificate }) => certificate.notAfter < before);
};

/**
 * The own paths of issuers that a tidying may remove: of all that have ended, since another one may be the default by the
 * time that it comes to them.
 *
 * @see P-370
 */
export function pathsOfExpired(
  caller: Caller,
  mountState: MountState,
  { now, request }: { now: number; request: TidyRequest },
): OwnPath[] {
  if (!request.tidy_expired_issuers || request.dry_run) return [];
  return pathsOfRemoved(caller, mountState, listEnded(mountState.issuers, now, request));
}

/** The same of an automatic tidying that is to remove issuers, or to do so earlier: of all, as each of them ends. */
export function pathsOfAutomatic(
  caller: Caller,
  mountState: MountState,
  { before, next }: { before: AutoTidy; next: AutoTidy },
): OwnPath[] {
  const removes = ({ enabled, tidy_expired_issuers }: AutoTidy) => enabled && tidy_expired_issuers;
  const isSame = removes(before) && before.issuer_safety_buffer <= next.issuer_safety_buffer;
  if (!removes(next) || isSame) return [];
  return pathsOfRemoved(caller, mountState, mountState.issuers.values());
}

/** Issuers that have ended, but for the default one; their keys stay. @see P-361 */
export const tidyIssuers: TidyOperation = {
  flag: 'tidy_expired_issuers',
  async *estimate(work) {
    yield listExpired(await readMountState(work.app, work.mount_id), work).length;
  },
  async *pages(work) {
    const { app, mount_id, caller, request, fence } = work;
    if (request.dry_run) {
      const { length } = listExpired(await readMountState(app, mount_id), work);
      yield { effects: [], counts: { issuer_deleted_count: length }, rows: length };
      return;
    }
    for (;;) {
      const removed = await changeMountState(app, caller, async (mountState) => {
        const expired = listExpired(mountState, work).slice(0, AT_ONCE);
        if (expired.length === 0) return { effects: [], result: 0 };
        const lasting = await planAfterRemoval(app, mount_id, mountState, expired);
        return {
          effects: [fence(), ...expired.map(({ id }) => deleteIssuer(mount_id, id)), ...lasting],
          spares_issuing: true,
          result: expired.length,
        };
      });
      if (removed === 0) return;
      yield { effects: [], counts: { issuer_deleted_count: removed }, rows: removed };
    }
  },
};
