import { invalid } from '../core/failure.ts';
import type { Arguments } from './arguments.ts';

export type Format = 'json' | 'table';

/** @throws Failure `invalid` for another value of -format */
export function formatOf(flags: Arguments['flags']): Format {
  const format = flags.get('format') ?? 'table';
  if (format === 'json' || format === 'table') return format;
  throw invalid(`flag -format must be json or table, not "${format}"`);
}

/** Lines of a name and a value, the values beneath each other. */
export function pairs(rows: readonly (readonly [name: string, value: unknown])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n');
}
