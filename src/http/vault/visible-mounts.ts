import type { Acl } from '../../acl/acl.ts';
import { hasAccessBeneath } from '../../acl/grants-beneath.ts';
import type { RuleWalk } from '../../acl/rule-walk.ts';
import { fullPath, type Mount } from '../../app/mount.ts';

/** Whether somebody is told of a mount. */
export async function canSee(acl: Acl | undefined, mount: Mount, walk: RuleWalk): Promise<boolean> {
  if (acl && (await hasAccessBeneath(acl, fullPath(mount), walk))) return true;
  return mount.config.listing_visibility === 'unauth' || mount.type === 'token';
}
