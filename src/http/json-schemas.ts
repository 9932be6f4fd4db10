import { z } from 'zod';

export type Json = Record<string, unknown>;

/** Declarations never change, and anybody may ask for the document as often as they like. */
export const inputSchemas = new WeakMap<z.ZodType, Json>();

export const outputSchemas = new WeakMap<z.ZodType, Json>();

export function rememberedSchema(
  schemas: WeakMap<z.ZodType, Json>,
  type: z.ZodType,
  io: 'input' | 'output',
): Json {
  const known = schemas.get(type);
  if (known) return known;
  const made = schemaOf(type, io);
  schemas.set(type, made);
  return made;
}

function schemaOf(type: z.ZodType, io: 'input' | 'output'): Json {
  return z.toJSONSchema(type, {
    target: 'openapi-3.0',
    io,
    // A field that no schema can express is described by its text alone.
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      // The bounds of the number type say nothing about the field.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      delete jsonSchema.additionalProperties;
    },
  });
}

export const propertiesOf = (schema: Json): Json => (schema.properties as Json | undefined) ?? {};

export function sorted(entries: ReadonlyMap<string, Json>): [string, Json][] {
  return [...entries].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}
