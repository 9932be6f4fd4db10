import { setImmediate as nextTurn } from 'node:timers/promises';
import { build, type Db, prepared, preparedWrite } from '../../store/database.ts';
import type { PkiIssuerRow } from '../../store/tables.ts';
import { type Value, type Write, write } from '../../store/write.ts';
import { DEFAULT_SETTINGS, type IssuerRecord, type IssuerSettings } from './issuer.ts';

/** Their certificates are counted; from before there were bounds, settings may have a megabyte, too. */
const ISSUERS_AT_ONCE = 100;

const issuerPage = prepared((sql, p: { mount_id: string; after: string }) =>
  sql
    .selectFrom('pki_issuer')
    .selectAll()
    .where('mount_id', '=', p.mount_id)
    .where('id', '>', p.after)
    .orderBy('id')
    .limit(ISSUERS_AT_ONCE),
);
/** All issuers of a mount, in order of their ids. */
export async function listIssuerRecords(db: Db, mount_id: string): Promise<IssuerRecord[]> {
  const records: IssuerRecord[] = [];
  for (let after = ''; ; ) {
    const { rows, more } = await issuerPage.some(db, { mount_id, after }, 'certificate');
    for (const row of rows) records.push(recordOf(row));
    if (!more && rows.length < ISSUERS_AT_ONCE) return records;
    after = rows.at(-1)?.id ?? after;
    await nextTurn();
  }
}

function recordOf(row: PkiIssuerRow): IssuerRecord {
  const settings: Partial<IssuerSettings> = JSON.parse(row.body);
  return {
    id: row.id,
    name: row.name,
    key_id: row.key_id,
    certificate: row.certificate,
    // A setting that a later program added is missing in the rows of an earlier one.
    settings: { ...DEFAULT_SETTINGS, ...settings },
    revoked_at_ms: row.revoked_at_ms ?? undefined,
    revocation_reason: row.revocation_reason,
    modified_at_ms: row.modified_at_ms,
    created_at_ms: row.created_at_ms,
    version: row.version,
  };
}

const insertRow = preparedWrite(
  (sql, p: PkiIssuerRow & Record<string, Value>) =>
    sql.insertInto('pki_issuer').values({
      mount_id: p.mount_id,
      id: p.id,
      name: p.name,
      key_id: p.key_id,
      certificate: p.certificate,
      body: p.body,
      revoked_at_ms: p.revoked_at_ms,
      revocation_reason: p.revocation_reason,
      modified_at_ms: p.modified_at_ms,
      created_at_ms: p.created_at_ms,
      version: p.version,
    }),
  { rows: 1, conflict: 'issuer name already in use' },
);

/** Prepared, as an import has a thousand of them. */
export function insertIssuer(mount_id: string, issuer: IssuerRecord): Write {
  return insertRow({ mount_id, ...columnsOf(issuer) });
}

/** Replaces all of a stored issuer but its certificate. @param issuer with the version that was read */
export function saveIssuer(mount_id: string, issuer: IssuerRecord): Write {
  const { certificate: _, id: __, created_at_ms: ___, version, ...changeable } = columnsOf(issuer);
  return write(
    build
      .updateTable('pki_issuer')
      .set({ ...changeable, version: version + 1 })
      .where('mount_id', '=', mount_id)
      .where('id', '=', issuer.id),
    { rows: 1, conflict: 'issuer name already in use' },
  );
}

function columnsOf(issuer: IssuerRecord): Omit<PkiIssuerRow, 'mount_id'> {
  const { settings, revoked_at_ms, ...plain } = issuer;
  return { ...plain, body: JSON.stringify(settings), revoked_at_ms: revoked_at_ms ?? null };
}

export function deleteIssuer(mount_id: string, id: string): Write {
  return write(
    build.deleteFrom('pki_issuer').where('mount_id', '=', mount_id).where('id', '=', id),
  );
}

export function deleteAllIssuers(mount_id: string): Write {
  return write(build.deleteFrom('pki_issuer').where('mount_id', '=', mount_id));
}

/** Notes that what readers see of an issuer has changed; answers conditional reads. */
export function touchIssuer(mount_id: string, id: string, modified_at_ms: number): Write {
  return write(
    build
      .updateTable('pki_issuer')
      .set({ modified_at_ms })
      .where('mount_id', '=', mount_id)
      .where('id', '=', id),
  );
}
