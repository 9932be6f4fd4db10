import { sql as raw } from 'kysely';
import { addCluster, isOfCluster } from '../../core/clusters.ts';
import type { KeyPage } from '../../core/key-list.ts';
import { build, type Db, prepared, preparedWrite } from '../../store/database.ts';
import { keyPages } from '../../store/key-page.ts';
import type { PkiCertificateRow } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';
import { countFewer, countOneMore, listCounts } from '../mount-state/counts.store.ts';
import { deleteNames, insertAllNames } from './names.store.ts';
import { encodeNames, type NamesOfRow, reverseAll } from './names.ts';

/** A certificate that this mount issued, as the store keeps it. */
export type StoredCertificate = Omit<PkiCertificateRow, 'mount_id' | 'names'>;

/** The count of a mount's certificates. */
export const CERTIFICATES = 'certificates';

/** All that is kept of a certificate but its bytes and its names. */
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
      names: p.names,
    }),
  { rows: 1, conflict: 'the serial number is taken: try again' },
);

/**
 * The rows of a new certificate: itself, the names it can be found by, the count.
 *
 * @param names besides that of the subject, those that `planNames` has written with it
 * @param all its names, where others were written before it
 */
export function insertCertificate(
  mount_id: string,
  certificate: Omit<StoredCertificate, 'revoked_at_ms' | 'revocation_reason' | 'clusters'> & {
    clusters?: string;
  },
  names: readonly string[],
  all = names,
): Write[] {
  const { serial, subject_cn } = certificate;
  const own = reverseAll([subject_cn, ...names]);
  return [
    insertRow({
      mount_id,
      revoked_at_ms: null,
      revocation_reason: null,
      clusters: '',
      ...certificate,
      names: encodeNames(subject_cn, all === names ? own : reverseAll([subject_cn, ...all])),
    }),
    ...insertAllNames({ mount_id, serial }, own),
    countOneMore({ mount_id, name: CERTIFICATES }),
  ];
}

/** Which certificate is meant. */
type Named = { mount_id: string; serial: string };

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
export function deleteCertificate(
  mount_id: string,
  certificate: NamesOfRow & { serial: string },
): Write[] {
  return [
    write(
      build
        .deleteFrom('pki_certificate')
        .where('mount_id', '=', mount_id)
        .where('serial', '=', certificate.serial),
      { rows: 1, conflict: 'the certificate is not stored any more' },
    ),
    ...deleteNames(mount_id, [certificate]),
    countFewer({ mount_id, name: CERTIFICATES, fewer: 1 }),
  ];
}

/** How many certificates are stored, by mount; kept, not counted. Where there are none it may say nothing. */
export function listCertificateCounts(db: Db): Promise<ReadonlyMap<string, number>> {
  return listCounts(db, CERTIFICATES);
}
