/** Extensions of certificates: what each is made of, and reading it back (RFC 5280 §4.2). */

import { Failure } from '../core/failure.ts';
import {
  boolean,
  contextConstructed,
  contextPrimitive,
  header,
  integer,
  isOid,
  namedBitString,
  octetString,
  oid,
  sequence,
  TAG,
} from './der.ts';
import {
  children,
  DerError,
  DerFields,
  type DerValue,
  expect,
  readAscii,
  readBoolean,
  readDer,
  readNamedBits,
  readOid,
  readSmallInteger,
} from './der-reader.ts';
import {
  asciiName,
  encodeSubjectAltName,
  GENERAL_NAME_TAG,
  type SubjectAltNames,
} from './general-names.ts';
import { ACCESS_OID, EXT_KEY_USAGE_OID, EXTENSION_OID } from './oids.ts';

export interface Extension {
  oid: string;
  critical: boolean;
  /** DER of the extension's own type: what the OCTET STRING holds. */
  value: Uint8Array;
}

const TRUE = boolean(true);
const NOTHING = new Uint8Array(0);

/** The SEQUENCE of extensions, without the context tag that certificates and lists put around it. */
export function encodeExtensions(extensions: readonly Extension[]): Uint8Array {
  // Headers apart from contents, so that nothing is copied twice: this is on the path of every leaf.
  const parts: Uint8Array[] = [];
  for (const { oid: type, critical, value } of extensions) {
    const name = oid(type);
    const wrapper = header(TAG.octetString, value.length);
    const flag = critical ? TRUE : NOTHING;
    const length = name.length + flag.length + wrapper.length + value.length;
    parts.push(header(TAG.sequence, length), name, flag, wrapper, value);
  }
  return sequence(...parts);
}

/** More than any certificate has. */
const MAX_EXTENSIONS = 100;

/**
 * Reads a SEQUENCE of extensions; their values are left as they are.
 *
 * @throws DerError also when an extension comes twice (RFC 5280 §4.2), and for more than 100
 */
export function parseExtensions(value: DerValue): Extension[] {
  const found: Extension[] = [];
  const seen = new Set<string>();
  for (const item of children(expect(value, TAG.sequence))) {
    const fields = new DerFields(item);
    const type = readOid(fields.take());
    // DER leaves a false out; many have written it nevertheless, and all readers take it.
    const critical = fields.tag === TAG.boolean && readBoolean(fields.take());
    const content = fields.take(TAG.octetString).content;
    fields.end();
    if (seen.has(type)) throw new DerError(`the extension ${type} comes twice`);
    if (found.length === MAX_EXTENSIONS)
      throw new DerError(`more than ${MAX_EXTENSIONS} extensions`);
    seen.add(type);
    found.push({ oid: type, critical, value: content });
  }
  return found;
}

export function findExtension(
  extensions: readonly Extension[],
  type: string,
): Extension | undefined {
  return extensions.find((extension) => extension.oid === type);
}

/** Names of key usages as the API spells them, each at the place of its bit (RFC 5280 §4.2.1.3). */
export const KEY_USAGE_NAMES = [
  'DigitalSignature',
  'ContentCommitment',
  'KeyEncipherment',
  'DataEncipherment',
  'KeyAgreement',
  'CertSign',
  'CRLSign',
  'EncipherOnly',
  'DecipherOnly',
] as const;
export type KeyUsage = (typeof KEY_USAGE_NAMES)[number];

const fold = (name: string): string => name.trim().toLowerCase();
const KEY_USAGE_BITS = new Map(KEY_USAGE_NAMES.map((name, bit) => [fold(name), bit]));
const keyUsageCache = new Map<number, Extension>();

/**
 * keyUsage, critical, of names in any case; unknown names are ignored.
 *
 * @returns undefined when no known name is left, since an empty extension is not allowed
 */
export function keyUsage(names: readonly string[]): Extension | undefined {
  let mask = 0;
  for (const name of names) {
    const bit = KEY_USAGE_BITS.get(fold(name));
    if (bit !== undefined) mask |= 1 << bit;
  }
  if (mask === 0) return undefined;
  const known = keyUsageCache.get(mask);
  if (known) return known;
  const bits = KEY_USAGE_NAMES.keys().filter((bit) => (mask & (1 << bit)) !== 0);
  const extension = {
    oid: EXTENSION_OID.keyUsage,
    critical: true,
    value: namedBitString([...bits]),
  };
  keyUsageCache.set(mask, extension);
  return extension;
}

/** Names of the usages that are set, in the order of their bits; bits beyond RFC 5280 have none. */
export function parseKeyUsage(value: Uint8Array): KeyUsage[] {
  return readNamedBits(readDer(value)).flatMap((bit) => KEY_USAGE_NAMES[bit] ?? []);
}

/** Names of extended key usages as the API spells them, in the order certificates list them. */
export const EXT_KEY_USAGE_NAMES: readonly string[] = Object.keys(EXT_KEY_USAGE_OID);

const EXT_KEY_USAGES = Object.entries(EXT_KEY_USAGE_OID).map(
  ([name, type]) => [fold(name), type] as const,
);

/** OIDs for names in any case, each once, in the order certificates list them; unknown names are ignored. */
export function extKeyUsageOids(names: readonly string[]): string[] {
  const wanted = new Set(names.map(fold));
  return EXT_KEY_USAGES.flatMap(([name, type]) => (wanted.has(name) ? type : []));
}

/**
 * extKeyUsage of OIDs in the order given, each once.
 *
 * @returns undefined for none
 * @throws Failure `invalid` for a text that is no OID
 */
export function extKeyUsage(oids: readonly string[]): Extension | undefined {
  if (oids.length === 0) return undefined;
  const encoded = [...new Set(oids)].map((type) => requireOid(type, 'ext_key_usage_oids'));
  return { oid: EXTENSION_OID.extKeyUsage, critical: false, value: sequence(...encoded) };
}

/** OBJECT IDENTIFIER. @throws Failure `invalid`, naming the field, for a text that is none */
export function requireOid(text: string, field: string): Uint8Array {
  if (!isOid(text)) {
    const shown = JSON.stringify(text.slice(0, 128));
    throw new Failure('invalid', `${field}: ${shown} is not an object identifier such as 1.2.3.4`, {
      fields: { [field]: 'object identifiers in dotted form are accepted' },
    });
  }
  return oid(text);
}

export function parseExtKeyUsage(value: Uint8Array): string[] {
  const oids = children(expect(readDer(value), TAG.sequence)).map((item) => readOid(item));
  if (oids.length === 0) throw new DerError('an extKeyUsage without purposes');
  return oids;
}

export interface BasicConstraints {
  ca: boolean;
  /** How many CA certificates may follow; absent for no limit. */
  pathLength?: number;
}

const NOT_CA = sequence();

/** basicConstraints, critical. A path length only means something for an authority (§4.2.1.9). */
export function basicConstraints({ ca, pathLength }: BasicConstraints): Extension {
  const value = !ca
    ? NOT_CA
    : pathLength === undefined
      ? sequence(TRUE)
      : sequence(TRUE, integer(pathLength));
  return { oid: EXTENSION_OID.basicConstraints, critical: true, value };
}

export function parseBasicConstraints(value: Uint8Array): BasicConstraints {
  const fields = new DerFields(readDer(value));
  const ca = fields.tag === TAG.boolean && readBoolean(fields.take());
  const length = fields.takeIf(TAG.integer);
  fields.end();
  if (!length) return { ca };
  if (!ca) throw new DerError('a path length for a certificate that is no authority');
  return { ca, pathLength: readSmallInteger(length, 0x7fffffff) };
}

export function subjectKeyIdentifier(identifier: Uint8Array): Extension {
  return {
    oid: EXTENSION_OID.subjectKeyIdentifier,
    critical: false,
    value: octetString(identifier),
  };
}

/** Longest key identifier that is read; SHA-1 gives 20 bytes, SHA-512 64. */
const MAX_KEY_IDENTIFIER_BYTES = 128;

export function parseSubjectKeyIdentifier(value: Uint8Array): Uint8Array {
  return checkKeyIdentifier(expect(readDer(value), TAG.octetString).content);
}

function checkKeyIdentifier(identifier: Uint8Array): Uint8Array {
  if (identifier.length === 0 || identifier.length > MAX_KEY_IDENTIFIER_BYTES) {
    throw new DerError(`a key identifier of ${identifier.length} bytes`);
  }
  return identifier;
}

/** authorityKeyIdentifier holding the issuer's key identifier only (§4.2.1.1). */
export function authorityKeyIdentifier(identifier: Uint8Array): Extension {
  return {
    oid: EXTENSION_OID.authorityKeyIdentifier,
    critical: false,
    value: sequence(contextPrimitive(0, identifier)),
  };
}

/** The key identifier, undefined when the extension names issuer and serial number only. */
export function parseAuthorityKeyIdentifier(value: Uint8Array): Uint8Array | undefined {
  const fields = new DerFields(readDer(value));
  const identifier = fields.takeIf(0x80)?.content;
  fields.takeIf(0xa1);
  fields.takeIf(0x82);
  fields.end();
  return identifier && checkKeyIdentifier(identifier);
}

export interface AccessUrls {
  ocsp: readonly string[];
  caIssuers: readonly string[];
}

/** authorityInfoAccess: responders first, then issuer certificates; undefined when there are none. */
export function authorityInfoAccess({ ocsp, caIssuers }: AccessUrls): Extension | undefined {
  if (ocsp.length + caIssuers.length === 0) return undefined;
  const describe = (method: string, url: string, field: string): Uint8Array =>
    sequence(oid(method), asciiName(GENERAL_NAME_TAG.uri, url, field));
  return {
    oid: EXTENSION_OID.authorityInfoAccess,
    critical: false,
    value: sequence(
      ...ocsp.map((url) => describe(ACCESS_OID.ocsp, url, 'ocsp_servers')),
      ...caIssuers.map((url) => describe(ACCESS_OID.caIssuers, url, 'issuing_certificates')),
    ),
  };
}

/** The URLs; other access methods and other kinds of names are left out. */
export function parseAuthorityInfoAccess(value: Uint8Array): {
  ocsp: string[];
  caIssuers: string[];
} {
  const urls = { ocsp: [] as string[], caIssuers: [] as string[] };
  for (const item of children(expect(readDer(value), TAG.sequence))) {
    const fields = new DerFields(item);
    const method = readOid(fields.take());
    const location = fields.take();
    fields.end();
    if (location.tag !== GENERAL_NAME_TAG.uri) continue;
    if (method === ACCESS_OID.ocsp) urls.ocsp.push(readUri(location));
    if (method === ACCESS_OID.caIssuers) urls.caIssuers.push(readUri(location));
  }
  return urls;
}

/** cRLDistributionPoints, one for each URL; undefined for none. */
export function crlDistributionPoints(urls: readonly string[]): Extension | undefined {
  return distributionPoints(EXTENSION_OID.cRLDistributionPoints, urls, 'crl_distribution_points');
}

/** freshestCRL: where the delta lists are; undefined for none (§4.2.1.15). */
export function freshestCrl(urls: readonly string[]): Extension | undefined {
  return distributionPoints(EXTENSION_OID.freshestCRL, urls, 'delta_crl_distribution_points');
}

function distributionPoints(
  type: string,
  urls: readonly string[],
  field: string,
): Extension | undefined {
  if (urls.length === 0) return undefined;
  const points = urls.map((url) =>
    // DistributionPoint { [0] distributionPoint { [0] fullName { uri } } }
    sequence(
      contextConstructed(0, contextConstructed(0, asciiName(GENERAL_NAME_TAG.uri, url, field))),
    ),
  );
  return { oid: type, critical: false, value: sequence(...points) };
}

/** URLs of full names, of cRLDistributionPoints and freshestCRL; whatever else they can say is left out. */
export function parseDistributionPoints(value: Uint8Array): string[] {
  const urls: string[] = [];
  for (const item of children(expect(readDer(value), TAG.sequence))) {
    const fields = new DerFields(item);
    const point = fields.takeIf(0xa0);
    fields.takeIf(0x81);
    fields.takeIf(0xa2);
    fields.end();
    for (const name of point ? children(point) : []) {
      if (name.tag !== 0xa0) continue;
      for (const uri of children(name)) {
        if (uri.tag === GENERAL_NAME_TAG.uri) urls.push(readUri(uri));
      }
    }
  }
  return urls;
}

function readUri(name: DerValue): string {
  return readAscii(expect(name, GENERAL_NAME_TAG.uri));
}

/** subjectAltName; critical when the subject is empty, since nothing else names it then (§4.2.1.6). */
export function subjectAltName(names: SubjectAltNames, critical: boolean): Extension {
  return { oid: EXTENSION_OID.subjectAltName, critical, value: encodeSubjectAltName(names) };
}
