import { Breath } from '../../core/fairness/breath.ts';
import { deleteMetadata, listEndedMetadata } from '../certificates/metadata/store.ts';
import { type End, FIRST_END } from './expired.store.ts';
import { cutoffOf } from './fields.ts';
import type { TidyOperation, TidyWork } from './work.ts';

/** What is kept with certificates that have ended, a page at a time. */
async function* endedPages({
  app,
  mount_id,
  now,
  request,
  limit,
}: TidyWork): AsyncGenerator<End[]> {
  const before = cutoffOf(now, request.safety_buffer);
  const breath = new Breath();
  for (let from = FIRST_END; ; ) {
    const page = await listEndedMetadata(app.db, { mount_id, before, limit }, from);
    const last = page.at(-1);
    if (!last) return;
    yield page;
    from = last;
    await breath.take();
  }
}

/** What is kept with certificates that have ended, whether they are stored or not. @see P-369 */
export const tidyMetadata: TidyOperation = {
  flag: 'tidy_cert_metadata',
  async *estimate(work) {
    for await (const page of endedPages(work)) yield page.length;
  },
  async *pages(work) {
    const { mount_id } = work;
    for await (const page of endedPages(work)) {
      yield {
        effects: page.map(({ serial }) => deleteMetadata({ mount_id, serial })),
        counts: { cert_metadata_deleted_count: page.length },
        rows: page.length,
      };
    }
  },
};
