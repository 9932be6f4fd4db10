import { z } from 'zod';

/** What marks such a field. */
export const OUTPUT_ONLY = 'output_only';

/** A field that answers alone have: in a request it is passed over, or refused, and documents leave it out there. */
export const outputOnly = (type: z.ZodType = z.unknown()) =>
  type.optional().meta({ [OUTPUT_ONLY]: true });
