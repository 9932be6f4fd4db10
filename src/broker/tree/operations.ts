import type { App } from '../../app.ts';
import { Failure } from '../../core/failure.ts';
import type { Resource, Scope } from '../resource.ts';
import { scopeTypeOf } from '../resource-types.ts';
import { listOfType } from '../resources/store.ts';
import type { ScopeBody } from '../scopes/scope.ts';
import { buildTree, type ScopeTree } from './tree.ts';

/** All scopes, loaded once until any node changes one. */
export function readScopeTree(app: App): Promise<ScopeTree> {
  return app.cached(
    'broker/scopes',
    async () => buildTree(await listOfType(app.db, 'scope', scopeOf)),
    ['broker/scopes'],
  );
}

const scopeOf = ({ id, name, description, scope_id, body }: Resource): Scope => ({
  id,
  type: scopeTypeOf(id),
  name,
  description,
  parent_scope_id: scope_id,
  primary_auth_method_id: (body as ScopeBody).primary_auth_method_id,
});

/** @throws Failure `not_found` */
export async function requireScope(app: App, scope_id: string): Promise<Scope> {
  const scope = (await readScopeTree(app)).byId.get(scope_id);
  if (!scope) throw new Failure('not_found', 'Resource not found.');
  return scope;
}
