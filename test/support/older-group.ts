import assert from 'node:assert/strict';
import { findGroupByName, updateGroup } from '../../src/access/identity/groups.store.ts';
import type { App } from '../../src/app/app.ts';
import { bumpPermissionVersion } from '../../src/store/permission-version.ts';

/** Gives a group policies as they could be stored before those beneath a group were looked at. */
export async function storePoliciesOfGroup(
  app: App,
  name: string,
  policies: string[],
): Promise<void> {
  const stored = await findGroupByName(app.db, name);
  assert.ok(stored, name);
  await app.store.commit([updateGroup({ ...stored, policies }), ...bumpPermissionVersion()]);
  await app.store.refreshConfig();
}
