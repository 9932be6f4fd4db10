import type { Action } from '../actions.ts';
import type { ResourceTypeName } from '../types.ts';
import { bitsOf, EVERY_FIELD, type FieldBits, ShownFields } from './fields.ts';
import type { ScopePlace } from './reach.ts';
import type { PrincipalKind } from './sorted.ts';

/** Where a question is asked: a type in a scope. */
export interface Place extends ScopePlace {
  type: ResourceTypeName;
}

/** One thing that is asked about. */
export interface Asked extends Place {
  /** Absent for a collection. */
  id?: string | undefined;
  /** The id of the parent, for types that live in one. */
  pin?: string | undefined;
  action: Action;
}

export type OutputFields = 'all' | ShownFields;

export interface GrantVerdict {
  authorized: boolean;
  output_fields: OutputFields;
}

/** What a caller may see of the items of one type in one scope. */
export interface Visibility {
  /** Every item, because of a grant for all ids. */
  all: boolean;
  /** Every item that is the caller's own. */
  own: boolean;
  /** Single items: those of all sets. Where the same grants apply they are the same sets. */
  ids: readonly ReadonlySet<string>[];
  /** All items of these parents. */
  pins: readonly ReadonlySet<string>[];
}

/** What somebody without a log-in may see of an item unless a grant says otherwise. */
const ANONYMOUS_FIELDS = new ShownFields(bitsOf([
  'id', 'scope', 'scope_id', 'plugin_id', 'plugin', 'name', 'description', 'type', 'is_primary',
  'primary_auth_method_id', 'authorized_actions', 'authorized_collection_actions',
])); // biome-ignore format: one table

/** @param granted undefined when no grant says anything of fields */
export function fieldsShown(asker: PrincipalKind, granted: FieldBits | undefined): OutputFields {
  if (granted !== undefined) return granted === EVERY_FIELD ? 'all' : new ShownFields(granted);
  return asker === 'anonymous' ? ANONYMOUS_FIELDS : 'all';
}
