import { type Effect, isAuditEntry, type Write } from './write.ts';

// Written out, so that the committer's thread need not load the query builder.

export const READ_CONFIG_VERSION = 'select version from config_version';
/** And which database that is of: see `ConfigWatch`. */
export const READ_INCARNATION = 'select version, incarnation from config_version';

const BUMP: Write = {
  sql: 'update config_version set version = version + 1',
  parameters: [],
  rows: 1,
};

/** Belongs into every write set that changes what `config_version` guards. */
export function bumpConfigVersion(): Write {
  return BUMP;
}

/** Says whether a write set changes configuration. */
export function bumpsConfigVersion(effects: readonly Effect[]): boolean {
  return effects.some((effect) => !isAuditEntry(effect) && effect.sql === BUMP.sql);
}
