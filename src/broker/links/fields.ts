import { z } from 'zod';
import type { Item } from '../definition.ts';
import type { FieldErrors } from '../field-errors.ts';
import type { LinkChange } from './plan.ts';

/** A list of ids in a request; null and absent are the empty list. */
export const idList = (about: string) => z.array(z.string()).optional().describe(about);

/** The ids of a request's field. */
export function idsOf(item: Item, field: string): readonly string[] {
  const value = item[field];
  return Array.isArray(value) ? value.map(String) : [];
}

/** What is wrong with a list of ids by its looks. */
export function checkIds(
  item: Item,
  errors: FieldErrors,
  rule: {
    field: string;
    change: LinkChange;
    /** What is wrong with one id, or undefined. */
    faultOf(id: string): string | undefined;
  },
): void {
  const ids = idsOf(item, rule.field);
  if (ids.length === 0 && rule.change !== 'set') errors.add(rule.field, 'Must be non-empty.');
  for (const id of ids) {
    const fault = rule.faultOf(id);
    if (fault === undefined) continue;
    errors.add(rule.field, fault);
    return;
  }
}
