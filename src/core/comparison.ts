import { z } from 'zod';
import type { Field, FieldKind, FieldWithDefault } from './field.ts';

/**
 * How conditions of a policy compare the values of a field. What a field reads is kept as its
 * writer wrote it where clients read it back so; conditions compare what it comes to.
 */
export interface Comparison {
  /** The same for all values read that come to the same; one it can say nothing of stays as it is. */
  form?: Form;
  /** More that a text of that form says, by which it can be denied, too. */
  also?: (text: string) => readonly string[];
}

/** What a value read comes to. */
interface Form {
  (read: unknown): unknown;
  /** How a list comes to it item by item, for whoever lets others go first in between. */
  readonly ofItems?: ItemForm;
}

/** {@link Form} of lists, which may have thousands of items. */
export interface ItemForm {
  of(item: unknown): unknown;
  /** The list, of what all its items come to. */
  gather(items: readonly unknown[]): unknown;
  /** How many comparisons of texts an item takes as long as. */
  cost: number;
}

const comparisons = z.registry<Comparison>();

/** A kind of field whose values are compared by what they come to. */
export function comparedBy<Out>(kind: FieldKind<Out>, comparison: Comparison): FieldKind<Out> {
  function make(): Field<Out>;
  function make(byDefault: Out): FieldWithDefault<Out>;
  function make(byDefault?: Out): Field<Out> | FieldWithDefault<Out> {
    const field = byDefault === undefined ? kind() : kind(byDefault);
    comparisons.add(field instanceof z.ZodPrefault ? field.unwrap() : field, comparison);
    return field;
  }
  return make;
}

/** How a field is compared, whatever it is wrapped in; undefined: by what it reads. */
export function comparisonOf(field: unknown): Comparison | undefined {
  for (let at = field; at instanceof z.ZodType; ) {
    const found = comparisons.get(at);
    if (found) return found;
    if (at instanceof z.ZodPrefault || at instanceof z.ZodOptional) at = at.unwrap();
    else if (at instanceof z.ZodPipe) at = at.out;
    else return undefined;
  }
  return undefined;
}

/** An item that is folded or trimmed takes as long as so many comparisons. */
const PLAIN_ITEM = 2;
/** And one that is sorted among the others. */
const SORTED_ITEM = 10;

/**
 * A form of texts: of a text, or of each item of a list.
 *
 * @param cost how many comparisons of texts one takes as long as
 */
export function eachText(formOf: (text: string) => unknown, cost = PLAIN_ITEM): Form {
  const form = (read: unknown): unknown => {
    if (typeof read === 'string') return formOf(read);
    return Array.isArray(read) ? read.map(form) : read;
  };
  return Object.assign(form, { ofItems: { of: form, gather: asTheyAre, cost } });
}

const asTheyAre = (items: readonly unknown[]): unknown => items;

/**
 * A form of lists whose items have no order: sorted, each once, none of them empty.
 *
 * @param none what a list without items stands for
 */
export function asSet(formOf: (text: string) => string, none: readonly string[] = []): Form {
  const of = (item: unknown): string => formOf(String(item));
  const gather = (items: readonly unknown[]): unknown =>
    items.length === 0 ? [...none] : [...new Set(items)].filter((item) => item !== '').sort();
  return Object.assign(
    (read: unknown): unknown => (Array.isArray(read) ? gather(read.map(of)) : read),
    { ofItems: { of, gather, cost: SORTED_ITEM } },
  );
}
