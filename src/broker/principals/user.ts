import { RESOURCE_TYPES } from '../resource/types.ts';

/** What is kept of a user, besides the accounts that stand for them. */
export interface UserBody {
  /** Their entity, shared with the certificate authority's side; empty before the first log-in. */
  entity_id: string;
  /** Policies that their tokens have besides the default one. */
  policies: readonly string[];
}

/**
 * How the accessors begin by which an entity is a user: as the ids of auth methods do, and those of
 * mounts do not. One whose auth method is gone is the user's as before: by which of them the first
 * log-in came says nothing of the others.
 */
export const USER_ACCESSORS: readonly string[] = Object.keys(
  RESOURCE_TYPES['auth-method'].prefixes,
).map((prefix) => `${prefix}_`);

/** Whether an entity is a user by an alias. A mount may call somebody as a user's id is. */
export function isAliasOfUser(
  { name, mount_accessor }: { name: string; mount_accessor: string },
  user_id: string,
): boolean {
  return name === user_id && USER_ACCESSORS.some((prefix) => mount_accessor.startsWith(prefix));
}
