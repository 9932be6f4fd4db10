import type { z } from 'zod';
import { omitEmpty } from '../../core/omit-empty.ts';
import { formatMilliseconds } from '../../core/timestamps.ts';
import type { scopeSummary } from './common-fields.ts';
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

type Named = 'container_id' | 'owner_id' | 'name' | 'description' | 'unique_key' | 'secret_sealed';

/** A row that is new; it lies in its scope unless it is told what else it lies in. */
export function newResource<Body extends object>(
  given: Pick<Resource<Body>, 'id' | 'type' | 'subtype' | 'scope_id' | 'created_ms' | 'body'> &
    Partial<Pick<Resource, Named>>,
): Resource<Body> {
  return {
    container_id: given.scope_id,
    owner_id: '',
    name: null,
    description: null,
    unique_key: null,
    version: 1,
    updated_ms: given.created_ms,
    secret_sealed: null,
    ...given,
  };
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
export function describeScope({ id, type, ...more }: Scope): z.output<typeof scopeSummary> {
  const { name, description, parent_scope_id } = more;
  return { id, type, ...omitEmpty({ name, description, parent_scope_id }) };
}

/** RFC 3339 in UTC with milliseconds, e.g. `2026-01-31T12:00:00.123Z`. */
export function formatTime(ms: number): string {
  return formatMilliseconds(ms);
}
