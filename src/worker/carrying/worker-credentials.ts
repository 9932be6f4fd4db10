import { encodePem } from '../../core/pem.ts';

/** What a worker proves itself by, and whom it trusts. */
export interface WorkerCredentials {
  /** PKCS #8, PEM. */
  key: string;
  /** DER. */
  certificate: Uint8Array;
  /** DER. */
  roots: readonly Uint8Array[];
}

/** As either end of TLS takes them. */
export const tlsOf = ({ key, certificate, roots }: WorkerCredentials) => ({
  key,
  cert: encodePem('CERTIFICATE', certificate),
  ca: roots.map((root) => encodePem('CERTIFICATE', root)),
  minVersion: 'TLSv1.3' as const,
});
