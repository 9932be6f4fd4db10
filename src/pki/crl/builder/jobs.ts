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
import {
  type Revocation,
  revocationsBetween,
  revocationsUpTo,
} from '../../mount-state/revocations.store.ts';
import { type CrlJob, type CrlScope, isBasis, isListedIn, refuseLongCrl } from './job.ts';
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
  const basis = isBasis(job.basis, content) ? job.basis : undefined;
  // Few revocations are found by revision: in serial number order, all later ones would be read and skipped.
  const since = basis?.revision ?? (content.revision <= PAGE ? BEFORE_ALL : undefined);
  const added =
    since === undefined ? await collectAll(db, job) : await collectSince(db, job, since);
  refuseLongCrl(added.count + (basis?.crl.count ?? 0), max_entries);
  return layOutCrl(frame, added, basis?.crl, allocateShared);
}

/** Threads share the memory of a CRL, so that handing it over copies nothing. */
function allocateShared(length: number): Uint8Array {
  const bytes = new Uint8Array(new SharedArrayBuffer(length));
  reportExternalMemory(bytes);
  return bytes;
}

/** Rows read at a time; between pages the thread does other things. */
const PAGE = 2000;
/** What was revoked before rows had a revision has 0. */
const BEFORE_ALL = -1;

async function collectAll(db: Db, { content, max_entries }: CrlJob): Promise<RevokedEntriesWriter> {
  const { mount_id, revision } = content;
  const scope: CrlScope = JSON.parse(content.scope);
  const writer = new RevokedEntriesWriter();
  if (scope.empty) return writer;
  const belongs = isListedIn(scope);
  for (let after = ''; ; ) {
    const rows = await revocationsUpTo.all(db, { mount_id, revision, after, limit: PAGE });
    for (const row of rows) if (belongs(row)) append(writer, row);
    refuseLongCrl(writer.count, max_entries);
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return writer;
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
  const writer = new RevokedEntriesWriter();
  if (scope.empty) return writer;
  const belongs = isListedIn(scope);
  const rows: Revocation[] = [];
  for (let after = since; after < revision; after += PAGE) {
    const up_to = Math.min(revision, after + PAGE);
    for (const row of await revocationsBetween.all(db, { mount_id, after, up_to })) {
      if (belongs(row)) rows.push(row);
    }
  }
  rows.sort((a, b) => (a.serial < b.serial ? -1 : 1));
  for (const row of rows) append(writer, row);
  return writer;
}

/** One piece of memory for all serial numbers: the writer copies each. */
const serialBytes = new Uint8Array(MAX_SERIAL_BYTES);

function append(writer: RevokedEntriesWriter, row: Revocation): void {
  const serialNumber = decodeSerial(row.serial, serialBytes);
  if (!serialNumber) throw new Error(`stored serial number ${row.serial} does not parse`);
  writer.append({
    serialNumber,
    revocationTime: Math.floor(row.revoked_at_ms / 1000),
    ...(row.reason === 0 ? {} : { reason: row.reason }),
  });
}
