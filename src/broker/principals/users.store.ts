import { aside } from '../../store/aside.ts';
import { build, type Db } from '../../store/database.ts';
import { compareIds } from '../../store/in-blocks.ts';
import { type Write, write } from '../../store/write.ts';
import { listFirstById, preparedForIds } from '../resource/by-ids.store.ts';
import type { Ids } from '../resource/removals.store.ts';
import { type AccountFacts, factsOf, type OwnedAccount } from './account-facts.ts';

const ownedByUsers = preparedForIds<Record<never, never>, OwnedAccount>((from, ids) =>
  from
    .selectFrom('resource')
    .select(['id', 'scope_id', 'container_id', 'owner_id', 'created_ms'])
    .where('owner_id', 'in', ids)
    .where('type', '=', 'account'),
);

/** The accounts that stand for each of some users, the oldest first. Each may have dozens. */
export async function listAccountsOfUsers(
  db: Db,
  user_ids: readonly string[],
): Promise<Map<string, OwnedAccount[]>> {
  const accounts = await ownedByUsers(db, user_ids, {});
  const accountsOf = Map.groupBy(accounts, (account) => account.owner_id);
  for (const own of accountsOf.values()) {
    own.sort((a, b) => a.created_ms - b.created_ms || compareIds(a.id, b.id));
  }
  return accountsOf;
}

/** What accounts know of people, by their ids: the rest of a long row is not held while the others are read. */
export async function listAccountFacts(
  db: Db,
  ids: readonly string[],
): Promise<Map<string, AccountFacts>> {
  const facts = new Map<string, AccountFacts>();
  for (let at = 0; at < ids.length; ) {
    const { resources, taken } = await listFirstById(db, ids.slice(at));
    for (const account of resources) facts.set(account.id, factsOf(account));
    at += taken;
  }
  return facts;
}

/**
 * Gives an account to a user, or takes it away; refused if it is not where it was.
 *
 * @param version refused if it is of another version, too
 */
export function setOwner(
  account_id: string,
  change: { from: string; to: string },
  version?: number,
): Write {
  let given = build
    .updateTable('resource')
    .set({ owner_id: change.to })
    .where('id', '=', account_id)
    .where('type', '=', 'account')
    .where('owner_id', '=', change.from);
  if (version !== undefined) given = given.where('version', '=', version);
  return write(given, { rows: 1 });
}

/** Has users be nobody's entity; their next log-in gives them one. */
export function loosenEntities(user_ids: Ids): Write {
  const users = build.updateTable('resource').set({ unique_key: null });
  return write(users.where('id', 'in', user_ids).where(aside('type'), '=', 'user'));
}

/** Leaves a user's accounts to nobody. */
export function clearOwner(user_id: string): Write {
  return write(
    build
      .updateTable('resource')
      .set({ owner_id: '' })
      .where('owner_id', '=', user_id)
      .where('type', '=', 'account'),
  );
}
