import { sql as raw } from 'kysely';
import { addCluster, isOfCluster } from '../../core/clusters.ts';
import type { KeyPage } from '../../core/key-list.ts';
import { build, type Db, prepared, preparedWrite } from '../../store/database.ts';
import { keyPages } from '../../store/key-page.ts';
import type { PkiCertificateRow } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';
import { isAscii } from '../fields/host-name.ts';
import { countFewer, countOneMore, listCounts } from '../mount-state/counts.store.ts';

/** A certificate that this mount issued, as the store keeps it. */
export type StoredCertificate = Omit<PkiCertificateRow, 'mount_id'>;

/** The count of a mount's certificates. */
export const CERTIFICATES = 'certificates';

/** All that is kept of a certificate but its bytes. */
export const FACTS = [
  'serial',
  'issuer_id',
  'role',
  'subject_cn',
  'not_before',
  'not_after',
  'revoked_at_ms',
  'revocation_reason',
  'clusters',
] as const;

const certificateBySerial = prepared((sql, p: { mount_id: string; serial: string }) =>
  sql
    .selectFrom('pki_certificate')
    .select([...FACTS, 'der'])
    .where('mount_id', '=', p.mount_id)
    .where('serial', '=', p.serial),
);

/** @param serial lower-case colon hex, as `formatSerial` writes it */
export function findCertificate(
  db: Db,
  mount_id: string,
  serial: string,
): Promise<StoredCertificate | undefined> {
  return certificateBySerial.first(db, { mount_id, serial });
}

/** Serial numbers of a mount's certificates in order of their text, a page of them, whichever cluster has them. */
export const listSerials = keyPages('pki_certificate', 'serial', ['mount_id']);

/** The same of clusters that have names, with these, by an index of theirs. */
const ofNamedClusters = prepared(
  (sql, p: { mount_id: string; after: string; up_to: string; limit: number }) =>
    sql
      .selectFrom('pki_certificate')
      .select(['serial', 'clusters'])
      .where('mount_id', '=', p.mount_id)
      // In the words of the index, which no parameters are.
      .where(raw<boolean>`clusters <> ''`)
      .where('serial', '>', p.after)
      .where('serial', '<=', p.up_to)
      .orderBy('serial')
      .limit(p.limit),
);

/**
 * Looks at a page of serial numbers, and tells which of the certificates a cluster has. None of them is read: those of no
 * named cluster are every cluster's.
 */
export async function lookForSerials(
  db: Db,
  { mount_id, cluster }: { mount_id: string; cluster: string },
  { after, limit }: KeyPage,
): Promise<{ rows: { key: string; is_listed: boolean }[]; more: boolean }> {
  const serials = await listSerials(db, { mount_id, after, limit });
  const up_to = serials.at(-1);
  const named =
    up_to === undefined ? [] : await ofNamedClusters.all(db, { mount_id, after, up_to, limit });
  const others = named.filter(({ clusters }) => !isOfCluster(clusters, cluster));
  const strange = new Set(others.map(({ serial }) => serial));
  const looked = serials.map((key) => ({ key, is_listed: !strange.has(key) }));
  return { rows: looked, more: serials.length === limit };
}

const insertRow = preparedWrite(
  (sql, p: PkiCertificateRow & Record<string, string | number | Uint8Array | null>) =>
    sql.insertInto('pki_certificate').values({
      mount_id: p.mount_id,
      serial: p.serial,
      issuer_id: p.issuer_id,
      role: p.role,
      subject_cn: p.subject_cn,
      not_before: p.not_before,
      not_after: p.not_after,
      der: p.der,
      clusters: p.clusters,
    }),
  { rows: 1, conflict: 'the serial number is taken: try again' },
);

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

/** Names as a certificate is found by them, in the order of their index: its pages are each taken once. */
const reverseAll = (names: Iterable<string>): string[] => {
  // Most have the subject's name once more.
  const reversed = Array.from(new Set(names), reverseName).filter((name) => name !== '');
  return reversed.length > 1 ? [...new Set(reversed)].sort() : reversed;
};

/** @param reversed as {@link reverseAll} has them */
function insertAllNames(of: Named, reversed: readonly string[]): Write[] {
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

/**
 * The rows of a new certificate: itself, the names it can be found by, the count.
 *
 * @param names besides that of the subject, those that {@link planNames} has written with it
 */
export function insertCertificate(
  mount_id: string,
  certificate: Omit<StoredCertificate, 'revoked_at_ms' | 'revocation_reason' | 'clusters'> & {
    clusters?: string;
  },
  names: Iterable<string>,
): Write[] {
  const { serial } = certificate;
  return [
    insertRow({
      mount_id,
      revoked_at_ms: null,
      revocation_reason: null,
      clusters: '',
      ...certificate,
    }),
    ...insertAllNames({ mount_id, serial }, reverseAll([certificate.subject_cn, ...names])),
    countOneMore({ mount_id, name: CERTIFICATES }),
  ];
}

type Marked = Named & { revoked_at_ms: number; revocation_reason: number | null };

/** Notes on a stored certificate that it is revoked; one that is already stays as it is. */
export const markRevoked = preparedWrite((sql, p: Marked) =>
  sql
    .updateTable('pki_certificate')
    .set({ revoked_at_ms: p.revoked_at_ms, revocation_reason: p.revocation_reason })
    .where('mount_id', '=', p.mount_id)
    .where('serial', '=', p.serial)
    .where('revoked_at_ms', 'is', null),
);

const setClusters = preparedWrite((sql, p: Named & { read: string; clusters: string }) =>
  sql
    .updateTable('pki_certificate')
    .set({ clusters: p.clusters })
    .where('mount_id', '=', p.mount_id)
    .where('serial', '=', p.serial)
    .where('clusters', '=', p.read),
);

/** One more cluster has a certificate that another one issued; where it is not stored any more, nothing. */
export function joinHolders(
  mount_id: string,
  { serial, clusters }: Pick<StoredCertificate, 'serial' | 'clusters'>,
  cluster: string,
): Write {
  return setClusters({ mount_id, serial, read: clusters, clusters: addCluster(clusters, cluster) });
}

/** Removes a certificate from the store and everything it is found by. */
export function deleteCertificate(mount_id: string, serial: string): Write[] {
  return [
    write(
      build
        .deleteFrom('pki_certificate')
        .where('mount_id', '=', mount_id)
        .where('serial', '=', serial),
      { rows: 1, conflict: 'the certificate is not stored any more' },
    ),
    write(
      build
        .deleteFrom('pki_certificate_name')
        .where('mount_id', '=', mount_id)
        .where('serial', '=', serial),
    ),
    countFewer({ mount_id, name: CERTIFICATES, fewer: 1 }),
  ];
}

/** How many certificates are stored, by mount; kept, not counted. Where there are none it may say nothing. */
export function listCertificateCounts(db: Db): Promise<ReadonlyMap<string, number>> {
  return listCounts(db, CERTIFICATES);
}

/** A name from its end on, so that everything beneath one lies together. */
export function reverseName(name: string): string {
  const lower = name.toLowerCase();
  if (!isAscii(lower)) return [...lower].reverse().join('');
  let reversed = '';
  for (let at = lower.length - 1; at >= 0; at -= 1) reversed += lower[at];
  return reversed;
}
