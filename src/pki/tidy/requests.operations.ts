import { Breath } from '../../core/fairness/breath.ts';
import {
  deleteOldRequests,
  listOldRequests,
  type RequestAge,
} from '../revocation/requests.store.ts';
import { cutoffOf } from './fields.ts';
import type { TidyOperation, TidyWork } from './work.ts';

/** Requests to revoke that were made before this are old. */
const cutoff_ms = ({ now, request }: TidyWork): number =>
  cutoffOf(now, request.revocation_queue_safety_buffer) * 1000;

async function* oldPages(work: TidyWork): AsyncGenerator<RequestAge[]> {
  const { app, mount_id, limit } = work;
  const before_ms = cutoff_ms(work);
  const breath = new Breath();
  for (let from: RequestAge = { requested_at_ms: -1, serial: '' }; ; ) {
    const page = await listOldRequests.all(app.db, { mount_id, before_ms, ...from, limit });
    const last = page.at(-1);
    if (!last) return;
    yield page;
    from = { requested_at_ms: last.requested_at_ms, serial: last.serial };
    await breath.take();
  }
}

/** What clusters were asked to revoke, and did not for so long. @see P-491 */
export const tidyRequests: TidyOperation = {
  flag: 'tidy_revocation_queue',
  async *estimate(work) {
    for await (const page of oldPages(work)) yield page.length;
  },
  async *pages(work) {
    for await (const page of oldPages(work)) {
      const serials = page.map(({ serial }) => serial);
      yield {
        effects: [deleteOldRequests(work.mount_id, serials, cutoff_ms(work))],
        counts: { revocation_queue_deleted_count: page.length },
        rows: page.length,
      };
    }
  },
};
