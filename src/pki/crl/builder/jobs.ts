import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Db } from '../../../store/database.ts';
import { verify } from '../../../x509/algorithms.ts';
import {
  type AssembledCrl,
  type CrlLayout,
  layOutCrl,
  type UnsignedCrl,
} from '../../../x509/crl-assembly.ts';
import { parsePublicKey } from '../../../x509/keys.ts';
import { RevokedEntriesWriter } from '../../../x509/revoked-certificates.ts';
import { decodeSerial, MAX_SERIAL_BYTES } from '../../../x509/serial.ts';
import { signatureRoom } from '../../../x509/signature-costs.ts';
import { revocationsJoined } from '../../mount-state/joins.store.ts';
import {
  type ListedRevocation,
  type Revocation,
  revocationsBetween,
  revocationsEnded,
  revocationsUpTo,
} from '../../mount-state/revocations.store.ts';
import {
  asSeenBy,
  type CrlInput,
  type CrlJob,
  type CrlScope,
  isBasis,
  isListedIn,
  isPast,
  pastOf,
  refuseLongCrl,
  serialsOf,
} from './job.ts';
import { reportExternalMemory } from './weight.ts';

// How a CRL is made. The same code runs on the thread that answers requests, for short
// CRLs, and on the CRL thread, for long ones.

/** Signs TBSCertList. */
type SignCrl = (tbs: Uint8Array) => Uint8Array | Promise<Uint8Array>;

/**
 * Makes a new CRL: of an earlier one and what was revoked since where that can be, of all
 * revocations otherwise. Both ways give the same bytes.
 *
 * @throws Failure `conflict` for a CRL longer than it may be
 */
export async function makeCrl(db: Db, job: CrlJob, sign: SignCrl): Promise<SignedCrl> {
  const unsigned = await layOut(db, job);
  const signature = await sign(unsigned.tbs);
  return { crl: unsigned.attachSignature(job.algorithm, signature), signature };
}

export interface SignedCrl {
  crl: AssembledCrl;
  signature: Uint8Array;
}

/**
 * Makes a CRL again that was signed before.
 *
 * @param signed the signature it had, and the SubjectPublicKeyInfo of its issuer
 * @returns undefined when the signature is not that of the bytes: revocations have gone since
 */
export async function remakeCrl(
  db: Db,
  job: CrlJob,
  signed: { signature: Uint8Array; public_key: Uint8Array },
): Promise<AssembledCrl | undefined> {
  const { tbs, attachSignature } = await layOut(db, job);
  const key = parsePublicKey(signed.public_key);
  if (!verify(key, job.algorithm, tbs, signed.signature)) return undefined;
  return attachSignature(job.algorithm, signed.signature);
}

/** A new CRL without its signature, for a key that only another thread can use. */
export async function makeUnsignedCrl(db: Db, job: CrlJob): Promise<CrlLayout> {
  return (await layOut(db, job)).layout;
}

async function layOut(db: Db, job: CrlJob): Promise<UnsignedCrl> {
  const { content, frame, max_entries } = job;
  const usable = isBasis(job.basis, content) ? job.basis : undefined;
  const removed = usable && (await collectPast(db, usable, content));
  // Where much has to be taken out, it is as quick to begin anew.
  const basis = removed && usable;
  const scope: CrlScope = JSON.parse(content.scope);
  const { after = BEFORE_ALL } = scope;
  const since = basis?.revision ?? after;
  // Few revocations are found by revision: in serial number order, all others would be read and skipped.
  const most = since === BEFORE_ALL ? PAGE : mostByRevision(scope);
  const areFew = content.revision - since <= most;
  const added = areFew ? await collectSince(db, job, since) : await collectAll(db, job, since);
  const kept = basis && { crl: basis.crl, removed: removed ?? new RevokedEntriesWriter() };
  refuseLongCrl(added.count + (kept ? kept.crl.count - kept.removed.count : 0), max_entries);
  return layOutCrl(frame, added, kept, allocateShared, signatureRoom(job.algorithm));
}

/** Threads share the memory of a CRL, so that handing it over copies nothing. */
function allocateShared(length: number): Uint8Array {
  const bytes = new Uint8Array(new SharedArrayBuffer(length));
  reportExternalMemory(bytes);
  return bytes;
}

/** Rows read at a time; between pages the thread does other things. */
const PAGE = 2000;
/** Most that are held at a time, to be put into order. */
const MOST_BY_REVISION = 100_000;

/** A shard has few entries: it is not worth while to look through those of others for longer than it takes to read its own. */
const mostByRevision = ({ shard }: CrlScope): number =>
  shard ? Math.max(PAGE, Math.ceil(MOST_BY_REVISION / shard.count)) : MOST_BY_REVISION;

/** What was revoked before rows had a revision has 0. */
const BEFORE_ALL = -1;

type Listed = Omit<Revocation, 'issuer_id'>;

/**
 * Revoked authorities of the mount that are on the CRL, in order of their serial numbers.
 *
 * @param since where there is an earlier CRL of the scope, that has them
 */
const listAuthorities = ({ authorities = [] }: CrlScope, since: number): Listed[] =>
  since === BEFORE_ALL
    ? authorities.map(([serial, revoked_at_ms, reason = 0]) => ({ serial, revoked_at_ms, reason }))
    : [];

async function collectAll(
  db: Db,
  { content, max_entries }: CrlJob,
  since: number,
): Promise<RevokedEntriesWriter> {
  const { mount_id, revision } = content;
  const scope: CrlScope = JSON.parse(content.scope);
  const past = pastOf(content);
  const writer = new RevokedEntriesWriter();
  if (scope.empty) return writer;
  const belongs = isListedIn(scope);
  const authorities = listAuthorities(scope, since).reverse();
  /** Those whose place is before a serial number; all where none is given. */
  const appendAuthorities = (before?: string): void => {
    for (let next = authorities.at(-1); next; next = authorities.at(-1)) {
      if (before !== undefined && next.serial >= before) return;
      authorities.pop();
      append(writer, next);
    }
  };
  const { after: first, up_to } = serialsOf(scope);
  for (let after = first; ; ) {
    const page = { after, last: up_to, limit: PAGE };
    const rows = await revocationsUpTo.all(db, { mount_id, revision, ...page });
    for (const one of rows) {
      appendAuthorities(one.serial);
      const row = asSeenBy(scope, one);
      if (row.revision <= since || row.revision > revision) continue;
      if (belongs(row) && !isPast(past, row)) append(writer, row);
    }
    const last = rows.at(-1);
    const isEnd = !last || rows.length < PAGE;
    if (isEnd) appendAuthorities();
    refuseLongCrl(writer.count, max_entries);
    if (isEnd) return writer;
    after = last.serial;
    await nextTurn();
  }
}

async function collectSince(
  db: Db,
  { content }: CrlJob,
  since: number,
): Promise<RevokedEntriesWriter> {
  const { mount_id, revision } = content;
  const scope: CrlScope = JSON.parse(content.scope);
  const past = pastOf(content);
  if (scope.empty) return new RevokedEntriesWriter();
  const belongs = isListedIn(scope);
  const rows: Listed[] = listAuthorities(scope, since);
  for await (const row of readBetween(db, scope, { mount_id, after: since, up_to: revision })) {
    if (belongs(row) && !isPast(past, row)) rows.push(row);
  }
  return writeInOrder(rows);
}

/**
 * What came to CRLs of a scope between two revisions, `after` excluded, each once. Whether it belongs on them by its issuer
 * and its serial number is for the caller to say.
 */
export async function* readBetween(
  db: Db,
  scope: CrlScope,
  range: { mount_id: string; after: number; up_to: number },
): AsyncGenerator<ListedRevocation, void, undefined> {
  const isWithin = ({ revision }: ListedRevocation): boolean =>
    revision > range.after && revision <= range.up_to;
  for (let { after } = range; after < range.up_to; after += PAGE) {
    const up_to = Math.min(range.up_to, after + PAGE);
    const rows = await revocationsBetween.all(db, { ...range, after, up_to });
    yield* rows.map((row) => asSeenBy(scope, row)).filter(isWithin);
  }
  if (range.after < range.up_to) yield* readJoined(db, scope, range, isWithin);
}

/** Earlier revocations that came to CRLs of a scope since, as its cluster has made them too. */
async function* readJoined(
  db: Db,
  scope: CrlScope,
  { mount_id, after: of }: { mount_id: string; after: number },
  isWithin: (row: ListedRevocation) => boolean,
): AsyncGenerator<ListedRevocation, void, undefined> {
  // One more cluster may join meanwhile, and its row be on a later page once more.
  const told = new Set<string>();
  for (let after = of; ; ) {
    // However late: the last cluster to join may be another one than that whose CRLs they are.
    const joined = await revocationsJoined.all(db, { mount_id, after, of, limit: PAGE });
    for (const row of joined.map((one) => asSeenBy(scope, one)).filter(isWithin)) {
      if (told.has(row.serial)) continue;
      told.add(row.serial);
      yield row;
    }
    const last = joined.at(-1)?.joined_revision;
    if (typeof last !== 'number' || joined.length < PAGE) return;
    after = last;
    await nextTurn();
  }
}

/**
 * The entries of an earlier CRL that are past on the next one, in the order of their serial numbers.
 *
 * @returns undefined where there are too many
 */
async function collectPast(
  db: Db,
  basis: CrlInput,
  content: CrlInput,
): Promise<RevokedEntriesWriter | undefined> {
  const { mount_id } = content;
  const [before, next] = [pastOf(basis), pastOf(content)];
  const scope: CrlScope = JSON.parse(content.scope);
  if (scope.empty) return new RevokedEntriesWriter();
  const belongs = isListedIn(scope);
  const rows: Revocation[] = [];
  const take = (one: ListedRevocation): void => {
    const row = asSeenBy(scope, one);
    const wasOn = row.revision <= basis.revision && !isPast(before, row);
    if (wasOn && isPast(next, row) && belongs(row)) rows.push(row);
  };
  // What ended meanwhile, and what ended before and was shown meanwhile.
  const time = { from: before.ended_before, before: next.ended_before };
  const limit = mostByRevision(scope);
  const ended = await revocationsEnded.all(db, { mount_id, ...time, limit });
  if (ended.length === limit) return undefined;
  for (const row of ended) take(row);
  const after = before.revision;
  // On the first CRL nothing had ended before.
  const up_to = before.ended_before === 0 ? after : Math.min(next.revision, basis.revision);
  if (up_to - after > limit) return undefined;
  for await (const row of readBetween(db, scope, { mount_id, after, up_to })) {
    if (row.not_after < before.ended_before) take(row);
  }
  return writeInOrder(rows);
}

function writeInOrder(rows: Listed[]): RevokedEntriesWriter {
  const writer = new RevokedEntriesWriter();
  rows.sort((a, b) => (a.serial < b.serial ? -1 : 1));
  for (const row of rows) append(writer, row);
  return writer;
}

/** One piece of memory for all serial numbers: the writer copies each. */
const serialBytes = new Uint8Array(MAX_SERIAL_BYTES);

function append(writer: RevokedEntriesWriter, row: Listed): void {
  const serialNumber = decodeSerial(row.serial, serialBytes);
  if (!serialNumber) throw new Error(`stored serial number ${row.serial} does not parse`);
  writer.append({
    serialNumber,
    revocationTime: Math.floor(row.revoked_at_ms / 1000),
    ...(row.reason === 0 ? {} : { reason: row.reason }),
  });
}
