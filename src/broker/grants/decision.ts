import { RESOURCE_TYPES, type ResourceTypeName, typeOfId } from '../resource-types.ts';
import { type Action, parentAction } from './actions.ts';
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
  ids: readonly string[];
  /** All items of these parents. */
  pins: readonly string[];
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

/** The grants of one place, sorted by what they speak of. */
interface Sorted {
  /** For every id. */
  everything: Grant[];
  /** For the collection alone: they name a type and no ids. */
  collection: Grant[];
  byId: Map<string, Grant[]>;
  byPin: Map<string, Grant[]>;
}

/**
 * Answers whether grants allow an action, deny by default. Grants only ever add up: none takes
 * away what another gives.
 */
export class Authority {
  readonly asker: Asker;
  readonly #held: readonly HeldGrant[];
  readonly #places = new Map<string, Sorted>();
  readonly #general = new Map<string, GrantVerdict>();

  constructor(asker: Asker, held: readonly HeldGrant[]) {
    this.asker = asker;
    this.#held = held;
  }

  /** The verdict on one action, with the fields that may be shown of its outcome. */
  judge(asked: Asked): GrantVerdict {
    if (this.asker === 'recovery') return { authorized: true, output_fields: 'all' };
    const sorted = this.#sort(asked);
    const special =
      (asked.id !== undefined && sorted.byId.has(asked.id)) ||
      (asked.pin !== undefined && sorted.byPin.has(asked.pin));
    if (special) return this.#decide(asked, sorted);
    // All but a few questions are answered by grants for all ids: the same for every item.
    const collection = asked.id === undefined;
    const key = `${asked.scope_id} ${asked.type} ${asked.action} ${collection}`;
    const known = this.#general.get(key);
    if (known) return known;
    const verdict = this.#decide(asked, sorted);
    this.#general.set(key, verdict);
    return verdict;
  }

  /** Those of some actions that are allowed. */
  listActions(asked: Omit<Asked, 'action'>, candidates: readonly Action[]): Action[] {
    return candidates.filter((action) => this.judge({ ...asked, action }).authorized);
  }

  /**
   * What of a collection can be seen: items on which at least one of their own actions is
   * allowed. That the collection may be listed at all is another question.
   */
  describeVisibility(place: Place, idActions: readonly Action[]): Visibility {
    if (this.asker === 'recovery') return { all: true, own: true, ids: [], pins: [] };
    const sorted = this.#sort(place);
    const allows = (grants: readonly Grant[], actions: readonly Action[]): boolean =>
      actions.some((action) =>
        grants.some(({ actions: granted }) => this.#permits(place, granted, action)),
      );
    const whole = idActions.filter((action) => !action.endsWith(':self'));
    const all = allows(sorted.everything, whole);
    return {
      all,
      own: all || allows(sorted.everything, idActions),
      ids: all ? [] : keysWith(sorted.byId, (grants) => allows(grants, idActions)),
      pins: all ? [] : keysWith(sorted.byPin, (grants) => allows(grants, idActions)),
    };
  }

  /** The grants on a type, in one text that changes when any of them does; for list tokens. */
  fingerprint(type: ResourceTypeName): string {
    if (this.asker === 'recovery') return 'recovery';
    return this.#held
      .filter(({ grant }) => concerns(grant, type))
      .map(({ grant, role_id, grant_scope_ids }) =>
        JSON.stringify([role_id, grant_scope_ids, grant]),
      )
      .sort()
      .join('\n');
  }

  #decide(asked: Asked, sorted: Sorted): GrantVerdict {
    const { action, id, pin } = asked;
    const matching: Grant[] = [...sorted.everything];
    if (id === undefined && isCollection(action)) matching.push(...sorted.collection);
    if (id !== undefined && !isCollection(action)) matching.push(...(sorted.byId.get(id) ?? []));
    if (pin !== undefined) matching.push(...(sorted.byPin.get(pin) ?? []));
    let authorized = false;
    let fields: Set<string> | undefined;
    for (const { actions, output_fields } of matching) {
      if (actions.length > 0) {
        if (!this.#permits(asked, actions, action)) continue;
        authorized = true;
      }
      if (output_fields) fields = new Set([...(fields ?? []), ...output_fields]);
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
    const key = `${place.scope_id} ${place.type}`;
    const known = this.#places.get(key);
    if (known) return known;
    const sorted: Sorted = { everything: [], collection: [], byId: new Map(), byPin: new Map() };
    for (const held of this.#held) {
      if (!appliesIn(held, place)) continue;
      const { grant } = held;
      const { type } = place;
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
    this.#places.set(key, sorted);
    return sorted;
  }
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

function concerns({ ids, type }: Grant, wanted: ResourceTypeName): boolean {
  const own = typeOfId(ids[0] ?? '');
  return type === wanted || type === '*' || own === wanted || RESOURCE_TYPES[wanted].parent === own;
}

function put(map: Map<string, Grant[]>, key: string, grant: Grant): void {
  const known = map.get(key);
  if (known) known.push(grant);
  else map.set(key, [grant]);
}

function keysWith(map: Map<string, Grant[]>, wanted: (grants: Grant[]) => boolean): string[] {
  return [...map].filter(([, grants]) => wanted(grants)).map(([key]) => key);
}
