import { CONTROL } from '../../../core/control-characters.ts';
import { withoutTrailing } from '../../../core/edges.ts';
import { Failure } from '../../../core/failure.ts';
import { findMadeLease, type MadeLease, madeLeaseOf, wholeSeconds } from './made.ts';

/** How a Vault server is reached, and as whom. */
export interface VaultConnection {
  /** `http://` or `https://`, with a path where the server has one. */
  address: string;
  namespace: string;
  /** PEM; empty: the system's. */
  ca_cert: string;
  tls_server_name: string;
  tls_skip_verify: boolean;
  client_certificate: string;
  client_certificate_key: string;
  token: string;
  /** Which workers it is asked through; empty or absent: this server asks itself. */
  worker_filter?: string;
}

/** What a Vault server answered. */
export interface VaultAnswer {
  lease_id: string;
  /** Seconds. */
  lease_duration: number;
  renewable: boolean;
  data: Readonly<Record<string, unknown>> | undefined;
  /** Of log-ins and renewals of tokens: how long the token lives from now on, seconds. */
  auth_duration: number | undefined;
  /** Of an answer without an envelope around its data. */
  body: Readonly<Record<string, unknown>>;
  /** Bytes that it takes besides its texts. */
  weight: number;
}

/**
 * Why there is no answer. `barred` (it may not be asked), `unreachable`, `untrusted` (its certificate), `misnamed` (the name in
 * it), `refused` (403), `status` (any other status), `malformed`, `busy` (too many are asked just now).
 */
export type VaultFaultKind =
  | 'barred'
  | 'unreachable'
  | 'untrusted'
  | 'misnamed'
  | 'refused'
  | 'status'
  | 'malformed'
  | 'busy';

export class VaultFault extends Error {
  readonly kind: VaultFaultKind;
  readonly status: number;
  /** What of the server's own words may be told. */
  readonly words: string;
  /** What the server made nevertheless: to be given back. */
  readonly made: MadeLease | undefined;

  constructor(
    kind: VaultFaultKind,
    message: string,
    { status = 0, words = '', made }: Partial<Pick<VaultFault, 'status' | 'words' | 'made'>> = {},
  ) {
    super(message);
    this.name = 'VaultFault';
    this.kind = kind;
    this.status = status;
    this.words = words;
    this.made = made;
  }
}

/** The TLS library would take a third of a second, or minutes, for them. */
export const slowCertificate = (): VaultFault =>
  new VaultFault(
    'untrusted',
    'a certificate takes long to verify: keys must be RSA, EC on a NIST curve or Ed25519, names of CRL distribution points ' +
      'whole and not relative, and name constraints at most 4 KiB in all',
  );

/** What a server says when it does not do what it was asked. */
export type Refusal = Pick<VaultFault, 'status' | 'words'>;

/** Of a lease's id, as of whatever is kept of an answer. */
const LONGEST_LEASE_ID = 2_048;
/** Values within values; those of a secret are one or two. */
const DEEPEST = 64;

/** What a client hears of a fault that is this server's own, and passes. */
export const refuseBusy = (fault: VaultFault): Failure =>
  new Failure('rate_limited', fault.message, { retry_after: 5 });

/**
 * @param text with no more values than are parsed in milliseconds
 * @param weight bytes that they take
 * @throws VaultFault `malformed`, with the lease of what was made
 */
export function parseVaultAnswer(text: string, weight = 0): VaultAnswer {
  const body = text === '' ? {} : findObject(text);
  const refuse = (message: string, made: MadeLease | undefined): VaultFault =>
    new VaultFault('malformed', message, { made });
  if (!body) throw refuse('the answer is no JSON object', findMadeLease(text));
  const { lease_id, lease_duration, renewable, data, auth } = body;
  if (isDeeper(data, DEEPEST)) throw refuse('the secret is nested too deep', madeLeaseOf(body));
  if (!canKeep(lease_id))
    throw refuse('the lease has an id that cannot be kept', madeLeaseOf(body));
  return {
    lease_id: typeof lease_id === 'string' ? lease_id : '',
    lease_duration: wholeSeconds(lease_duration) ?? 0,
    renewable: renewable === true,
    data: isRecord(data) ? data : undefined,
    auth_duration: wholeSeconds(isRecord(auth) ? auth.lease_duration : undefined),
    body,
    weight,
  };
}

/** No server makes others. */
const canKeep = (lease_id: unknown): boolean =>
  typeof lease_id !== 'string' || (lease_id.length <= LONGEST_LEASE_ID && !CONTROL.test(lease_id));

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((one) => isDeeper(one, levels - 1));
}

/** The object that a text is; undefined for anything else. */
export function findObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What went wrong beneath HTTP, by the code of the runtime's error. */
export function faultOfCode(code: string): VaultFault {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return new VaultFault('misnamed', 'the certificate of the Vault server has another name');
  }
  if (/CERT|VERIFY|SIGNED|UNTRUSTED|ISSUER|CRL|PURPOSE|CHAIN/.test(code)) {
    return new VaultFault('untrusted', `the certificate of the Vault server fails: ${code}`);
  }
  const why = code === '' || code === 'ABORT_ERR' ? 'it did not answer in time' : code;
  return new VaultFault('unreachable', `the Vault server cannot be reached: ${why}`);
}

/** Where a path of the API lies on a server. @throws VaultFault `malformed` for one that leads out of it */
export function urlOf(address: string, path: string): URL {
  const base = new URL(address);
  const [bare = '', query] = splitQuery(path);
  const segments = bare.split('/').filter((segment) => segment !== '');
  const outside = segments.some((segment) => /^(\.|%2e){1,2}$/i.test(segment));
  if (outside || segments.length === 0 || !/^[!-~]+$/.test(path) || /[#\\]/.test(path)) {
    throw new VaultFault('malformed', 'the path is not one of a Vault server');
  }
  base.pathname = `${withoutTrailing(base.pathname, '/')}/v1/${segments.join('/')}`;
  base.search = query ?? '';
  return base;
}

function splitQuery(path: string): [bare: string, query: string | undefined] {
  const mark = path.indexOf('?');
  return mark < 0 ? [path, undefined] : [path.slice(0, mark), path.slice(mark)];
}
