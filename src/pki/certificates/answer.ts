import { z } from 'zod';
import { encodePem, type PemBlock } from '../../core/pem.ts';
import { isSelfSigned } from '../../x509/certificate.ts';
import type { KeyType } from '../../x509/keys.ts';
import type { PrivateKeyForm } from '../../x509/private-keys.ts';
import { type ChainLink, pemOf } from '../mount-state/issuer.ts';
import type { Format } from '../profile/request.ts';

/** The answer to an issuance for a key that was there. */
export const signedSchema = z.object({
  certificate: z.string().describe('In the format asked for.'),
  issuing_ca: z.string(),
  ca_chain: z
    .array(z.string())
    .optional()
    .describe('The issuer first; left out where nothing is in it.'),
  serial_number: z.string().describe('Colon hex.'),
  expiration: z.int().describe('Unix seconds.'),
  authority_key_id: z.string().describe('Colon hex.'),
});

/** The answer to an issuance. */
export const issuedSchema = signedSchema.extend({
  private_key: z.string().optional().describe('Kept nowhere: this is the only copy.'),
  private_key_type: z.enum(['rsa', 'ec', 'ed25519']).optional(),
});
export type IssuedAnswer = z.output<typeof issuedSchema>;

/** A private key that was made for a certificate and is handed out with it. */
export interface HandedOutKey {
  key_type: KeyType;
  encode(form: PrivateKeyForm): PemBlock;
}

/**
 * Dresses an issued certificate, its chain and its key in the format that was asked for.
 *
 * @see P-48, P-49, P-50
 */
export function encodeIssued(issued: {
  der: Uint8Array;
  facts: Pick<IssuedAnswer, 'serial_number' | 'expiration' | 'authority_key_id'>;
  /** The issuer first. */
  chain: readonly ChainLink[];
  private_key?: HandedOutKey;
  request: { format: Format; private_key_format: string; remove_roots_from_chain: boolean };
}): IssuedAnswer {
  const { der, facts, chain, private_key, request } = issued;
  const { format } = request;
  const encode = (link: ChainLink): string =>
    format === 'der' ? base64(link.certificate.raw) : pemOf(link.certificate);
  const pem = encodePem('CERTIFICATE', der);
  const kept = request.remove_roots_from_chain
    ? chain.filter(({ certificate }) => !isSelfSigned(certificate))
    : chain;
  const [issuer] = chain;
  const answer: IssuedAnswer = {
    ...facts,
    certificate: format === 'der' ? base64(der) : pem,
    issuing_ca: issuer ? encode(issuer) : '',
  };
  if (kept.length > 0) answer.ca_chain = kept.map(encode);
  const bundle = [pem, ...kept.map(({ certificate }) => pemOf(certificate))];
  if (private_key) {
    const traditional = private_key.encode('traditional');
    const { label, der: key } =
      request.private_key_format === 'pkcs8' ? private_key.encode('pkcs8') : traditional;
    answer.private_key = format === 'der' ? base64(key) : encodePem(label, key);
    answer.private_key_type = private_key.key_type;
    // Inside the bundle the key keeps its traditional form, whatever was asked for outside.
    if (format === 'pem_bundle') bundle.unshift(encodePem(traditional.label, traditional.der));
  }
  if (format === 'pem_bundle') answer.certificate = bundle.join('\n');
  return answer;
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');
}
