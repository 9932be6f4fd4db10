import { chooseSignatureAlgorithm, type SignatureAlgorithm } from '../../x509/algorithms.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import type { Key } from '../mount-state/key.ts';

/** How an issuer signs CRLs: as it was set, otherwise as fits its key and its own certificate. */
export function chooseCrlAlgorithm(
  issuer: Issuer,
  { key_type, key_bits }: Key,
): SignatureAlgorithm {
  const own = issuer.settings.revocation_signature_algorithm;
  if (own !== '') return own;
  const stored = issuer.certificate.signatureAlgorithm;
  return chooseSignatureAlgorithm({
    key_type,
    key_bits,
    use_pss: key_type === 'rsa' && (stored?.endsWith('PSS') ?? false),
  });
}
