import { z } from 'zod';
import { formatTimestampMs, type Issuer, pemOf } from '../mount-state/issuer.ts';
import type { StoredCertificate } from './store.ts';

export const CERTIFICATE_DER = 'application/pkix-cert';
export const CERTIFICATE_PEM = 'application/pem-certificate-chain';

/** The answer to a read of a certificate, or of what stands in its place. */
export const certificateReading = z.object({
  certificate: z.string().describe('PEM, without a newline at its end.'),
  revocation_time: z.int().describe('Unix seconds; 0: not revoked.'),
  revocation_time_rfc3339: z.string().describe('Empty: not revoked.'),
});
type CertificateReading = z.output<typeof certificateReading>;

/** What is read of a certificate, or of a chain, that cannot be revoked here. */
export function describeUnrevocable(certificate: string): CertificateReading {
  return { certificate, revocation_time: 0, revocation_time_rfc3339: '' };
}

/** @see P-108 */
export function describeCertificate(
  pem: string,
  { revoked_at_ms, issuer_id }: Pick<StoredCertificate, 'revoked_at_ms' | 'issuer_id'>,
): CertificateReading & { issuer_id?: string } {
  if (revoked_at_ms === null) return describeUnrevocable(pem);
  return {
    certificate: pem,
    revocation_time: Math.floor(revoked_at_ms / 1000),
    revocation_time_rfc3339: formatTimestampMs(revoked_at_ms),
    ...(issuer_id !== '' && { issuer_id }),
  };
}

/** PEM of the chain of an issuer, blocks one beneath the other. */
export function chainPem(issuer: Issuer): string {
  return issuer.chain.map(pemOf).join('\n');
}
