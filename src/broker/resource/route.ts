import type { z } from 'zod';
import type { App } from '../../app/app.ts';
import type { FailureKind } from '../../core/failure.ts';
import type { Action } from './actions.ts';
import type { BrokerCaller } from './caller.ts';
import type { OutputFields } from './grants/verdict.ts';
import type { Resource, Scope } from './resource.ts';
import type { ResourceTypeName } from './types.ts';

/** A request of the broker's API; its fields are checked for their types once it is permitted. */
export interface BoundaryRequest {
  /** The path's id; empty for a collection. */
  id: string;
  /** Fields of the body; null and absent are both `undefined`. */
  item: Readonly<Record<string, unknown>>;
  /** Paths of the body's properties, null ones included, or the query's `update_mask`. */
  mask: readonly string[];
  query: URLSearchParams;
}

/** What an operation of the broker's API hands back. */
export interface BoundaryAnswer {
  /** Other than 200 (with a body) or 204 (without). */
  status?: number;
  /** The bare resource, before fields that the caller may not see are taken out. */
  item?: Readonly<Record<string, unknown>>;
  /** A body that is no single resource, or that shows whole whatever grants say. */
  body?: Readonly<Record<string, unknown>>;
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
  resource?: Resource;
  parent?: Resource;
}

/** Who may call: what the request is about, and the action that must be granted on it. */
export type BoundaryAccess =
  | 'public'
  | {
      action: Action;
      /** The type that the action is granted on. */
      type: ResourceTypeName;
      /**
       * Fields of the body that say what the request is about; all that `locate` sees of it, and
       * only where they are texts short enough to name something.
       */
      named_by?: readonly string[];
      /** @throws Failure `not_found` when there is no such thing */
      locate(app: App, caller: BrokerCaller, request: BoundaryRequest): Promise<Located>;
    }
  /** Lists judge scope by scope, item by item, by themselves. */
  | { action: 'list'; lists: ResourceTypeName };

/** One endpoint of the broker's API, whole. */
export interface BoundaryRoute {
  api: 'boundary';
  id: string;
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** `/v1/targets`, `/v1/targets/{id}`, `/v1/targets/{id}:authorize-session`, `/v1/workers:…`. */
  path: `/v1/${string}`;
  summary: string;
  /** Sections of standards. */
  see?: readonly string[];
  access: BoundaryAccess;
  /** Fields of the body. */
  input: z.ZodObject;
  /** Fields of `attributes`, by the subtypes of what is made or changed. */
  attributes?: Readonly<Record<string, z.ZodObject>>;
  /** Fields of the query; for documentation, and for their types. */
  query?: z.ZodObject;
  output: z.ZodType;
  failures: readonly FailureKind[];
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
  resolve?(app: App, request: BoundaryRequest): Promise<BoundaryRequest>;
  /** What can be said of the request by itself. @throws Failure `invalid` */
  check?(request: BoundaryRequest): void;
  run(
    app: App,
    caller: BrokerCaller,
    request: BoundaryRequest,
    located: Located | undefined,
    fields: OutputFields,
  ): Promise<BoundaryAnswer>;
}

/** Declares an endpoint of the broker's API. */
export function boundaryRoute(route: Omit<BoundaryRoute, 'api'>): BoundaryRoute {
  return { api: 'boundary', ...route };
}
