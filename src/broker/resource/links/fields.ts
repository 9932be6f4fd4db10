import { z } from 'zod';
import type { FieldErrors } from '../field-errors.ts';
import type { Kind, VerbRequest } from '../handler.ts';
import type { LinkChange } from './plan.ts';

/** As {@link VerbRequest}, of one of three verbs that add, set and remove what an item is linked to. */
export interface LinkVerbRequest<K extends Kind, Checked = readonly string[]>
  extends VerbRequest<K, Checked> {
  change: LinkChange;
}

/** Most ids that one request names; who has more adds them by several. */
const MAX_IDS = 2_000;
/** Most links of one kind of one thing: each change reads all of them, and so does what shows it. */
const MAX_LINKS = 10_000;
/** Far longer than any id. */
const MAX_ID_LENGTH = 128;

/** A list of ids in a request; null and absent are the empty list. */
export const idList = (about: string) => z.array(z.string()).optional().describe(about);

type ListsOf<Field extends string> = {
  readonly [Name in Field]?: readonly string[] | undefined;
};

/** Why a list is refused before its ids are read: it is too long, or one of them is. */
export function faultOfLengths(ids: readonly string[]): string | undefined {
  if (ids.length > MAX_IDS) return `At most ${MAX_IDS} can be named in one request.`;
  if (ids.every(({ length }) => length <= MAX_ID_LENGTH)) return undefined;
  return `An id has at most ${MAX_ID_LENGTH} characters.`;
}

/**
 * What keeps links from being added: there would be too many. What takes some away is never kept from it.
 *
 * @param most of things that people have a few of, and that much is done with
 */
export function faultOfTotal(
  present: number,
  { added, removed }: { added: readonly string[]; removed: readonly string[] },
  most = MAX_LINKS,
): string | undefined {
  const total = present + added.length - removed.length;
  if (added.length === 0 || total <= most) return undefined;
  return `At most ${most} can be there altogether; there would be ${total}.`;
}

/**
 * The check of a verb that names a list of ids and nothing else: what is wrong with their form, and what it names.
 *
 * @param faultOf what is wrong with one id, or undefined
 */
export const idCheck =
  <Field extends string>(field: Field, faultOf: (id: string) => string | undefined) =>
  (item: ListsOf<Field>, errors: FieldErrors, { change }: { change: LinkChange }) => {
    const ids: readonly string[] = item[field] ?? [];
    if (ids.length === 0 && change !== 'set') errors.add(field, 'Must be non-empty.');
    const unread = faultOfLengths(ids);
    if (unread !== undefined) {
      errors.add(field, unread);
      return ids;
    }
    for (const id of ids) {
      const fault = faultOf(id);
      if (fault === undefined) continue;
      errors.add(field, fault);
      break;
    }
    return ids;
  };
