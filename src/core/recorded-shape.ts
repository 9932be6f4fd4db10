import { z } from 'zod';

const RECORDED_AS = new WeakMap<z.ZodType, z.ZodType>();

/**
 * Says what a record may have of a field that takes anything. Of one that it is not said of it has texts,
 * numbers and the like, or a list of these.
 */
export function recordedAs<Schema extends z.ZodType>(schema: Schema, as: z.ZodType): Schema {
  RECORDED_AS.set(schema, as);
  return schema;
}

/** No field takes a longer list. */
const MOST_ITEMS = 10_000;

/** In the place of what is not as declared: whoever nests one thing too deep may have nested a secret. */
export const NOT_RECORDED = '(not recorded)';

/**
 * A value as a record may have it: as it is declared, and nothing more.
 *
 * @param schemas the field's; several where that depends on the kind of thing that has the field
 */
export function recordable(schemas: readonly z.ZodType[], value: unknown): unknown {
  if (!isNested(value)) return value;
  const closed = schemas.map((one) => RECORDED_AS.get(one) ?? one).filter(isClosed);
  for (const schema of closed) {
    const read = schema.safeParse(value);
    if (read.success) return read.data;
  }
  const isList = Array.isArray(value) && value.length <= MOST_ITEMS;
  const isPlain = closed.length === 0 && isList && !value.some(isNested);
  return isPlain ? value : NOT_RECORDED;
}

const isNested = (value: unknown): boolean => typeof value === 'object' && value !== null;

/** Whether a schema says all that a value may hold. */
function isClosed(schema: z.core.$ZodType): boolean {
  if (isWrapper(schema)) return isClosed(schema.def.innerType);
  if (schema instanceof z.ZodPipe) return isClosed(schema.def.out);
  if (schema instanceof z.ZodArray) return isClosed(schema.def.element);
  if (schema instanceof z.ZodRecord) return isClosed(schema.def.valueType);
  if (schema instanceof z.ZodUnion) return schema.def.options.every(isClosed);
  if (schema instanceof z.ZodObject) {
    const { catchall, shape } = schema.def;
    const takesMore = catchall !== undefined && !(catchall instanceof z.ZodNever);
    return !takesMore && Object.values(shape).every(isClosed);
  }
  return SCALARS.some((kind) => schema instanceof kind);
}

const WRAPPERS = [z.ZodOptional, z.ZodNullable, z.ZodDefault, z.ZodPrefault] as const;
const isWrapper = (schema: z.core.$ZodType): schema is InstanceType<(typeof WRAPPERS)[number]> =>
  WRAPPERS.some((kind) => schema instanceof kind);

const SCALARS = [z.ZodString, z.ZodNumber, z.ZodBoolean, z.ZodEnum, z.ZodLiteral] as const;
