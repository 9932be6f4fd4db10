import type { z } from 'zod';
import type { App } from '../../app/app.ts';
import type { Immutable } from '../../core/immutable.ts';
import type { Effect } from '../../store/write.ts';
import type { Action } from './actions.ts';
import type { BrokerCaller } from './caller.ts';
import type { ContainerField, commonFields, commonShown } from './common-fields.ts';
import type { Beforehand } from './ending.ts';
import type { FieldErrors } from './field-errors.ts';
import type { Resource, Scope } from './resource.ts';
import type { Fields } from './route.ts';
import type { ResourceTypeName } from './types.ts';

/** What a kind of resource declares, from which the types of its requests, rows and answers follow. */
export interface Kind {
  /** Top-level fields that its requests can carry besides the common ones. */
  fields: Readonly<Record<never, z.ZodType>>;
  /** Fields of `attributes`, by subtype. */
  attributes: Readonly<Record<never, z.ZodObject>>;
  /** Fields that items show besides the common ones, `attributes` among them. */
  shown: Readonly<Record<never, z.ZodType>>;
  /** What its row keeps. */
  body: object;
  /** What its items lie in, where that is no scope. */
  parent: Resource | undefined;
  /** What the check of a new item finds. */
  wanted: unknown;
  /** What the check of a change finds. */
  change: unknown;
}

/** Any kind, where it does not matter which. */
export interface AnyKind extends Kind {
  fields: z.ZodRawShape;
  attributes: Readonly<Record<string, z.ZodObject>>;
  shown: z.ZodRawShape;
}

export type FieldsOf<Shape> = {
  readonly [Name in keyof Shape]?:
    | (Shape[Name] extends z.ZodType ? z.output<Shape[Name]> : unknown)
    | undefined;
};

/** Fields that some of several shapes have. */
type ReadOfAny<Shape> = {
  readonly [Name in Shape extends unknown ? keyof Shape : never]?:
    | (Shape extends unknown
        ? Name extends keyof Shape
          ? Shape[Name] extends z.ZodType
            ? z.output<Shape[Name]>
            : unknown
          : never
        : never)
    | undefined;
};

type ShapesOf<Schemas> = {
  [Name in keyof Schemas]: Schemas[Name] extends z.ZodObject ? Schemas[Name]['shape'] : never;
}[keyof Schemas];

type AttributesOf<K extends Kind> = ReadOfAny<ShapesOf<K['attributes']>>;

type CommonItem = Omit<FieldsOf<typeof commonFields>, 'attributes'> & {
  readonly [Name in ContainerField]?: string | undefined;
};

/** A request's fields after their types were checked; null and absent are both `undefined`. */
export type ItemOf<K extends Kind> = CommonItem &
  FieldsOf<K['fields']> & {
    /** As its subtype's schema read them; empty when none were sent. */
    readonly attributes?: AttributesOf<K> | undefined;
  };

/** As {@link ItemOf}, before it is known which subtype's attributes were sent. */
export type SentOf<K extends Kind> = CommonItem &
  FieldsOf<K['fields']> & { readonly attributes?: Fields | undefined };

/** What an item shows besides the common fields. */
export type ShownOf<K extends Kind> = {
  readonly [Name in keyof K['shown']]?:
    | (K['shown'][Name] extends z.ZodType ? Immutable<z.output<K['shown'][Name]>> : unknown)
    | undefined;
};

/** What items of every kind show. */
export type CommonAnswer = { readonly [Name in ContainerField]?: string } & {
  readonly [Name in keyof typeof commonShown]?: Immutable<z.output<(typeof commonShown)[Name]>>;
};

/** What an item shows. */
export type AnswerOf<K extends Kind> = CommonAnswer & ShownOf<K>;

/** What a verb is about: an item as it was read, in the version that the caller gave, and what is asked of it. */
export interface VerbRequest<K extends Kind, Checked> {
  resource: Resource<K['body']>;
  /** What the check has found in the fields. */
  checked: Checked;
}

/** Where a new item goes: its scope, and the item that holds it for types that live in one. */
export interface Container<K extends Kind = AnyKind> {
  scope: Scope;
  parent: K['parent'];
}

/** What a plan changes of a row; what is absent stays as it is, or empty in a new one. */
export interface PlannedRow<K extends Kind = AnyKind> {
  name?: string | null;
  description?: string | null;
  unique_key?: string | null;
  owner_id?: string;
  body?: K['body'];
  secret_sealed?: Uint8Array | null;
}

/** A new or changed row, with whatever else belongs into the same write set. */
export interface Plan<K extends Kind = AnyKind> extends PlannedRow<K> {
  effects?: readonly Effect[];
  /** Of a change; it comes last, when nothing is known that refuses the change. */
  beforehand?: Beforehand | undefined;
}

/**
 * What the broker's common operations need to know of one type of resource to list, read and remove
 * its items, and to change them by verbs. They are the same for all types and live in
 * `resource/operations.ts`.
 */
export interface ShownHandler<K extends Kind = AnyKind> {
  type: ResourceTypeName;
  /** Field that says where an item lies: `scope_id`, `host_catalog_id`, … */
  containerField: ContainerField;
  /** Fields that items show besides the common ones, `attributes` among them. */
  shown: K['shown'];
  /** Whether every change of such an item is a change of configuration that nodes have cached. */
  cached?: boolean;
  /** Whether items show `type`. */
  showsType?: boolean;

  /**
   * What goes with an item when it is removed, besides what it contains and its links. The item is
   * taken by then: statements find all that was made of it, also at the last moment.
   */
  planRemoval?(
    app: App,
    caller: BrokerCaller,
    resource: Resource<K['body']>,
  ): Promise<readonly Effect[]>;

  /** Ends what goes with an item before it is removed, page by page, where that may be more than a page. */
  endBeforehand?(app: App, caller: BrokerCaller, resource: Resource): Promise<void>;

  /**
   * What items show beyond the common fields, in the order given. `attributes` and the like
   * are added as they are; empty ones are left out before.
   */
  describe(
    app: App,
    caller: BrokerCaller,
    resources: readonly Resource<K['body']>[],
    how: 'item' | 'list',
  ): Promise<readonly ShownOf<K>[]>;

  /** Actions on one item, where they are not those of the type. */
  actionsOf?(resource: Resource): readonly Action[];

  /** Types that an item contains, where its subtype decides; all of its type's children else. */
  childrenOf?(resource: Resource): readonly ResourceTypeName[];
  /** Collection actions on what an item contains, where they are not those of the type. */
  collectionActionsOf?(resource: Resource, child: ResourceTypeName): readonly Action[];

  /** Words of refusals, where they are not the usual ones. */
  words?: Partial<ErrorMessages>;
}

/** As {@link ShownHandler}, of a type whose items people make and change. */
export interface ResourceHandler<K extends Kind = AnyKind> extends ShownHandler<K> {
  /** Field that is named where there is too much for a new item or a change, if not that. */
  boundedField?: string;
  /** Top-level fields that requests can carry besides the common ones. */
  fields: K['fields'];
  /** Fields of `attributes`, by subtype; a subtype without an entry takes none. */
  attributes?: K['attributes'];
  /** Fields, and fields of `attributes`, that no record of a request has. */
  secrets?: readonly string[];
  /** Objects that are one value to `update_mask`, e.g. `api_tags`. */
  wholeFields?: readonly string[];

  /**
   * The subtype of a new item; an error is added where there is none. Unless it is given: that of what
   * the item lies in, or of a type that lies in scopes its only one, which is called as the type is.
   *
   * @param parent subtype of what it would live in
   */
  chooseSubtype?(item: SentOf<K>, parent: string | undefined, errors: FieldErrors): string;
  /**
   * What is wrong with the fields of a new item, and what they say; the common ones are checked already.
   *
   * @param query of the request, for what is said there
   */
  checkNew(
    item: ItemOf<K>,
    subtype: string,
    errors: FieldErrors,
    query: URLSearchParams,
  ): K['wanted'];
  planNew(
    app: App,
    caller: BrokerCaller,
    request: {
      id: string;
      item: ItemOf<K>;
      subtype: string;
      wanted: K['wanted'];
      container: Container<K>;
    },
  ): Promise<Plan<K>>;

  /**
   * Where there may be only so many: asked again when a write set was refused, since others may have
   * taken the room that there was for the plan.
   *
   * @throws Failure `invalid`
   */
  requireRoom?(app: App, container_id: string): Promise<void>;

  /** Paths of `update_mask` that can be changed, besides `name` and `description`. */
  updatable(subtype: string): readonly string[];
  /** What is wrong with the fields of a change, and what they say. */
  checkChange(
    item: ItemOf<K>,
    request: { subtype: string; mask: readonly string[] },
    errors: FieldErrors,
  ): K['change'];
  /** @param mask the updatable paths that the request speaks of */
  planChange(
    app: App,
    caller: BrokerCaller,
    request: {
      resource: Resource<K['body']>;
      item: ItemOf<K>;
      change: K['change'];
      mask: readonly string[];
      container: Container<K>;
    },
  ): Promise<Plan<K>>;
}

/** Whether it is there, and of the kind; if so, its body is as the kind declares it. */
export const isOf = <K extends Kind>(
  { type }: Pick<ShownHandler<K>, 'type' | 'describe'>,
  resource: Resource | undefined,
): resource is Resource<K['body']> => resource?.type === type;

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

export const wordsOf = (definition: Pick<ShownHandler, 'words'>): ErrorMessages => ({
  ...USUAL_WORDS,
  ...definition.words,
});
