import { classIdOf } from '../crl/issuer-class.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import { deleteIssuer } from '../mount-state/issuers.store.ts';
import { changeMountState, readMountState, rememberFormer } from '../mount-state/operations.ts';
import type { MountState } from '../mount-state/state.ts';
import { cutoffOf } from './fields.ts';
import type { TidyOperation, TidyWork } from './work.ts';

/** Issuers of one write set: each of them changes the whole state of the mount. */
const AT_ONCE = 50;

function listExpired({ issuers, defaults }: MountState, { now, request }: TidyWork): Issuer[] {
  const before = cutoffOf(now, request.issuer_safety_buffer);
  return [...issuers.values()].filter(
    ({ id, certificate }) => id !== defaults.default_issuer && certificate.notAfter < before,
  );
}

/** Issuers that have ended, but for the default one; their keys stay. @see P-361 */
export const tidyIssuers: TidyOperation = {
  flag: 'tidy_expired_issuers',
  async estimate(work) {
    return listExpired(await readMountState(work.app, work.mount_id), work).length;
  },
  async *pages(work) {
    const { app, mount_id, caller, request, fence } = work;
    if (request.dry_run) {
      const { length } = listExpired(await readMountState(app, mount_id), work);
      yield { effects: [], counts: { issuer_deleted_count: length }, rows: length };
      return;
    }
    for (;;) {
      const removed = await changeMountState(app, caller, (mountState) => {
        const expired = listExpired(mountState, work).slice(0, AT_ONCE);
        const former = expired.map((issuer) => ({ id: issuer.id, class: classIdOf(issuer) }));
        if (expired.length === 0) return { effects: [], result: 0 };
        return {
          effects: [
            fence(),
            ...expired.map(({ id }) => deleteIssuer(mount_id, id)),
            ...rememberFormer(mount_id, mountState, former),
          ],
          spares_issuing: true,
          result: expired.length,
        };
      });
      if (removed === 0) return;
      yield { effects: [], counts: { issuer_deleted_count: removed }, rows: removed };
    }
  },
};
