import { Breath } from '../../core/fairness/breath.ts';
import { parseCertificate } from '../../x509/certificate.ts';
import {
  certificatesWithBytes,
  deleteEndedCertificates,
  deleteUnreadable,
  type End,
  endedCertificates,
  FIRST_END,
  partsWithNames,
} from './expired.store.ts';
import { cutoffOf } from './fields.ts';
import type { TidyOperation, TidyWork } from './work.ts';

const cutoff = ({ now, request }: TidyWork): number => cutoffOf(now, request.safety_buffer);

/** Keys of the certificates that are to go, a page at a time. */
async function* endedPages(work: TidyWork): AsyncGenerator<End[]> {
  const { app, mount_id, limit } = work;
  const breath = new Breath();
  for (let from = FIRST_END; ; ) {
    const page = await endedCertificates.all(app.db, {
      mount_id,
      before: cutoff(work),
      not_after: from.not_after,
      serial: from.serial,
      limit,
    });
    const last = page.at(-1);
    if (!last) return;
    yield page;
    from = last;
    await breath.take();
  }
}

/** Certificates that have ended, revoked ones too; revocations stay. @see P-355 */
export const tidyCertificates: TidyOperation = {
  flag: 'tidy_cert_store',
  async *estimate(work) {
    for await (const page of endedPages(work)) yield page.length;
  },
  async *pages(work) {
    const { app, mount_id } = work;
    const before = cutoff(work);
    for await (const page of endedPages(work)) {
      const serials = page.map(({ serial }) => serial);
      for await (const { stored } of partsWithNames(app.db, mount_id, serials, before)) {
        const { length } = stored;
        yield {
          effects: length > 0 ? deleteEndedCertificates(mount_id, stored, before) : [],
          counts: { cert_store_deleted_count: length },
          rows: length,
        };
      }
    }
  },
};

/** Certificates that nobody can read. All are looked at, a page at a time, in the order of their keys. @see P-359 */
export const tidyUnreadable: TidyOperation = {
  flag: 'tidy_invalid_certs',
  async *pages(work) {
    const { app, mount_id, limit, request } = work;
    const breath = new Breath();
    for (let after = ''; ; ) {
      const { rows } = await certificatesWithBytes.some(
        app.db,
        { mount_id, after, limit },
        'der',
        'names',
      );
      const last = rows.at(-1);
      if (!last) return;
      const unreadable: typeof rows = [];
      for (const row of rows) {
        const { not_after, der } = row;
        // A dry run counts none twice.
        const isCounted = request.dry_run && request.tidy_cert_store && not_after < cutoff(work);
        if (!isCounted && !isReadable(der)) unreadable.push(row);
        await breath.take();
      }
      const { length } = unreadable;
      yield {
        effects: length > 0 ? deleteUnreadable(mount_id, unreadable) : [],
        counts: { cert_store_deleted_count: length },
        rows: length,
      };
      after = last.serial;
    }
  },
};

function isReadable(der: Uint8Array): boolean {
  try {
    parseCertificate(der);
    return true;
  } catch {
    return false;
  }
}
