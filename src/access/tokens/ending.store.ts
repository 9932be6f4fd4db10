import { type Expression, sql } from 'kysely';
import { build, type Db } from '../../store/database.ts';
import { type Write, write } from '../../store/write.ts';
import { ENDED, ENDED_ALONE, isNotEnded } from './ended.ts';
import { holdLine } from './line.store.ts';

/**
 * Ends a token with all that descend from it: they are dead when this is durable, however many they
 * are, since each is judged with those above it. Their rows are removed afterwards, see `ending/`.
 */
export function deleteTree(id: string): Write {
  return endTokens(sql<string>`(select cast(${id} as text))`, ENDED);
}

/** As {@link deleteTree}, of the tokens that a question names. */
export function deleteTreesOf(ids: Expression<string>): Write {
  return endTokens(ids, ENDED);
}

/** Ends the tokens of log-ins that came by these aliases, with all that descend from them. */
export function deleteLogIns(alias_ids: Expression<string>): Write {
  const tokens = build
    .selectFrom('token')
    .select('token.id')
    .where('token.alias_id', '<>', sql.lit(''))
    .where('token.alias_id', 'in', alias_ids);
  return deleteTreesOf(sql<string>`${tokens}`);
}

/** Ends a token alone: its children are orphans from then on, also those that are being made. */
export function deleteAlone(id: string): Write[] {
  return [
    holdLine({ id, accessor: '' }),
    endTokens(sql<string>`(select cast(${id} as text))`, ENDED_ALONE),
  ];
}

/** Tokens of log-ins that came by these aliases and were not ended, in no order; some may be left out. */
export async function listTokensOfAliases(
  db: Db,
  alias_ids: Expression<string>,
  { but, limit }: { but: readonly string[]; limit: number },
): Promise<string[]> {
  const tokens = db
    .selectFrom('token')
    .select('token.id')
    .where('token.alias_id', '<>', sql.lit(''))
    .where('token.alias_id', 'in', alias_ids)
    .where(isNotEnded)
    .limit(limit);
  const others = but.length === 0 ? tokens : tokens.where('token.id', 'not in', but);
  return (await others.execute()).map(({ id }) => id);
}

/** As {@link deleteTree}, of some tokens, which are no longer found by the alias that they came by. */
export function deleteTreesByIds(ids: readonly string[]): Write[] {
  const ended = build.updateTable('token').set({ alias_id: '' }).where('id', 'in', ids);
  return [
    endTokens(sql<string>`(${sql.join(ids)})`, ENDED),
    write(ended.where('expires_at', '<=', ENDED)),
  ];
}

/**
 * The rows are taken first: that waits for whoever is making something by one of them, and refuses
 * whoever begins to. What was ended stays ended in the way that it was.
 */
function endTokens(ids: Expression<string>, as: typeof ENDED | typeof ENDED_ALONE): Write {
  return write(
    build
      .with('taken', (taken) =>
        taken
          .selectFrom('token')
          .select('token.id')
          .where('token.id', 'in', ids)
          .where(isNotEnded)
          .forUpdate(),
      )
      .updateTable('token')
      .set({ expires_at: as })
      .where('id', 'in', (from) => from.selectFrom('taken').select('taken.id')),
  );
}
