import { holdAlias, listAliases } from '../../../access/identity/aliases.store.ts';
import { findEntityById, holdEntity } from '../../../access/identity/entities.store.ts';
import type { Alias, Entity } from '../../../access/identity/entity.ts';
import { ensureEntityForAlias } from '../../../access/identity/operations.ts';
import type { App } from '../../../app/app.ts';
import { Failure } from '../../../core/failure.ts';
import { bumpConfigVersion } from '../../../store/config-version.ts';
import type { Effect } from '../../../store/write.ts';
import { isAliasOfUser, type UserBody } from '../../principals/user.ts';
import { setOwner } from '../../principals/users.store.ts';
import { isOf } from '../../resource/handler.ts';
import { holdVersion } from '../../resource/holds.store.ts';
import { newResourceId } from '../../resource/ids.ts';
import { newResource, type Resource } from '../../resource/resource.ts';
import { findResource, insertResource, saveResource } from '../../resource/store.ts';
import { scopeDefinition } from '../scopes/operations.ts';
import { userDefinition } from '../users/operations.ts';

/** The scope that an auth method is the primary one of; as it is now, not as it is cached: what is held is what was judged. */
export async function findPrimaryScope(app: App, method: Resource): Promise<Resource | undefined> {
  const scope = await findResource(app.db, method.scope_id);
  if (!isOf(scopeDefinition, scope)) return undefined;
  return scope.body.primary_auth_method_id === method.id ? scope : undefined;
}

export const refused = (): Failure => new Failure('unauthenticated', 'Unable to authenticate.');

/** The user that an account stands for, made at its first log-in where the method is primary. @see B-31 */
export async function userOf(
  app: App,
  login: { method: Resource; account: Resource },
): Promise<{ user: Resource<UserBody>; effects: Effect[] }> {
  const { method, account } = login;
  const known = account.owner_id === '' ? undefined : await findResource(app.db, account.owner_id);
  if (isOf(userDefinition, known)) {
    // Refused when the account has gone from the user meanwhile, or either of them altogether, or
    // when the account has another password.
    const held = setOwner(account.id, { from: known.id, to: known.id }, account.version);
    const own = await findEntityById(app.db, known.body.entity_id);
    if (own?.disabled) throw refused();
    const alias = own && (await findAliasOfUser(app, own, known.id));
    if (alias) return { user: known, effects: [held, holdEntity(own), holdAlias(alias)] };
    const { entity, effects } = await ensureEntityForAlias(app, aliasOf(method), known.id);
    const body: UserBody = { ...known.body, entity_id: entity.id };
    const user = { ...known, body, unique_key: `entity:${entity.id}` };
    // The version stays: nothing that the user shows has changed.
    return {
      user,
      effects: [held, ...effects, saveResource(user, known.version), bumpConfigVersion()],
    };
  }
  const scope = await findPrimaryScope(app, method);
  if (!scope) throw refused();
  const id = newResourceId('u', app.randomBytes(32));
  const { entity, effects } = await ensureEntityForAlias(app, aliasOf(method), id);
  const user = newResource<UserBody>({
    id,
    type: 'user',
    subtype: 'user',
    scope_id: method.scope_id,
    unique_key: `entity:${entity.id}`,
    created_ms: app.now(),
    body: { entity_id: entity.id, policies: [] },
  });
  return {
    user,
    effects: [
      holdVersion({ id: scope.id, version: scope.version }),
      ...effects,
      insertResource(user),
      setOwner(account.id, { from: '', to: user.id }, account.version),
      bumpConfigVersion(),
    ],
  };
}

/**
 * An auth method is to identities what an auth mount's accessor is. The name there is the
 * user's id: a login name or an account can be given to somebody else, who must not become who
 * had it.
 */
const aliasOf = (method: Resource): { accessor: string } => ({ accessor: method.id });

/** The alias by which the entity is the user's: without it the entity is somebody else's. */
async function findAliasOfUser(
  app: App,
  { id }: Entity,
  user_id: string,
): Promise<Alias | undefined> {
  return (await listAliases(app.db, id)).find((alias) => isAliasOfUser(alias, user_id));
}
