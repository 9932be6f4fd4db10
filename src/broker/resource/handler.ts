import type { z } from 'zod';
import type { App } from '../../app/app.ts';
import type { Effect } from '../../store/write.ts';
import type { Action } from './actions.ts';
import type { BrokerCaller } from './caller.ts';
import type { Beforehand } from './ending.ts';
import type { FieldErrors } from './field-errors.ts';
import type { Resource, Scope } from './resource.ts';
import type { ResourceTypeName } from './types.ts';

/** A request's fields after their types were checked; null and absent are both `undefined`. */
export type ResourceInput = Readonly<Record<string, unknown>> & {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly version?: number | undefined;
  readonly type?: string | undefined;
  /** As its subtype's schema read them; empty when none were sent. */
  readonly attributes?: Readonly<Record<string, unknown>> | undefined;
};

/** What a verb is about: an item as it was read, and what is asked of it. */
export interface VerbRequest {
  resource: Resource;
  item: ResourceInput;
}

/** Where a new item goes: its scope, and the item that holds it for types that live in one. */
export interface Container {
  scope: Scope;
  parent: Resource | undefined;
}

/** What a plan changes of a row; what is absent stays as it is, or empty in a new one. */
export interface PlannedRow {
  name?: string | null;
  description?: string | null;
  unique_key?: string | null;
  owner_id?: string;
  body?: object;
  secret_sealed?: Uint8Array | null;
}

/** A new or changed row, with whatever else belongs into the same write set. */
export interface Plan extends PlannedRow {
  effects?: readonly Effect[];
  /** Of a change; it comes last, when nothing is known that refuses the change. */
  beforehand?: Beforehand | undefined;
}

/**
 * What the broker's common operations need to know of one type of resource. The operations
 * (list, create, read, update, delete, and verbs that change an item) are the same for all of
 * them and live in `resources/operations.ts`.
 */
export interface ResourceHandler {
  type: ResourceTypeName;
  /** Field that says where an item lies: `scope_id`, `host_catalog_id`, … */
  containerField: string;
  /** Field that is named where there is too much for a new item or a change, if not that. */
  boundedField?: string;
  /** Top-level fields that requests can carry besides the common ones. */
  fields: z.ZodRawShape;
  /** Fields of `attributes`, by subtype; a subtype without an entry takes none. */
  attributes?: Readonly<Record<string, z.ZodObject>>;
  /** Fields, and fields of `attributes`, that no record of a request has. */
  secrets?: readonly string[];
  /** Objects that are one value to `update_mask`, e.g. `api_tags`. */
  wholeFields?: readonly string[];
  /** Whether every change of such an item is a change of configuration that nodes have cached. */
  cached?: boolean;
  /** Whether items show `type`. */
  showsType?: boolean;

  /**
   * The subtype of a new item; an error is added where there is none.
   *
   * @param parent subtype of what it would live in
   */
  chooseSubtype(item: ResourceInput, parent: string | undefined, errors: FieldErrors): string;
  /** What is wrong with the fields of a new item; the common ones are checked already. */
  checkNew(item: ResourceInput, subtype: string, errors: FieldErrors): void;
  planNew(
    app: App,
    caller: BrokerCaller,
    request: {
      id: string;
      item: ResourceInput;
      subtype: string;
      container: Container;
      query: URLSearchParams;
    },
  ): Promise<Plan>;

  /**
   * Where there may be only so many: asked again when a write set was refused, since others may have
   * taken the room that there was for the plan.
   *
   * @throws Failure `invalid`
   */
  requireRoom?(app: App, container_id: string): Promise<void>;

  /** Paths of `update_mask` that can be changed, besides `name` and `description`. */
  updatable(subtype: string): readonly string[];
  /** What is wrong with the fields of a change. */
  checkChange(
    item: ResourceInput,
    request: { subtype: string; mask: readonly string[] },
    errors: FieldErrors,
  ): void;
  /** @param mask the updatable paths that the request speaks of */
  planChange(
    app: App,
    caller: BrokerCaller,
    request: {
      resource: Resource;
      item: ResourceInput;
      mask: readonly string[];
      container: Container;
    },
  ): Promise<Plan>;

  /**
   * What goes with an item when it is removed, besides what it contains and its links. The item is
   * taken by then: statements find all that was made of it, also at the last moment.
   */
  planRemoval?(app: App, caller: BrokerCaller, resource: Resource): Promise<readonly Effect[]>;

  /** Ends what goes with an item before it is removed, page by page, where that may be more than a page. */
  endBeforehand?(app: App, caller: BrokerCaller, resource: Resource): Promise<void>;

  /**
   * What items show beyond the common fields, in the order given. `attributes` and the like
   * are added as they are; empty ones are left out before.
   */
  describe(
    app: App,
    caller: BrokerCaller,
    resources: readonly Resource[],
    how: 'item' | 'list',
  ): Promise<readonly Readonly<Record<string, unknown>>[]>;

  /** Actions on one item, where they are not those of the type. */
  actionsOf?(resource: Resource): readonly Action[];

  /** Types that an item contains, where its subtype decides; all of its type's children else. */
  childrenOf?(resource: Resource): readonly ResourceTypeName[];
  /** Collection actions on what an item contains, where they are not those of the type. */
  collectionActionsOf?(resource: Resource, child: ResourceTypeName): readonly Action[];

  /** Words of refusals, where they are not the usual ones. */
  words?: Partial<ErrorMessages>;
}

interface ErrorMessages {
  /** Of `id` in a read. */
  malformedRead: string;
  malformedUpdate: string;
  malformedDelete: string;
  /** After a change that came too late; `%` stands for the id. */
  stale: string;
  /** Of `update_mask` when nothing in it can be changed. */
  emptyMask: string;
}

export const USUAL_WORDS: ErrorMessages = {
  malformedRead: 'Invalid formatted identifier.',
  malformedUpdate: 'Improperly formatted path identifier.',
  malformedDelete: 'Incorrectly formatted identifier.',
  stale: 'Resource "%" doesn\'t exist or incorrect version provided.',
  emptyMask: 'No valid fields provided in the update mask.',
};

export const wordsOf = (definition: ResourceHandler): ErrorMessages => ({
  ...USUAL_WORDS,
  ...definition.words,
});
