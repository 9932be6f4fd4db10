import { z } from 'zod';
import { issuedSchema } from '../certificates/answer.ts';

/** What is answered of a request that was made. */
export const generatedCsr = z.object({
  csr: z.string().describe('PKCS #10, in the format asked for.'),
  key_id: z.string(),
  private_key: z.string().optional().describe('Only with "exported".'),
  private_key_type: issuedSchema.shape.private_key_type
    .optional()
    .describe('Only with "exported".'),
});

/** What is answered of a self-issued certificate that another authority signed. */
export const signedSelfIssued = issuedSchema.pick({ certificate: true, issuing_ca: true });
