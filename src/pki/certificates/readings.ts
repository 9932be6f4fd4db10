import { formatTimestampMs, type Issuer, pemOf } from '../mount-state/issuer.ts';
import type { MountState } from '../mount-state/state.ts';

/** The answer to a read of a certificate. */
export interface CertificateReading {
  /** PEM, without a newline at its end. */
  certificate: string;
  /** Unix seconds; 0: not revoked. */
  revocation_time: number;
  revocation_time_rfc3339: string;
  /** Only of a revoked certificate whose issuer is known. */
  issuer_id?: string;
  ca_chain?: string;
}

/** What is read of a certificate, or of a chain, that cannot be revoked here. */
export function describeUnrevocable(certificate: string): CertificateReading {
  return { certificate, revocation_time: 0, revocation_time_rfc3339: '' };
}

/** @see P-108 */
export function describeCertificate(
  pem: string,
  stored: { revoked_at_ms: number | null; issuer_id: string },
): CertificateReading {
  const { revoked_at_ms, issuer_id } = stored;
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
  return issuer.chain.map(({ certificate }) => pemOf(certificate)).join('\n');
}

export function findDefaultIssuer({ issuers, defaults }: MountState): Issuer | undefined {
  return issuers.get(defaults.default_issuer);
}
