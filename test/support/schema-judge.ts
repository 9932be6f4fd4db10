import { isPlainObject } from '../../src/core/conversions.ts';

/** Judges JSON by schemas of an OpenAPI document, and takes them at their word: what they do not name is not there. */

export interface Schema {
  $ref?: string;
  type?: string;
  nullable?: boolean;
  enum?: readonly unknown[];
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  allOf?: readonly Schema[];
  minimum?: number;
  maximum?: number;
  pattern?: string;
  description?: string;
}

type Schemas = Readonly<Record<string, Schema>>;

/** @returns what is wrong, each with the path of its field: `data.keys[0]: …` */
export function judgeValue(schemas: Schemas, schema: Schema, value: unknown, at = ''): string[] {
  return judge(schemas, [schema], value, at);
}

/** @param together a value is to be as each of them says; they name its fields between them */
function judge(
  schemas: Schemas,
  together: readonly Schema[],
  value: unknown,
  at: string,
): string[] {
  const flat = together.flatMap((schema) => expand(schemas, schema));
  const choice = flat.findIndex(({ anyOf, oneOf }) => anyOf ?? oneOf);
  if (choice >= 0) {
    const { anyOf = [], oneOf = [], nullable, ...beside } = flat[choice] as Schema;
    if (value === null && nullable) return [];
    const others = flat.toSpliced(choice, 1);
    const verdicts = [...anyOf, ...oneOf].map((one) =>
      judge(schemas, [...others, beside, one], value, at),
    );
    // The choice of the value's own type says most, and of those the one that it comes nearest to.
    const isOther = (faults: string[]): boolean => faults.some((one) => one.startsWith(lead(at)));
    const byNearness = (a: string[], b: string[]): number =>
      Number(isOther(a)) - Number(isOther(b)) || a.length - b.length;
    return verdicts.sort(byNearness)[0] ?? [];
  }
  if (flat.every(isSilent)) return [];
  const wrongs = flat.flatMap((schema) => judgeOne(schema, value, at));
  if (wrongs.length > 0) return wrongs;
  if (Array.isArray(value)) return judgeItems(schemas, flat, value, at);
  return isPlainObject(value) ? judgeFields(schemas, flat, value, at) : [];
}

const lead = (at: string): string => `${at || 'the answer'}: `;

/** A schema with those it refers to, each in its own place. */
function expand(schemas: Schemas, schema: Schema): Schema[] {
  const { $ref, allOf, ...own } = schema;
  const referred = $ref === undefined ? [] : expand(schemas, find(schemas, $ref));
  return [...referred, ...(allOf ?? []).flatMap((one) => expand(schemas, one)), own];
}

function find(schemas: Schemas, ref: string): Schema {
  const found = schemas[ref.slice('#/components/schemas/'.length)];
  if (!found) throw new Error(`${ref} is not there`);
  return found;
}

const isSilent = ({ type, enum: words, properties }: Schema): boolean =>
  type === undefined && words === undefined && properties === undefined;

function judgeOne(schema: Schema, value: unknown, at: string): string[] {
  const { type, nullable, enum: words, minimum, maximum, pattern } = schema;
  if (value === null && (nullable || (type === undefined && !words))) return [];
  const wrong = (because: string): string[] => [lead(at) + because];
  if (words && !words.includes(value)) return wrong(`${JSON.stringify(value)} is no choice`);
  if (type !== undefined && !isOfType(value, type)) return wrong(`${kindOf(value)}, no ${type}`);
  if (typeof value === 'number') {
    const isWithin = value >= (minimum ?? value) && value <= (maximum ?? value);
    return isWithin ? [] : wrong(`${value} is out of bounds`);
  }
  if (typeof value === 'string' && pattern !== undefined && !new RegExp(pattern).test(value)) {
    return wrong('a text of another form');
  }
  return [];
}

function judgeItems(
  schemas: Schemas,
  together: readonly Schema[],
  values: readonly unknown[],
  at: string,
): string[] {
  const items = together.flatMap((schema) => schema.items ?? []);
  return values.flatMap((value, index) => judge(schemas, items, value, `${at}[${index}]`));
}

function judgeFields(
  schemas: Schemas,
  together: readonly Schema[],
  value: Readonly<Record<string, unknown>>,
  at: string,
): string[] {
  const path = (name: string): string => (at === '' ? name : `${at}.${name}`);
  const missing = together
    .flatMap(({ required = [] }) => required)
    .filter((name) => !Object.hasOwn(value, name));
  const further = together.flatMap(({ additionalProperties: more }) =>
    more === true ? [{}] : more ? [more] : [],
  );
  const wrongs = Object.entries(value).flatMap(([name, child]) => {
    const named = together.flatMap(({ properties }) =>
      properties && Object.hasOwn(properties, name) ? [properties[name] as Schema] : [],
    );
    const declared = named.length > 0 ? named : further;
    return declared.length > 0
      ? judge(schemas, declared, child, path(name))
      : [`${path(name)}: not declared`];
  });
  return [...new Set(missing)].map((name) => `${path(name)}: missing`).concat(wrongs);
}

function isOfType(value: unknown, type: string): boolean {
  return kindOf(value) === type || (type === 'number' && typeof value === 'number');
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}
