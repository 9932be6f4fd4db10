import { z } from 'zod';

/**
 * How a record is read again that was kept as its fields had read it. What was kept is taken also where
 * it could not be sent any more: a bound that came later is one on what is written, and what can be
 * read can be made less.
 */
export function storedOf<Shape extends Record<string, z.ZodType>>(
  fields: Shape,
): z.ZodType<z.output<z.ZodObject<Shape>>> {
  const shape: Record<string, z.ZodType> = {};
  for (const [name, declared] of Object.entries(fields)) {
    shape[name] = z.union([declared, readForm(declared)]);
  }
  return z.object(shape) as unknown as z.ZodType<z.output<z.ZodObject<Shape>>>;
}

/** What a field's values are once they were read. */
function readForm(declared: z.ZodType): z.ZodType {
  const kind = declared instanceof z.ZodPrefault ? declared.unwrap() : declared;
  return kind instanceof z.ZodPipe ? (kind.out as z.ZodType) : (kind as z.ZodType);
}
