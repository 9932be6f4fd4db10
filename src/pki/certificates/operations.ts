import { startFilling } from '../../access/concurrency/walks.operations.ts';
import { refuseDeniedNow } from '../../access/standing/operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { DataResult } from '../../app/output.ts';
import type { VaultResult } from '../../app/result.ts';
import { Failure } from '../../core/failure.ts';
import { listKeys } from '../../core/key-list.ts';
import { formatTimestamp } from '../../core/timestamps.ts';
import { canonicaliseSerial } from '../../x509/serial.ts';
import { encodeCertificatePem, pemOf } from '../mount-state/issuer.ts';
import { readMountState } from '../mount-state/operations.ts';
import { LOOKED_UP, ownPaths } from '../mount-state/own-paths.ts';
import { findIssuer } from '../mount-state/state.ts';
import {
  type CertificateReading,
  chainPem,
  describeCertificate,
  describeUnrevocable,
  findDefaultIssuer,
} from './readings.ts';
import { type CertificateQuery, type FoundPage, listCertificates } from './search.store.ts';
import { findCertificate, listSerials, type StoredCertificate } from './store.ts';

const DER_TYPE = 'application/pkix-cert';
const PEM_TYPE = 'application/pem-certificate-chain';

/** The certificate of the default issuer as bytes; nothing while there is none. */
export async function readCaDer(app: App, caller: Caller): Promise<VaultResult<null>> {
  const issuer = findDefaultIssuer(await readMountState(app, caller.mount.id));
  if (!issuer) return { raw: { content_type: DER_TYPE, body: '' } };
  return {
    raw: { content_type: DER_TYPE, body: issuer.certificate.raw },
    last_modified: issuer.modified_at_ms,
  };
}

export async function readCaPem(app: App, caller: Caller): Promise<VaultResult<null>> {
  const issuer = findDefaultIssuer(await readMountState(app, caller.mount.id));
  if (!issuer) return { raw: { content_type: PEM_TYPE, body: '' } };
  return {
    raw: { content_type: PEM_TYPE, body: pemOf(issuer.certificate) },
    last_modified: issuer.modified_at_ms,
  };
}

/** The chain as PEM; under the type of DER, as clients know it. */
export async function readCaChain(app: App, caller: Caller): Promise<VaultResult<null>> {
  const issuer = findDefaultIssuer(await readMountState(app, caller.mount.id));
  return { raw: { content_type: DER_TYPE, body: issuer ? chainPem(issuer) : '' } };
}

/** @throws Failure `invalid` without a default issuer */
export async function readCaJson(
  app: App,
  caller: Caller,
): Promise<DataResult<CertificateReading>> {
  const issuer = findDefaultIssuer(await readMountState(app, caller.mount.id));
  if (!issuer) throw new Failure('invalid', 'no default issuer currently configured');
  return {
    data: describeUnrevocable(pemOf(issuer.certificate)),
    last_modified: issuer.modified_at_ms,
  };
}

/** @throws Failure `invalid` without a default issuer */
export async function readCaChainJson(
  app: App,
  caller: Caller,
): Promise<DataResult<CertificateReading>> {
  const issuer = findDefaultIssuer(await readMountState(app, caller.mount.id));
  if (!issuer) throw new Failure('invalid', 'no default issuer currently configured');
  const chain = chainPem(issuer);
  return { data: { ...describeUnrevocable(chain), ca_chain: chain } };
}

async function findBySerial(
  app: App,
  caller: Caller,
  serial: string,
): Promise<StoredCertificate | undefined> {
  const canonical = canonicaliseSerial(serial);
  return canonical === undefined ? undefined : findCertificate(app.db, caller.mount.id, canonical);
}

interface SerialInput {
  serial: string;
}

export async function readCertificate(
  app: App,
  caller: Caller,
  input: SerialInput,
): Promise<DataResult<CertificateReading>> {
  const stored = await findBySerial(app, caller, input.serial);
  if (!stored) throw new Failure('not_found', '');
  return { data: describeCertificate(encodeCertificatePem(stored.der), stored) };
}

export async function readCertificateDer(
  app: App,
  caller: Caller,
  input: SerialInput,
): Promise<VaultResult<null>> {
  const stored = await findBySerial(app, caller, input.serial);
  return { raw: { content_type: DER_TYPE, body: stored?.der ?? '' } };
}

export async function readCertificatePem(
  app: App,
  caller: Caller,
  input: SerialInput,
): Promise<VaultResult<null>> {
  const stored = await findBySerial(app, caller, input.serial);
  return { raw: { content_type: PEM_TYPE, body: stored ? encodeCertificatePem(stored.der) : '' } };
}

/** Serial numbers of all stored certificates, in order of their text, or one page of them. */
export function listCertificateSerials(
  app: App,
  caller: Caller,
  input: { after?: string | undefined; limit?: number | undefined },
): Promise<DataResult<{ keys: string[] }>> {
  return listKeys((page) => listSerials(app.db, { mount_id: caller.mount.id, ...page }), input);
}

interface SearchInput {
  name?: string | undefined;
  serial_number?: string | undefined;
  issuer_ref?: string | undefined;
  role?: string | undefined;
  state?: CertificateQuery['state'];
  expires_after?: number | undefined;
  expires_before?: number | undefined;
  after?: string | undefined;
  limit: number;
}

const MOST_FOUND = 1000;

/** Finds stored certificates, those that end first coming first, a page at a time. */
export async function searchCertificates(app: App, caller: Caller, input: SearchInput) {
  const now = Math.floor(app.now() / 1000);
  const limit = Math.min(Math.max(1, input.limit), MOST_FOUND);
  const { found, next } =
    input.serial_number === undefined
      ? await findPage(app, caller, input, { now, limit })
      : await findPageOfOne(app, caller, input.serial_number);
  if (found.length === 0 && !next) throw new Failure('not_found', '');
  const key_info: Record<string, CertificateInfo> = {};
  for (const certificate of found) key_info[certificate.serial] = describeInfo(certificate, now);
  return {
    data: {
      keys: found.map(({ serial }) => serial),
      key_info,
      next: next ? `${next.not_after}/${next.serial}` : '',
    },
  };
}

async function findPage(
  app: App,
  caller: Caller,
  input: SearchInput,
  page: { now: number; limit: number },
): Promise<FoundPage> {
  const { name, role, state, expires_after, expires_before } = input;
  const issuer_id = await issuerIdOf(app, caller, input.issuer_ref);
  const after = parseCursor(input.after);
  const query = { name, issuer_id, role, state, expires_after, expires_before, after, ...page };
  const fillPage = startFilling(app, caller);
  return fillPage((read) => listCertificates(app.db, caller.mount.id, query, read));
}

async function findPageOfOne(app: App, caller: Caller, serial: string): Promise<FoundPage> {
  const one = await findBySerial(app, caller, serial);
  return { found: one ? [one] : [] };
}

interface CertificateInfo {
  common_name: string;
  issuer_id: string;
  role: string;
  not_before: string;
  not_after: string;
  state: 'valid' | 'expired' | 'revoked';
  revocation_time: number;
}

function describeInfo(certificate: Omit<StoredCertificate, 'der'>, now: number): CertificateInfo {
  const { revoked_at_ms, not_after } = certificate;
  return {
    common_name: certificate.subject_cn,
    issuer_id: certificate.issuer_id,
    role: certificate.role,
    not_before: formatTimestamp(certificate.not_before),
    not_after: formatTimestamp(not_after),
    state: revoked_at_ms !== null ? 'revoked' : not_after < now ? 'expired' : 'valid',
    revocation_time: Math.floor((revoked_at_ms ?? 0) / 1000),
  };
}

/** The certificates of an issuer that is gone can still be found by its id. */
async function issuerIdOf(
  app: App,
  caller: Caller,
  ref: string | undefined,
): Promise<string | undefined> {
  if (ref === undefined) return undefined;
  const issuer = findIssuer(await readMountState(app, caller.mount.id), ref);
  const known = { ref, id: issuer?.id ?? '', name: issuer?.name };
  await refuseDeniedNow(caller, ownPaths(caller, 'issuer', known, LOOKED_UP));
  return issuer?.id ?? ref;
}

function parseCursor(text: string | undefined): CertificateQuery['after'] {
  if (text === undefined || text === '') return undefined;
  const [, end, serial] = /^(\d{1,15})\/([0-9a-f:]+)$/.exec(text) ?? [];
  if (end === undefined || serial === undefined) {
    throw new Failure('invalid', 'after is not the "next" of an earlier answer');
  }
  return { not_after: Number(end), serial };
}
