import type { App } from '../../../app/app.ts';
import { Failure } from '../../../core/failure.ts';
import { findDestination } from '../../aliases/operations.ts';
import type { BrokerCaller } from '../../resource/caller.ts';
import { refuseField } from '../../resource/field-errors.ts';
import { isOf } from '../../resource/handler.ts';
import { isIdOf } from '../../resource/ids.ts';
import type { Scope } from '../../resource/resource.ts';
import type { BoundaryReference, LocatedItem } from '../../resource/route.ts';
import { readScopeTree } from '../../resource/scope-tree/operations.ts';
import { findResource, findResourceByName } from '../../resource/store.ts';
import { targetDefinition } from '../operations.ts';
import { hasCredentialSources } from '../store.ts';
import type { TargetBody } from '../target.ts';
import { parseTargetRef } from './request.ts';

/**
 * Puts the target's id in the place of an alias, and the alias's host with it. With a scope
 * in the body the path is a target's name.
 *
 * @throws Failure `not_found` for an alias that is unknown or leads nowhere, `invalid` when the
 *   request names another host than the alias
 */
export async function resolveDestination(
  app: App,
  request: BoundaryReference,
): Promise<BoundaryReference> {
  const { id, item } = request;
  const { scope_id, scope_name, host_id } = parseTargetRef(item);
  if (id === '' || id.includes('_') || scope_id !== '' || scope_name !== '') return request;
  const destination = await findDestination(app, id);
  if (!destination) throw new Failure('not_found', 'Resource not found.');
  if (destination.host_id === '') return { ...request, id: destination.target_id };
  if (host_id !== '' && host_id !== destination.host_id) {
    refuseField(
      'host_id',
      'The host id specified in the request does not match the one provided by the alias. Consider omitting the host id in the request.',
    );
  }
  const { target_id } = destination;
  return { ...request, id: target_id, item: { ...item, host_id: destination.host_id } };
}

/**
 * Whether a path names a target by its id or an alias, and that has no credential sources: what is issued for a session,
 * and room for its secrets, are in one place. Where the project of a name is, only the body tells.
 */
export async function isWithoutSources(app: App, id: string): Promise<boolean> {
  const target_id = isIdOf(id, 'target') ? id : await findAliased(app, id);
  return target_id !== undefined && !(await hasCredentialSources(app.db, target_id));
}

const findAliased = async (app: App, text: string): Promise<string | undefined> =>
  text === '' || text.includes('_') ? undefined : (await findDestination(app, text))?.target_id;

/** Finds the target of a request, by id or by name. @throws Failure `not_found`, `precondition` */
export async function locateTarget(
  app: App,
  _caller: BrokerCaller,
  { id, item }: BoundaryReference,
): Promise<LocatedItem<TargetBody>> {
  const tree = await readScopeTree(app);
  const { name, scope_id, scope_name } = parseTargetRef(item);
  const place = scope_id === '' && name !== '' ? scopeNamed(tree.byId, scope_name) : scope_id;
  const target =
    name === ''
      ? await findResource(app.db, id)
      : await findResourceByName(app.db, 'target', place, name);
  const scope = tree.byId.get(target?.scope_id ?? '');
  if (!isOf(targetDefinition, target) || !scope) {
    throw new Failure('not_found', 'Resource not found.');
  }
  return { type: 'target', scope, id: target.id, resource: target };
}

function scopeNamed(scopes: ReadonlyMap<string, Scope>, name: string): string {
  const [found, another] = [...scopes.values()].filter((scope) => scope.name === name);
  if (another) {
    throw new Failure(
      'precondition',
      `scope name "${name}" is ambiguous: it matches several scopes, name one by scope_id`,
    );
  }
  return found?.id ?? '';
}
