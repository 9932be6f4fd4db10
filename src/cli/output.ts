import { invalid } from '../core/failure.ts';
import type { Arguments } from './arguments.ts';

export type Format = 'json' | 'table';

/** @throws Failure `invalid` for another value of -format */
export function formatOf(flags: Arguments['flags']): Format {
  const format = flags.get('format') ?? 'table';
  if (format === 'json' || format === 'table') return format;
  throw invalid(`flag -format must be json or table, not "${format}"`);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: those that a terminal acts on.
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;

/**
 * Text of somebody else's for a terminal: what would have it act is told as JSON tells it, e.g. `\u001b`; ends of
 * lines and tabs stay.
 */
export const printable = (text: string): string =>
  text.replace(CONTROLS, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** JSON that may be shown on a terminal: JSON alone leaves the upper controls as they are. */
export const jsonText = (value: unknown, indent?: number): string =>
  printable(JSON.stringify(value, null, indent));

/** Lines of a name and a value, the values beneath each other. */
export function pairs(rows: readonly (readonly [name: string, value: unknown])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${printable(`${value}`)}`).join('\n');
}
