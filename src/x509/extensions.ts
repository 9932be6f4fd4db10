/** Extensions of certificates: what each is made of, and reading it back (RFC 5280 §4.2). */

import {
  boolean,
  contextPrimitive,
  header,
  integer,
  octetString,
  oid,
  sequence,
  TAG,
} from './der.ts';
import { readBoolean, readOid, readSmallInteger } from './der-primitives.ts';
import { children, DerError, DerFields, type DerValue, expect, readDer } from './der-reader.ts';
import { encodeSubjectAltName, type SubjectAltNames } from './general-names.ts';
import { EXTENSION_OID } from './oids.ts';

export interface Extension {
  oid: string;
  critical: boolean;
  /** DER of the extension's own type: what the OCTET STRING holds. */
  value: Uint8Array;
  /** The whole of it, where that is known: of one that many certificates have. */
  encoded?: Uint8Array;
}

const TRUE = boolean(true);
const NOTHING = new Uint8Array(0);

/** The SEQUENCE of extensions, without the context tag that certificates and CRLs put around it. */
export function encodeExtensions(extensions: readonly Extension[]): Uint8Array {
  return sequence(...extensionParts(extensions));
}

/** The extensions one after the other, headers apart from contents, so that nothing is copied twice. */
export function extensionParts(extensions: readonly Extension[]): Uint8Array[] {
  const parts: Uint8Array[] = [];
  for (const { oid: type, critical, value, encoded } of extensions) {
    if (encoded) {
      parts.push(encoded);
      continue;
    }
    const name = oid(type);
    const wrapper = header(TAG.octetString, value.length);
    const flag = critical ? TRUE : NOTHING;
    const length = name.length + flag.length + wrapper.length + value.length;
    parts.push(header(TAG.sequence, length), name, flag, wrapper, value);
  }
  return parts;
}

/** The same extension, whole: for one that many certificates have. */
export function withEncoding(extension: Extension): Extension {
  const [first = NOTHING, ...others] = extensionParts([extension]);
  return { ...extension, encoded: Buffer.concat([first, ...others]) };
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

export interface BasicConstraints {
  ca: boolean;
  /** How many CA certificates may follow; absent for no limit. */
  pathLength?: number;
}

const NOT_CA = sequence();

/** basicConstraints, critical. A path length only means something for a CA (§4.2.1.9). */
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

/** subjectAltName; critical when the subject is empty, since nothing else names it then (§4.2.1.6). */
export function subjectAltName(names: SubjectAltNames, critical: boolean): Extension {
  return { oid: EXTENSION_OID.subjectAltName, critical, value: encodeSubjectAltName(names) };
}
