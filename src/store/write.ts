import type { Compilable } from 'kysely';
import { type Failure, invalid } from '../core/failure.ts';

/** What a statement can carry: the three column types of `tables.ts`, and nothing. */
export type Value = string | number | bigint | Uint8Array | null;

/** One statement that changes rows, as a value; nothing happens until it is committed. */
export interface Write {
  sql: string;
  parameters: readonly Value[];
  /** How many rows it must touch; any other number refuses the whole write set. */
  rows?: number;
  /** What the caller is told when the row count is wrong or a key is taken. */
  conflict?: string;
}

/** A record that becomes durable with the effect it tells of: the text of a JSON object. */
export interface AuditEntry {
  audit: string;
}

export type Effect = Write | AuditEntry;

export interface Guard {
  rows?: number;
  conflict?: string;
}

/**
 * Makes a statement of a query built with `build`.
 *
 * @param guard `rows`: how many rows it must touch, e.g. 1 for `where version = …`;
 *   `conflict`: the message of the refusal, in the caller's words
 * @throws TypeError for a parameter that is not text, a number, bytes or null: that is a
 *   mistake in the program, never in its input
 */
export function write(query: Compilable, guard: Guard = {}): Write {
  const compiled = query.compile();
  return { sql: compiled.sql, parameters: compiled.parameters.map(requireValue), ...guard };
}

export function isAuditEntry(effect: Effect): effect is AuditEntry {
  return 'audit' in effect;
}

/** The statements of a set, without its records. */
export function writesOf(effects: readonly Effect[]): Write[] {
  return effects.flatMap((effect) => (isAuditEntry(effect) ? [] : effect));
}

/** @throws TypeError when it is none of the kinds of {@link Value} */
export function requireValue(value: unknown): Value {
  switch (typeof value) {
    case 'string':
    case 'bigint':
      return value;
    case 'number':
      if (Number.isSafeInteger(value)) return value;
      throw new TypeError(`a number in a statement must be a whole one within 2^53: ${value}`);
    default:
      if (value === null || value instanceof Uint8Array) return value;
      throw new TypeError(
        `a statement takes text, whole numbers, bytes and null, not ${describe(value)}`,
      );
  }
}

/**
 * Whether a statement may be given these, to read or to write, on either engine: text with a zero character PostgreSQL
 * neither stores nor asks for, and it ends a name early in too many other programs.
 */
export function isPortable(parameters: readonly Value[]): boolean {
  return !parameters.some((value) => typeof value === 'string' && value.includes('\0'));
}

export function refuseUnportable(): Failure {
  return invalid('text must not contain the character U+0000');
}

function describe(value: unknown): string {
  return typeof value === 'object' && value !== null ? value.constructor.name : typeof value;
}

/** About how many bytes a set takes while it waits, beside its statements. */
export function weigh(effects: readonly Effect[]): number {
  let bytes = 0;
  for (const effect of effects) {
    if (isAuditEntry(effect)) {
      bytes += effect.audit.length;
      continue;
    }
    for (const value of effect.parameters) {
      if (typeof value === 'string' || value instanceof Uint8Array) bytes += value.length;
    }
  }
  return bytes;
}
