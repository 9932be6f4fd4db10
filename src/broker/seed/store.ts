import { build, type Db } from '../../store/database.ts';
import { type Write, write } from '../../store/write.ts';

/** What the seed data was made with, without its secrets; undefined before it was made. */
export interface MadeSeed {
  id_suffix: string;
  login_name: string;
  unprivileged_login_name: string;
  /** Keyed hash of all settings, in hex. */
  settings_hmac: string;
}

export async function findMadeSeed(db: Db): Promise<MadeSeed | undefined> {
  const row = await db
    .selectFrom('broker_seed')
    .select('body')
    .where('id', '=', 1)
    .executeTakeFirst();
  return row && JSON.parse(row.body);
}

/** Refuses the write set if there is one already. */
export function insertMadeSeed(made: MadeSeed, made_ms: number): Write {
  return write(
    build.insertInto('broker_seed').values({ id: 1, made_ms, body: JSON.stringify(made) }),
    { rows: 1, conflict: 'the seed data is made already' },
  );
}
