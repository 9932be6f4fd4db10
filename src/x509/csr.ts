/** Certificate signing requests: PKCS #10 (RFC 2986), reading and building. */

import { Failure, invalid } from '../core/failure.ts';
import { parsePem } from '../core/pem.ts';
import {
  parseAlgorithmIdentifier,
  type SignatureAlgorithm,
  verify,
  verifyAsync,
} from './algorithms.ts';
import { readSigned } from './certificate.ts';
import { contextConstructed, integer, oid, sequence, setOf, TAG } from './der.ts';
import { readOid, readSmallInteger } from './der-primitives.ts';
import {
  children,
  DerError,
  DerFields,
  type DerValue,
  onlyChild,
  readDer,
  requireWellFormed,
} from './der-reader.ts';
import { type Extension, encodeExtensions, findExtension, parseExtensions } from './extensions.ts';
import { type ParsedAltNames, parseSubjectAltName } from './general-names.ts';
import { parsePublicKey } from './keys.ts';
import { type Name, parseName } from './names.ts';
import { EXTENSION_OID } from './oids.ts';

/** Longest request that is read, in bytes of DER; room for some thousand names. */
const MAX_CSR_BYTES = 128 << 10;
/** Longest text that has one, in characters: its PEM, and what tools write before it. @see P-341 */
const MAX_CSR_TEXT = 256 << 10;

const EXTENSION_REQUEST = '1.2.840.113549.1.9.14';
const LABELS = new Set(['CERTIFICATE REQUEST', 'NEW CERTIFICATE REQUEST']);

/** A request as read. All bytes are views into `raw`; nothing in it is proven yet. */
export interface Csr {
  raw: Uint8Array;
  /** CertificationRequestInfo, the bytes under the signature. */
  info: Uint8Array;
  /** Undefined for an algorithm that we do not verify. */
  signatureAlgorithm: SignatureAlgorithm | undefined;
  signature: Uint8Array;
  /** DER of the Name. */
  subject: Uint8Array;
  subjectName: Name;
  /** DER; whether it is a key we certify is for `describePublicKey` to say. */
  subjectPublicKeyInfo: Uint8Array;
  /** Those asked for by extensionRequest, in order, no OID twice. */
  extensions: Extension[];
  /** From the subjectAltName among them. */
  subjectAltNames: ParsedAltNames | undefined;
  /** OIDs of the other attributes, e.g. challengePassword; their values are not looked at. */
  otherAttributes: string[];
}

/**
 * Reads a request.
 *
 * @param input PEM text, which may have other blocks around the one request, or DER
 * @throws Failure `invalid`: `csr contains no data` for a text that is no PEM, else
 *   `certificate request could not be parsed` and why
 * @see RFC 2986 §4, RFC 2985 §5.4.2
 */
export function parseCsr(input: string | Uint8Array): Csr {
  const der = typeof input === 'string' ? findRequest(input) : input;
  try {
    return parseRequest(der);
  } catch (error) {
    if (error instanceof Failure) throw unparseable(error.message, error);
    throw error;
  }
}

function findRequest(text: string): Uint8Array {
  if (text.length > MAX_CSR_TEXT) {
    throw invalid(`csr of ${text.length} characters, at most ${MAX_CSR_TEXT} are accepted`);
  }
  let blocks: ReturnType<typeof parsePem>;
  try {
    blocks = parsePem(text);
  } catch (error) {
    if (error instanceof Failure) throw noData(error.message, error);
    throw error;
  }
  const [first] = blocks;
  if (!first) throw noData('no PEM block in it');
  const [request, second] = blocks.filter(({ label }) => LABELS.has(label));
  if (!request) throw unparseable(`a PEM block "${first.label}" instead of "CERTIFICATE REQUEST"`);
  if (second) throw unparseable('more than one request');
  return request.der;
}

const noData = (why: string, cause?: unknown): Failure =>
  invalid(`csr contains no data: ${why}`, { cause });

const unparseable = (why: string, cause?: unknown): Failure =>
  invalid(`certificate request could not be parsed: ${why}`, { cause });

function parseRequest(der: Uint8Array): Csr {
  const { signed: info, algorithm, signature } = readSigned(readDer(der, MAX_CSR_BYTES));

  const fields = new DerFields(info);
  readSmallInteger(fields.take(), 0);
  const subject = fields.take(TAG.sequence);
  const subjectPublicKeyInfo = fields.take(TAG.sequence);
  requireWellFormed(subjectPublicKeyInfo);
  // Required by RFC 2986, left out by some tools that have nothing to put there.
  const attributes = fields.takeIf(0xa0);
  fields.end();

  const { extensions, otherAttributes } = readAttributes(attributes);
  const subjectAltName = findExtension(extensions, EXTENSION_OID.subjectAltName);
  return {
    raw: der,
    info: info.raw,
    signatureAlgorithm: parseAlgorithmIdentifier(algorithm),
    signature,
    subject: subject.raw,
    subjectName: parseName(subject.raw),
    subjectPublicKeyInfo: subjectPublicKeyInfo.raw,
    extensions,
    subjectAltNames: subjectAltName && parseSubjectAltName(subjectAltName.value),
    otherAttributes,
  };
}

function readAttributes(attributes: DerValue | undefined): {
  extensions: Extension[];
  otherAttributes: string[];
} {
  let extensions: Extension[] | undefined;
  const otherAttributes: string[] = [];
  for (const attribute of attributes ? children(attributes) : []) {
    const fields = new DerFields(attribute);
    const id = readOid(fields.take());
    const values = fields.take(TAG.set);
    fields.end();
    if (id !== EXTENSION_REQUEST) {
      requireWellFormed(values);
      otherAttributes.push(id);
      continue;
    }
    // Two lists of extensions could disagree on what is asked for.
    if (extensions) throw new DerError('more than one extensionRequest');
    extensions = parseExtensions(onlyChild(values));
  }
  return { extensions: extensions ?? [], otherAttributes };
}

/**
 * Says whether the requester holds the private key: the signature is over the request, by its own key.
 *
 * @throws Failure `invalid` for a key that is not supported, as `parsePublicKey` does
 */
export function isCsrSignatureValid(csr: Csr): boolean {
  if (csr.signatureAlgorithm === undefined) return false;
  const publicKey = parsePublicKey(csr.subjectPublicKeyInfo);
  return verify(publicKey, csr.signatureAlgorithm, csr.info, csr.signature);
}

/** As {@link isCsrSignatureValid}, most of it in the thread pool. */
export async function verifyCsrSignature(csr: Csr): Promise<boolean> {
  if (csr.signatureAlgorithm === undefined) return false;
  const publicKey = parsePublicKey(csr.subjectPublicKeyInfo);
  return verifyAsync(publicKey, csr.signatureAlgorithm, csr.info, csr.signature);
}

export interface CsrInfo {
  /** DER of the Name. */
  subject: Uint8Array;
  /** DER. */
  subjectPublicKeyInfo: Uint8Array;
  /** Asked for by an extensionRequest attribute; none: no attribute. */
  extensions: readonly Extension[];
}

/**
 * CertificationRequestInfo, the bytes that are signed; `assembleSigned` makes the request of it.
 *
 * @see RFC 2986 §4.1
 */
export function encodeCsrInfo({ subject, subjectPublicKeyInfo, extensions }: CsrInfo): Uint8Array {
  const attributes =
    extensions.length === 0
      ? []
      : [sequence(oid(EXTENSION_REQUEST), setOf(encodeExtensions(extensions)))];
  return sequence(integer(0), subject, subjectPublicKeyInfo, contextConstructed(0, ...attributes));
}
