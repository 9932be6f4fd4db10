import type { App } from '../../../app/app.ts';
import type { Effect } from '../../../store/write.ts';
import { refuseField } from '../../resource/field-errors.ts';
import type { RoleBody } from '../../resource/grants/role.ts';
import { faultOfRoom, sizeOfGrants, sizeOfRole } from '../../resource/org-bounds/grant-room.ts';
import { type InScope, orgOf } from '../../resource/org-bounds/store.ts';
import type { Resource } from '../../resource/resource.ts';
import { holdRoom, type RolePlace, sumGrants } from './store.ts';

/** What a role grows by: one that its scope brought counts once it is changed, whatever it is that changes. */
export const moreOnceChanged = (resource: Resource<RoleBody>, body = resource.body): number =>
  sizeOfGrants(body) - sizeOfRole(resource);

export const placeOf = (scope: InScope): RolePlace => ({
  scope_id: scope.id,
  org_id: orgOf(scope),
});

/**
 * What holds the room that a change takes, where it takes any.
 *
 * @throws Failure `invalid` where there is too little
 */
export async function planRoom(
  app: App,
  scope: InScope,
  more: number,
  field: string,
  message?: string,
): Promise<Effect[]> {
  if (more <= 0) return [];
  const place = placeOf(scope);
  const because = faultOfRoom(await sumGrants(app.db, place), more);
  if (because !== undefined) refuseField(field, because, message);
  return holdRoom(place);
}
