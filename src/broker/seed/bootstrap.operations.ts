import { systemCaller } from '../../access/system-caller.ts';
import type { App } from '../../app/app.ts';
import type { Config } from '../../config/config.ts';
import { isConflict } from '../../core/failure.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import type { Effect } from '../../store/write.ts';
import { insertRole } from '../iam/scopes/operations.ts';
import type { InitialRole } from '../iam/scopes/scope.ts';
import type { UserBody } from '../principals/user.ts';
import { ANONYMOUS_USER, AUTHENTICATED_USER, RECOVERY_USER } from '../resource/caller.ts';
import { newResource, type Resource } from '../resource/resource.ts';
import { noteScopes } from '../resource/scope-tree/store.ts';
import type { ScopeBody } from '../resource/scope-tree/tree.ts';
import { findResource, insertResource } from '../resource/store.ts';

const USERS: readonly [id: string, name: string, description: string][] = [
  [
    ANONYMOUS_USER,
    'anonymous',
    'The anonymous user matches any request, whether authenticated or not',
  ],
  [
    AUTHENTICATED_USER,
    'authenticated',
    'The authenticated user matches any user that has a valid token',
  ],
  [
    RECOVERY_USER,
    'recovery',
    'The recovery user is used for operations authenticated with a recovery key',
  ],
];

const LOGIN_GRANTS: InitialRole = {
  name: 'Login Grants',
  description:
    'Role created for login capability and account self-management for unauthenticated users',
  principal_id: ANONYMOUS_USER,
  grant_strings: [
    'ids=*;type=scope;actions=list,no-op',
    'ids=*;type=auth-method;actions=list,authenticate',
    'ids=*;type=auth-token;actions=read:self,delete:self',
  ],
};

const grantsOfAuthenticated = ({ seed }: Pick<Config, 'seed'>): InitialRole => ({
  name: 'Authenticated User Grants',
  description: 'Role created to provide default grants to everybody who has logged in',
  principal_id: AUTHENTICATED_USER,
  grant_strings: [
    'ids=*;type=scope;actions=read',
    'ids=*;type=auth-token;actions=list',
    'ids={{.Account.Id}};actions=read,change-password',
    'ids=*;type=session;actions=list,read:self,cancel:self',
    'ids={{.User.Id}};type=user;actions=list-resolvable-aliases',
    // A development server is there to be tried out.
    `ids=*;type=target;actions=list,read${seed ? ',authorize-session' : ''}`,
  ],
});

/**
 * Makes what the broker cannot be without: the global scope, the built-in users, and the roles
 * that let people log in and look around. Once for each database.
 */
export async function makeInitialBroker(app: App): Promise<void> {
  if (await findResource(app.db, 'global')) return;
  const now = app.now();
  const everywhere = { grant_scope_ids: ['descendants', 'this'] };
  const effects: Effect[] = [
    insertResource(globalScope(now)),
    ...noteScopes({ ids: ['global'] }),
    ...USERS.map(([id, name, description]) =>
      insertResource(builtInUser({ id, name, description }, now)),
    ),
    ...insertRole(app, 'global', LOGIN_GRANTS, everywhere),
    ...insertRole(app, 'global', grantsOfAuthenticated(app.config), everywhere),
    bumpConfigVersion(),
  ];
  try {
    await app.commit(systemCaller(app.newId(), 'initialise-broker'), effects);
  } catch (error) {
    // Another node was first.
    if (!isConflict(error)) throw error;
  }
}

const globalScope = (created_ms: number): Resource<ScopeBody> =>
  newResource({
    id: 'global',
    type: 'scope',
    subtype: 'global',
    scope_id: '',
    name: 'global',
    description: 'Global Scope',
    created_ms,
    body: { primary_auth_method_id: '' },
  });

const builtInUser = (
  named: { id: string; name: string; description: string },
  created_ms: number,
): Resource<UserBody> =>
  newResource({
    ...named,
    type: 'user',
    subtype: 'user',
    scope_id: 'global',
    created_ms,
    body: { entity_id: '', policies: [] },
  });
