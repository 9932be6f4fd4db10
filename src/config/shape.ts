/** What a declaration of settings holds, looked up in it. */

import { z } from 'zod';

export type Schema = z.core.$ZodType;

/** The schema within defaults and conversions. */
function withinOf(schema: Schema): Schema | undefined {
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault
  ) {
    return schema.def.innerType;
  }
  if (!(schema instanceof z.ZodPipe)) return undefined;
  const { in: before, out } = schema.def;
  return before instanceof z.ZodTransform ? out : before;
}

/** A schema and those within it, from the outside. */
export function layersOf(schema: Schema): Schema[] {
  const within = withinOf(schema);
  return within ? [schema, ...layersOf(within)] : [schema];
}

/** The schema of a list's items; undefined: it is no list of sections. */
export function itemsOf(schema: Schema): Schema | undefined {
  const found = layersOf(schema).find((layer) => layer instanceof z.ZodArray);
  return found?.def.element;
}

/**
 * The keys of a section. Where they depend on one of them, the keys that go with the one of
 * `value`, or all.
 *
 * @returns undefined: it is no section
 */
export function shapeOf(schema: Schema, value?: object): ReadonlyMap<string, Schema> | undefined {
  const layers = layersOf(schema);
  const object = layers.find((layer) => layer instanceof z.ZodObject);
  if (object) return new Map(Object.entries(object.def.shape));
  const union = layers.find((layer) => layer instanceof z.ZodDiscriminatedUnion);
  if (!union) return undefined;
  const { discriminator, options } = union.def;
  const shapes = options.flatMap((option) => {
    const shape = shapeOf(option);
    return shape ? [shape] : [];
  });
  const given: unknown = value && Reflect.get(value, discriminator);
  const chosen = shapes.find((shape) => {
    const key = shape.get(discriminator);
    return value !== undefined && key !== undefined && z.safeParse(key, given).success;
  });
  if (chosen) return chosen;
  const all = new Map<string, Schema>();
  for (const [key, inner] of shapes.flatMap((shape) => [...shape])) {
    // What one of them ignores is described by the other.
    const described = all.get(key);
    if (!described || !z.globalRegistry.get(described)?.description) all.set(key, inner);
  }
  return all;
}
