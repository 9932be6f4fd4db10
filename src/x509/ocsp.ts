/** OCSP (RFC 6960): reading requests, building what a responder signs, and the answer around it. */

import { hash } from 'node:crypto';
import { invalid } from '../core/failure.ts';
import { algorithmIdentifier, type SignatureAlgorithm } from './algorithms.ts';
import {
  bitString,
  contextConstructed,
  contextPrimitive,
  enumerated,
  generalizedTime,
  octetString,
  oid,
  sequence,
  TAG,
} from './der.ts';
import { readOid, readSmallInteger, readUnsigned, readWholeBitString } from './der-primitives.ts';
import {
  children,
  DerError,
  DerFields,
  type DerValue,
  expect,
  onlyChild,
  readDer,
} from './der-reader.ts';
import { HASH_OID } from './oids.ts';

/** Requests and their base64 text must be shorter than this many bytes. */
export const MAX_OCSP_REQUEST_BYTES = 2048;

/** Names as node:crypto has them. */
export type OcspHash = 'sha1' | 'sha256' | 'sha384' | 'sha512';

const HASHES: ReadonlyMap<string, { name: OcspHash; size: number }> = new Map([
  [HASH_OID.sha1, { name: 'sha1', size: 20 }],
  [HASH_OID.sha256, { name: 'sha256', size: 32 }],
  [HASH_OID.sha384, { name: 'sha384', size: 48 }],
  [HASH_OID.sha512, { name: 'sha512', size: 64 }],
]);

const NONCE = '1.3.6.1.5.5.7.48.1.2';
const BASIC_RESPONSE = '1.3.6.1.5.5.7.48.1.1';
/** RFC 9654 §2.1; requests with a longer or an empty nonce are malformed. */
const MAX_NONCE_BYTES = 128;

/** Which certificate is asked about (RFC 6960 §4.1.1). */
interface CertId {
  hashAlgorithm: OcspHash;
  issuerNameHash: Uint8Array;
  issuerKeyHash: Uint8Array;
  /** Big-endian magnitude. */
  serialNumber: Uint8Array;
  /** The CertID as sent. The answer repeats it byte for byte, since clients compare it so. */
  raw: Uint8Array;
}

export interface OcspRequest {
  /** The first one where several are asked about. */
  certId: CertId;
  /**
   * The nonce extension's value, to be repeated as it is. Mostly an OCTET STRING of 1 to 128 bytes
   * (RFC 9654 §2.1), but bare bytes from clients that predate RFC 8954.
   */
  nonce?: Uint8Array;
}

/**
 * Reads a request. Its signature, requestor name and extensions other than the nonce are passed over.
 *
 * @throws Failure `invalid` for whatever is not such a request: to be answered with `malformedRequest`
 * @see RFC 6960 §4.1.1
 */
export function parseOcspRequest(der: Uint8Array): OcspRequest {
  const outer = new DerFields(readDer(der, MAX_OCSP_REQUEST_BYTES - 1));
  const tbs = new DerFields(outer.take(TAG.sequence));
  outer.takeIf(0xa0); // optionalSignature: anybody may ask
  outer.end();

  const version = tbs.takeIf(0xa0);
  if (version) readSmallInteger(onlyChild(version), 0);
  tbs.takeIf(0xa1); // requestorName
  const [first] = children(tbs.take(TAG.sequence));
  const extensions = tbs.takeIf(0xa2);
  tbs.end();

  const request = new DerFields(expect(first, TAG.sequence));
  const certId = parseCertId(request.take(TAG.sequence));
  request.takeIf(0xa0); // singleRequestExtensions
  request.end();

  const nonce = extensions && findNonce(extensions);
  return nonce === undefined ? { certId } : { certId, nonce };
}

function parseCertId(value: DerValue): CertId {
  const fields = new DerFields(value);
  const algorithm = new DerFields(fields.take(TAG.sequence));
  const id = readOid(algorithm.take());
  algorithm.takeIf(TAG.null);
  algorithm.end();
  const issuerNameHash = fields.take(TAG.octetString).content;
  const issuerKeyHash = fields.take(TAG.octetString).content;
  const serialNumber = readUnsigned(fields.take());
  fields.end();

  const hashAlgorithm = HASHES.get(id);
  if (!hashAlgorithm) {
    throw new DerError('the CertID has a hash other than SHA-1, SHA-256, SHA-384 and SHA-512');
  }
  const { name, size } = hashAlgorithm;
  if (issuerNameHash.length !== size || issuerKeyHash.length !== size) {
    throw new DerError('the CertID has a hash that is not as long as its algorithm makes it');
  }
  return {
    hashAlgorithm: name,
    issuerNameHash,
    issuerKeyHash,
    serialNumber,
    raw: value.raw,
  };
}

function findNonce(explicit: DerValue): Uint8Array | undefined {
  let nonce: Uint8Array | undefined;
  for (const extension of children(expect(onlyChild(explicit), TAG.sequence))) {
    const fields = new DerFields(extension);
    const id = readOid(fields.take());
    fields.takeIf(TAG.boolean);
    const { content } = fields.take(TAG.octetString);
    fields.end();
    if (id !== NONCE) continue;
    if (nonce) throw new DerError('the request has two nonces');
    nonce = content;
    const { length } = unwrapNonce(content);
    if (length === 0 || length > MAX_NONCE_BYTES) {
      throw new DerError(`a nonce has 1 to ${MAX_NONCE_BYTES} bytes`);
    }
  }
  return nonce;
}

/** The nonce itself: within its OCTET STRING, or bare. */
function unwrapNonce(value: Uint8Array): Uint8Array {
  const [tag, length] = value;
  const wrapped =
    tag === TAG.octetString &&
    ((length === value.length - 2 && length < 0x80) ||
      (length === 0x81 && value[2] === value.length - 3));
  return wrapped ? value.subarray(length === 0x81 ? 3 : 2) : value;
}

const BASE64_TEXT = /^[A-Za-z0-9+/_-]+={0,2}$/;

/**
 * Decodes the request in the path of a GET, e.g. `MFYwVKADAgEA…`.
 *
 * @param text the rest of the path after `ocsp/`, percent-decoded once, its slashes untouched: `//`
 *   is two characters of base64. Both base64 alphabets are read, padded or not.
 * @throws Failure `invalid`, to be answered with `malformedRequest`
 * @see RFC 6960 appendix A.1
 */
export function decodeOcspPath(text: string): Uint8Array {
  if (text.length >= MAX_OCSP_REQUEST_BYTES || !BASE64_TEXT.test(text)) {
    throw invalid(
      `an OCSP request in a path is base64 shorter than ${MAX_OCSP_REQUEST_BYTES} characters`,
    );
  }
  return Buffer.from(text, 'base64');
}

/**
 * What a CertID made with this hash says of an issuer.
 *
 * @param issuer its subject, DER of the Name
 * @param subjectPublicKeyInfo its key; the hash is over the BIT STRING's bytes only
 * @see RFC 6960 §4.1.1
 */
export function certIdHashes(
  issuer: Uint8Array,
  subjectPublicKeyInfo: Uint8Array,
  algorithm: OcspHash,
): Pick<CertId, 'issuerNameHash' | 'issuerKeyHash'> {
  const spki = new DerFields(readDer(subjectPublicKeyInfo));
  spki.take(TAG.sequence);
  const key = readWholeBitString(spki.take());
  return {
    issuerNameHash: hash(algorithm, issuer, 'buffer'),
    issuerKeyHash: hash(algorithm, key, 'buffer'),
  };
}

export type OcspStatus =
  | { status: 'good' }
  /** revocationTime in Unix seconds; a reason of 0 (unspecified) is left out. */
  | { status: 'revoked'; revocationTime: number; reason?: number }
  | { status: 'unknown' };

export interface BasicResponse {
  /** Subject of the responder's certificate, DER of the Name: the responderID byName. */
  responder: Uint8Array;
  /** Unix seconds, as all times here. */
  producedAt: number;
  /** As asked: {@link CertId.raw}. */
  certId: Uint8Array;
  status: OcspStatus;
  thisUpdate: number;
  /** Absent: newer information is available all the time (RFC 6960 §4.2.2.1). */
  nextUpdate?: number;
  /** As asked: {@link OcspRequest.nonce}. */
  nonce?: Uint8Array;
}

/** ResponseData, the bytes that are signed. @see RFC 6960 §4.2.1 */
export function encodeResponseData(response: BasicResponse): Uint8Array {
  const { responder, producedAt, certId, status, thisUpdate, nextUpdate, nonce } = response;
  const single = sequence(
    certId,
    encodeStatus(status),
    generalizedTime(thisUpdate),
    ...(nextUpdate === undefined ? [] : [contextConstructed(0, generalizedTime(nextUpdate))]),
  );
  const extensions =
    nonce === undefined
      ? []
      : [contextConstructed(1, sequence(sequence(oid(NONCE), octetString(nonce))))];
  return sequence(
    contextConstructed(1, responder),
    generalizedTime(producedAt),
    sequence(single),
    ...extensions,
  );
}

function encodeStatus(status: OcspStatus): Uint8Array {
  switch (status.status) {
    case 'good':
      return contextPrimitive(0, NOTHING);
    case 'unknown':
      return contextPrimitive(2, NOTHING);
    case 'revoked': {
      const { revocationTime, reason = 0 } = status;
      return contextConstructed(
        1,
        generalizedTime(revocationTime),
        ...(reason === 0 ? [] : [contextConstructed(0, enumerated(reason))]),
      );
    }
  }
}

const NOTHING = new Uint8Array(0);

/**
 * The whole answer, status successful, around signed ResponseData.
 *
 * @param certificate of a responder that is not the authority itself, DER
 * @see RFC 6960 §4.2.1
 */
export function assembleOcspResponse(
  responseData: Uint8Array,
  signatureAlgorithm: SignatureAlgorithm,
  signature: Uint8Array,
  certificate?: Uint8Array,
): Uint8Array {
  const basic = sequence(
    responseData,
    algorithmIdentifier(signatureAlgorithm),
    bitString(signature),
    ...(certificate ? [contextConstructed(0, sequence(certificate))] : []),
  );
  return sequence(
    enumerated(0),
    contextConstructed(0, sequence(oid(BASIC_RESPONSE), octetString(basic))),
  );
}

const unsuccessful = (status: number): Uint8Array => sequence(enumerated(status));

/** Whole answers, unsigned, for when there is nothing to say about a certificate (RFC 6960 §4.2.1). */
export const OCSP_ERRORS = {
  malformedRequest: unsuccessful(1),
  internalError: unsuccessful(2),
  tryLater: unsuccessful(3),
  sigRequired: unsuccessful(5),
  unauthorized: unsuccessful(6),
} as const;
