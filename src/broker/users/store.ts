import { build } from '../../store/database.ts';
import { type Write, write } from '../../store/write.ts';

/** Gives an account to a user, or takes it away; refused if it is not where it was. */
export function setOwner(account_id: string, change: { from: string; to: string }): Write {
  return write(
    build
      .updateTable('resource')
      .set({ owner_id: change.to })
      .where('id', '=', account_id)
      .where('type', '=', 'account')
      .where('owner_id', '=', change.from),
    { rows: 1 },
  );
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
