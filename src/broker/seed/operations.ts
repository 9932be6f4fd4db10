import { systemCaller } from '../../access/system-caller.ts';
import type { App } from '../../app/app.ts';
import type { SeedSettings } from '../../config/seed.ts';
import { isConflict } from '../../core/failure.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import type { Effect } from '../../store/write.ts';
import { credentialDefinition } from '../credentials/static/operations.ts';
import { credentialStoreDefinition } from '../credentials/stores/operations.ts';
import { hostCatalogDefinition } from '../hosts/catalogs/operations.ts';
import { hostDefinition } from '../hosts/hosts/operations.ts';
import { hostSetDefinition } from '../hosts/sets/operations.ts';
import { accountDefinition } from '../iam/accounts/operations.ts';
import { authMethodDefinition } from '../iam/auth-methods/operations.ts';
import { insertRole, scopeDefinition } from '../iam/scopes/operations.ts';
import { userDefinition } from '../iam/users/operations.ts';
import { type BrokerCaller, RECOVERY_USER } from '../resource/caller.ts';
import { FieldErrors, IN_REQUEST } from '../resource/field-errors.ts';
import { GrantSet } from '../resource/grants/decision.ts';
import type { ResourceHandler } from '../resource/handler.ts';
import { newResourceId, prefixOf, scopeTypeOf } from '../resource/ids.ts';
import { insertLink } from '../resource/links/store.ts';
import { planResource, requireResource } from '../resource/operations.ts';
import type { Resource, Scope } from '../resource/resource.ts';
import { noteScopes } from '../resource/scope-tree/store.ts';
import type { ScopeBody } from '../resource/scope-tree/tree.ts';
import { insertResource, saveResource } from '../resource/store.ts';
import { RESOURCE_TYPES } from '../resource/types.ts';
import { targetDefinition } from '../targets/operations.ts';
import {
  type Fixture,
  listPeople,
  listReachable,
  type OwnIds,
  type SeedType,
  seedIds,
} from './fixtures.ts';
import { findMadeSeed, insertMadeSeed, type MadeSeed } from './store.ts';

const DEFINITIONS: Readonly<Record<SeedType, ResourceHandler>> = {
  scope: scopeDefinition,
  'auth-method': authMethodDefinition,
  user: userDefinition,
  account: accountDefinition,
  'host-catalog': hostCatalogDefinition,
  host: hostDefinition,
  'host-set': hostSetDefinition,
  target: targetDefinition,
  'credential-store': credentialStoreDefinition,
  credential: credentialDefinition,
};

/**
 * Makes what a development server begins with, once for each database, in one write set.
 *
 * @returns what the person at the terminal should hear: that other settings than before have
 *   changed nothing, or why there is no seed data
 */
export async function makeSeed(app: App, settings: SeedSettings): Promise<string | undefined> {
  const wanted = madeWith(app, settings);
  const made = await findMadeSeed(app.db);
  if (made) return made.settings_hmac === wanted.settings_hmac ? undefined : tellOfOthers(made);
  const effects = [
    insertMadeSeed(wanted, app.now()),
    ...(await planSeed(app, settings)),
    bumpConfigVersion(),
  ];
  try {
    await app.commit(systemCaller(app.newId(), 'make-seed'), effects);
    return undefined;
  } catch (error) {
    if (!isConflict(error)) throw error;
    return 'The data holds something of the seed data already, so none was made.';
  }
}

function tellOfOthers({ id_suffix, login_name, unprivileged_login_name }: MadeSeed): string {
  const user = unprivileged_login_name === '' ? 'none' : `"${unprivileged_login_name}"`;
  return `Seed data is made once, and this data has it already: the flags -id-suffix, -login-name, -password,
-unprivileged-login-name and -unprivileged-password have changed nothing. It was made with the id suffix
${id_suffix}, the log-in name "${login_name}" and the plain user ${user}. Take another folder with -data
to begin anew.`;
}

function madeWith(app: App, settings: SeedSettings): MadeSeed {
  const { id_suffix, login_name, unprivileged_login_name } = settings;
  const whole = JSON.stringify([
    id_suffix,
    login_name,
    settings.password,
    unprivileged_login_name,
    settings.unprivileged_password,
  ]);
  const settings_hmac = app.barrier.hmac('config', `seed:${whole}`).toString('hex');
  return { id_suffix, login_name, unprivileged_login_name, settings_hmac };
}

async function planSeed(app: App, settings: SeedSettings): Promise<Effect[]> {
  const ids = seedIds(settings.id_suffix);
  const newId = (prefix: string): string => newResourceId(prefix, app.randomBytes(32));
  const own: OwnIds = {
    postgres: newId(prefixOf('target', 'tcp')),
    credential_store: newId(prefixOf('credential-store', 'static')),
    credential: newId(prefixOf('credential', 'username_password')),
  };
  const fixtures = [...listPeople(settings), ...listReachable(settings, own)];
  const administration = {
    name: 'Administration',
    description: 'Provides admin grants within all scopes to the initial admin user',
    principal_id: ids.admin,
    grant_strings: ['ids=*;type=*;actions=*'],
  };
  return [
    ...(await planFixtures(app, fixtures)),
    ...(await planPrimary(app, ids.auth_method)),
    ...insertRole(app, 'global', administration, { grant_scope_ids: ['descendants', 'this'] }),
    insertLink({ from_id: ids.host_set, kind: 'host-set-host', to_id: ids.host }),
    insertLink({ from_id: ids.second_target, kind: 'target-host-source', to_id: ids.host_set }),
    insertLink({ from_id: own.postgres, kind: 'target-brokered', to_id: own.credential }),
  ];
}

async function planPrimary(app: App, primary_auth_method_id: string): Promise<Effect[]> {
  const global = await requireResource(app, scopeDefinition, 'global');
  const body: ScopeBody = { primary_auth_method_id };
  const next = { ...global, body, version: global.version + 1, updated_ms: app.now() };
  return [...noteScopes({ ids: [global.id] }), saveResource(next, global.version)];
}

/** Rows of fixtures in their order; what one lies in comes before it. */
async function planFixtures(app: App, fixtures: readonly Fixture[]): Promise<Effect[]> {
  const caller = repairer(app);
  const query = new URLSearchParams({ skip_default_role_creation: 'true' });
  const made = new Map<string, Resource>();
  const effects: Effect[] = [];
  for (const { type, subtype, id, container_id, owner_id, body, ...fixture } of fixtures) {
    const definition = DEFINITIONS[type];
    const inParent = RESOURCE_TYPES[type].parent !== undefined;
    const parent = inParent ? made.get(container_id) : undefined;
    const item = { ...fixture.item, [definition.containerField]: parent?.id ?? container_id };
    const errors = new FieldErrors();
    const wanted = definition.checkNew(item, subtype, errors, query);
    errors.refuse(IN_REQUEST);
    const planned = await planResource(app, caller, definition, {
      item,
      subtype,
      wanted,
      container: { scope: scopeOf(parent?.scope_id ?? container_id, made), parent },
      ...(id === undefined ? {} : { id }),
    });
    const resource = {
      ...planned.resource,
      ...(owner_id === undefined ? {} : { owner_id }),
      ...(body === undefined ? {} : { body }),
    };
    made.set(resource.id, resource);
    effects.push(insertResource(resource), ...planned.effects);
  }
  return effects;
}

function scopeOf(id: string, made: ReadonlyMap<string, Resource>): Scope {
  const scope = made.get(id);
  return {
    id,
    type: scopeTypeOf(id),
    name: scope?.name ?? null,
    description: scope?.description ?? null,
    parent_scope_id: scope?.scope_id ?? '',
    primary_auth_method_id: '',
  };
}

function repairer(app: App): BrokerCaller {
  return {
    ...systemCaller(app.newId(), 'make-seed'),
    who: {
      user_id: RECOVERY_USER,
      account_id: '',
      auth_method_id: '',
      auth_token_id: '',
      grants: new GrantSet('recovery', []),
    },
  };
}
