import { createHash, hash } from 'node:crypto';
import { remembered } from '../../../core/remembered.ts';
import { doInTurns, type Soon, type Steps } from '../../../core/steps.ts';
import { type Action, ownAction } from '../actions.ts';
import type { ResourceTypeName } from '../types.ts';
import { ASKED, ASKED_BYTES } from './asked.ts';
import { bitsOf, EVERY_FIELD, type FieldBits, ShownFields } from './fields.ts';
import { fileNamed, sortBundle } from './filing.ts';
import type { Own } from './grant.ts';
import { type Applying, type HeldGrant, Reach, type ScopePlace } from './reach.ts';
import {
  type Asker,
  concerns,
  type GrantList,
  isCollection,
  KEY_OF,
  type Names,
  permitsOf,
  type SortedGrants,
  typeOfFirst,
} from './sorted.ts';
import { weighGrants } from './weight.ts';

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

export type OutputFields = 'all' | ShownFields;

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
const ANONYMOUS_FIELDS = new ShownFields(bitsOf([
  'id', 'scope', 'scope_id', 'plugin_id', 'plugin', 'name', 'description', 'type', 'is_primary',
  'primary_auth_method_id', 'authorized_actions', 'authorized_collection_actions',
])); // biome-ignore format: one table

/** What is known of one type in all places where the same grants apply. */
interface View {
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
type OwnIds = Readonly<Record<`${Own}_id`, string>>;

const NOBODY: OwnIds = { user_id: '', account_id: '' };

export interface Besides {
  /** What holds besides, and for others as well: it is filed once for all of them. */
  bases?: readonly Authority[];
  /** Whose grants they are: templates stay as they are, and are compared with these. */
  own?: OwnIds;
}

/**
 * Answers whether grants allow an action, deny by default. Grants only ever add up: none takes
 * away what another gives.
 */
export class Authority {
  readonly asker: Asker;
  readonly #held: readonly HeldGrant[];
  readonly #bases: readonly Authority[];
  readonly #reach: Reach;
  readonly #places = new Map<string, Applying>();
  readonly #fingerprints = new Map<ResourceTypeName, string>();
  readonly #possible = new Map<string, boolean>();
  readonly #remembered = ASKED.open(this);
  #views = new WeakMap<Applying, Map<ResourceTypeName, View>>();
  #bytes: number | undefined;

  readonly #own: OwnIds;
  readonly #ownSets = new Map<Own, ReadonlySet<string>>();

  constructor(
    asker: Asker,
    held: readonly HeldGrant[],
    { bases = [], own = NOBODY }: Besides = {},
    reach = new Reach(held, Authority.#reachesOf(bases)),
  ) {
    this.asker = asker;
    this.#held = held;
    this.#bases = bases;
    this.#own = own;
    this.#reach = reach;
  }

  /** The same of grants that may be many. */
  static async make(
    asker: Asker,
    held: readonly HeldGrant[],
    besides: Besides = {},
  ): Promise<Authority> {
    const reach = await doInTurns(Reach.make(held, Authority.#reachesOf(besides.bases ?? [])));
    return new Authority(asker, held, besides, reach);
  }

  /** Files grants that name many single things: it takes long, and whoever asks is answered in one go. */
  async fileNamed(): Promise<void> {
    await doInTurns(this.#fileNamed());
  }

  *#fileNamed(): Steps<void> {
    for (const bundle of yield* this.#reach.listBundles()) yield* fileNamed(this.asker, bundle);
  }

  static #reachesOf(bases: readonly Authority[]): readonly Reach[] {
    return bases.map((base) => base.#reach);
  }

  /** About how many bytes it takes, without its bases. */
  get bytes(): number {
    this.#bytes ??= weighGrants(this.#held, this.#reach.roles);
    return this.#bytes;
  }

  /** Forgets what it was asked. */
  forget(): void {
    this.#places.clear();
    this.#views = new WeakMap();
    this.#fingerprints.clear();
    this.#possible.clear();
  }

  /** The verdict on one action, with the fields that may be shown of its outcome. */
  judge(asked: Asked): GrantVerdict {
    if (this.asker === 'recovery') return { authorized: true, output_fields: 'all' };
    const view = this.#viewOf(asked);
    if (this.#isNamed(asked, view)) return this.#decide(asked, view);
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
    const possible =
      this.#bases.some((base) => base.mayAllow(type, action)) || this.#held.some(isPossible);
    this.#possible.set(key, possible);
    ASKED.grow(this.#remembered, ASKED_BYTES.possible);
    return possible;
  }

  /** Those of some actions that are allowed. */
  listActions(asked: Omit<Asked, 'action'>, candidates: readonly Action[]): readonly Action[] {
    if (this.asker === 'recovery') return candidates;
    const view = this.#viewOf(asked);
    const list = (): readonly Action[] => {
      // One for each: what a thing is named by is looked up once, however many actions there are.
      const onItem = this.#listsOn(asked, view, false);
      const onCollection = this.#listsOn(asked, view, true);
      return candidates.filter((action) =>
        (isCollection(action) ? onCollection : onItem).some(
          (grants) => grants.weigh(action).authorized,
        ),
      );
    };
    if (this.#isNamed(asked, view)) return list();
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
      ids: all ? [] : this.#setsOf(seen.map(({ ids }) => ids)),
      pins: all ? [] : this.#setsOf(seen.map(({ pins }) => pins)),
    };
  }

  #setsOf(names: readonly Names[]): ReadonlySet<string>[] {
    const sets = names.map(({ named }) => named);
    for (const own of ['user', 'account'] as const) {
      if (names.some((one) => one.own.has(own))) sets.push(this.#ownSet(own));
    }
    return sets.filter(({ size }) => size > 0);
  }

  #ownSet(own: Own): ReadonlySet<string> {
    const id = this.#own[`${own}_id`];
    const known = this.#ownSets.get(own) ?? new Set(id === '' ? [] : [id]);
    this.#ownSets.set(own, known);
    return known;
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
    for (const base of this.#bases) all.update(yield* base.#printOf(type));
    all.update(`${this.#own.user_id} ${this.#own.account_id}`);
    // Kept for each type: the grants themselves may be long.
    const fingerprint = all.digest('base64url');
    this.#fingerprints.set(type, fingerprint);
    ASKED.grow(this.#remembered, ASKED_BYTES.fingerprint);
    return fingerprint;
  }

  /** The grants that can have a say on an item or a collection. */
  #listsOn(
    { id, pin }: Pick<Asked, 'id' | 'pin'>,
    { sorted }: View,
    forCollection: boolean,
  ): GrantList[] {
    const names = id === undefined || forCollection ? NONE : this.#namesOf(id);
    const pins = pin === undefined ? NONE : this.#namesOf(pin);
    const lists: GrantList[] = [];
    // There may be a thousand, and each is weighed for each action.
    for (const { everything, collection, byId, byPin } of sorted) {
      if (!everything.isEmpty) lists.push(everything);
      if (id === undefined && forCollection && !collection.isEmpty) lists.push(collection);
      addAll(lists, byId, names);
      addAll(lists, byPin, pins);
    }
    return lists;
  }

  /** Whether some grant speaks of just this item, or of what it lies in. */
  #isNamed({ id, pin }: Pick<Asked, 'id' | 'pin'>, { naming }: View): boolean {
    if (naming.length === 0) return false;
    const names = id === undefined ? NONE : this.#namesOf(id);
    const pins = pin === undefined ? NONE : this.#namesOf(pin);
    return naming.some(
      ({ byId, byPin }) =>
        names.some((name) => byId.has(name)) || pins.some((name) => byPin.has(name)),
    );
  }

  /** What grants may have in the place of an id. */
  #namesOf(id: string): readonly string[] {
    const { user_id, account_id } = this.#own;
    if (id === user_id) return [id, KEY_OF.user];
    return id === account_id ? [id, KEY_OF.account] : [id];
  }

  #decide(asked: Asked, view: View): GrantVerdict {
    let authorized = false;
    let fields: FieldBits | undefined;
    for (const grants of this.#listsOn(asked, view, isCollection(asked.action))) {
      const said = grants.weigh(asked.action);
      authorized ||= said.authorized;
      if (said.fields !== undefined) fields = (fields ?? 0n) | said.fields;
    }
    return { authorized, output_fields: this.#fieldsOf(fields) };
  }

  #fieldsOf(granted: FieldBits | undefined): OutputFields {
    if (granted !== undefined) return granted === EVERY_FIELD ? 'all' : new ShownFields(granted);
    return this.asker === 'anonymous' ? ANONYMOUS_FIELDS : 'all';
  }

  #viewOf(place: Place): View {
    const applying = this.#places.get(place.scope_id) ?? this.#findPlace(place);
    const views = this.#views.get(applying) ?? new Map<ResourceTypeName, View>();
    if (views.size === 0) this.#views.set(applying, views);
    const known = views.get(place.type);
    if (known) return known;
    const sorted = applying.bundles
      .map((bundle) => sortBundle(this.asker, bundle, place.type))
      .filter(({ isEmpty }) => !isEmpty);
    const view: View = {
      sorted,
      naming: sorted.filter(({ byId, byPin }) => byId.size > 0 || byPin.size > 0),
      onItems: new Map(),
      onCollection: new Map(),
      listsOfItems: new WeakMap(),
      listsOfCollection: new WeakMap(),
    };
    views.set(place.type, view);
    ASKED.grow(this.#remembered, ASKED_BYTES.view + sorted.length * ASKED_BYTES.bundle);
    return view;
  }

  #findPlace(place: Place): Applying {
    const applying = this.#reach.find(place);
    this.#places.set(place.scope_id, applying);
    ASKED.grow(this.#remembered, ASKED_BYTES.place);
    return applying;
  }
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

function addHash(sum: Uint32Array, text: string): void {
  const words = new Uint32Array(Uint8Array.from(hash('sha256', text, 'buffer')).buffer);
  for (const [at, word] of words.entries()) sum[at] = (sum[at] ?? 0) + word;
}

/** A grant as it stands in a role. */
const fingerprintOf = ({ grant, text, role_id, grant_scope_ids }: HeldGrant): string =>
  `${role_id} ${scopesText(grant_scope_ids)} ${text ?? JSON.stringify(grant)}`;

/** The same list for all grants of a role. */
const scopesText = remembered((ids: readonly string[]) => JSON.stringify(ids));
