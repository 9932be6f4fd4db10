import { z } from 'zod';
import { memoizeWeak } from '../core/memoize-weak.ts';
import { OUTPUT_ONLY } from '../core/output-only.ts';

export type Json = Record<string, unknown>;

/** What a declared type takes, as a schema of OpenAPI 3.0. */
export const inputSchemaOf: (type: z.ZodType) => Json = memoizeWeak((type) =>
  schemaOf(type, 'input'),
);

/** What a declared type gives. */
export const outputSchemaOf: (type: z.ZodType) => Json = memoizeWeak((type) =>
  schemaOf(type, 'output'),
);

function schemaOf(type: z.ZodType, io: 'input' | 'output'): Json {
  return z.toJSONSchema(type, {
    target: 'openapi-3.0',
    io,
    // A field that no schema can express is described by its text alone.
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      for (const [name, field] of Object.entries(propertiesOf(jsonSchema))) {
        if ((field as Json)[OUTPUT_ONLY]) delete jsonSchema.properties?.[name];
      }
      // The bounds of the number type say nothing about the field.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      // Whoever reads an answer passes over what is new in it. What holds for keys that are data stays.
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      // Of a type in memory; in documents it would tell answers from requests.
      delete jsonSchema.readOnly;
    },
  });
}

export const propertiesOf = (schema: Json): Json => (schema.properties as Json | undefined) ?? {};

export const requiredIn = ({ required }: Json): string[] =>
  Array.isArray(required) ? required.map(String) : [];
