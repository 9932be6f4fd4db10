import type { ColumnTypes } from '../columns.ts';
import type { Migration } from '../migration.ts';

/** A JSON list without spaces, as the program writes it. */
const listOf = ({ engine, text }: ColumnTypes): string =>
  engine === 'sqlite'
    ? 'json_group_array(reversed order by reversed)'
    : `'[' || string_agg(to_json(reversed)::${text}, ',' order by reversed) || ']'`;

/**
 * A certificate's row has its names, null where that is the subject's common name alone, as of most: these rows stay as
 * they are. They were found by an index before, which every issuance had to write.
 */
export const namesInRows: Migration = {
  number: 119,
  name: 'names in rows',
  up: (t) => [
    `alter table pki_certificate add column names ${t.text}`,
    `update pki_certificate set names = several.names
      from (select mount_id, serial, ${listOf(t)} as names from pki_certificate_name
        group by mount_id, serial having count(*) > 1) as several
      where pki_certificate.mount_id = several.mount_id and pki_certificate.serial = several.serial`,
    `update pki_certificate
      set names = (select ${listOf(t)} from pki_certificate_name as own
        where own.mount_id = pki_certificate.mount_id and own.serial = pki_certificate.serial)
      where subject_cn = '' and names is null and exists (select 1 from pki_certificate_name as own
        where own.mount_id = pki_certificate.mount_id and own.serial = pki_certificate.serial)`,
    'drop index pki_certificate_name_serial',
  ],
};
