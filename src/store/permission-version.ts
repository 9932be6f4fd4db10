import { bumpConfigVersion } from './config-version.ts';
import { type Db, prepared } from './database.ts';
import type { Write } from './write.ts';

const BUMP: Write = {
  sql: 'update permission_version set version = version + 1',
  parameters: [],
  rows: 1,
};

/**
 * Belongs into every write set by which somebody may be permitted less than before: policies,
 * groups, entities, roles of the broker, whoever they are given to. It counts as a change of
 * configuration, too.
 */
export function bumpPermissionVersion(): Write[] {
  return [bumpConfigVersion(), BUMP];
}

/** Says whether a write set changes what somebody is permitted. */
export function bumpsPermission(effects: readonly object[]): boolean {
  return effects.includes(BUMP);
}

const readVersion = prepared((from) => from.selectFrom('permission_version').select('version'));

/** The number that grows whenever somebody may be permitted less than before. */
export async function findPermissionVersion(db: Db): Promise<number> {
  return (await readVersion.first(db, {}))?.version ?? 0;
}
