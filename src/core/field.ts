import type { z } from 'zod';

/**
 * The kinds of input field that requests have. Each converts what clients are known to send
 * (`"true"`, `"72h"`, `"a,b"`) into one type, and can be documented on both sides of that
 * conversion.
 *
 * A kind called with a default answers it when the field is missing or null:
 * `duration(30)`, `flag(false)`. Called without one, the field must be sent, unless it is
 * wrapped in {@link optional}.
 */
export type Field<Out> = z.ZodPipe<z.ZodTransform<Out, unknown>, z.ZodType<Out>>;

export type FieldWithDefault<Out> = z.ZodPrefault<Field<Out>>;

export type OptionalField<Out> = z.ZodPipe<
  z.ZodTransform<unknown, unknown>,
  z.ZodOptional<z.ZodType<Out>>
>;

/** A field kind as callers see it: with a default, or required. */
export interface FieldKind<Out> {
  (): Field<Out>;
  (byDefault: Out): FieldWithDefault<Out>;
}
