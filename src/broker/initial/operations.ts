import { systemCaller } from '../../access/system-caller.ts';
import type { App } from '../../app.ts';
import { Failure } from '../../core/failure.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import type { Effect } from '../../store/write.ts';
import { ANONYMOUS_USER, AUTHENTICATED_USER, RECOVERY_USER } from '../caller.ts';
import type { Resource } from '../resource.ts';
import { findResource, insertResource } from '../resources/store.ts';
import { insertRole } from '../scopes/operations.ts';
import type { ScopeBody } from '../scopes/scope.ts';
import { noteScopes } from '../tree/store.ts';

/**
 * Makes what the broker cannot be without: the global scope, the built-in users, and the roles
 * that let people log in and look around. Once for each database.
 */
export async function makeInitialBroker(app: App): Promise<void> {
  if (await findResource(app.db, 'global')) return;
  const now = app.now();
  const base = { subtype: 'user', owner_id: '', unique_key: null, version: 1, created_ms: now };
  const global: Resource<ScopeBody> = {
    ...base,
    id: 'global',
    type: 'scope',
    subtype: 'global',
    scope_id: '',
    container_id: '',
    name: 'global',
    description: 'Global Scope',
    updated_ms: now,
    body: { primary_auth_method_id: '' },
    secret_sealed: null,
  };
  const users: [id: string, name: string, description: string][] = [
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
  const effects: Effect[] = [
    insertResource(global),
    ...noteScopes({ ids: ['global'] }),
    ...users.map(([id, name, description]) =>
      insertResource({
        ...global,
        id,
        type: 'user',
        subtype: 'user',
        scope_id: 'global',
        container_id: 'global',
        name,
        description,
        body: { entity_id: '', policies: [] },
      }),
    ),
    ...insertRole(
      app,
      'global',
      {
        name: 'Login Grants',
        description:
          'Role created for login capability and account self-management for unauthenticated users',
        principal_id: ANONYMOUS_USER,
        grant_strings: [
          'ids=*;type=scope;actions=list,no-op',
          'ids=*;type=auth-method;actions=list,authenticate',
          'ids=*;type=auth-token;actions=read:self,delete:self',
        ],
      },
      { grant_scope_ids: ['descendants', 'this'] },
    ),
    ...insertRole(
      app,
      'global',
      {
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
          `ids=*;type=target;actions=list,read${app.config.seed ? ',authorize-session' : ''}`,
        ],
      },
      { grant_scope_ids: ['descendants', 'this'] },
    ),
    bumpConfigVersion(),
  ];
  try {
    await app.commit(systemCaller(app.newId(), 'initialise-broker'), effects);
  } catch (error) {
    // Another node was first.
    if (!(error instanceof Failure) || error.kind !== 'conflict') throw error;
  }
}
