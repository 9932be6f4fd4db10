import { z } from 'zod';
import { comparedBy } from '../../core/comparison.ts';
import { parseDuration } from '../../core/durations.ts';
import { withoutLeading, withoutTrailing } from '../../core/edges.ts';
import type { FieldKind } from '../../core/field.ts';
import { fieldKind } from '../../core/field-kind.ts';
import { shortList } from '../../core/fields.ts';

const MAX_PATH = 1024;

/** The path of a mount; slashes at either end say nothing, and are not part of what is read. */
export const mountPath: FieldKind<string> = fieldKind({
  accepts: 'a path of at most 1024 characters',
  convert: (value) =>
    typeof value === 'string' && value.length <= MAX_PATH
      ? withoutTrailing(withoutLeading(value, '/'), '/')
      : undefined,
  output: z.string(),
});

/** With what clients tune a time that they leave as it is. */
const UNCHANGED = '';

/** Longest text of a time. */
const MAX_TEXT = 64;

/**
 * A lease time in whole seconds; 0, or the word `system`: the server's. The empty text is the only one that
 * is left.
 */
export const leaseTtl: FieldKind<number | string> = fieldKind({
  accepts: 'seconds, or text such as "8760h" or "system"',
  convert: (value) => {
    if (value === UNCHANGED) return UNCHANGED;
    if (value === 'system') return 0;
    if (typeof value !== 'number' && typeof value !== 'string') return undefined;
    const written = String(value);
    const seconds = written.length <= MAX_TEXT ? parseDuration(written) : undefined;
    return seconds === undefined || seconds < 0 ? undefined : Math.trunc(seconds);
  },
  output: z.union([z.string(), z.number()]),
});

/** A list whose empty items are left out. */
export const settingList: FieldKind<string[]> = comparedBy(shortList, {
  form: (read) => (Array.isArray(read) ? read.filter((item) => item !== '') : read),
});
