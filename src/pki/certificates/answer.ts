import { z } from 'zod';
import { encodePem, type PemBlock } from '../../core/pem.ts';
import { isSelfSigned } from '../../x509/certificate.ts';
import type { KeyType } from '../../x509/keys.ts';
import type { PrivateKeyForm } from '../../x509/private-keys.ts';
import { KEY_TYPES } from '../fields/key-field-kinds.ts';
import { encodeCertificatePem, type Issuer, pemOf } from '../mount-state/issuer.ts';
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
export type SignedAnswer = z.output<typeof signedSchema>;

/** {@link signedSchema} of a certificate that is no CA's. */
export const signedLeafSchema = signedSchema.extend({
  not_before: z.int().describe('Unix seconds.'),
});
export type SignedLeafAnswer = z.output<typeof signedLeafSchema>;

/** The answer to an issuance with a key that was made for it. */
export const issuedSchema = signedLeafSchema.extend({
  private_key: z
    .string()
    .optional()
    .describe('Kept nowhere: this is the only copy. Left out where pkcs12 has it.'),
  pkcs12: z
    .string()
    .optional()
    .describe('Base64 of a PKCS #12 file with key, certificate and chain, under the password.'),
  private_key_type: z.enum(KEY_TYPES),
});
export type IssuedAnswer = z.output<typeof issuedSchema>;

/** A private key that was made for a certificate and is handed out with it. */
export interface HandedOutKey {
  key_type: KeyType;
  encode(form: PrivateKeyForm): PemBlock;
}

/**
 * Encodes an issued certificate and its chain in the format that was asked for.
 *
 * @see P-48, P-49
 */
export function encodeIssued(issued: {
  der: Uint8Array;
  facts: Pick<SignedAnswer, 'serial_number' | 'expiration' | 'authority_key_id'>;
  /** The issuer first. */
  chain: Issuer['chain'];
  request: { format: Format | 'pkcs12'; remove_roots_from_chain: boolean };
}): SignedAnswer {
  const { der, facts, chain, request } = issued;
  const kept = chainOf(chain, request);
  const encode = (certificate: (typeof chain)[number]): string =>
    request.format === 'der' ? base64(certificate.raw) : pemOf(certificate);
  const bundle = request.format === 'pem_bundle' ? kept.map(pemOf) : [];
  const [issuer] = chain;
  return {
    ...facts,
    certificate: [encodeCertificate(der, request.format), ...bundle].join('\n'),
    issuing_ca: issuer ? encode(issuer) : '',
    ...(kept.length > 0 && { ca_chain: kept.map(encode) }),
  };
}

/** A chain, without its roots where they are not wanted. */
export const chainOf = (
  chain: Issuer['chain'],
  { remove_roots_from_chain }: { remove_roots_from_chain: boolean },
): Issuer['chain'] =>
  remove_roots_from_chain ? chain.filter((certificate) => !isSelfSigned(certificate)) : chain;

/**
 * Puts a key into the answer that has its certificate, in the format that was asked for.
 *
 * @see P-50
 */
export function withPrivateKey<Answer extends { certificate: string }>(
  answer: Answer,
  key: HandedOutKey,
  { format, private_key_format }: { format: Format | 'pkcs12'; private_key_format: string },
): Answer & { private_key: string } & Pick<IssuedAnswer, 'private_key_type'> {
  return {
    ...answer,
    ...(format === 'pem_bundle' && { certificate: bundleWithKey(key, answer.certificate) }),
    ...encodeKey(key, { format, private_key_format }),
  };
}

/** A key beside what it is of, in the format that was asked for. */
export function encodeKey(
  key: HandedOutKey,
  { format, private_key_format }: { format: Format | 'pkcs12'; private_key_format: string },
): { private_key: string } & Pick<IssuedAnswer, 'private_key_type'> {
  const { label, der } = key.encode(private_key_format === 'pkcs8' ? 'pkcs8' : 'traditional');
  return {
    private_key: format === 'der' ? base64(der) : encodePem(label, der),
    private_key_type: key.key_type,
  };
}

/** Inside the bundle the key keeps its traditional form, whatever was asked for outside. */
export function bundleWithKey(key: HandedOutKey, text: string): string {
  const { label, der } = key.encode('traditional');
  return `${encodePem(label, der)}\n${text}`;
}

/** A certificate that stands by itself, in the format that was asked for. */
export const encodeCertificate = (der: Uint8Array, format: Format | 'pkcs12'): string =>
  format === 'der' ? base64(der) : encodeCertificatePem(der);

/** The same of a request for one. */
export const encodeCsr = (der: Uint8Array, format: Format): string =>
  format === 'der' ? base64(der) : encodePem('CERTIFICATE REQUEST', der);

export const signedCaSchema = signedSchema
  .omit({ authority_key_id: true })
  .extend({ ca_chain: z.array(z.string()).describe('The new certificate first.') });
export type SignedCaAnswer = z.output<typeof signedCaSchema>;

/**
 * Encodes the certificate of a CA and its chain, which it stands at the head of.
 *
 * @param chain of its issuer, that one first
 * @see P-206
 */
export function encodeSignedCa(
  der: Uint8Array,
  facts: Pick<SignedCaAnswer, 'serial_number' | 'expiration'>,
  { chain }: Pick<Issuer, 'chain'>,
  format: Format,
): SignedCaAnswer {
  const certificate = encodeCertificate(der, format);
  const above = chain.map((one) => (format === 'der' ? base64(one.raw) : pemOf(one)));
  return {
    ...facts,
    certificate: format === 'pem_bundle' ? [certificate, ...above].join('\n') : certificate,
    issuing_ca: above[0] ?? '',
    ca_chain: [certificate, ...above],
  };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');
}
