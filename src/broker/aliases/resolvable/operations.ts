import { z } from 'zod';
import type { App } from '../../../app/app.ts';
import { loadGrantSet } from '../../iam/grants/operations.ts';
import { listPlacesById, type Place } from '../../resource/by-ids.store.ts';
import { type BrokerCaller, RECOVERY_USER } from '../../resource/caller.ts';
import { refuseField } from '../../resource/field-errors.ts';
import type { GrantSet } from '../../resource/grants/decision.ts';
import { listLinksOfAll } from '../../resource/links/store.ts';
import { type ListAnswer, listPicked } from '../../resource/lists/operations.ts';
import type { ListRequest } from '../../resource/lists/query.ts';
import { formatTime, type Resource } from '../../resource/resource.ts';
import { readScopeTree } from '../../resource/scope-tree/operations.ts';
import type { ScopeTree } from '../../resource/scope-tree/tree.ts';
import { RESOURCE_TYPES } from '../../resource/types.ts';
import type { AliasBody } from '../alias.ts';
import { aliasDefinition } from '../operations.ts';

/** No more of an alias than it takes to find the target. */
export const resolvableAlias = z.object({
  id: z.string(),
  created_time: z.string(),
  updated_time: z.string(),
  value: z.string(),
  destination_id: z.string(),
  type: z.string(),
});

/**
 * Lists the aliases that lead a user to targets on which they may do something, with no more
 * of them than it takes to find the target.
 *
 * @param user whose grants count: not those of whoever asks
 * @throws Failure `invalid` for the user that repairs, who needs no grants
 */
export async function listResolvableAliases(
  app: App,
  caller: BrokerCaller,
  user: Resource,
  asked: ListRequest,
): Promise<ListAnswer> {
  if (user.id === RECOVERY_USER) {
    refuseField('id', `${RECOVERY_USER} has no aliases of its own: name another user.`);
  }
  const grants = await loadGrantSet(app, { user_id: user.id, account_id: '' });
  const tree = await readScopeTree(app);
  return listPicked(app, caller, aliasDefinition, asked, {
    container_id: 'global',
    name: `resolvable by ${user.id}`,
    fingerprint: await grants.fingerprint('target'),
    show: (aliases) => showResolvable(app, grants, tree, aliases),
  });
}

async function showResolvable(
  app: App,
  grants: GrantSet,
  tree: ScopeTree,
  aliases: readonly Resource<AliasBody>[],
): Promise<(z.output<typeof resolvableAlias> | undefined)[]> {
  const ids = aliases.map(({ id }) => id);
  const links = await listLinksOfAll(app.db, ids, ['alias-destination']);
  const destinations = new Map(links.map(({ from_id, to_id }) => [from_id, to_id]));
  const targets = await listPlacesById(app.db, [...new Set(destinations.values())]);
  const visible = new Set(
    targets.filter((target) => maySee(grants, tree, target)).map(({ id }) => id),
  );
  return aliases.map((alias) => {
    const destination_id = destinations.get(alias.id);
    if (destination_id === undefined || !visible.has(destination_id)) return undefined;
    return {
      id: alias.id,
      created_time: formatTime(alias.created_ms),
      updated_time: formatTime(alias.updated_ms),
      value: alias.body.value,
      destination_id,
      type: alias.subtype,
    };
  });
}

function maySee(grants: GrantSet, tree: ScopeTree, { id, scope_id }: Place): boolean {
  const parent_scope_id = tree.byId.get(scope_id)?.parent_scope_id ?? '';
  const place = { scope_id, parent_scope_id, type: 'target' } as const;
  return grants.listActions({ ...place, id }, RESOURCE_TYPES.target.actions).length > 0;
}
