import { type Db, prepared } from '../../store/database.ts';
import type { Exported } from './format.ts';

/** They have a kilobyte or two each, and some hundreds. */
const PAGE = 200;

const page = prepared((sql, p: { mount_id: string; after: string }) =>
  sql
    .selectFrom('pki_certificate')
    .select([
      'serial',
      'subject_cn',
      'issuer_id',
      'role',
      'not_before',
      'not_after',
      'revoked_at_ms',
      'der',
    ])
    .where('mount_id', '=', p.mount_id)
    .where('serial', '>', p.after)
    .orderBy('serial')
    .limit(PAGE),
);

/** All stored certificates of a mount, in order of their serial numbers, as far as they are asked for. */
export async function* readStored(db: Db, mount_id: string): AsyncGenerator<readonly Exported[]> {
  for (let after = ''; ; ) {
    const { rows, more } = await page.some(db, { mount_id, after }, 'der');
    if (rows.length > 0) yield rows;
    if (!more && rows.length < PAGE) return;
    after = rows.at(-1)?.serial ?? after;
  }
}
