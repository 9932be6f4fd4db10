import { z } from 'zod';
import { issuedSchema } from '../certificates/answer.ts';

/** What is answered of a root that was made. */
export const generatedRoot = issuedSchema
  .pick({ certificate: true, issuing_ca: true, serial_number: true, expiration: true })
  .extend({
    issuer_id: z.string(),
    issuer_name: z.string().describe('Empty for none.'),
    key_id: z.string(),
    key_name: z.string().describe('Empty for none.'),
    private_key: z.string().optional().describe('Only with "exported".'),
    private_key_type: issuedSchema.shape.private_key_type
      .optional()
      .describe('Only with "exported".'),
  });
export type GeneratedRoot = z.output<typeof generatedRoot>;
