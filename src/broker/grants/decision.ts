import { createHash, hash } from 'node:crypto';
import { remembered } from '../../core/remembered.ts';
import { doInTurns, type Soon, type Steps } from '../../core/steps.ts';
import type { ResourceTypeName } from '../resource-types.ts';
import { type Action, ownAction } from './actions.ts';
import type { Grant } from './grant.ts';
import { type Applying, type Bundle, type HeldGrant, Reach, type ScopePlace } from './reach.ts';
import {
  type Asker,
  concerns,
  type GrantList,
  isCollection,
  permitsOf,
  SortedGrants,
  typeOfFirst,
} from './sorted.ts';

/** Where a question is asked: a type in a scope. */
export interface Place extends ScopePlace {
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
  /** Single items: those of all sets. Where the same grants apply they are the same sets. */
  ids: readonly ReadonlySet<string>[];
  /** All items of these parents. */
  pins: readonly ReadonlySet<string>[];
}

/** What somebody without a log-in may see of an item unless a grant says otherwise. */
const ANONYMOUS_FIELDS: ReadonlySet<string> = new Set([
  'id', 'scope', 'scope_id', 'plugin_id', 'plugin', 'name', 'description', 'type', 'is_primary',
  'primary_auth_method_id', 'authorized_actions', 'authorized_collection_actions',
]); // biome-ignore format: one table

/** What is known of one type in all places where the same grants apply. */
interface View {
  /** One for each bundle of roles that applies. */
  sorted: readonly SortedGrants[];
  /** Verdicts on what no grant names by its id. */
  onItems: Map<Action, GrantVerdict>;
  onCollection: Map<Action, GrantVerdict>;
  /** The same for lists of actions. */
  listsOfItems: WeakMap<readonly Action[], readonly Action[]>;
  listsOfCollection: WeakMap<readonly Action[], readonly Action[]>;
}

/**
 * What an authority takes, a role, a grant in its hands, a grant as it was read and filed for the types that it
 * is about, and a single id that it names.
 */
const BYTES = { authority: 2048, role: 160, held: 64, grant: 512, id: 112 } as const;

function weighGrants(held: readonly HeldGrant[], roles: number): number {
  let bytes = BYTES.authority + roles * BYTES.role + held.length * BYTES.held;
  const grants = new Set<Grant>();
  for (const { grant } of held) {
    if (grants.has(grant)) continue;
    grants.add(grant);
    bytes += BYTES.grant + grant.ids.length * BYTES.id;
  }
  return bytes;
}

/**
 * Answers whether grants allow an action, deny by default. Grants only ever add up: none takes
 * away what another gives.
 */
export class Authority {
  readonly asker: Asker;
  readonly #held: readonly HeldGrant[];
  readonly #base: Authority | undefined;
  readonly #reach: Reach;
  readonly #places = new Map<string, Applying>();
  readonly #views = new WeakMap<Applying, Map<ResourceTypeName, View>>();
  readonly #fingerprints = new Map<ResourceTypeName, string>();
  readonly #possible = new Map<string, boolean>();
  #bytes: number | undefined;

  /** @param base what holds besides, and for others as well: it is filed once for all of them */
  constructor(
    asker: Asker,
    held: readonly HeldGrant[],
    base?: Authority,
    reach = new Reach(held, base ? base.#reach : undefined),
  ) {
    this.asker = asker;
    this.#held = held;
    this.#base = base;
    this.#reach = reach;
  }

  /** The same of grants that may be many. */
  static async make(
    asker: Asker,
    held: readonly HeldGrant[],
    base?: Authority,
  ): Promise<Authority> {
    const reach = await doInTurns(Reach.make(held, base ? base.#reach : undefined));
    return new Authority(asker, held, base, reach);
  }

  /** About how many bytes it takes, without its base. */
  get bytes(): number {
    this.#bytes ??= weighGrants(this.#held, this.#reach.roles);
    return this.#bytes;
  }

  /** The verdict on one action, with the fields that may be shown of its outcome. */
  judge(asked: Asked): GrantVerdict {
    if (this.asker === 'recovery') return { authorized: true, output_fields: 'all' };
    const view = this.#viewOf(asked);
    if (isNamed(asked, view)) return this.#decide(asked, view);
    // All but a few questions are answered by grants for all ids: the same for every item.
    const verdicts = asked.id === undefined ? view.onCollection : view.onItems;
    const known = verdicts.get(asked.action);
    if (known) return known;
    const verdict = this.#decide(asked, view);
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
    const permits = permitsOf(this.asker, type);
    const isPossible = ({ grant }: HeldGrant): boolean => {
      if (!forms.some((form) => permits(grant.actions, form))) return false;
      if (this.asker === 'anonymous' ? grant.type !== type : !concerns(grant, type)) return false;
      // What names single items says nothing of the collection that they lie in.
      return !(isCollection(action) && typeOfFirst(grant) === type);
    };
    const possible = (this.#base?.mayAllow(type, action) ?? false) || this.#held.some(isPossible);
    this.#possible.set(key, possible);
    return possible;
  }

  /** Those of some actions that are allowed. */
  listActions(asked: Omit<Asked, 'action'>, candidates: readonly Action[]): readonly Action[] {
    if (this.asker === 'recovery') return candidates;
    const view = this.#viewOf(asked);
    const list = (): readonly Action[] =>
      candidates.filter((action) =>
        listsOn({ ...asked, action }, view).some((grants) => grants.weigh(action).authorized),
      );
    if (isNamed(asked, view)) return list();
    const lists = asked.id === undefined ? view.listsOfCollection : view.listsOfItems;
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
    if (this.asker === 'recovery') return { all: true, own: true, ids: [], pins: [] };
    const seen = this.#viewOf(place).sorted.map((sorted) => sorted.describeVisibility(idActions));
    const all = seen.some((one) => one.all);
    return {
      all,
      own: seen.some((one) => one.own),
      ids: all ? [] : seen.map(({ ids }) => ids).filter(({ size }) => size > 0),
      pins: all ? [] : seen.map(({ pins }) => pins).filter(({ size }) => size > 0),
    };
  }

  /** A text of the grants on a type that changes when any of them does; for list tokens. */
  fingerprint(type: ResourceTypeName): Soon<string> {
    if (this.asker === 'recovery') return 'recovery';
    return this.#fingerprints.get(type) ?? doInTurns(this.#printOf(type));
  }

  *#printOf(type: ResourceTypeName): Steps<string> {
    const known = this.#fingerprints.get(type);
    if (known !== undefined) return known;
    // Whatever the order they are in: thousands of them are not sorted between two turns.
    const sum = new Uint32Array(8);
    for (const held of this.#held) {
      yield;
      if (concerns(held.grant, type)) addHash(sum, fingerprintOf(held));
    }
    const all = createHash('sha256').update(sum);
    if (this.#base) all.update(yield* this.#base.#printOf(type));
    // Kept for each type: the grants themselves may be long.
    const fingerprint = all.digest('base64url');
    this.#fingerprints.set(type, fingerprint);
    return fingerprint;
  }

  #decide(asked: Asked, view: View): GrantVerdict {
    let authorized = false;
    let fields: Set<string> | undefined;
    for (const grants of listsOn(asked, view)) {
      const said = grants.weigh(asked.action);
      authorized ||= said.authorized;
      if (!said.fields) continue;
      fields ??= new Set();
      for (const field of said.fields) fields.add(field);
    }
    return { authorized, output_fields: this.#fieldsOf(fields) };
  }

  #fieldsOf(granted: Set<string> | undefined): OutputFields {
    if (granted) return granted.has('*') ? 'all' : granted;
    return this.asker === 'anonymous' ? ANONYMOUS_FIELDS : 'all';
  }

  #viewOf(place: Place): View {
    const applying = this.#places.get(place.scope_id) ?? this.#reach.find(place);
    this.#places.set(place.scope_id, applying);
    const views = this.#views.get(applying) ?? new Map<ResourceTypeName, View>();
    if (views.size === 0) this.#views.set(applying, views);
    const known = views.get(place.type);
    if (known) return known;
    const view: View = {
      sorted: applying.bundles.map((bundle) => sortBundle(this.asker, bundle, place.type)),
      onItems: new Map(),
      onCollection: new Map(),
      listsOfItems: new WeakMap(),
      listsOfCollection: new WeakMap(),
    };
    views.set(place.type, view);
    return view;
  }
}

/** What was filed of a bundle, for all who have it: only people without a log-in share none with others. */
const filedOf = remembered((_: Bundle) => new Map<ResourceTypeName, SortedGrants>());

function sortBundle(asker: Asker, bundle: Bundle, type: ResourceTypeName): SortedGrants {
  const filed = filedOf(bundle);
  const known = filed.get(type);
  if (known) return known;
  const sorted = new SortedGrants(asker, type, bundle);
  filed.set(type, sorted);
  return sorted;
}

/** The grants that can have a say on an item or a collection. */
function listsOn({ id, pin, action }: Asked, { sorted }: View): GrantList[] {
  const forCollection = isCollection(action);
  return sorted.flatMap(({ everything, collection, byId, byPin }) => {
    const lists = [everything];
    if (id === undefined && forCollection) lists.push(collection);
    const named = id === undefined || forCollection ? undefined : byId.get(id);
    if (named) lists.push(named);
    const pinned = pin === undefined ? undefined : byPin.get(pin);
    if (pinned) lists.push(pinned);
    return lists;
  });
}

/** Whether some grant speaks of just this item, or of what it lies in. */
function isNamed({ id, pin }: Pick<Asked, 'id' | 'pin'>, { sorted }: View): boolean {
  return sorted.some(
    ({ byId, byPin }) =>
      (id !== undefined && byId.has(id)) || (pin !== undefined && byPin.has(pin)),
  );
}

function addHash(sum: Uint32Array, text: string): void {
  const words = new Uint32Array(Uint8Array.from(hash('sha256', text, 'buffer')).buffer);
  for (const [at, word] of words.entries()) sum[at] = (sum[at] ?? 0) + word;
}

/** A grant as it stands in a role; made anew where it is filled in for somebody. */
const fingerprintOf = ({ grant, text, role_id, grant_scope_ids }: HeldGrant): string =>
  `${role_id} ${scopesText(grant_scope_ids)} ${text ?? JSON.stringify(grant)}`;

/** The same list for all grants of a role. */
const scopesText = remembered((ids: readonly string[]) => JSON.stringify(ids));
