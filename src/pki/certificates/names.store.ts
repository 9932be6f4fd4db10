import { sql as raw } from 'kysely';
import { build, compiled, preparedWrite } from '../../store/database.ts';
import { type Write, write } from '../../store/write.ts';
import { decodeNames, type NamesOfRow, reverseAll } from './names.ts';

// Certificates are found by their names, which are rows of their own. Which names one has its own row says: an index by
// serial numbers beside theirs would be written with each issuance.

/** Names of one statement where a certificate has many: each by itself takes PostgreSQL twice as long. */
const NAMES_AT_ONCE = 50;

/** One statement of so many names: what most certificates have goes by the one that is always the same. */
const insertSomeNames = (count: number) =>
  preparedWrite((sql, p: Record<string, string>) => {
    const { mount_id = '', serial = '' } = p;
    const rows = Array.from({ length: count }, (_, at) => {
      const { [`name_${at}`]: reversed = '' } = p;
      return { mount_id, reversed, serial };
    });
    return sql
      .insertInto('pki_certificate_name')
      .values(rows)
      .onConflict((clash) => clash.doNothing());
  });

const insertName = insertSomeNames(1);
const insertNames = insertSomeNames(NAMES_AT_ONCE);

/** Which certificate names are of. */
type Named = { mount_id: string; serial: string };

/** @param reversed as {@link reverseAll} has them */
export function insertAllNames(of: Named, reversed: readonly string[]): Write[] {
  const writes: Write[] = [];
  let at = 0;
  for (; reversed.length - at >= NAMES_AT_ONCE; at += NAMES_AT_ONCE) {
    const some = reversed.slice(at, at + NAMES_AT_ONCE).map((name, n) => [`name_${n}`, name]);
    writes.push(insertNames({ ...of, ...Object.fromEntries(some) }));
  }
  for (const name of reversed.slice(at)) writes.push(insertName({ ...of, name_0: name }));
  return writes;
}

/** Names of no certificate: of one that is there nothing is taken, whatever is known of the set it was written by. */
function deleteStrayNames({ mount_id, serial }: Named, reversed: readonly string[]): Write {
  const certificate = build
    .selectFrom('pki_certificate')
    .select('serial')
    .where('mount_id', '=', mount_id)
    .where('serial', '=', serial);
  const names = build
    .deleteFrom('pki_certificate_name')
    .where('mount_id', '=', mount_id)
    .where('serial', '=', serial)
    .where('reversed', 'in', reversed);
  return write(names.where(({ not, exists }) => not(exists(certificate))));
}

/** So many names are written with their certificate at most: those of five thousand would keep others' writes waiting. */
const MOST_WITH_IT = 100;

/** Names of a certificate, written before it is there or taken back. */
interface NamePage {
  insert: Write[];
  remove(): Write;
}

/**
 * Which names of a certificate are written with it, and which before it, page by page: nothing is found by these until
 * it is there.
 */
export function planNames(
  of: Named,
  names: readonly string[],
): { own: readonly string[]; pages: readonly NamePage[] } {
  if (names.length <= MOST_WITH_IT) return { own: names, pages: [] };
  const before = reverseAll(names.slice(MOST_WITH_IT));
  const pages: NamePage[] = [];
  for (let at = 0; at < before.length; at += MOST_WITH_IT) {
    const some = before.slice(at, at + MOST_WITH_IT);
    pages.push({ insert: insertAllNames(of, some), remove: () => deleteStrayNames(of, some) });
  }
  return { own: names.slice(0, MOST_WITH_IT), pages };
}

/** Of one statement; what is left over is filled up, so that the statement is always the same. */
const deleteSomeNames = preparedWrite((_sql, p: Record<string, string>) => {
  const { mount_id = '' } = p;
  const keys = Array.from({ length: NAMES_AT_ONCE }, (_, at) => {
    const { [`name_${at}`]: reversed = '', [`serial_${at}`]: serial = '' } = p;
    return raw`(${mount_id}, ${reversed}, ${serial})`;
  });
  return compiled(raw`delete from pki_certificate_name
    where (mount_id, reversed, serial) in (values ${raw.join(keys)})`);
});

/** Names of certificates that are removed, which nobody finds any more. */
export function deleteNames(
  mount_id: string,
  of: readonly (NamesOfRow & { serial: string })[],
): Write[] {
  const rows = of.flatMap((one) =>
    decodeNames(one).map((reversed) => ({ reversed, serial: one.serial })),
  );
  const writes: Write[] = [];
  for (let at = 0; at < rows.length; at += NAMES_AT_ONCE) {
    const parameters: Record<string, string> = { mount_id };
    const last = Math.min(at + NAMES_AT_ONCE, rows.length) - 1;
    for (let place = 0; place < NAMES_AT_ONCE; place += 1) {
      const { reversed = '', serial = '' } = rows[Math.min(at + place, last)] ?? {};
      parameters[`name_${place}`] = reversed;
      parameters[`serial_${place}`] = serial;
    }
    writes.push(deleteSomeNames(parameters));
  }
  return writes;
}
