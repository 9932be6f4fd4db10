import { z } from 'zod';
import type { Action } from '../../resource/actions.ts';
import { commonShown } from '../../resource/common-fields.ts';
import type { FieldErrors } from '../../resource/field-errors.ts';
import { isIdOf } from '../../resource/ids.ts';
import { BROUGHT_GRANTS } from '../../resource/org-bounds/brought.ts';
import { RESOURCE_TYPES, type ResourceTypeName, type ScopeType } from '../../resource/types.ts';

export const scopeFields = {
  primary_auth_method_id: z
    .string()
    .optional()
    .describe('Auth method whose accounts stand for the users of this scope.'),
  storage_policy_id: z.string().optional().describe('Set by `:attach-storage-policy`.'),
};

export const shownOfScope = {
  primary_auth_method_id: scopeFields.primary_auth_method_id.unwrap(),
  storage_policy_id: z.string(),
  authorized_collection_actions: commonShown.authorized_collection_actions,
};

/** The kind of a new scope: as asked, or what its parent can hold. @see B-33 */
export function chooseScopeType(
  wanted: string,
  parent_id: string,
  errors: FieldErrors,
): 'org' | 'project' {
  const inferred = parent_id === 'global' || parent_id === '' ? 'org' : 'project';
  switch (wanted === '' ? inferred : wanted) {
    case 'org':
      if (parent_id !== 'global' && parent_id !== '') {
        errors.add('type', 'Org scopes can only be created under the global scope.');
      }
      return 'org';
    case 'project':
      if (!isIdOf(parent_id, 'scope', 'org')) {
        errors.add('type', 'Project scopes can only be created under an org scope.');
      }
      return 'project';
    case 'global':
      errors.add('type', 'Cannot create a global scope.');
      return inferred;
    default:
      errors.add('type', 'Unknown type provided; it is org or project.');
      return inferred;
  }
}

const KEY_ACTIONS: readonly Action[] = [
  'list-keys',
  'rotate-keys',
  'list-key-version-destruction-jobs',
  'destroy-key-version',
];

interface Collection {
  type: ResourceTypeName;
  actions: readonly Action[];
}

function listCollections(level: ScopeType): Collection[] {
  return (Object.keys(RESOURCE_TYPES) as ResourceTypeName[])
    .filter((type) => {
      const { parent, levels } = RESOURCE_TYPES[type];
      return parent === undefined && type !== 'billing' && levels.includes(level);
    })
    .map((type) => ({
      type,
      actions:
        type === 'scope' && level === 'project' ? KEY_ACTIONS : RESOURCE_TYPES[type].collection,
    }));
}

/** Collections that lie directly in a scope, with the actions that can be granted on each. */
export const COLLECTIONS: Readonly<Record<ScopeType, readonly Collection[]>> = {
  global: listCollections('global'),
  org: listCollections('org'),
  project: listCollections('project'),
};

const { actions: ACTIONS } = RESOURCE_TYPES.scope;

/** What can be done with a scope itself. The same lists each time: answers are kept by them. */
const SCOPE_ACTIONS: Readonly<Record<ScopeType, readonly Action[]>> = {
  global: ACTIONS.filter((action) => action !== 'delete'),
  org: ACTIONS,
  project: ['no-op', 'read', 'update', 'delete'],
};

export const scopeActions = (level: ScopeType): readonly Action[] => SCOPE_ACTIONS[level];

/** A role that a new scope begins with. */
export interface InitialRole {
  name: string;
  description: string;
  principal_id: string;
  grant_strings: readonly string[];
}

/** The roles that come with a scope made by somebody. @see B-34 */
export function planScopeRoles(
  scope: { id: string; type: 'org' | 'project' },
  made: { user_id: string; skip_admin: boolean; skip_default: boolean },
): InitialRole[] {
  const roles: InitialRole[] = [];
  if (!made.skip_admin) {
    roles.push({
      name: 'Administration',
      description: `Role created for administration of scope ${scope.id} by user ${made.user_id} at its creation time`,
      principal_id: made.user_id,
      grant_strings: BROUGHT_GRANTS.administration,
    });
  }
  if (made.skip_default) return roles;
  roles.push(
    scope.type === 'org'
      ? {
          name: 'Login and Default Grants',
          description: `Role created for login capability, account self-management, and other default grants for users of scope ${scope.id} at its creation time`,
          principal_id: 'u_anon',
          grant_strings: BROUGHT_GRANTS.org,
        }
      : {
          name: 'Default Grants',
          description: `Role created to provide default grants to users of scope ${scope.id} at its creation time`,
          principal_id: 'u_auth',
          grant_strings: BROUGHT_GRANTS.project,
        },
  );
  return roles;
}
