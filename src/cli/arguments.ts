import { invalid } from '../core/failure.ts';

/** A command's flags by name, and what a value means; a `true` flag takes none. */
export type FlagTable = Readonly<Record<string, { value: string | true; help: string }>>;

export interface Arguments {
  /** Values by the flag's name; a flag without a value that is set has `true`. */
  flags: ReadonlyMap<string, string>;
  rest: readonly string[];
  /** What stands behind `--`, as it is. */
  passed: readonly string[];
}

/**
 * Reads flags written with one dash or two, `-flag value` or `-flag=value`.
 *
 * @throws Failure `invalid` naming a flag that is unknown or lacks its value
 */
export function parseArguments(args: readonly string[], table: FlagTable): Arguments {
  const flags = new Map<string, string>();
  const rest: string[] = [];
  const passed: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? '';
    if (arg === '--') {
      passed.push(...args.slice(at + 1));
      break;
    }
    const parts = /^--?([a-z][a-z0-9-]*)(?:=(.*))?$/s.exec(arg);
    if (!parts) {
      rest.push(arg);
      continue;
    }
    const [, name = '', inline] = parts;
    if (name === 'help' || name === 'h') {
      flags.set('help', 'true');
      continue;
    }
    const flag = Object.hasOwn(table, name) ? table[name] : undefined;
    if (!flag) {
      const known = Object.keys(table)
        .map((known) => `-${known}`)
        .join(', ');
      throw invalid(`unknown flag -${name}; known are ${known || 'none'} and -help`);
    }
    if (flag.value === true) {
      if (inline !== undefined && inline !== 'true' && inline !== 'false') {
        throw invalid(`flag -${name} is true or false, not "${inline}"`);
      }
      if (inline === 'false') flags.delete(name);
      else flags.set(name, 'true');
      continue;
    }
    const value = inline ?? args[++at];
    if (value === undefined) throw invalid(`flag -${name} needs a value, ${flag.value}`);
    flags.set(name, value);
  }
  return { flags, rest, passed };
}

/** @throws Failure `invalid` when the value is no whole number */
export function numberFlag(flags: Arguments['flags'], name: string): number | undefined {
  const text = flags.get(name);
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw invalid(`flag -${name} must be a whole number, not "${text}"`);
  return Number(text);
}

/** The help text of a command. */
export function helpText(usage: string, about: string, table: FlagTable): string {
  const lines = Object.entries(table).map(([name, { value, help }]) => {
    const left = value === true ? `-${name}` : `-${name} ${value}`;
    return `  ${left.padEnd(28)} ${help}`;
  });
  return [
    `Usage: gatehouse ${usage}`,
    '',
    about,
    ...(lines.length > 0 ? ['', 'Flags:'] : []),
    ...lines,
  ].join('\n');
}
