import type { ResourceTypeName } from './types.ts';

/** Of these others have their permissions, as members, principals or by what they are inside of. */
export const PERMITTING: readonly ResourceTypeName[] = [
  'scope',
  'auth-method',
  'account',
  'user',
  'group',
  'managed-group',
  'role',
];
