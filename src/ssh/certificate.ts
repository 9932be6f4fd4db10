import type { KeyObject } from 'node:crypto';
import {
  blobOfLine,
  keyFields,
  parsePublicKey,
  readKeyFields,
  type SshPublicKey,
} from './public-key.ts';
import { signatureAlgorithms, signSsh, verifySsh } from './signature.ts';
import { encodeString, encodeUint32, encodeUint64, WireReader } from './wire.ts';

// OpenSSH's certificates (`PROTOCOL.certkeys`).

const SUFFIX = '-cert-v01@openssh.com';
const NUMBERS = { user: 1, host: 2 } as const;
/** More names or options are no certificate that anybody makes. */
const MOST_NAMES = 256;

export type CertificateUse = keyof typeof NUMBERS;

/** What a certificate says of its key. */
export interface CertificateFields {
  serial: bigint;
  use: CertificateUse;
  key_id: string;
  /** Users or hosts. */
  principals: readonly string[];
  /** Unix seconds; before the first it is not valid yet, from the second on no longer. */
  valid_after: bigint;
  valid_before: bigint;
  critical_options: Readonly<Record<string, string>>;
  extensions: Readonly<Record<string, string>>;
}

export interface SshCertificate extends CertificateFields {
  /** Of the certificate, e.g. `ssh-ed25519-cert-v01@openssh.com`. */
  type: string;
  /** The key that it is about. */
  key: KeyObject;
  /** Type of that key. */
  key_type: string;
  /** Of the authority, whose signature is verified. */
  signed_by: SshPublicKey;
  /** As it is sent. */
  blob: Buffer;
}

/** Types of certificates that have keys of some type. */
export const certificateType = (key_type: string): string => `${key_type}${SUFFIX}`;

/** Type of the key in certificates of a type; undefined for what is no type of certificates. */
export function keyTypeOf(type: string): string | undefined {
  return type.endsWith(SUFFIX) ? type.slice(0, -SUFFIX.length) : undefined;
}

/** A certificate as it is sent, with a signature that is right; undefined for anything else. */
export function parseCertificate(blob: Uint8Array): SshCertificate | undefined {
  const read = new WireReader(blob);
  const type = read.name();
  const key_type = keyTypeOf(type);
  if (key_type === undefined) return undefined;
  read.string();
  const key = readKeyFields(key_type, read);
  if (!key) return undefined;
  const fields = readFields(read);
  read.string();
  const authority = read.string();
  const signed = Buffer.from(blob).subarray(0, read.position);
  const signature = read.string();
  if (!read.isDone || !fields) return undefined;
  const signed_by = parsePublicKey(authority);
  if (!signed_by || !verifySsh(signed_by, signed, signature).valid) return undefined;
  return { type, key, key_type, signed_by, blob: Buffer.from(blob), ...fields };
}

/** One line as `ssh-keygen` writes certificates, e.g. `ssh-ed25519-cert-v01@openssh.com AAAA… comment`. */
export function parseCertificateLine(line: string): SshCertificate | undefined {
  const blob = blobOfLine(line);
  return blob && parseCertificate(blob);
}

function readFields(read: WireReader): CertificateFields | undefined {
  const serial = read.uint64();
  const number = read.uint32();
  const key_id = read.utf8();
  const principals = readList(read.string());
  const valid_after = read.uint64();
  const valid_before = read.uint64();
  const critical_options = readOptions(read.string());
  const extensions = readOptions(read.string());
  const use = number === 1 ? 'user' : 'host';
  if (read.failed || NUMBERS[use] !== number) return undefined;
  if (!principals || !critical_options || !extensions) return undefined;
  const window = { valid_after, valid_before };
  return { serial, use, key_id, principals, ...window, critical_options, extensions };
}

function readList(bytes: Buffer): string[] | undefined {
  const read = new WireReader(bytes);
  const list: string[] = [];
  while (!read.isDone) {
    list.push(read.utf8());
    if (read.failed || list.length > MOST_NAMES) return undefined;
  }
  return list;
}

function readOptions(bytes: Buffer): Record<string, string> | undefined {
  const read = new WireReader(bytes);
  const options: [string, string][] = [];
  while (!read.isDone) {
    const name = read.utf8();
    const data = read.string();
    options.push([name, data.length === 0 ? '' : new WireReader(data).utf8()]);
    if (read.failed || options.length > MOST_NAMES) return undefined;
  }
  return Object.fromEntries(options);
}

/** Who signs a certificate, and by what. */
interface Authority {
  public_key: SshPublicKey;
  /** Random, so that nobody can choose what the authority signs. */
  nonce: Uint8Array;
  /** To sign with; where the authority's key has no such, or none is named, its best. */
  algorithm?: string;
}

/** Makes a certificate for a key. */
export function makeCertificate(
  subject: KeyObject,
  fields: CertificateFields,
  { key, ...authority }: Authority & { key: KeyObject },
): Buffer {
  const { signed, algorithm } = planCertificateBytes(subject, fields, authority);
  return attachSignature(signed, signSsh(key, algorithm, signed));
}

/** A certificate as far as it is signed, and the algorithm to sign it with. */
export function planCertificateBytes(
  subject: KeyObject,
  fields: CertificateFields,
  authority: Authority,
): { signed: Buffer; algorithm: string } {
  const { type, fields: ofKey } = keyFields(subject);
  const signed = Buffer.concat([
    encodeString(certificateType(type)),
    encodeString(authority.nonce),
    ofKey,
    encodeUint64(fields.serial),
    encodeUint32(NUMBERS[fields.use]),
    encodeString(fields.key_id),
    encodeString(Buffer.concat(fields.principals.map((name) => encodeString(name)))),
    encodeUint64(fields.valid_after),
    encodeUint64(fields.valid_before),
    encodeString(encodeOptions(fields.critical_options)),
    encodeString(encodeOptions(fields.extensions)),
    encodeString(''),
    encodeString(authority.public_key.blob),
  ]);
  const own = signatureAlgorithms(authority.public_key.type);
  const algorithm = own.find((name) => name === authority.algorithm) ?? own[0] ?? '';
  return { signed, algorithm };
}

export const attachSignature = (signed: Uint8Array, signature: Uint8Array): Buffer =>
  Buffer.concat([signed, encodeString(signature)]);

/** In the order of their names, as a certificate must have them. */
function encodeOptions(options: Readonly<Record<string, string>>): Buffer {
  const sorted = Object.entries(options).sort(([one], [other]) =>
    Buffer.compare(Buffer.from(one), Buffer.from(other)),
  );
  return Buffer.concat(
    sorted.flatMap(([name, value]) => [
      encodeString(name),
      encodeString(value === '' ? '' : encodeString(value)),
    ]),
  );
}

export type HostVerdict = { trusted: true } | { trusted: false; because: string };

/** What a host is known by. */
export interface KnownHost {
  /** Its keys. */
  keys: readonly SshPublicKey[];
  /** Keys of authorities whose certificates it may show. */
  authorities: readonly SshPublicKey[];
  /** As it was dialled, which its certificate must name. */
  name: string;
}

/** Whether a key, or a certificate, that a host shows is one that it is known by. */
export function judgeHostKey(blob: Uint8Array, host: KnownHost, now_ms: number): HostVerdict {
  const isSame = ({ blob: known }: SshPublicKey, shown: Uint8Array): boolean =>
    Buffer.compare(known, shown) === 0;
  if (host.keys.some((key) => isSame(key, blob))) return { trusted: true };
  const certificate = parseCertificate(blob);
  if (!certificate) return refuse('its host key is none of attributes.host_keys');
  const { signed_by, use, principals, valid_after, valid_before } = certificate;
  if (!host.authorities.some((key) => isSame(key, signed_by.blob))) {
    return refuse('its host certificate is of no authority of attributes.host_ca_keys');
  }
  if (use !== 'host') return refuse('it shows a certificate of a user');
  const now = BigInt(Math.floor(now_ms / 1000));
  if (now < valid_after || now >= valid_before) {
    return refuse('its host certificate is not valid at this time');
  }
  if (Object.keys(certificate.critical_options).length > 0) {
    return refuse('its host certificate has a critical option, and none is known for hosts');
  }
  const name = lowerAscii(host.name);
  return principals.some((pattern) => matches(lowerAscii(pattern), name))
    ? { trusted: true }
    : refuse('its host certificate does not name it');
}

/** Names of hosts are ASCII: no other letter becomes one of theirs (the Kelvin sign is a `k` in small letters). */
export const lowerAscii = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

const refuse = (because: string): HostVerdict => ({ trusted: false, because });

/** `*` stands for any characters, `?` for one; each position is gone back to once at the most. */
function matches(pattern: string, name: string): boolean {
  let [at, in_name, star, resumed] = [0, 0, -1, 0];
  while (in_name < name.length) {
    if (pattern[at] === '*') {
      star = at++;
      resumed = in_name;
    } else if (at < pattern.length && (pattern[at] === '?' || pattern[at] === name[in_name])) {
      at++;
      in_name++;
    } else if (star >= 0) {
      at = star + 1;
      in_name = ++resumed;
    } else return false;
  }
  while (pattern[at] === '*') at++;
  return at === pattern.length;
}
