import { z } from 'zod';
import type { Field, FieldKind, FieldWithDefault } from './fields.ts';

/**
 * How conditions of a policy compare the values of a field. What a field reads is kept as its
 * writer wrote it where clients read it back so; conditions compare what it comes to.
 */
export interface Comparison {
  /** The same for all values read that come to the same; one it can say nothing of stays as it is. */
  form?(read: unknown): unknown;
  /** More that a text of that form says, by which it can be denied, too. */
  also?(text: string): readonly string[];
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

/** A form of texts: of a text, or of each item of a list. */
export function eachText(formOf: (text: string) => unknown): (read: unknown) => unknown {
  const form = (read: unknown): unknown => {
    if (typeof read === 'string') return formOf(read);
    return Array.isArray(read) ? read.map(form) : read;
  };
  return form;
}

/** A form of lists whose items have no order: sorted, each once, none of them empty. */
export function asSet(formOf: (text: string) => string): (read: unknown) => unknown {
  return (read) => {
    if (!Array.isArray(read)) return read;
    const items = read.map((item) => formOf(String(item))).filter((item) => item !== '');
    return [...new Set(items)].sort();
  };
}
