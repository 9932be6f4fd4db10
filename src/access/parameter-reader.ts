import type { z } from 'zod';
import { type Comparison, comparisonOf } from '../core/comparison.ts';
import type { ParameterReader } from './parameter-forms.ts';

/**
 * Reads parameters as the fields of an endpoint are declared.
 *
 * @param old_names what fields were called before, by that name
 */
export function readerOfFields(
  shape: Readonly<Record<string, unknown>>,
  old_names: Readonly<Record<string, string>> = {},
): ParameterReader {
  const fields = shape as Readonly<Record<string, z.ZodType>>;
  const comparisons = new Map<string, Comparison | undefined>(
    Object.entries(fields).map(([name, field]) => [name, comparisonOf(field)]),
  );
  return {
    knows: (name) => Object.hasOwn(fields, name),
    read(name, value) {
      const reading = Object.hasOwn(fields, name) ? fields[name]?.safeParse(value) : undefined;
      if (!reading?.success) return undefined;
      const form = comparisons.get(name)?.form;
      return form ? form(reading.data) : reading.data;
    },
    also: (name, text) => comparisons.get(name)?.also?.(text) ?? [],
    namesOf(name) {
      const present = old_names[name] ?? name;
      const old = Object.keys(old_names).filter((each) => old_names[each] === present);
      return [present, ...old];
    },
  };
}
