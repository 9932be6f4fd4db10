import { memoizeWeak } from '../../core/memoize-weak.ts';
import { nullValue } from '../../x509/der.ts';
import type { KeyDescription } from '../../x509/keys.ts';
import { EXT_KEY_USAGE_OID, EXTENSION_OID } from '../../x509/oids.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import { NO_URLS } from '../mount-state/urls.ts';
import { chooseOwnSubject } from '../profile/own-subject.ts';
import type { CertificatePlan, Signer } from '../profile/plan.ts';

/** A responder's certificate is for a week, unless its answers are for longer. */
const LIFETIME = 7 * 86_400;
/** Others' clocks may be late. */
const BACKDATED = 300;

/** When a responder's certificate begins and ends, and from when on another is to be made. Unix seconds. */
interface DelegateValidity {
  not_before: number;
  not_after: number;
  renewed_at: number;
}

/**
 * @param ocsp_expiry seconds that an answer is good for: the certificate is to be, as long as that
 * @param issuer_end Unix seconds
 */
export function planDelegateValidity(
  now: number,
  ocsp_expiry: number,
  issuer_end: number,
): DelegateValidity {
  const lifetime = Math.max(LIFETIME, 3 * ocsp_expiry);
  const not_after = Math.min(now + lifetime, issuer_end);
  const spare = Math.max(lifetime / 3, ocsp_expiry);
  // Where the issuer ends first there is no longer one to be had.
  const renewed_at = not_after === issuer_end ? not_after : not_after - spare;
  return { not_before: now - BACKDATED, not_after, renewed_at: Math.floor(renewed_at) };
}

/** What kind of key answers for an issuer: as strong as its own, and quick. */
export function chooseDelegateKey(issuer: KeyDescription): KeyDescription {
  if (issuer.key_type === 'rsa') return { key_type: 'ec', key_bits: 256 };
  return issuer.key_type.startsWith('slhdsa') ? { key_type: 'mldsa', key_bits: 65 } : issuer;
}

/** What an issuer's responder is called; undefined where no certificate of it would be taken beneath the issuer. */
export const chooseDelegateSubject = memoizeWeak((issuer: Issuer) =>
  chooseOwnSubject(issuer, `OCSP Responder ${issuer.id}`),
);

/** The certificate of a responder. @param subject DER of the Name @see RFC 6960 §4.2.2.2 */
export function planDelegate(
  signer: Signer,
  subject: Uint8Array,
  { not_before, not_after }: Pick<DelegateValidity, 'not_before' | 'not_after'>,
): CertificatePlan {
  return {
    subject,
    names: { dns: [], email: [], ip: [], uri: [], other: [] },
    signer,
    notBefore: not_before,
    notAfter: not_after,
    key_usage: ['DigitalSignature'],
    ext_key_usage: [EXT_KEY_USAGE_OID.OCSPSigning],
    // Whoever asks by it would be answered by it.
    urls: NO_URLS,
    name_constraints: {},
    extra_extensions: [{ oid: EXTENSION_OID.ocspNoCheck, critical: false, value: nullValue() }],
    signature_bits: 0,
    use_pss: false,
  };
}
