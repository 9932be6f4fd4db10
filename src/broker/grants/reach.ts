import { remembered } from '../../core/remembered.ts';
import type { Grant } from './grant.ts';

/** A grant in somebody's hands: what it grants and where the role that holds it applies. */
export interface HeldGrant {
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

/**
 * Tells which roles reach into a scope (contract 4.2), without a look at each of them. Somebody may
 * hold a thousand roles, and a thousand scopes may be asked about.
 */
export class Reach {
  readonly #roles: { grants: Grant[]; first: HeldGrant }[] = [];
  /** Roles by a scope that they reach into: their own, or one that they name. */
  readonly #in = new Map<string, Set<number>>();
  /** Roles by the scope above all those that they reach into. */
  readonly #beneath = new Map<string, Set<number>>();
  readonly #everywhere = new Set<number>();
  readonly #bundles = new Map<string, Bundle>();
  readonly #applying = new Map<string, Applying>();
  readonly #base: Reach | undefined;

  /**
   * @param held the grants of a role stand together
   * @param base what applies besides, and to others as well
   */
  constructor(held: readonly HeldGrant[], base?: Reach) {
    this.#base = base;
    for (const one of held) {
      const last = this.#roles.at(-1);
      if (last && isSameRole(last.first, one)) last.grants.push(one.grant);
      else this.#roles.push({ grants: [one.grant], first: one });
    }
    for (const [at, { first }] of this.#roles.entries()) this.#place(at, first);
  }

  find(place: ScopePlace): Applying {
    const { scope_id, parent_scope_id } = place;
    const besides = this.#base?.find(place);
    const reasons = [
      this.#in.get(scope_id),
      parent_scope_id === '' ? undefined : this.#beneath.get(parent_scope_id),
      scope_id === 'global' ? undefined : this.#everywhere,
    ];
    // Where the same grants apply the same is true: scopes of which there are many share it.
    const keys = reasons.map((roles) => (roles ? keyOf(roles) : ''));
    const key = `${keys.join(' ')} ${besides?.number ?? ''}`;
    const known = this.#applying.get(key);
    if (known) return known;
    const bundles = [...new Set(keys)].flatMap((roles) =>
      roles === '' ? [] : [this.#bundleOf(roles)],
    );
    if (besides) bundles.push(...besides.bundles);
    const applying = { bundles, number: this.#applying.size };
    this.#applying.set(key, applying);
    return applying;
  }

  #place(at: number, { role_scope_id, grant_scope_ids }: HeldGrant): void {
    for (const where of grant_scope_ids) {
      if (where === 'this') put(this.#in, role_scope_id, at);
      else if (where === 'children') put(this.#beneath, role_scope_id, at);
      else if (where !== 'descendants') put(this.#in, where, at);
      else if (role_scope_id === 'global') this.#everywhere.add(at);
    }
  }

  #bundleOf(key: string): Bundle {
    const known = this.#bundles.get(key);
    if (known) return known;
    const bundle = key.split(',').map((at) => this.#roles[Number(at)]?.grants ?? []);
    this.#bundles.set(key, bundle);
    return bundle;
  }
}

const keyOf = remembered((roles: ReadonlySet<number>) => [...roles].join(','));

function isSameRole(one: HeldGrant, other: HeldGrant): boolean {
  return (
    one.role_id === other.role_id &&
    one.role_scope_id === other.role_scope_id &&
    one.grant_scope_ids === other.grant_scope_ids
  );
}

function put(map: Map<string, Set<number>>, key: string, at: number): void {
  const known = map.get(key);
  if (known) known.add(at);
  else map.set(key, new Set([at]));
}
