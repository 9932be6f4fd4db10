import { type SelectQueryBuilder, sql } from 'kysely';
import { type ReadPage, readAtOnce } from '../../core/walk.ts';
import type { Db } from '../../store/database.ts';
import { compareIds, inBlocks, partsOf } from '../../store/in-blocks.ts';
import type { Tables } from '../../store/tables.ts';
import { isInRange, type NameRange, nameRange, reverseName } from './names.ts';
import { FACTS, type StoredCertificate } from './store.ts';

/** What to look for; absent: anything. Instants in Unix seconds. */
export interface CertificateQuery {
  /** A common name or subject alternative name; `*.example.com`: everything beneath. */
  name?: string | undefined;
  issuer_id?: string | undefined;
  role?: string | undefined;
  state?: 'valid' | 'expired' | 'revoked' | undefined;
  expires_after?: number | undefined;
  expires_before?: number | undefined;
  now: number;
  /** The last certificate of the page before. */
  after?: { not_after: number; serial: string } | undefined;
  limit: number;
}

type Found = Omit<StoredCertificate, 'der'>;

/** What was found of a page; their bytes are left out. */
export interface FoundPage {
  found: Found[];
  /** Where to go on: there may be more behind it. */
  next?: End;
}

/**
 * Finds certificates, those that end first coming first. After so many that do not match it leaves off,
 * also when it has found nothing yet.
 */
export async function listCertificates(
  db: Db,
  mount_id: string,
  query: CertificateQuery,
  read: ReadPage = readAtOnce,
): Promise<FoundPage> {
  const range = query.name === undefined ? undefined : nameRange(query.name);
  const named = range && (await listFewNamed(db, mount_id, range));
  if (!named) return walk(db, mount_id, { ...query, range }, read);
  return pageOf(await listOf(db, mount_id, query, named), query);
}

function pageOf(rows: readonly Found[], { limit }: CertificateQuery): FoundPage {
  const found = rows.slice(0, limit);
  const last = found.length === limit ? found.at(-1) : undefined;
  return last ? { found, next: { not_after: last.not_after, serial: last.serial } } : { found };
}

/** What is looked for among all certificates in their order. */
interface Sought extends CertificateQuery {
  range: NameRange | undefined;
}

/** As many certificates are read one by one and put in order; of more, all are walked in order. */
const FEW = 2_000;

/** Serials of the certificates with a name, undefined when there are many. */
async function listFewNamed(
  db: Db,
  mount_id: string,
  { from, to }: NameRange,
): Promise<readonly string[] | undefined> {
  const rows = await db
    .selectFrom('pki_certificate_name')
    .select('serial')
    .where('mount_id', '=', mount_id)
    .where('reversed', '>=', from)
    .where('reversed', '<', to)
    .limit(FEW + 1)
    .execute();
  return rows.length > FEW ? undefined : [...new Set(rows.map(({ serial }) => serial))];
}

/** A place in the order of certificates. */
interface End {
  not_after: number;
  serial: string;
}

/** After what, and before which end, certificates are looked for. */
interface Bounds {
  from: End;
  to: number;
}

function boundsOf(query: CertificateQuery): Bounds {
  const { state, now, after, expires_after = 0, expires_before = LATEST } = query;
  const not_after = Math.max(expires_after, state === 'valid' ? now : 0);
  const to = Math.min(expires_before, state === 'expired' ? now : LATEST);
  return { from: after && after.not_after >= not_after ? after : { not_after, serial: '' }, to };
}

/** Later than any certificate ends. */
const LATEST = Number.MAX_SAFE_INTEGER;

/** The most certificates that one statement scans. */
const STEP = 1_000;

/** The most that one search scans, some tens of milliseconds; whoever wants more asks again. */
const MOST_SCANNED = 10_000;

/** Scans some at a time: others have their turn while those that match are few. */
async function walk(db: Db, mount_id: string, query: Sought, read: ReadPage): Promise<FoundPage> {
  const bounds = boundsOf(query);
  const found: Found[] = [];
  let step = Math.min(STEP, query.limit);
  let scanned = 0;
  for (let { from } = bounds; ; ) {
    const { keys, rows } = await read(() => scan(db, mount_id, query, { ...bounds, from }, step));
    for (const row of rows) found.push(row);
    const last = keys.at(-1);
    if (!last || keys.length < step || found.length >= query.limit) return pageOf(found, query);
    scanned += keys.length;
    if (scanned >= MOST_SCANNED) return { found, next: last };
    from = last;
    step = Math.min(STEP, step * 2);
  }
}

/** The next certificates in order, and those of them that match. */
async function scan(
  db: Db,
  mount_id: string,
  query: Sought,
  bounds: Bounds,
  step: number,
): Promise<{ keys: End[]; rows: Found[] }> {
  const keys = await listKeys(db, mount_id, query, bounds, step);
  const serials = keys.map(({ serial }) => serial);
  return { keys, rows: await listOf(db, mount_id, query, serials, query.range) };
}

/** Keys of certificates in order, by the index that fits: there is one for roles and one for issuers. */
async function listKeys(
  db: Db,
  mount_id: string,
  { role, issuer_id }: CertificateQuery,
  { from, to }: Bounds,
  limit: number,
): Promise<End[]> {
  let walked = db.selectFrom('pki_certificate').where('mount_id', '=', mount_id);
  if (role !== undefined) walked = walked.where('role', '=', role);
  else if (issuer_id !== undefined) walked = walked.where('issuer_id', '=', issuer_id);
  return walked
    .select(['not_after', 'serial'])
    .where(sql<boolean>`(not_after, serial) > (${from.not_after}, ${from.serial})`)
    .where('not_after', '<', to)
    .orderBy('not_after')
    .orderBy('serial')
    .limit(limit)
    .execute();
}

/**
 * Those of some certificates that match, in order. They are read by their keys alone: told of more,
 * SQLite would rather walk all of a role, or of an issuer.
 *
 * @param range of the name that is looked for, where not all of them have it
 */
async function listOf(
  db: Db,
  mount_id: string,
  query: CertificateQuery,
  serials: readonly string[],
  range?: NameRange,
): Promise<Found[]> {
  const readOf: ReadOf = (some) =>
    db
      .selectFrom('pki_certificate')
      .select(FACTS)
      .where('mount_id', '=', mount_id)
      .where('serial', 'in', some);
  const rows = await inBlocks(serials, (some) =>
    range ? listNamed(readOf, some, range) : readOf(some).execute(),
  );
  const matching = rows.filter((row) => isMatch(row, query));
  return matching.sort((a, b) => a.not_after - b.not_after || compareIds(a.serial, b.serial));
}

function isMatch(found: Found, query: CertificateQuery): boolean {
  const { issuer_id = found.issuer_id, role = found.role, state } = query;
  if (found.issuer_id !== issuer_id || found.role !== role) return false;
  if (state === 'revoked' && found.revoked_at_ms === null) return false;
  if (state === 'valid' && found.revoked_at_ms !== null) return false;
  const { from, to } = boundsOf(query);
  const { not_after, serial } = found;
  const isAfter = not_after === from.not_after ? serial > from.serial : not_after > from.not_after;
  return isAfter && not_after < to;
}

/** Reads certificates by their serial numbers. */
type ReadOf = (serials: readonly string[]) => SelectQueryBuilder<Tables, 'pki_certificate', Found>;

/**
 * Bytes of names that are looked through with those of all others; so many of each are two megabytes of one statement. Who has
 * thousands of names has hundreds of kilobytes: as many of those as go into as much.
 */
const FEW_BYTES = 4 << 10;

/** Those of which a name is in a range. Names are not brought here: there may be thousands of each. */
async function listNamed(
  readOf: ReadOf,
  serials: readonly string[],
  range: NameRange,
): Promise<Found[]> {
  const isNamed = sql<boolean>`(${hasBehind('[', range)} or ${hasBehind(',', range)})`;
  const rows = await readOf(serials)
    .select(sql<number | null>`octet_length(names)`.as('bytes'))
    .where(sql<boolean>`case when names is null or octet_length(names) > ${sql.lit(FEW_BYTES)}
      then true else ${isNamed} end`)
    .execute();
  const found: Found[] = [];
  const long: { serial: string; bytes: number }[] = [];
  for (const { bytes, ...one } of rows) {
    if (bytes !== null && bytes > FEW_BYTES) long.push({ serial: one.serial, bytes });
    else if (bytes !== null || isInRange(reverseName(one.subject_cn), range)) found.push(one);
  }
  for (const part of partsOf(long, ({ bytes }) => bytes)) {
    const some = part.map(({ serial }) => serial);
    for (const one of await readOf(some).where(isNamed).execute()) found.push(one);
  }
  return found;
}

/** Whether a list of names has one of a range behind a sign, which in a name itself a quotation mark never follows. */
const hasBehind = (sign: ',' | '[', { begins }: NameRange) =>
  sql`replace(names, ${sign + begins}, '') <> names`;
