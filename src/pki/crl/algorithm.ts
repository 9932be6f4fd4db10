import {
  chooseSignatureAlgorithm,
  fitsKey,
  type SignatureAlgorithm,
} from '../../x509/algorithms.ts';
import { kindOf } from '../../x509/keys.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import type { Key } from '../mount-state/key.ts';

/** How an issuer signs CRLs: as it was set if its key can, otherwise as fits its key and its own certificate. */
export function chooseCrlAlgorithm(issuer: Issuer, key: Key): SignatureAlgorithm {
  const own = issuer.settings.revocation_signature_algorithm;
  const kind = kindOf(key);
  // What its device does may have been changed since.
  if (own !== '' && (kind.pss === undefined || fitsKey(own, kind))) return own;
  const stored = issuer.certificate.signatureAlgorithm;
  return chooseSignatureAlgorithm({
    ...kind,
    use_pss: kind.key_type === 'rsa' && (stored?.endsWith('PSS') ?? false),
  });
}
