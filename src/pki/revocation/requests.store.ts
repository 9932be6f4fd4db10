import { sql as raw } from 'kysely';
import { build, type Db, prepared, preparedWrite } from '../../store/database.ts';
import { preparedHold } from '../../store/held.ts';
import type { Tables } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';

/** That one cluster asks another one to revoke what that issued. */
export type RevocationRequest = Tables['pki_revocation_request'];

/** Which certificate it is about. */
type Named = { mount_id: string; serial: string };

const bySerial = prepared((sql, p: Named) =>
  sql
    .selectFrom('pki_revocation_request')
    .selectAll()
    .where('mount_id', '=', p.mount_id)
    .where('serial', '=', p.serial),
);

export function findRequest(db: Db, named: Named): Promise<RevocationRequest | undefined> {
  return bySerial.first(db, named);
}

const holdCertificate = preparedHold<Named & { clusters: string }>(
  (sql, p) =>
    sql
      .selectFrom('pki_certificate')
      .select('serial')
      .where('mount_id', '=', p.mount_id)
      .where('serial', '=', p.serial)
      .where('clusters', '=', p.clusters)
      .forShare(),
  { rows: 1, conflict: 'the certificate was removed, or revoked here, meanwhile' },
);

const insertRow = preparedWrite(
  (sql, p: RevocationRequest & Record<string, string | number>) =>
    sql.insertInto('pki_revocation_request').values({
      mount_id: p.mount_id,
      serial: p.serial,
      cluster: p.cluster,
      requested_by: p.requested_by,
      reason: p.reason,
      requested_at_ms: p.requested_at_ms,
    }),
  { rows: 1, conflict: 'somebody else has asked for that meanwhile' },
);

/**
 * Asks for a revocation, of a certificate that is still there.
 *
 * @param clusters that have it, as they were read
 */
export function insertRequest(request: RevocationRequest, clusters: string): Write[] {
  const { mount_id, serial } = request;
  return [holdCertificate({ mount_id, serial, clusters }), insertRow({ ...request })];
}

/** Asks for the same for a weightier reason. */
export const raiseReason = preparedWrite(
  (sql, p: Named & { reason: number }) =>
    sql
      .updateTable('pki_revocation_request')
      .set({ reason: p.reason })
      .where('mount_id', '=', p.mount_id)
      .where('serial', '=', p.serial),
  { rows: 1, conflict: 'the revocation was carried out meanwhile' },
);

/** Ends a request that is as it was read, in the write set of what comes of it. */
export const endRequest = preparedWrite(
  (sql, p: Named & { reason: number }) =>
    sql
      .deleteFrom('pki_revocation_request')
      .where('mount_id', '=', p.mount_id)
      .where('serial', '=', p.serial)
      .where('reason', '=', p.reason),
  { rows: 1, conflict: 'the request has ended, or was changed, meanwhile' },
);

/** What a cluster is asked for in all mounts, a page of it. */
export const listRequestsTo = prepared(
  (sql, p: { cluster: string; mount_id: string; serial: string; limit: number }) =>
    sql
      .selectFrom('pki_revocation_request')
      .selectAll()
      .where('cluster', '=', p.cluster)
      .where(raw<boolean>`(mount_id, serial) > (${p.mount_id}, ${p.serial})`)
      .orderBy('mount_id')
      .orderBy('serial')
      .limit(p.limit),
);

/** Of one cluster no more are counted: they may be as many as it has certificates. */
const MOST_COUNTED = 10_000;

/** How many requests wait for each cluster that any waits for; of more than so many, so many. */
export async function countRequests(
  db: Db,
  most = MOST_COUNTED,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (let last: string | undefined; ; ) {
    const next = await db
      .selectFrom('pki_revocation_request')
      .select('cluster')
      .where('cluster', '>', last ?? '')
      .orderBy('cluster')
      .limit(1)
      .executeTakeFirst();
    if (!next) return counts;
    last = next.cluster;
    const some = db
      .selectFrom('pki_revocation_request')
      .select('serial')
      .where('cluster', '=', last)
      .limit(most);
    const counted = await db
      .selectFrom(some.as('some'))
      .select((row) => row.fn.countAll().as('count'))
      .executeTakeFirst();
    counts.set(last, Number(counted?.count ?? 0));
  }
}

/** What is asked for in a mount, in order of the serial numbers' text, a page of it. */
export const listRequests = prepared((sql, p: { mount_id: string; after: string; limit: number }) =>
  sql
    .selectFrom('pki_revocation_request')
    .select(['serial', 'requested_by'])
    .where('mount_id', '=', p.mount_id)
    .where('serial', '>', p.after)
    .orderBy('serial')
    .limit(p.limit),
);

/** A place in the order of requests by their age. */
export type RequestAge = Pick<RevocationRequest, 'requested_at_ms' | 'serial'>;

/** What was asked for before a moment, what was first coming first, a page of it. */
export const listOldRequests = prepared(
  (sql, p: RequestAge & { mount_id: string; before_ms: number; limit: number }) =>
    sql
      .selectFrom('pki_revocation_request')
      .select(['requested_at_ms', 'serial'])
      .where('mount_id', '=', p.mount_id)
      .where('requested_at_ms', '<', p.before_ms)
      .where(raw<boolean>`(requested_at_ms, serial) > (${p.requested_at_ms}, ${p.serial})`)
      .orderBy('requested_at_ms')
      .orderBy('serial')
      .limit(p.limit),
);

/** Removes requests that nobody has carried out; when one of them is gone, none. */
export function deleteOldRequests(
  mount_id: string,
  serials: readonly string[],
  before_ms: number,
): Write {
  return write(
    build
      .deleteFrom('pki_revocation_request')
      .where('mount_id', '=', mount_id)
      .where('serial', 'in', serials)
      .where('requested_at_ms', '<', before_ms),
    { rows: serials.length, conflict: 'what is tidied was carried out, or removed, meanwhile' },
  );
}
