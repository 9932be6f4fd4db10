import { z } from 'zod';
import { TOKEN_LENGTH } from '../../access/tokens/token-format.ts';

const statusFields = {
  nonce: z.string().describe('Names the attempt.'),
  started: z.boolean(),
  progress: z.int().describe('Shares given so far.'),
  required: z.int().describe('Shares that are needed.'),
  complete: z.boolean(),
  otp: z.string().describe('The one-time password, once, where the server made it.'),
  encoded_token: z.string().describe('The token, XORed with the one-time password, as base64.'),
};
/** How a root generation stands; `otp` and `encoded_token` are each told once. */
export type RootStatus = z.output<z.ZodObject<typeof statusFields>>;

export const rootStatusSchema = z.object({
  ...statusFields,
  encoded_root_token: z.string(),
  pgp_fingerprint: z.string(),
  otp_length: z.int().describe('Bytes.'),
});

export function describeStatus(status: RootStatus): z.output<typeof rootStatusSchema> {
  return {
    ...status,
    encoded_root_token: status.encoded_token,
    pgp_fingerprint: '',
    otp_length: TOKEN_LENGTH,
  };
}
