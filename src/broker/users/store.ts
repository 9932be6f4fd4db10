import { aside } from '../../store/aside.ts';
import { build } from '../../store/database.ts';
import { type Write, write } from '../../store/write.ts';
import type { Ids } from '../resources/removals/store.ts';

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
