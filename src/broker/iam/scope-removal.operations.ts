import type { App } from '../../app/app.ts';
import type { EndingPages } from '../../app/ended.ts';
import { bumpPermissionVersion } from '../../store/permission-version.ts';
import type { Effect } from '../../store/write.ts';
import { listResourcesById } from '../resource/by-ids.store.ts';
import type { LinkKind } from '../resource/links/store.ts';
import { removeResources, takeResources } from '../resource/removals.store.ts';
import { type Changed, noteScopes } from '../resource/scope-tree/store.ts';
import type { ResourceTypeName } from '../resource/types.ts';
import {
  endSessionsBeforehand,
  planDependentCancellation,
} from '../sessions/termination.operations.ts';
import { endLogInsBeforehand } from './auth-tokens/log-ins.operations.ts';
import { revokeTokensIn } from './auth-tokens/operations.ts';
import { LINKS, unlinkBeforehand } from './link-removal.operations.ts';
import { removeBeforehand } from './paged-removal.operations.ts';
import { type Left, listInScopes, listLinksInScopes, listProjects } from './removal.store.ts';

/**
 * Types that a scope may hold many of. None permits the removal but what the remover's own permission rests on:
 * a role in the scope grants inside of it. Containers come after what they contain.
 */
const MANY_IN_SCOPES: readonly ResourceTypeName[] = [
  'target',
  'host',
  'host-set',
  'host-catalog',
  'credential',
  'credential-library',
  'credential-store',
  'alias',
  'role',
  'group',
  'managed-group',
  'account',
  'user',
  'auth-method',
];

/** A few of these may lead to a hundred thousand others. */
const LINKING: readonly [type: ResourceTypeName, kind: LinkKind][] = [
  ['role', 'role-principal'],
  ['group', 'group-member'],
];

export async function endScopesBeforehand(
  app: App,
  work: EndingPages,
  { scope_ids, but }: { scope_ids: readonly string[]; but: Left },
): Promise<void> {
  const inside = (type: ResourceTypeName): Promise<void> =>
    removeBeforehand(app, work, {
      type,
      list: (limit) => listInScopes(app.db, scope_ids, { type, but, limit }),
    });
  await inside('session');
  await endLogInsBeforehand(app, work, { scope_ids });
  // The remover's own user is removed last; its sessions in other scopes may be of earlier log-ins.
  const [own] = await listResourcesById(app.db, [but.member_id]);
  if (own && scope_ids.includes(own.scope_id))
    await endSessionsBeforehand(app, work, { user_ids: [own.id] });
  for (const [type, kind] of LINKING) {
    const list = () => listLinksInScopes(app.db, scope_ids, { type, kind, but, limit: LINKS });
    await unlinkBeforehand(work, kind, list);
  }
  for (const type of MANY_IN_SCOPES) await inside(type);
}

/** Projects that are removed in one write set, each with its roles and what else it has less than a page of. */
const PROJECTS = 100;

/** Removes projects of an org until few are left, and those by which whoever removes is permitted to. */
export async function endProjectsBeforehand(
  app: App,
  work: EndingPages,
  { org_id, but }: { org_id: string; but: Left },
): Promise<void> {
  for (;;) {
    const ids = await listProjects(app.db, org_id, { but, limit: PROJECTS });
    if (ids.length < PROJECTS) return;
    await endScopesBeforehand(app, work, { scope_ids: ids, but });
    const ended = { resources: ids.length };
    await work.commit([...planScopeRemoval(app, { ids }), ...bumpPermissionVersion()], ended);
  }
}

/** Removes scopes, or one with those in it, also those that are made at the last moment, with all that lies in them. */
export function planScopeRemoval(app: App, gone: Changed): Effect[] {
  const scope_ids = 'ids' in gone ? gone.ids : [gone.within];
  return [
    ...takeResources({ scope_ids }),
    ...noteScopes(gone),
    ...planDependentCancellation(app, { scope_ids }),
    revokeTokensIn(scope_ids),
    ...removeResources({ scope_ids }, app.now()),
  ];
}
