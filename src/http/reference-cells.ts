import { isPlainObject } from '../core/conversions.ts';
import { type Json, propertiesOf, requiredIn } from './json-schemas.ts';

/** A type in few words. */
export function typeText(schema: Json): string {
  if (Array.isArray(schema.enum)) {
    return schema.enum.map((word) => `\`${JSON.stringify(word)}\``).join(', ');
  }
  const choices = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(choices)) {
    const types = choices.map((one) => typeText(asObject(one)));
    return [...new Set(types.filter((type) => type !== '`null`'))].join(' or ');
  }
  if (schema.type === 'array') return `list of ${typeText(asObject(schema.items)) || 'values'}`;
  return typeof schema.type === 'string' ? schema.type : '';
}

export const cell = (text: unknown): string =>
  typeof text === 'string' ? text.replaceAll('|', '\\|').replaceAll('\n', ' ') : '';

/** Rows of what an answer's schema has, those of objects within it among them. */
export function answerRows(schema: Json, within = ''): string[] {
  const { items, additionalProperties, anyOf, oneOf } = schema;
  if (items) return answerRows(asObject(items), `${within}[]`);
  if (additionalProperties) return answerRows(asObject(additionalProperties), `${within}.*`);
  const choices = anyOf ?? oneOf;
  if (Array.isArray(choices)) {
    return [...new Set(choices.flatMap((one) => answerRows(asObject(one), within)))];
  }
  const required = requiredIn(schema);
  return Object.entries(propertiesOf(schema)).flatMap(([name, value]) => {
    const field = asObject(value);
    const path = within === '' ? name : `${within}.${name}`;
    const notes = [
      ...(required.includes(name) ? [] : ['may lack']),
      ...(canBeNull(field) ? ['may be null'] : []),
    ];
    const row = `| \`${path}\` | ${typeText(field)} | ${notes.join(', ')} | ${cell(field.description)} |`;
    return [row, ...answerRows(field, path)];
  });
}

function canBeNull({ nullable, enum: words, anyOf }: Json): boolean {
  if (nullable === true) return !Array.isArray(words) || words.length > 1;
  return Array.isArray(anyOf) && anyOf.some((one) => asObject(one).nullable === true);
}

const asObject = (value: unknown): Json => (isPlainObject(value) ? value : {});
