import { build } from '../../store/database.ts';
import { type Write, write } from '../../store/write.ts';

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
