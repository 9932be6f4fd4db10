import type { App } from '../../../app/app.ts';
import type { Effect } from '../../../store/write.ts';
import type { BrokerCaller } from '../../resource/caller.ts';
import { refuseField } from '../../resource/field-errors.ts';
import type { VerbRequest } from '../../resource/handler.ts';
import { deleteLinksFrom, insertLink } from '../../resource/links/store.ts';
import { commitChange } from '../../resource/operations.ts';
import type { Resource } from '../../resource/resource.ts';
import { noteScopes } from '../../resource/scope-tree/store.ts';
import type { ScopeBody } from '../../resource/scope-tree/tree.ts';
import { findResource } from '../../resource/store.ts';
import { type ScopeKind, scopeDefinition } from './operations.ts';

const LINK = 'scope-storage-policy';

/** Has what is recorded of a scope's targets follow a policy: of the scope itself, or of the global one. */
export async function attachStoragePolicy(
  app: App,
  caller: BrokerCaller,
  { resource, checked: policy_id }: VerbRequest<ScopeKind, string>,
): Promise<Resource<ScopeBody>> {
  requireLevel(resource);
  const policy = await findResource(app.db, policy_id);
  if (policy?.type !== 'policy' || ![resource.id, 'global'].includes(policy.scope_id)) {
    refuseField('storage_policy_id', 'There is no such policy in this scope or the global one.');
  }
  return change(app, caller, resource, [
    insertLink({ from_id: resource.id, kind: LINK, to_id: policy_id }),
  ]);
}

export function detachStoragePolicy(
  app: App,
  caller: BrokerCaller,
  { resource }: VerbRequest<ScopeKind, void>,
): Promise<Resource<ScopeBody>> {
  requireLevel(resource);
  return change(app, caller, resource, []);
}

function requireLevel({ id }: Resource): void {
  if (id === 'global' || id.startsWith('o_')) return;
  refuseField('id', 'Storage policies are those of orgs and of the global scope.');
}

function change(
  app: App,
  caller: BrokerCaller,
  resource: Resource<ScopeBody>,
  links: readonly Effect[],
): Promise<Resource<ScopeBody>> {
  return commitChange(app, caller, scopeDefinition, resource, {
    effects: [deleteLinksFrom(resource.id, LINK), ...links, ...noteScopes({ ids: [resource.id] })],
  });
}
