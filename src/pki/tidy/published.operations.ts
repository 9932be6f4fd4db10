import type { App } from '../../app/app.ts';
import { readInPages } from '../../store/in-pages.ts';
import type { PkiTidyRow } from '../../store/tables.ts';
import { CERTIFICATES } from '../certificates/store.ts';
import { listCounts } from '../mount-state/counts.store.ts';
import { REVOCATIONS } from '../mount-state/revocations.store.ts';
import { parseAutoTidy } from './fields.ts';
import { parseRun, type TidyCounts } from './status.ts';
import { listTidyRows } from './store.ts';

/** What metrics tell of a mount. */
interface Published {
  mount_id: string;
  certificates: number;
  revocations: number;
  /** Of the last tidying. */
  counts: TidyCounts;
}

const PAGE = 1000;

/** Counts of the mounts whose configuration says that they are to be published: kept, not counted. @see P-368 */
export async function listPublished(app: App): Promise<Published[]> {
  const rows: PkiTidyRow[] = [];
  const pages = readInPages<PkiTidyRow>((last) =>
    listTidyRows.all(app.db, { after: last?.mount_id ?? '', limit: PAGE }),
  );
  for await (const page of pages) {
    for (const row of page) {
      if (parseAutoTidy(row.auto).publish_stored_certificate_count_metrics) rows.push(row);
    }
  }
  if (rows.length === 0) return [];
  const certificates = await listCounts(app.db, CERTIFICATES);
  const revocations = await listCounts(app.db, REVOCATIONS);
  return rows.map((row) => ({
    mount_id: row.mount_id,
    certificates: certificates.get(row.mount_id) ?? 0,
    revocations: revocations.get(row.mount_id) ?? 0,
    counts: parseRun(row).counts,
  }));
}
