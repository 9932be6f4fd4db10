import type { Action } from '../actions.ts';
import type { ResourceTypeName } from '../types.ts';
import { sortBundle } from './filing.ts';
import type { Own } from './grant.ts';
import type { Applying } from './reach.ts';
import { type GrantList, KEY_OF, type PrincipalKind, type SortedGrants } from './sorted.ts';
import type { Asked, GrantVerdict } from './verdict.ts';

/** What is known of one type in all places where the same grants apply. */
export interface View {
  /** One for each bundle of roles that applies. */
  sorted: readonly SortedGrants[];
  /** Those of them that name single things. */
  naming: readonly SortedGrants[];
  /** Verdicts on what no grant names by its id. */
  onItems: Map<Action, GrantVerdict>;
  onCollection: Map<Action, GrantVerdict>;
  /** The same for lists of actions. */
  listsOfItems: WeakMap<readonly Action[], readonly Action[]>;
  listsOfCollection: WeakMap<readonly Action[], readonly Action[]>;
}

/** Whom templates stand for; empty where there is none. */
export type OwnIds = Readonly<Record<`${Own}_id`, string>>;

export const NOBODY: OwnIds = { user_id: '', account_id: '' };

export function viewOf(asker: PrincipalKind, { bundles }: Applying, type: ResourceTypeName): View {
  const sorted = bundles
    .map((bundle) => sortBundle(asker, bundle, type))
    .filter(({ isEmpty }) => !isEmpty);
  return {
    sorted,
    naming: sorted.filter(({ byId, byPin }) => byId.size > 0 || byPin.size > 0),
    onItems: new Map(),
    onCollection: new Map(),
    listsOfItems: new WeakMap(),
    listsOfCollection: new WeakMap(),
  };
}

/** The grants that can have a say on an item or a collection. */
export function listsOn(
  { id, pin }: Pick<Asked, 'id' | 'pin'>,
  { sorted }: View,
  own: OwnIds,
  forCollection: boolean,
): GrantList[] {
  const names = id === undefined || forCollection ? NONE : namesOf(id, own);
  const pins = pin === undefined ? NONE : namesOf(pin, own);
  const lists: GrantList[] = [];
  // There may be a thousand, and each is decided on for each action.
  for (const { everything, collection, byId, byPin } of sorted) {
    if (!everything.isEmpty) lists.push(everything);
    if (id === undefined && forCollection && !collection.isEmpty) lists.push(collection);
    addAll(lists, byId, names);
    addAll(lists, byPin, pins);
  }
  return lists;
}

/** Whether some grant speaks of just this item, or of what it lies in. */
export function isNamed(
  { id, pin }: Pick<Asked, 'id' | 'pin'>,
  { naming }: View,
  own: OwnIds,
): boolean {
  if (naming.length === 0) return false;
  const names = id === undefined ? NONE : namesOf(id, own);
  const pins = pin === undefined ? NONE : namesOf(pin, own);
  return naming.some(
    ({ byId, byPin }) =>
      names.some((name) => byId.has(name)) || pins.some((name) => byPin.has(name)),
  );
}

/** What grants may have in the place of an id. */
function namesOf(id: string, { user_id, account_id }: OwnIds): readonly string[] {
  if (id === user_id) return [id, KEY_OF.user];
  return id === account_id ? [id, KEY_OF.account] : [id];
}

const NONE: readonly string[] = [];

function addAll(
  lists: GrantList[],
  map: ReadonlyMap<string, GrantList>,
  names: readonly string[],
): void {
  for (const name of names) {
    const list = map.get(name);
    if (list) lists.push(list);
  }
}
