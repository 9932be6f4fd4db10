import { Failure } from '../core/failure.ts';
import type { ColumnTypes } from './columns.ts';
import { foundation } from './migrations/0001-foundation.ts';
import { seal } from './migrations/0002-seal.ts';
import { access } from './migrations/0003-access.ts';
import { authority } from './migrations/0004-authority.ts';
import { mounts } from './migrations/0005-mounts.ts';
import { revocation } from './migrations/0006-revocation.ts';
import { audit } from './migrations/0007-audit.ts';
import { leases } from './migrations/0008-leases.ts';
import { identity } from './migrations/0009-identity.ts';
import { lists } from './migrations/0011-lists.ts';
import { broker } from './migrations/0012-broker.ts';
import { sessions } from './migrations/0013-sessions.ts';
import { credentials } from './migrations/0015-credentials.ts';
import { workers } from './migrations/0016-workers.ts';
import { endings } from './migrations/0017-endings.ts';
import { shareHashes } from './migrations/0018-share-hashes.ts';
import { lockout } from './migrations/0019-lockout.ts';
import { nameKeys } from './migrations/0024-name-keys.ts';

import { roleIdKeys } from './migrations/0025-role-id-keys.ts';
import { tokenTrees } from './migrations/0027-token-trees.ts';
import { tokenPages } from './migrations/0030-token-pages.ts';
import { logIns } from './migrations/0031-log-ins.ts';
import { pages } from './migrations/0032-pages.ts';
import { leaseHolders } from './migrations/0034-lease-holders.ts';
import { sessionHolders } from './migrations/0037-session-holders.ts';

/** One step of the schema. Never edited once released; the next step corrects it. */
export interface Migration {
  number: number;
  name: string;
  /** The statements, in order, in the words of one engine. */
  up(types: ColumnTypes): string[];
}

/** In order of their numbers; a new one is added at the end. */
export const MIGRATIONS: readonly Migration[] = [
  foundation,
  seal,
  access,
  authority,
  mounts,
  revocation,
  audit,
  leases,
  identity,
  lists,
  broker,
  sessions,
  credentials,
  workers,
  endings,
  shareHashes,
  lockout,
  nameKeys,
  roleIdKeys,
  tokenTrees,
  tokenPages,
  logIns,
  pages,
  leaseHolders,
  sessionHolders,
];

/**
 * Works out which steps a database still needs.
 *
 * @param applied the number of its last step, 0 for an empty database
 * @throws Failure `unavailable` when a later program has already changed the database
 */
export function planMigrations(
  applied: number,
  known: readonly Migration[] = MIGRATIONS,
): readonly Migration[] {
  const newest = Math.max(0, ...known.map(({ number }) => number));
  if (applied > newest) {
    throw new Failure(
      'unavailable',
      `the database is at schema ${applied} and this program knows schemas up to ${newest}: start the program that last used the database, or a later one`,
    );
  }
  return known.filter((migration) => migration.number > applied);
}
