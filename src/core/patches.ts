import { z } from 'zod';
import type { OptionalField } from './field.ts';
import { optional } from './fields.ts';

type Inner<F> = F extends z.ZodPrefault<infer Kind extends z.ZodType> ? Kind : F;
type PatchShape<Shape extends Record<string, z.ZodType>> = {
  [Name in keyof Shape]: OptionalField<z.output<Inner<Shape[Name]>>>;
};

/**
 * The input of a partial update: every field may be left out, and none falls to its default.
 * Apply the result with {@link mergePatch}.
 */
export function patchOf<Shape extends Record<string, z.ZodType>>(
  fields: Shape,
): z.ZodObject<PatchShape<Shape>> {
  const shape: Record<string, z.ZodType> = {};
  for (const [name, declared] of Object.entries(fields)) {
    const kind = declared instanceof z.ZodPrefault ? declared.unwrap() : declared;
    const patch = optional(kind as z.ZodType);
    shape[name] = declared.description === undefined ? patch : patch.describe(declared.description);
  }
  return z.object(shape as PatchShape<Shape>);
}

/** A copy of the record with the sent fields replaced; a field that is undefined was not sent. */
export function mergePatch<Whole extends object>(
  existing: Whole,
  patch: { [Name in keyof Whole]?: Whole[Name] | undefined },
): Whole {
  const merged = { ...existing };
  for (const name in patch) {
    const value = patch[name];
    if (value !== undefined) merged[name] = value;
  }
  return merged;
}
