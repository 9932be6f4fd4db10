import type { z } from 'zod';
import { hasControl } from '../core/control-characters.ts';
import { type Failure, invalid } from '../core/failure.ts';

const NO_CONTROL = 'a text without control characters';

type Fields = Record<string, unknown>;

/**
 * What checks an input, and converts it. What each field is when it is not sent is found out once: of
 * some thirty fields a request has four, and the whole schema takes as long as anything in an issuance.
 *
 * @throws z.ZodError which the dialect turns into a refusal that names the field; Failure `invalid` likewise
 */
export function checkOf<In extends z.ZodObject>(schema: In): (input: Fields) => z.output<In> {
  const read = canBeReadByField(schema)
    ? readByField(schema)
    : (input: Fields) => schema.parse(input);
  // Fields that an endpoint takes without knowing them may hold what they like.
  const names = Object.keys(schema.shape);
  return (input) => {
    const fields = read(input);
    for (const name of names) {
      if (input[name] !== undefined && hasControl(fields[name])) throw refuseControl(name);
    }
    return fields as z.output<In>;
  };
}

/** Whether nothing is asked of the object but its fields, and what it does not know is left out. */
function canBeReadByField(schema: z.ZodObject): boolean {
  return schema.def.catchall === undefined && (schema.def.checks ?? []).length === 0;
}

function readByField(schema: z.ZodObject): (input: Fields) => Fields {
  const fields = Object.entries(schema.shape).map(([name, field]) => ({
    name,
    field,
    absent: absentOf(field),
  }));
  return (input) => {
    const read: Fields = {};
    for (const { name, field, absent } of fields) {
      const value = input[name];
      if (value === undefined && absent) {
        const known = absent();
        if (known !== undefined) read[name] = known;
        continue;
      }
      const parsed = field.safeParse(value);
      // The whole schema words it: the field's name, and the faults of the other fields.
      if (!parsed.success) return schema.parse(input);
      read[name] = parsed.data;
    }
    return read;
  };
}

/** What a field is that is not sent, made anew each time unless nobody can change it; undefined: it must be sent. */
function absentOf(field: z.ZodType): (() => unknown) | undefined {
  const first = field.safeParse(undefined);
  if (!first.success) return undefined;
  const { data } = first;
  if (Array.isArray(data) && data.every(isUnchangeable)) return () => [...data];
  return isUnchangeable(data) ? () => data : () => field.parse(undefined);
}

const isUnchangeable = (value: unknown): boolean => typeof value !== 'object' || value === null;

function refuseControl(wrong: string): Failure {
  return invalid(
    `Field validation failed: error converting input for field "${wrong}": ${NO_CONTROL}`,
    {
      fields: { [wrong]: NO_CONTROL },
    },
  );
}
