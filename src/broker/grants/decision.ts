import { RESOURCE_TYPES, type ResourceTypeName, typeOfId } from '../resource-types.ts';
import { type Action, ownAction, parentAction } from './actions.ts';
import { coversAction, type Grant } from './grant.ts';

/** A grant in somebody's hands: what it grants and where the role that holds it applies. */
export interface HeldGrant {
  grant: Grant;
  role_id: string;
  role_scope_id: string;
  /** `this`, `children`, `descendants` or scope ids. */
  grant_scope_ids: readonly string[];
}

/** Who asks, as far as grants go. */
export type Asker = 'anonymous' | 'user' | 'recovery';

/** Where a question is asked: a type in a scope. */
export interface Place {
  scope_id: string;
  /** Empty for `global`. */
  parent_scope_id: string;
  type: ResourceTypeName;
}

/** One thing that is asked about. */
export interface Asked extends Place {
  /** Absent for a collection. */
  id?: string | undefined;
  /** The id of the parent, for types that live in one. */
  pin?: string | undefined;
  action: Action;
}

export type OutputFields = 'all' | ReadonlySet<string>;

export interface GrantVerdict {
  authorized: boolean;
  output_fields: OutputFields;
}

/** What a caller may see of the items of one type in one scope. */
export interface Visibility {
  /** Every item, on the ground of a grant for all ids. */
  all: boolean;
  /** Every item that is the caller's own. */
  own: boolean;
  /** Single items. */
  ids: ReadonlySet<string>;
  /** All items of these parents. */
  pins: ReadonlySet<string>;
}

/** What somebody without a log-in may see of an item unless a grant says otherwise. */
const ANONYMOUS_FIELDS: ReadonlySet<string> = new Set([
  'id', 'scope', 'scope_id', 'plugin_id', 'plugin', 'name', 'description', 'type', 'is_primary',
  'primary_auth_method_id', 'authorized_actions', 'authorized_collection_actions',
]); // biome-ignore format: one table

/** All that can ever be granted to somebody without a log-in. */
const ANONYMOUS_ACTIONS: Readonly<Partial<Record<ResourceTypeName, readonly Action[]>>> = {
  scope: ['list', 'no-op'],
  'auth-method': ['list', 'no-op', 'authenticate'],
};

const isCollection = (action: string): boolean =>
  parentAction(action) === 'create' || parentAction(action) === 'list';

/** The grants of one place, sorted by what they speak of, and what they were found to say. */
interface Sorted {
  /** For every id. */
  everything: Grant[];
  /** For the collection alone: they name a type and no ids. */
  collection: Grant[];
  byId: Map<string, Grant[]>;
  byPin: Map<string, Grant[]>;
  /** Verdicts on what no grant names by its id. */
  onItems: Map<Action, GrantVerdict>;
  onCollection: Map<Action, GrantVerdict>;
  /** The same for lists of actions. */
  listsOfItems: WeakMap<readonly Action[], readonly Action[]>;
  listsOfCollection: WeakMap<readonly Action[], readonly Action[]>;
  visible: WeakMap<readonly Action[], Visibility>;
}

/**
 * Answers whether grants allow an action, deny by default. Grants only ever add up: none takes
 * away what another gives.
 */
export class Authority {
  readonly asker: Asker;
  readonly #held: readonly HeldGrant[];
  readonly #places = new Map<ResourceTypeName, Map<string, Sorted>>();
  readonly #sorted = new Map<string, Sorted>();
  readonly #fingerprints = new Map<ResourceTypeName, string>();
  readonly #possible = new Map<string, boolean>();

  constructor(asker: Asker, held: readonly HeldGrant[]) {
    this.asker = asker;
    this.#held = held;
  }

  /** The verdict on one action, with the fields that may be shown of its outcome. */
  judge(asked: Asked): GrantVerdict {
    if (this.asker === 'recovery') return { authorized: true, output_fields: 'all' };
    const sorted = this.#sort(asked);
    if (isNamed(asked, sorted)) return this.#decide(asked, sorted);
    // All but a few questions are answered by grants for all ids: the same for every item.
    const verdicts = asked.id === undefined ? sorted.onCollection : sorted.onItems;
    const known = verdicts.get(asked.action);
    if (known) return known;
    const verdict = this.#decide(asked, sorted);
    verdicts.set(asked.action, verdict);
    return verdict;
  }

  /**
   * Whether an action could be allowed on anything of a type at all. Where this says no, no
   * question about a single thing is answered with yes: what is asked need not be read.
   */
  mayAllow(type: ResourceTypeName, action: Action): boolean {
    if (this.asker === 'recovery') return true;
    const key = `${type} ${action}`;
    const known = this.#possible.get(key);
    if (known !== undefined) return known;
    const own = ownAction(action);
    const forms = own ? [action, own] : [action];
    const possible = this.#held.some(({ grant }) => {
      if (this.asker === 'anonymous' ? grant.type !== type : !concerns(grant, type)) return false;
      // What names single items says nothing of the collection that they lie in.
      if (isCollection(action) && typeOfId(grant.ids[0] ?? '') === type) return false;
      return forms.some((form) => this.#permits({ type }, grant.actions, form));
    });
    this.#possible.set(key, possible);
    return possible;
  }

  /** Those of some actions that are allowed. */
  listActions(asked: Omit<Asked, 'action'>, candidates: readonly Action[]): readonly Action[] {
    if (this.asker === 'recovery') return candidates;
    const sorted = this.#sort(asked);
    const list = (): readonly Action[] => {
      const onItem = collect(asked, sorted, false);
      return candidates.filter((action) => {
        const matching = isCollection(action) ? collect(asked, sorted, true) : onItem;
        return matching.some(({ actions }) => this.#permits(asked, actions, action));
      });
    };
    if (isNamed(asked, sorted)) return list();
    const lists = asked.id === undefined ? sorted.listsOfCollection : sorted.listsOfItems;
    const known = lists.get(candidates);
    if (known) return known;
    const allowed = list();
    lists.set(candidates, allowed);
    return allowed;
  }

  /**
   * What of a collection can be seen: items on which at least one of their own actions is
   * allowed. That the collection may be listed at all is another question.
   */
  describeVisibility(place: Place, idActions: readonly Action[]): Visibility {
    if (this.asker === 'recovery') return { all: true, own: true, ids: NONE, pins: NONE };
    const sorted = this.#sort(place);
    const known = sorted.visible.get(idActions);
    if (known) return known;
    const allows = (grants: readonly Grant[], actions: readonly Action[]): boolean =>
      actions.some((action) =>
        grants.some(({ actions: granted }) => this.#permits(place, granted, action)),
      );
    const whole = idActions.filter((action) => !action.endsWith(':self'));
    const all = allows(sorted.everything, whole);
    const visible: Visibility = {
      all,
      own: all || allows(sorted.everything, idActions),
      ids: all ? NONE : keysWith(sorted.byId, (grants) => allows(grants, idActions)),
      pins: all ? NONE : keysWith(sorted.byPin, (grants) => allows(grants, idActions)),
    };
    sorted.visible.set(idActions, visible);
    return visible;
  }

  /** The grants on a type, in one text that changes when any of them does; for list tokens. */
  fingerprint(type: ResourceTypeName): string {
    if (this.asker === 'recovery') return 'recovery';
    const known = this.#fingerprints.get(type);
    if (known !== undefined) return known;
    const text = this.#held
      .filter(({ grant }) => concerns(grant, type))
      .map(({ grant, role_id, grant_scope_ids }) =>
        JSON.stringify([role_id, grant_scope_ids, grant]),
      )
      .sort()
      .join('\n');
    this.#fingerprints.set(type, text);
    return text;
  }

  #decide(asked: Asked, sorted: Sorted): GrantVerdict {
    return this.#weigh(asked, asked.action, collect(asked, sorted, isCollection(asked.action)));
  }

  #weigh(place: Pick<Place, 'type'>, action: Action, matching: readonly Grant[]): GrantVerdict {
    let authorized = false;
    let fields: Set<string> | undefined;
    for (const { actions, output_fields } of matching) {
      if (actions.length > 0) {
        if (!this.#permits(place, actions, action)) continue;
        authorized = true;
      }
      if (!output_fields) continue;
      fields ??= new Set();
      for (const field of output_fields) fields.add(field);
    }
    return { authorized, output_fields: this.#fieldsOf(fields) };
  }

  #fieldsOf(granted: Set<string> | undefined): OutputFields {
    if (granted) return granted.has('*') ? 'all' : granted;
    return this.asker === 'anonymous' ? ANONYMOUS_FIELDS : 'all';
  }

  #permits({ type }: Pick<Place, 'type'>, granted: readonly string[], action: Action): boolean {
    if (!coversAction(granted, action)) return false;
    return this.asker !== 'anonymous' || (ANONYMOUS_ACTIONS[type]?.includes(action) ?? false);
  }

  #sort(place: Place): Sorted {
    const places = this.#places.get(place.type) ?? new Map<string, Sorted>();
    if (places.size === 0) this.#places.set(place.type, places);
    const known = places.get(place.scope_id);
    if (known) return known;
    const applicable = this.#held.flatMap((held, at) => (appliesIn(held, place) ? [at] : []));
    // Where the same grants apply the same is true: scopes of which there are many share it.
    const key = `${place.type} ${applicable.join(',')}`;
    const sorted = this.#sorted.get(key) ?? this.#sortGrants(place.type, applicable);
    this.#sorted.set(key, sorted);
    places.set(place.scope_id, sorted);
    return sorted;
  }

  #sortGrants(type: ResourceTypeName, applicable: readonly number[]): Sorted {
    const sorted: Sorted = {
      everything: [],
      collection: [],
      byId: new Map(),
      byPin: new Map(),
      onItems: new Map(),
      onCollection: new Map(),
      listsOfItems: new WeakMap(),
      listsOfCollection: new WeakMap(),
      visible: new WeakMap(),
    };
    for (const at of applicable) {
      const held = this.#held[at];
      if (!held) continue;
      const { grant } = held;
      if (this.asker === 'anonymous' && grant.type !== type) continue;
      const [first] = grant.ids;
      if (first === '*') {
        if (grant.type === type || grant.type === '*') sorted.everything.push(grant);
      } else if (first === undefined) {
        if (grant.type === type && RESOURCE_TYPES[type].parent === undefined) {
          sorted.collection.push(grant);
        }
      } else if (grant.type === '' || grant.type === typeOfId(first)) {
        if (typeOfId(first) === type) for (const id of grant.ids) put(sorted.byId, id, grant);
      } else if (RESOURCE_TYPES[type].parent === typeOfId(first)) {
        if (grant.type === type || grant.type === '*') {
          for (const id of grant.ids) put(sorted.byPin, id, grant);
        }
      }
    }
    return sorted;
  }
}

/** The grants that can have a say on an item or a collection. */
function collect(
  { id, pin }: Pick<Asked, 'id' | 'pin'>,
  sorted: Sorted,
  forCollection: boolean,
): readonly Grant[] {
  const matching = [...sorted.everything];
  if (id === undefined && forCollection) matching.push(...sorted.collection);
  if (id !== undefined && !forCollection) matching.push(...(sorted.byId.get(id) ?? []));
  if (pin !== undefined) matching.push(...(sorted.byPin.get(pin) ?? []));
  return matching;
}

/** Whether a role's grants reach into a scope (contract 4.2). */
function appliesIn(held: HeldGrant, { scope_id, parent_scope_id }: Place): boolean {
  return held.grant_scope_ids.some((where) => {
    switch (where) {
      case 'this':
        return scope_id === held.role_scope_id;
      case 'children':
        return parent_scope_id !== '' && parent_scope_id === held.role_scope_id;
      case 'descendants':
        return held.role_scope_id === 'global' && scope_id !== 'global';
      default:
        return scope_id === where;
    }
  });
}

/** Whether some grant speaks of just this item, or of what it lies in. */
function isNamed({ id, pin }: Pick<Asked, 'id' | 'pin'>, { byId, byPin }: Sorted): boolean {
  return (id !== undefined && byId.has(id)) || (pin !== undefined && byPin.has(pin));
}

/** Whether a grant can have a say on a type, somewhere. */
function concerns({ ids, type }: Grant, wanted: ResourceTypeName): boolean {
  const [first] = ids;
  if (first === undefined || first === '*') return type === wanted || type === '*';
  const own = typeOfId(first);
  if (type === '') return own === wanted;
  return type === wanted || (type === '*' && RESOURCE_TYPES[wanted].parent === own);
}

function put(map: Map<string, Grant[]>, key: string, grant: Grant): void {
  const known = map.get(key);
  if (known) known.push(grant);
  else map.set(key, [grant]);
}

const NONE: ReadonlySet<string> = new Set();

function keysWith(
  map: Map<string, Grant[]>,
  wanted: (grants: Grant[]) => boolean,
): ReadonlySet<string> {
  return new Set([...map].filter(([, grants]) => wanted(grants)).map(([key]) => key));
}
