import type { App } from '../../../app/app.ts';
import { type BrokerCaller, RECOVERY_USER } from '../../resource/caller.ts';
import { refuseField } from '../../resource/field-errors.ts';
import type { RoleBody } from '../../resource/grants/role.ts';
import { isIdOf } from '../../resource/ids.ts';
import { idCheck, type LinkVerbRequest } from '../../resource/links/fields.ts';
import { changeLinks } from '../../resource/links/operations.ts';
import { faultOfOrg, holdPrincipals } from '../../resource/org-bounds/store.ts';
import type { Resource } from '../../resource/resource.ts';
import { requireScope } from '../../resource/scope-tree/operations.ts';
import { type RoleKind, roleDefinition } from './operations.ts';
import { moreOnceChanged, placeOf, planRoom } from './room.operations.ts';
import { holdRoom } from './store.ts';

const PRINCIPALS = 'principal_ids';

/** @see B-42 */
export const checkPrincipals = idCheck(PRINCIPALS, (id) => {
  if (id === RECOVERY_USER) return 'u_recovery cannot be assigned to a role';
  if (id === 'u_anon' || id === 'u_auth') return undefined;
  if (isIdOf(id, 'user') || isIdOf(id, 'group') || isIdOf(id, 'managed-group')) return undefined;
  return 'Must only have valid user, group, and/or managed group ids.';
});

/** Adds, replaces or removes those a role's grants are for. */
export async function changePrincipals(
  app: App,
  caller: BrokerCaller,
  { resource, change, checked: ids }: LinkVerbRequest<RoleKind>,
): Promise<Resource<RoleBody>> {
  const message = `Unable to ${change} principals on role ${resource.id}.`;
  const scope = await requireScope(app, resource.scope_id);
  return changeLinks(app, caller, roleDefinition, {
    resource,
    change,
    kind: 'role-principal',
    ids,
    field: PRINCIPALS,
    message,
    faultOf: (id) => `There is no principal "${id}".`,
    async requireRoom({ added, removed }) {
      // Whoever is to have a role no more is taken from it whether there is room or not.
      if (added.length > 0) {
        await planRoom(app, scope, moreOnceChanged(resource), PRINCIPALS, message);
      }
      const more = added.length - removed.length;
      if (more <= 0) return;
      const full = await faultOfOrg(app.db, 'principals', scope, more);
      if (full !== undefined) refuseField(PRINCIPALS, full, message);
    },
    bounds: ({ added, removed }) => [
      ...(added.length > removed.length ? holdPrincipals(scope) : []),
      ...(added.length > 0 && moreOnceChanged(resource) > 0 ? holdRoom(placeOf(scope)) : []),
    ],
  });
}
