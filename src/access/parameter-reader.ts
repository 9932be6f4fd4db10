import type { z } from 'zod';
import type { ParameterReader } from './parameter-rules.ts';

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
  return {
    knows: (name) => Object.hasOwn(fields, name),
    read(name, value) {
      const reading = Object.hasOwn(fields, name) ? fields[name]?.safeParse(value) : undefined;
      return reading?.success ? reading.data : undefined;
    },
    namesOf(name) {
      const present = old_names[name] ?? name;
      const old = Object.keys(old_names).filter((each) => old_names[each] === present);
      return [present, ...old];
    },
  };
}
