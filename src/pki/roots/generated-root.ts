import type { KeyObject } from 'node:crypto';
import { z } from 'zod';
import { encodePem } from '../../core/pem.ts';
import { encodePrivateKey } from '../../x509/private-keys.ts';
import { encodeCertificatePem } from '../mount-state/issuer.ts';
import type { RootRequest } from '../profile/root.ts';

/** What is answered of a root that was made. */
export const generatedRoot = z.object({
  certificate: z.string().describe('In the format asked for.'),
  issuing_ca: z.string().describe('The certificate without its key.'),
  serial_number: z.string().describe('Colon hex.'),
  expiration: z.int().describe('Unix seconds.'),
  issuer_id: z.string(),
  issuer_name: z.string().describe('Empty for none.'),
  key_id: z.string(),
  key_name: z.string().describe('Empty for none.'),
  private_key: z.string().optional().describe('Only with "exported".'),
  private_key_type: z.string().optional().describe('Only with "exported".'),
});
export type GeneratedRoot = z.output<typeof generatedRoot>;

/** The certificate, and the private key where it is handed out, in the form that is asked for. */
export function encodeRoot(
  der: Uint8Array,
  private_key: KeyObject | undefined,
  { format, private_key_format }: RootRequest,
) {
  const certificate = format === 'der' ? base64(der) : encodeCertificatePem(der);
  if (!private_key) return { certificate, issuing_ca: certificate };
  const form = private_key_format === 'pkcs8' ? 'pkcs8' : 'traditional';
  const block = encodePrivateKey(private_key, form);
  const traditional = encodePrivateKey(private_key, 'traditional');
  return {
    certificate:
      format === 'pem_bundle'
        ? `${encodePem(traditional.label, traditional.der)}\n${certificate}`
        : certificate,
    issuing_ca: certificate,
    private_key: format === 'der' ? base64(block.der) : encodePem(block.label, block.der),
    private_key_type: private_key.asymmetricKeyType ?? '',
  };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');
}
