import { sql } from 'kysely';
import type { Lease } from '../../app/lease.ts';
import type { KeyPage } from '../../core/key-list.ts';
import { build, compiled, type Db, prepared } from '../../store/database.ts';
import { listDistinct } from '../../store/key-page.ts';
import type { LeaseRow } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';
import { leaseOf } from './store.ts';

// A lease that is due has a turn: the token that had it, or whatever else. It keeps it, as what is due once always is.

/** Ids of leases that have lost what they were bound to, and have no turn yet: it went otherwise than by `turn`. */
export async function listUnbound(db: Db, limit: number): Promise<string[]> {
  const unbound = db
    .selectFrom('lease')
    .select('id')
    .where('bound', '=', 1)
    .where('token_id', 'is', null)
    .where('alias_id', 'is', null)
    .where('turn', 'is', null)
    .where('id', '>', '');
  return (await unbound.orderBy('id').limit(limit).execute()).map(({ id }) => id);
}

/** Ids of leases whose time is over, and which have no turn yet. */
export async function listExpired(db: Db, now: number, limit: number): Promise<string[]> {
  const over = db.selectFrom('lease').select('id').where('expires_at', '<=', now);
  const page = over.where('turn', 'is', null).orderBy('expires_at').orderBy('id').limit(limit);
  return (await page.execute()).map(({ id }) => id);
}

/** Gives leases that are due their turns. */
export function giveTurns(ids: readonly string[]): Write {
  const turn = sql<string>`coalesce(token_id, alias_id, source_id, '')`;
  return write(
    build.updateTable('lease').set({ turn }).where('id', 'in', ids).where('turn', 'is', null),
  );
}

const mountPage = prepared((from, p: { after: string; limit: number }) =>
  from
    .selectFrom('lease')
    .select('mount_id')
    .where('turn', 'is not', null)
    .where('mount_id', '>', p.after)
    .orderBy('mount_id')
    .limit(p.limit),
);

/** Mounts of which leases are due; empty for those that belong to none. */
export async function listMountsOfDue(db: Db): Promise<string[]> {
  const pageOf = async (from: Db, { after, limit }: KeyPage): Promise<string[]> =>
    (await mountPage.all(from, { after, limit })).map(({ mount_id }) => mount_id);
  return ['', ...(await listDistinct(db, pageOf))];
}

type TurnsPage = { mount_id: string; limit: number };
const inTurns = (from: Pick<Db, 'selectFrom'>, p: TurnsPage) =>
  from
    .selectFrom('lease')
    .selectAll()
    .where('mount_id', '=', p.mount_id)
    .orderBy('turn')
    .orderBy('id')
    .limit(p.limit);
const firstTurns = prepared((from, p: TurnsPage) => inTurns(from, p).where('turn', 'is not', null));
const nextTurns = prepared((from, p: TurnsPage & { after: string }) =>
  inTurns(from, p).where('turn', '>', p.after),
);

/** A lease that is due, and its turn. */
export interface DueLease {
  turn: string;
  lease: Lease;
}

const dueOf = (row: LeaseRow): DueLease => ({ turn: row.turn ?? '', lease: leaseOf(row) });

/**
 * A mount's due leases of its first turns, or of those after another, in order of turns and ids; of the last of them
 * perhaps not all. Fewer where they are long.
 */
export async function listTurns(
  db: Db,
  mount_id: string,
  { after, limit }: { after: string | undefined; limit: number },
): Promise<DueLease[]> {
  const { rows } =
    after === undefined
      ? await firstTurns.some(db, { mount_id, limit }, 'data')
      : await nextTurns.some(db, { mount_id, after, limit }, 'data');
  return rows.map(dueOf);
}

const ofTurn = prepared(
  (from, p: { mount_id: string; turn: string; after: string; limit: number }) =>
    from
      .selectFrom('lease')
      .selectAll()
      .where('mount_id', '=', p.mount_id)
      .where('turn', '=', p.turn)
      .where('id', '>', p.after)
      .orderBy('id')
      .limit(p.limit),
);

/** Leases that are due, of one turn, in order of their ids, after `after`; fewer where they are long. */
export async function listOfTurn(
  db: Db,
  of: { mount_id: string; turn: string },
  { after, limit }: { after: string; limit: number },
): Promise<DueLease[]> {
  return (await ofTurn.some(db, { ...of, after, limit }, 'data')).rows.map(dueOf);
}

type DuePage = { mount_id: string; turn: string; id: string; limit: number };
const nextDue = prepared((_from, p: DuePage) =>
  compiled(sql<LeaseRow>`select * from lease
    where turn is not null and (mount_id, turn, id) > (${p.mount_id}, ${p.turn}, ${p.id})
    order by mount_id, turn, id limit ${p.limit}`),
);

const BEFORE_ALL = { mount_id: '', turn: '', id: '' };

/** All leases that are due, mount by mount and turn by turn, after another of them; fewer where they are long. */
export async function listDue(
  db: Db,
  { after = BEFORE_ALL, limit }: { after: DuePlace | undefined; limit: number },
): Promise<{ leases: Lease[]; last: DuePlace | undefined }> {
  const { rows } = await nextDue.some(db, { ...after, limit }, 'data');
  const last = rows.at(-1);
  return {
    leases: rows.map(leaseOf),
    last: last && { mount_id: last.mount_id, turn: last.turn ?? '', id: last.id },
  };
}

/** Where one of them stands among all that are due. */
type DuePlace = Pick<DuePage, 'mount_id' | 'turn' | 'id'>;
