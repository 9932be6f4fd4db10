import type { z } from 'zod';
import type { App } from '../../app/app.ts';
import type { RawAnswer } from '../../app/result.ts';
import type { FailureKind } from '../../core/failure.ts';
import type { Immutable } from '../../core/immutable.ts';
import type { Soon } from '../../core/steps.ts';
import type { Action } from './actions.ts';
import type { BrokerCaller } from './caller.ts';
import type { OutputFields } from './grants/verdict.ts';
import type { Resource, Scope } from './resource.ts';
import type { ResourceTypeName } from './types.ts';

/** Fields of a body; null and absent are both `undefined`. */
export type Fields = Readonly<Record<string, unknown>>;

/** A request of the broker's API, with its fields as they are declared. */
export interface BoundaryRequest<Item = Fields> {
  /** The path's id; empty for a collection. */
  id: string;
  item: Item;
  /** Paths of the body's properties, null ones included, or the query's `update_mask`. */
  mask: readonly string[];
  query: URLSearchParams;
}

/** What of a request is read before it is permitted: of its body only short texts that name something. */
export type BoundaryReference = BoundaryRequest<Readonly<Partial<Record<string, string>>>>;

/** A request that is in order, with what was found in it. */
export interface CheckedRequest<Item = Fields, Checked = unknown> extends BoundaryRequest<Item> {
  checked: Checked;
}

/** What an endpoint of the broker's API hands back; nothing at all is an answer without a body. */
export interface BoundaryAnswer<Shown = object | null> {
  /** The bare resource, before fields that the caller may not see are taken out. */
  item?: Shown;
  /** A body that is no single resource, or that shows whole whatever grants say. */
  body?: Shown;
  /** Instead of JSON, of the declared media type. */
  bytes?: RawAnswer;
  /** `Set-Cookie` values. */
  cookies?: readonly string[];
}

/** What a request is about; found before it is permitted. */
export interface Located {
  type: ResourceTypeName;
  scope: Scope;
  /** Absent for a collection. */
  id?: string;
  /** The parent's id, for types that live in one. */
  pin?: string;
  /** The user whose it is, where `:self` actions mean something. */
  owner_id?: string;
}

/** An item that a request is about. */
export interface LocatedItem<Body extends object = object> extends Located {
  resource: Resource<Body>;
}

/** Where a new item is to lie. */
export interface LocatedPlace extends Located {
  /** The item that is to hold it; absent where that is its scope. */
  parent: Resource | undefined;
}

/** What must be granted on what a request is about. */
export interface LocatedAccess<At extends Located = Located> {
  action: Action;
  /** The type that the action is granted on. */
  type: ResourceTypeName;
  /**
   * Fields of the body that say what the request is about; all that `locate` sees of it, and
   * only where they are texts short enough to name something.
   */
  named_by?: readonly string[];
  /** @throws Failure `not_found` when there is no such thing */
  locate(app: App, caller: BrokerCaller, request: BoundaryReference): Promise<At>;
}

/** Who may call: what the request is about, and the action that must be granted on it. */
export type BoundaryAccess<At extends Located = Located> =
  | 'public'
  | LocatedAccess<At>
  /** Lists judge scope by scope, item by item, by themselves. */
  | { action: 'list'; lists: ResourceTypeName };

/** One endpoint of the broker's API, whole; `Checked` is what `check` finds, `At` what `locate` does. */
export interface BoundaryRoute<
  In extends z.ZodObject = z.ZodObject,
  Checked = unknown,
  Out extends z.ZodType<object | null> = z.ZodType<object | null>,
  At extends Located = Located,
> {
  id: string;
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** `/v1/targets`, `/v1/targets/{id}`, `/v1/targets/{id}:authorize-session`, `/v1/workers:…`. */
  path: `/v1/${string}`;
  summary: string;
  /** Sections of standards. */
  see?: readonly string[];
  access: BoundaryAccess<At>;
  /** Fields of the body. */
  input: In;
  /** Fields of `attributes`, by the subtypes of what is made or changed. */
  attributes?: Readonly<Record<string, z.ZodObject>>;
  /** Fields of the query; for documentation, and for their types. */
  query?: z.ZodObject;
  output: Out;
  /** The media type of an answer that is no JSON. */
  bytes?: string;
  failures: readonly FailureKind[];
  /** See `Declaration.on_any_thread` of the other API's routes; a function says it of the path's id, whoever asks. */
  on_any_thread?: true | ((app: App, id: string) => Soon<boolean>);
  /**
   * Fields of body and query that the audit record may hold as they are; `update_mask` for what a change
   * speaks of, also what it empties.
   */
  audit?: readonly string[];
  /** Fields that are objects, and what of each a record may hold. */
  audit_within?: Readonly<Record<string, readonly string[]>>;
  /** Objects that are one value to `update_mask`. */
  whole_fields?: readonly string[];
  /** Largest body in bytes; by default 1 MiB, and never more than 64 KiB from nobody in particular. */
  max_body?: number;
  /** Puts another id in the place of the path's, e.g. of an alias. */
  resolve?(app: App, request: BoundaryReference): Promise<BoundaryReference>;
  /** What can be said of the request by itself, and what it says. @throws Failure `invalid` */
  check?(request: BoundaryRequest<z.output<In>>): Checked;
  run(
    app: App,
    caller: BrokerCaller,
    request: CheckedRequest<z.output<In>, Checked>,
    located: At,
    fields: OutputFields,
  ): Promise<BoundaryAnswer<Immutable<z.output<Out>>>>;
}

/** A route in a list of routes: what its request holds, and what is found in it, is known only to itself. */
export interface AnyBoundaryRoute extends Omit<BoundaryRoute, 'run'> {
  api: 'boundary';
  /** @param located what `access` located; absent where it locates nothing */
  run(
    app: App,
    caller: BrokerCaller,
    request: CheckedRequest,
    located: Located | undefined,
    fields: OutputFields,
  ): Promise<BoundaryAnswer>;
}

/** Declares an endpoint of the broker's API. */
export function boundaryRoute<
  In extends z.ZodObject,
  Out extends z.ZodType<object | null>,
  Checked = undefined,
  At extends Located = never,
>(route: BoundaryRoute<In, Checked, Out, At>): AnyBoundaryRoute {
  // Whoever runs it hands it what its own `input`, `check` and `locate` gave.
  return { api: 'boundary', ...route };
}
