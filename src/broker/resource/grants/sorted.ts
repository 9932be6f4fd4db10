import { memoizeWeak } from '../../../core/memoize-weak.ts';
import type { Steps } from '../../../core/steps.ts';
import { type Action, parentAction } from '../actions.ts';
import { typeOfId } from '../ids.ts';
import { RESOURCE_TYPES, type ResourceTypeName } from '../types.ts';
import { type FieldBits, fieldsOfGrant } from './fields.ts';
import { coversAction, type Grant, type Own, templateOf } from './grant.ts';
import type { Bundle } from './reach.ts';

/** Who asks, as far as grants go. */
export type PrincipalKind = 'anonymous' | 'user' | 'recovery';

/** All that can ever be granted to somebody without a log-in. */
const ANONYMOUS_ACTIONS: Readonly<Partial<Record<ResourceTypeName, readonly Action[]>>> = {
  scope: ['list', 'no-op'],
  'auth-method': ['list', 'no-op', 'authenticate'],
};

export const isCollection = (action: string): boolean =>
  parentAction(action) === 'create' || parentAction(action) === 'list';

/** Says whether granted actions permit one, on things of one type. */
type Permits = (granted: readonly string[], action: Action) => boolean;

export function permitsOf(asker: PrincipalKind, type: ResourceTypeName): Permits {
  if (asker !== 'anonymous') return coversAction;
  const possible = ANONYMOUS_ACTIONS[type] ?? [];
  return (granted, action) => possible.includes(action) && coversAction(granted, action);
}

const typeOfIds = memoizeWeak(({ ids: [first = ''] }: Grant) => ({
  type: templateOf(first) ?? typeOfId(first),
}));

/** The type of the first id that a grant names, and so of all of them. */
export const typeOfFirst = (grant: Grant): ResourceTypeName | undefined => typeOfIds(grant).type;

/** Whether a grant can have a say on a type, somewhere. */
export function concerns(grant: Grant, wanted: ResourceTypeName): boolean {
  const { ids, type } = grant;
  const [first] = ids;
  if (first === undefined || first === '*') return type === wanted || type === '*';
  const own = typeOfFirst(grant);
  if (type === '') return own === wanted;
  return type === wanted || (type === '*' && RESOURCE_TYPES[wanted].parent === own);
}

/** What grants say of an action together. */
interface Said {
  authorized: boolean;
  /** Undefined when none of them says anything of fields. */
  fields: FieldBits | undefined;
}

/** Usual answers are there once. */
const SAYS_NOTHING: Said = { authorized: false, fields: undefined };
const PERMITS: Said = { authorized: true, fields: undefined };

/** What fewer grants say is found out each time: of lists of so few there may be one for each thing. */
const MANY_GRANTS = 16;

/** Grants that speak of the same. */
export class GrantList {
  readonly sole: Grant | undefined;
  readonly #permits: Permits;
  readonly #grants: Grant[];
  readonly #keeps: boolean;
  #said: Map<Action, Said> | undefined;

  /**
   * @param keeps whether it is one of few lists, so that what it says may be kept
   * @param sole the only grant there will be: many ids may share the list
   */
  constructor(permits: Permits, keeps: boolean, sole?: Grant) {
    this.#permits = permits;
    this.#keeps = keeps;
    this.sole = sole;
    this.#grants = sole ? [sole] : [];
  }

  get isEmpty(): boolean {
    return this.#grants.length === 0;
  }

  add(grant: Grant): void {
    this.#grants.push(grant);
  }

  /** Whether at least one of some actions is permitted. */
  allows(actions: readonly Action[]): boolean {
    return actions.some((action) =>
      this.#grants.some((grant) => this.#permits(grant.actions, action)),
    );
  }

  decide(action: Action): Said {
    if (!this.#keeps && this.#grants.length < MANY_GRANTS) return this.#find(action);
    this.#said ??= new Map();
    const known = this.#said.get(action);
    if (known) return known;
    const said = this.#find(action);
    this.#said.set(action, said);
    return said;
  }

  #find(action: Action): Said {
    let authorized = false;
    let fields: FieldBits | undefined;
    for (const grant of this.#grants) {
      if (grant.actions.length > 0) {
        if (!this.#permits(grant.actions, action)) continue;
        authorized = true;
      }
      if (grant.output_fields) fields = (fields ?? 0n) | fieldsOfGrant(grant);
    }
    if (fields !== undefined) return { authorized, fields };
    return authorized ? PERMITS : SAYS_NOTHING;
  }
}

/** Templates as grants are filed by them: they have several spellings. */
export const KEY_OF: Readonly<Record<Own, string>> = {
  user: '{{.User.Id}}',
  account: '{{.Account.Id}}',
};

function keyOf(id: string): string {
  const template = templateOf(id);
  return template ? KEY_OF[template] : id;
}

/** What of a collection can be seen because of some grants. */
interface Seen {
  all: boolean;
  own: boolean;
  ids: Names;
  pins: Names;
}

/** Single things that grants name. */
export interface Names {
  /** By their ids. */
  named: ReadonlySet<string>;
  /** By templates: of whoever asks. */
  own: ReadonlySet<Own>;
}

/** Of most types a bundle says nothing, or little: what is empty is there once. */
const NO_LIST: GrantList = new GrantList(() => false, true);
const NO_LISTS: Map<string, GrantList> = new Map();

/** The grants of a bundle that can have a say on a type, by what they speak of. */
export class SortedGrants {
  /** For every id. */
  everything = NO_LIST;
  /** For the collection alone: they name a type and no ids. */
  collection = NO_LIST;
  /** By ids, and by templates as {@link keyOf} has them. */
  byId = NO_LISTS;
  byPin = NO_LISTS;
  #seen: WeakMap<readonly Action[], Seen> | undefined;
  readonly #permits: Permits;

  private constructor(permits: Permits) {
    this.#permits = permits;
  }

  static *make(asker: PrincipalKind, type: ResourceTypeName, bundle: Bundle): Steps<SortedGrants> {
    const sorted = new SortedGrants(permitsOf(asker, type));
    for (const grants of bundle) {
      for (const grant of grants) {
        yield;
        if (asker !== 'anonymous' || grant.type === type) yield* sorted.#add(type, grant);
      }
    }
    return sorted;
  }

  /** Whether none of the grants says anything of the type. */
  get isEmpty(): boolean {
    const { everything, collection, byId, byPin } = this;
    return everything.isEmpty && collection.isEmpty && byId.size === 0 && byPin.size === 0;
  }

  describeVisibility(idActions: readonly Action[]): Seen {
    this.#seen ??= new WeakMap();
    const known = this.#seen.get(idActions);
    if (known) return known;
    const whole = idActions.filter((action) => !action.endsWith(':self'));
    const all = this.everything.allows(whole);
    const seen: Seen = {
      all,
      own: all || this.everything.allows(idActions),
      ids: all ? NONE : keysThatAllow(this.byId, idActions),
      pins: all ? NONE : keysThatAllow(this.byPin, idActions),
    };
    this.#seen.set(idActions, seen);
    return seen;
  }

  *#add(type: ResourceTypeName, grant: Grant): Steps<void> {
    const [first] = grant.ids;
    if (first === '*') {
      if (grant.type !== type && grant.type !== '*') return;
      this.everything = this.#withOneMore(this.everything, grant);
      return;
    }
    const { parent } = RESOURCE_TYPES[type];
    if (first === undefined) {
      if (grant.type !== type || parent !== undefined) return;
      this.collection = this.#withOneMore(this.collection, grant);
      return;
    }
    const own = typeOfFirst(grant);
    if (grant.type === '' || grant.type === own) {
      if (own !== type) return;
      if (this.byId === NO_LISTS) this.byId = new Map();
      yield* this.#put(this.byId, grant);
    } else if (parent !== undefined && parent === own) {
      if (grant.type !== type && grant.type !== '*') return;
      if (this.byPin === NO_LISTS) this.byPin = new Map();
      yield* this.#put(this.byPin, grant);
    }
  }

  #withOneMore(list: GrantList, grant: Grant): GrantList {
    const own = list === NO_LIST ? new GrantList(this.#permits, true) : list;
    own.add(grant);
    return own;
  }

  /** A grant may name hundreds of ids, of which nothing else speaks: they share its list. */
  *#put(map: Map<string, GrantList>, grant: Grant): Steps<void> {
    const alone = new GrantList(this.#permits, false, grant);
    for (const [at, id] of grant.ids.entries()) {
      if (at % IDS_A_STEP === IDS_A_STEP - 1) yield;
      const key = keyOf(id);
      const before = map.get(key);
      if (!before) map.set(key, alone);
      else if (before.sole !== grant) map.set(key, this.#listOf(before, grant));
    }
  }

  #listOf(before: GrantList, grant: Grant): GrantList {
    const list = before.sole ? new GrantList(this.#permits, false) : before;
    if (before.sole) list.add(before.sole);
    list.add(grant);
    return list;
  }
}

/** So many take some microseconds. */
const IDS_A_STEP = 32;

const NONE: Names = { named: new Set(), own: new Set() };

function keysThatAllow(map: ReadonlyMap<string, GrantList>, actions: readonly Action[]): Names {
  if (map.size === 0) return NONE;
  const allows = new Map<GrantList, boolean>();
  const keys = new Set<string>();
  const own = new Set<Own>();
  for (const [key, grants] of map) {
    if (!allows.has(grants)) allows.set(grants, grants.allows(actions));
    if (!allows.get(grants)) continue;
    const template = templateOf(key);
    if (template) own.add(template);
    else keys.add(key);
  }
  return { named: keys, own };
}
