import { z } from 'zod';
import { itemsOf, layersOf, type Schema, shapeOf } from './shape.ts';

/** The table of all settings of a configuration file, in Markdown. */
export function writeSettingsTable(settings: Schema): string {
  return [
    '| key | takes | unless told otherwise | what it is |',
    '|---|---|---|---|',
    ...listRows('', settings),
    '',
  ].join('\n');
}

function listRows(name: string, schema: Schema): string[] {
  const items = itemsOf(schema);
  const shape = shapeOf(schema);
  const inner = [...(shape ?? [])].flatMap(([key, held]) =>
    listRows(name === '' ? key : `${name}.${key}`, held),
  );
  const row = shape ? [] : [writeRow(name, schema)];
  return [...row, ...inner, ...(items ? listRows(`${name}[]`, items) : [])];
}

function writeRow(name: string, schema: Schema): string {
  const description = tellOf(schema, 'description');
  const takes = tellOf(schema, 'takes');
  if (!description || !takes) throw new Error(`the setting ${name} is not described`);
  const otherwise = tellOf(schema, 'otherwise') ?? defaultOf(schema);
  return `| \`${name}\` | ${takes} | ${otherwise} | ${description} |`;
}

/** What the declaration says of a setting, on the outermost layer that says it. */
function tellOf(schema: Schema, what: 'description' | 'takes' | 'otherwise'): string | undefined {
  const said = layersOf(schema).map((layer) => z.globalRegistry.get(layer)?.[what]);
  return said.find((one) => typeof one === 'string');
}

function defaultOf(schema: Schema): string {
  const layer = layersOf(schema).find(
    (one) => one instanceof z.ZodDefault || one instanceof z.ZodPrefault,
  );
  const value: unknown = layer?.def.defaultValue;
  return value === undefined || Array.isArray(value) ? 'none' : `\`${String(value)}\``;
}
