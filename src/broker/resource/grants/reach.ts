import { memoizeWeak } from '../../../core/memoize-weak.ts';
import { doAll, type Steps } from '../../../core/steps.ts';
import { ASKED, ASKED_BYTES } from './asked.ts';
import type { Grant } from './grant.ts';

/** A grant in somebody's hands: what it grants and where the role that holds it applies. */
export interface EffectiveGrant {
  grant: Grant;
  role_id: string;
  role_scope_id: string;
  /** `this`, `children`, `descendants` or scope ids. */
  grant_scope_ids: readonly string[];
  /** As it was written, unless it is filled in for somebody. */
  text?: string;
}

/** A scope, as far as roles reach into it. */
export interface ScopePlace {
  scope_id: string;
  /** Empty for `global`. */
  parent_scope_id: string;
}

/** The grants of roles that reach into the same scopes for the same reason, by role. */
export type Bundle = readonly (readonly Grant[])[];

/** What applies in a scope; the same object in all scopes where the same does. */
export interface Applying {
  bundles: readonly Bundle[];
  /** Tells it from all others that the same {@link Reach} has found. */
  number: number;
}

/** Roles by the numbers of what they grant: all that grant the very same are one. */
type Kinds = Set<number>;

/**
 * Tells which roles reach into a scope, without a look at each of them. Somebody may
 * hold a thousand roles, and a thousand scopes may be asked about: each project brings a role that
 * grants there what those of all others grant in theirs.
 */
export class Reach {
  /** What roles grant, by the number of its kind. */
  readonly #kinds: (readonly Grant[])[] = [];
  /** By a scope that roles reach into: their own, or one that they name. */
  readonly #in = new Map<string, Kinds>();
  /** By the scope above all those that roles reach into. */
  readonly #beneath = new Map<string, Kinds>();
  #everywhere: Kinds = NONE;
  readonly #bundles = new Map<string, Bundle>();
  readonly #applying = new Map<string, Applying>();
  readonly #remembered = ASKED.open(this);
  readonly #bases: readonly Reach[];
  #roles = 0;
  /** Numbers are given once: what was forgotten is found again under another. */
  #found = 0;

  /**
   * @param held the grants of a role stand together
   * @param bases what applies besides, and to others as well
   */
  constructor(held: readonly EffectiveGrant[], bases: readonly Reach[] = []) {
    this.#bases = bases;
    doAll(this.#take(held));
  }

  /** The same of grants that may be many. */
  static *make(held: readonly EffectiveGrant[], bases: readonly Reach[] = []): Steps<Reach> {
    const reach = new Reach([], bases);
    yield* reach.#take(held);
    return reach;
  }

  /** How many roles there are besides those of the bases. */
  get roles(): number {
    return this.#roles;
  }

  /** The bundles that apply anywhere, but for those of its bases. */
  *listBundles(): Steps<Bundle[]> {
    const keys = new Set<string>();
    for (const kinds of [...this.#in.values(), ...this.#beneath.values(), this.#everywhere]) {
      yield;
      if (kinds.size > 0) keys.add(keyOf(kinds));
    }
    return [...keys].map((key) => this.#bundleOf(key));
  }

  /** Forgets where it was asked about: there may be a scope for each of tens of thousands. */
  forget(): void {
    this.#applying.clear();
  }

  find(place: ScopePlace): Applying {
    const { scope_id, parent_scope_id } = place;
    const reasons = [
      this.#in.get(scope_id),
      parent_scope_id === '' ? undefined : this.#beneath.get(parent_scope_id),
      scope_id === 'global' ? undefined : this.#everywhere,
    ];
    const isNowhere = reasons.every((roles) => roles === undefined || roles.size === 0);
    if (isNowhere && this.#bases.length === 0) return NOTHING;
    // Where the same grants apply the same is true: scopes of which there are many share it.
    const keys = reasons.map((roles) => (roles ? keyOf(roles) : ''));
    let key = keys.join(' ');
    const besides: Bundle[] = [];
    for (const [at, base] of this.#bases.entries()) {
      const { bundles, number } = base.find(place);
      // Of thousands of roles of single scopes most say nothing of this one.
      if (bundles.length === 0) continue;
      key += ` ${at}.${number}`;
      for (const bundle of bundles) besides.push(bundle);
    }
    const known = this.#applying.get(key);
    if (known) return known;
    const bundles = [...new Set(keys)].flatMap((roles) =>
      roles === '' ? [] : [this.#bundleOf(roles)],
    );
    for (const bundle of besides) bundles.push(bundle);
    const applying = { bundles, number: this.#found++ };
    this.#applying.set(key, applying);
    ASKED.grow(this.#remembered, weighApplying(key, applying));
    return applying;
  }

  *#take(held: readonly EffectiveGrant[]): Steps<void> {
    const known = new KnownKinds(this.#kinds);
    const sets = new KindSets();
    let grants: Grant[] = [];
    for (const [at, one] of held.entries()) {
      grants.push(one.grant);
      const next = held[at + 1];
      if (next && isSameRole(one, next)) continue;
      this.#place(sets, known.numberOf(grants), one);
      this.#roles += 1;
      grants = [];
      yield;
    }
  }

  #place(sets: KindSets, kind: number, { role_scope_id, grant_scope_ids }: EffectiveGrant): void {
    for (const where of grant_scope_ids) {
      if (where === 'this') sets.put(this.#in, role_scope_id, kind);
      else if (where === 'children') sets.put(this.#beneath, role_scope_id, kind);
      else if (where !== 'descendants') sets.put(this.#in, where, kind);
      else if (role_scope_id === 'global') this.#everywhere = sets.with(this.#everywhere, kind);
    }
  }

  #bundleOf(key: string): Bundle {
    const known = this.#bundles.get(key);
    if (known) return known;
    const bundle = key.split(',').map((kind) => this.#kinds[Number(kind)] ?? []);
    this.#bundles.set(key, bundle);
    return bundle;
  }
}

/** Where nothing applies. */
const NOTHING: Applying = { bundles: [], number: -1 };

const keyOf = memoizeWeak((kinds: Kinds) => [...kinds].join(','));

/** The kinds that there are, while roles are read: equal grants are mostly the same object. */
class KnownKinds {
  readonly #kinds: (readonly Grant[])[];
  readonly #grants = new Map<Grant, number>();
  readonly #numbers = new Map<string, number>();

  constructor(kinds: (readonly Grant[])[]) {
    this.#kinds = kinds;
  }

  numberOf(grants: readonly Grant[]): number {
    const key = grants.map((grant) => this.#numberOfGrant(grant)).join();
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    this.#numbers.set(key, this.#kinds.length);
    return this.#kinds.push(grants) - 1;
  }

  #numberOfGrant(grant: Grant): number {
    const known = this.#grants.get(grant) ?? this.#grants.size;
    this.#grants.set(grant, known);
    return known;
  }
}

function isSameRole(one: EffectiveGrant, other: EffectiveGrant): boolean {
  return (
    one.role_id === other.role_id &&
    one.role_scope_id === other.role_scope_id &&
    one.grant_scope_ids === other.grant_scope_ids
  );
}

const NONE: Kinds = new Set();

/** So many kinds in a set are the same set wherever they come together in this order. */
const FEW = 4;

/** Sets of kinds, while roles are read: most scopes have the same one. */
class KindSets {
  readonly #next = new Map<Kinds, Map<number, Kinds>>();

  put(map: Map<string, Kinds>, key: string, kind: number): void {
    map.set(key, this.with(map.get(key) ?? NONE, kind));
  }

  /** A set with one more kind; one that is nobody else's grows itself. */
  with(set: Kinds, kind: number): Kinds {
    if (set.has(kind)) return set;
    if (set.size > FEW) return set.add(kind);
    if (set.size === FEW) return new Set([...set, kind]);
    const next = this.#next.get(set) ?? new Map<number, Kinds>();
    this.#next.set(set, next);
    const known = next.get(kind) ?? new Set([...set, kind]);
    next.set(kind, known);
    return known;
  }
}

const weighApplying = (key: string, { bundles }: Applying): number =>
  240 + key.length + bundles.length * ASKED_BYTES.bundle;
