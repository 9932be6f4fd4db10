import { createHash } from 'node:crypto';
import { doInTurns, type Soon, type Steps } from '../../../core/steps.ts';
import { type Action, ownAction } from '../actions.ts';
import type { ResourceTypeName } from '../types.ts';
import { ASKED, ASKED_BYTES } from './asked.ts';
import type { FieldBits } from './fields.ts';
import { fileNamed } from './filing.ts';
import { addHash, fingerprintOf } from './fingerprint.ts';
import type { Own } from './grant.ts';
import { type Applying, type EffectiveGrant, Reach } from './reach.ts';
import {
  concerns,
  isCollection,
  type Names,
  type PrincipalKind,
  permitsOf,
  typeOfFirst,
} from './sorted.ts';
import {
  type Asked,
  fieldsShown,
  type GrantVerdict,
  type Place,
  type Visibility,
} from './verdict.ts';
import { isNamed, listsOn, NOBODY, type OwnIds, type View, viewOf } from './view.ts';
import { weighGrants } from './weight.ts';

export interface Besides {
  /** What holds besides, and for others as well: it is filed once for all of them. */
  bases?: readonly GrantSet[];
  /** Whose grants they are: templates stay as they are, and are compared with these. */
  own?: OwnIds;
}

/**
 * Answers whether grants allow an action, deny by default. Grants only ever add up: none takes
 * away what another gives.
 */
export class GrantSet {
  readonly asker: PrincipalKind;
  readonly #held: readonly EffectiveGrant[];
  readonly #bases: readonly GrantSet[];
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
    asker: PrincipalKind,
    held: readonly EffectiveGrant[],
    { bases = [], own = NOBODY }: Besides = {},
    reach = new Reach(held, GrantSet.#reachesOf(bases)),
  ) {
    this.asker = asker;
    this.#held = held;
    this.#bases = bases;
    this.#own = own;
    this.#reach = reach;
  }

  /** The same of grants that may be many. */
  static async make(
    asker: PrincipalKind,
    held: readonly EffectiveGrant[],
    besides: Besides = {},
  ): Promise<GrantSet> {
    const reach = await doInTurns(Reach.make(held, GrantSet.#reachesOf(besides.bases ?? [])));
    return new GrantSet(asker, held, besides, reach);
  }

  /** Files grants that name many single things: it takes long, and whoever asks is answered in one go. */
  async fileNamed(): Promise<void> {
    await doInTurns(this.#fileNamed());
  }

  *#fileNamed(): Steps<void> {
    for (const bundle of yield* this.#reach.listBundles()) yield* fileNamed(this.asker, bundle);
  }

  static #reachesOf(bases: readonly GrantSet[]): readonly Reach[] {
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
    if (isNamed(asked, view, this.#own)) return this.#decide(asked, view);
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
    const isPossible = ({ grant }: EffectiveGrant): boolean => {
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
      const onItem = listsOn(asked, view, this.#own, false);
      const onCollection = listsOn(asked, view, this.#own, true);
      return candidates.filter((action) =>
        (isCollection(action) ? onCollection : onItem).some(
          (grants) => grants.decide(action).authorized,
        ),
      );
    };
    if (isNamed(asked, view, this.#own)) return list();
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

  #decide(asked: Asked, view: View): GrantVerdict {
    let authorized = false;
    let fields: FieldBits | undefined;
    for (const grants of listsOn(asked, view, this.#own, isCollection(asked.action))) {
      const said = grants.decide(asked.action);
      authorized ||= said.authorized;
      if (said.fields !== undefined) fields = (fields ?? 0n) | said.fields;
    }
    return { authorized, output_fields: fieldsShown(this.asker, fields) };
  }

  #viewOf(place: Place): View {
    const applying = this.#places.get(place.scope_id) ?? this.#findPlace(place);
    const views = this.#views.get(applying) ?? new Map<ResourceTypeName, View>();
    if (views.size === 0) this.#views.set(applying, views);
    const known = views.get(place.type);
    if (known) return known;
    const view = viewOf(this.asker, applying, place.type);
    views.set(place.type, view);
    ASKED.grow(this.#remembered, ASKED_BYTES.view + view.sorted.length * ASKED_BYTES.bundle);
    return view;
  }

  #findPlace(place: Place): Applying {
    const applying = this.#reach.find(place);
    this.#places.set(place.scope_id, applying);
    ASKED.grow(this.#remembered, ASKED_BYTES.place);
    return applying;
  }
}
