import type { Caller } from '../../access/caller.ts';
import type { App } from '../../app.ts';
import { Failure } from '../../core/failure.ts';
import type { Answer } from '../../http/route.ts';
import {
  chooseSignatureAlgorithm,
  type SignatureAlgorithm,
  withoutPss,
} from '../../x509/algorithms.ts';
import {
  assembleOcspResponse,
  certIdHashes,
  encodeResponseData,
  OCSP_ERRORS,
  type OcspHash,
  type OcspRequest,
  type OcspStatus,
  parseOcspRequest,
} from '../../x509/ocsp.ts';
import { formatSerial } from '../../x509/serial.ts';
import { findIssuer } from '../authority/authority.ts';
import { readAuthority } from '../authority/operations.ts';
import { crlSeconds } from '../crl/config.ts';
import { readCrlConfig } from '../crl/operations.ts';
import type { Issuer } from '../issuers/issuer.ts';
import type { Key } from '../keys/key.ts';
import { signWithKey } from '../keys/operations.ts';
import { findRevocation } from '../revocation/store.ts';
import { chooseResponder, type Responder } from './responder.ts';

const RESPONSE_TYPE = 'application/ocsp-response';
const UNAUTHORIZED = { status: 401, body: OCSP_ERRORS.unauthorized };

/** Answers one request (RFC 6960 §2; contract 2.13, 3.6). Never throws for what a client sends. */
export async function respond(app: App, caller: Caller, der: Uint8Array): Promise<Answer> {
  const { status, body } = await respondBytes(app, caller, der);
  return { status, raw: { content_type: RESPONSE_TYPE, body } };
}

async function respondBytes(
  app: App,
  caller: Caller,
  der: Uint8Array,
): Promise<{ status: number; body: Uint8Array }> {
  try {
    const mount_id = caller.mount.id;
    const config = await readCrlConfig(app, mount_id);
    if (config.ocsp_disable) return UNAUTHORIZED;
    const request = parseOcspRequest(der);
    const responder = await chooseIssuer(app, mount_id, request);
    if (!responder) return UNAUTHORIZED;
    const expiry = crlSeconds(config, 'ocsp_expiry');
    return { status: 200, body: await signResponse(app, mount_id, { request, responder, expiry }) };
  } catch (error) {
    if (error instanceof Failure && error.kind === 'invalid') {
      return { status: 400, body: OCSP_ERRORS.malformedRequest };
    }
    if (error instanceof Failure && error.kind === 'unavailable') {
      return { status: 503, body: OCSP_ERRORS.tryLater };
    }
    app.log.error({ err: error }, 'an OCSP request failed');
    return { status: 500, body: OCSP_ERRORS.internalError };
  }
}

interface Chosen {
  issuer: Issuer;
  key: Key;
  status: OcspStatus;
}

async function chooseIssuer(
  app: App,
  mount_id: string,
  { certId }: OcspRequest,
): Promise<Chosen | undefined> {
  const authority = await readAuthority(app, mount_id);
  const revocation = await findRevocation(app.db, mount_id, formatSerial(certId.serialNumber));
  const hashes = await issuerHashes(app, mount_id, certId.hashAlgorithm);
  const candidates = [...authority.issuers.values()].flatMap((issuer): Responder[] => {
    const key = authority.keys.get(issuer.key_id);
    const known = hashes.get(issuer.id);
    if (!key || !known) return [];
    const matches =
      Buffer.compare(known.issuerNameHash, certId.issuerNameHash) === 0 &&
      Buffer.compare(known.issuerKeyHash, certId.issuerKeyHash) === 0;
    return [{ issuer, key, matches }];
  });
  const responder = chooseResponder(candidates, findIssuer(authority, 'default')?.id);
  if (!responder) return undefined;
  const { issuer, key } = responder;
  if (!responder.matches) return { issuer, key, status: { status: 'unknown' } };
  // A serial number is unique in its mount, so a revocation by another issuer is not this one's.
  const isTheirs =
    revocation !== undefined &&
    (!authority.issuers.has(revocation.issuer_id) ||
      candidates.some(({ matches, issuer: { id } }) => matches && id === revocation.issuer_id));
  if (!revocation || !isTheirs) return { issuer, key, status: { status: 'good' } };
  return {
    issuer,
    key,
    status: {
      status: 'revoked',
      revocationTime: Math.floor(revocation.revoked_at_ms / 1000),
      reason: revocation.reason,
    },
  };
}

function issuerHashes(app: App, mount_id: string, algorithm: OcspHash) {
  return app.cached(`pki/ocsp/${mount_id}/${algorithm}`, async () => {
    const { issuers } = await readAuthority(app, mount_id);
    return new Map(
      [...issuers.values()].map(({ id, certificate }) => [
        id,
        certIdHashes(certificate.subject, certificate.subjectPublicKeyInfo, algorithm),
      ]),
    );
  });
}

async function signResponse(
  app: App,
  mount_id: string,
  answer: { request: OcspRequest; responder: Chosen; expiry: number },
): Promise<Uint8Array> {
  const { request, responder, expiry } = answer;
  const { issuer, key, status } = responder;
  const now = Math.floor(app.now() / 1000);
  const data = encodeResponseData({
    responder: issuer.certificate.subject,
    producedAt: now,
    certId: request.certId.raw,
    status,
    thisUpdate: now,
    ...(expiry > 0 ? { nextUpdate: now + expiry } : {}),
    ...(request.nonce ? { nonce: request.nonce } : {}),
  });
  const algorithm = responseAlgorithm(issuer, key);
  return assembleOcspResponse(
    data,
    algorithm,
    await signWithKey(app, mount_id, key, algorithm, data),
  );
}

/** Many OCSP clients cannot verify PSS, so lists may use it and answers do not. */
function responseAlgorithm(issuer: Issuer, key: Key): SignatureAlgorithm {
  const own = issuer.settings.revocation_signature_algorithm;
  return own === '' ? chooseSignatureAlgorithm(key) : withoutPss(own);
}
