import { omitEmpty } from '../../core/omit-empty.ts';
import { formatMilliseconds } from '../../core/timestamps.ts';
import type { ResourceTypeName } from './types.ts';

/** One thing that the broker keeps, of whatever type; what only its type knows is in `body`. */
export interface Resource<Body = object> {
  id: string;
  type: ResourceTypeName;
  subtype: string;
  /** The scope that grants on it are looked up in; its own id's parent for a scope. */
  scope_id: string;
  /** What it lives in: its scope, or the catalog, store or auth method that holds it. */
  container_id: string;
  /** The user whose it is; empty where that means nothing. */
  owner_id: string;
  name: string | null;
  description: string | null;
  /** Must be unique among its type, besides the name: a log-in name, an alias's value. */
  unique_key: string | null;
  version: number;
  /** Unix milliseconds. */
  created_ms: number;
  updated_ms: number;
  body: Body;
  /** Sealed for this row. */
  secret_sealed: Uint8Array | null;
}

/** A scope, as the rest of the broker looks it up. */
export interface Scope {
  id: string;
  type: 'global' | 'org' | 'project';
  name: string | null;
  description: string | null;
  /** Empty for `global`. */
  parent_scope_id: string;
  /** Auth method whose accounts stand for its users; empty for none. */
  primary_auth_method_id: string;
}

/** The summary of its scope that every item carries. */
export function describeScope(scope: Scope): Record<string, unknown> {
  return omitEmpty({
    id: scope.id,
    type: scope.type,
    name: scope.name,
    description: scope.description,
    parent_scope_id: scope.parent_scope_id,
  });
}

/** RFC 3339 in UTC with milliseconds, e.g. `2026-01-31T12:00:00.123Z`. */
export function formatTime(ms: number): string {
  return formatMilliseconds(ms);
}
