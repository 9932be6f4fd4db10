import type { z } from 'zod';
import { type Comparison, comparisonOf, type ItemForm } from '../core/comparison.ts';
import type { Steps } from '../core/steps.ts';
import type { ParameterReader } from './parameter-forms.ts';
import type { Stride } from './stride.ts';
import { FOREIGN } from './value-texts.ts';

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
  const parse = (name: string, value: unknown): unknown => {
    const reading = Object.hasOwn(fields, name) ? fields[name]?.safeParse(value) : undefined;
    return reading?.success ? reading.data : undefined;
  };
  const formOf = (name: string, read: unknown): unknown => {
    const form = comparisons.get(name)?.form;
    return form && read !== undefined ? form(read) : read;
  };
  return {
    knows: (name) => Object.hasOwn(fields, name),
    read: (name, value) => formOf(name, parse(name, value)),
    *walk(name, value, budget) {
      const read = parse(name, value);
      const ofItems = comparisons.get(name)?.form?.ofItems;
      return ofItems && Array.isArray(read)
        ? yield* walkItems(ofItems, read, budget)
        : formOf(name, read);
    },
    also: (name) => comparisons.get(name)?.also,
    namesOf(name) {
      const present = old_names[name] ?? name;
      const old = Object.keys(old_names).filter((each) => old_names[each] === present);
      return [present, ...old];
    },
  };
}

/** Characters of an item that take as long as a comparison of texts, as its bits. */
const CHARACTERS_BITS = 4;

function* walkItems(
  { of, gather, cost }: ItemForm,
  read: readonly unknown[],
  budget: Stride,
): Steps<unknown> {
  const items: unknown[] = [];
  for (const item of read) {
    while (budget.isStepOver) yield;
    budget.left -= cost + (typeof item === 'string' ? item.length >> CHARACTERS_BITS : 0);
    if (budget.left < 0) return undefined;
    // Its conversion was paid for before, and takes longest.
    if (typeof item === 'string' && FOREIGN.test(item)) yield;
    items.push(of(item));
  }
  return gather(items);
}
