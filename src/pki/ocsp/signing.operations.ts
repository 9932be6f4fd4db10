import { signInTurn } from '../../access/concurrency/signatures.operations.ts';
import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import {
  chooseSignatureAlgorithm,
  type SignatureAlgorithm,
  withoutPss,
} from '../../x509/algorithms.ts';
import {
  assembleOcspResponse,
  encodeResponseData,
  type OcspRequest,
  type OcspStatus,
} from '../../x509/ocsp.ts';
import { chooseCrlAlgorithm } from '../crl/algorithm.ts';
import { type CrlConfig, crlDurations } from '../crl/config.ts';
import { signWith, signWithKey } from '../keys/signing.operations.ts';
import { type Issuer, mayIssue } from '../mount-state/issuer.ts';
import type { Key } from '../mount-state/key.ts';
import { requireDelegate } from './delegate.operations.ts';
import { chooseDelegateSubject } from './delegate.ts';
import type { KeptAnswer } from './kept-answers.ts';

/** Who answers, and what. */
export interface Chosen {
  issuer: Issuer;
  key: Key;
  status: OcspStatus;
}

export interface AnswerParts {
  request: OcspRequest;
  responder: Chosen;
  config: CrlConfig;
  /** Unix seconds. */
  now: number;
}

/**
 * The name of the responder that answers in place of the issuer: of none where there is to be none, nor of an issuer that has
 * ended or whose certificate lets it sign no others, nor where constraints on names stop it. Nobody takes such a
 * certificate, nor what its key says.
 */
const findDelegateSubject = (parts: AnswerParts): Uint8Array | undefined =>
  mayDelegate(parts) ? chooseDelegateSubject(parts.responder.issuer) : undefined;

const mayDelegate = ({ config, responder: { issuer }, now }: AnswerParts): boolean =>
  config.ocsp_delegated_responder &&
  now < issuer.certificate.notAfter &&
  mayIssue(issuer.certificate);

/** Issuers of which it was told that they answer by themselves; one that has changed is another object. */
const toldOf = perApp(() => new WeakSet<Issuer>());

function tellBarred(app: App, mount_id: string, issuer: Issuer): void {
  const told = toldOf(app);
  if (told.has(issuer)) return;
  told.add(issuer);
  app.log.warn(
    { mount_id, issuer_id: issuer.id },
    'no responder can answer OCSP for an issuer, as name constraints above it let no certificate of one pass: it answers by itself',
  );
}

export const isDelegated = (parts: AnswerParts): boolean =>
  findDelegateSubject(parts) !== undefined;

/** Signs an answer, by the issuer or by its responder. */
export async function signResponse(
  app: App,
  caller: Caller,
  parts: AnswerParts,
): Promise<Pick<KeptAnswer, 'body' | 'until'>> {
  const { responder, config, now } = parts;
  const { issuer, key } = responder;
  const { ocsp_expiry } = crlDurations(config);
  const subject = findDelegateSubject(parts);
  if (!subject) {
    if (mayDelegate(parts)) tellBarred(app, caller.mount.id, issuer);
    const until = ocsp_expiry > 0 ? now + ocsp_expiry : undefined;
    const data = encodeData(parts, issuer.certificate.subject, until);
    const algorithm = responseAlgorithm(issuer, key);
    const signature = await signInTurn(app, caller, key, () =>
      signWithKey(app, caller.mount.id, key, algorithm, data),
    );
    return { body: assembleOcspResponse(data, algorithm, signature), until };
  }
  const delegate = await requireDelegate(app, caller, { issuer, key, subject, ocsp_expiry, now });
  const { description, private_key } = delegate;
  const until = ocsp_expiry > 0 ? Math.min(now + ocsp_expiry, delegate.not_after) : undefined;
  const data = encodeData(parts, delegate.subject, until);
  const algorithm = chooseSignatureAlgorithm(description);
  const signature = await signInTurn(app, caller, description, async () =>
    signWith(private_key, description, algorithm, data),
  );
  return { body: assembleOcspResponse(data, algorithm, signature, delegate.certificate), until };
}

function encodeData(
  { request, responder, now }: AnswerParts,
  name: Uint8Array,
  until: number | undefined,
): Uint8Array {
  return encodeResponseData({
    responder: name,
    producedAt: now,
    certId: request.certId.raw,
    status: responder.status,
    thisUpdate: now,
    ...(until === undefined ? {} : { nextUpdate: until }),
    ...(request.nonce ? { nonce: request.nonce } : {}),
  });
}

/** Many OCSP clients cannot verify PSS, so CRLs may use it and answers do not, unless the key can do nothing else. */
function responseAlgorithm(issuer: Issuer, key: Key): SignatureAlgorithm {
  const own = issuer.settings.revocation_signature_algorithm;
  if (key.pss !== undefined) return chooseCrlAlgorithm(issuer, key);
  return own === '' ? chooseSignatureAlgorithm(key) : withoutPss(own);
}
