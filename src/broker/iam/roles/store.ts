import { type Kysely, sql } from 'kysely';
import { bumpConfigVersion } from '../../../store/config-version.ts';
import { type Db, prepared, preparedWrite } from '../../../store/database.ts';
import type { Tables } from '../../../store/tables.ts';
import type { Write } from '../../../store/write.ts';
import { BOUNDS } from '../../resource/org-bounds/bounds.ts';
import { BROUGHT_BODIES } from '../../resource/org-bounds/brought.ts';
import {
  COUNTED,
  EACH_BODY,
  FIRST_VERSION,
  MOST_OF_ORG,
  MOST_OF_SCOPE,
} from '../../resource/org-bounds/grant-room.ts';
import { listInOrg } from '../../resource/org-bounds/store.ts';

/** Where a role lies: in a scope, which is an org, lies in one, or is `global`. */
export interface RolePlace {
  scope_id: string;
  org_id: string;
}

/** What the roles come to that share their room. */
interface Sums {
  org: number;
  scope: number;
}

/** What a role comes to (`sizeOfRole`), without taking its body out of the database. */
const SIZE = sql<number>`case when version = ${sql.lit(FIRST_VERSION)} and body in (${sql.join(BROUGHT_BODIES.map((body) => sql.lit(body)))}) then 0
  else octet_length(body) + ${sql.lit(EACH_BODY)} + ${sql.join(
    COUNTED.map(
      ([mark, bytes]) =>
        sql`(octet_length(body) - octet_length(replace(body, ${sql.lit(mark)}, ''))) / ${sql.lit(mark.length)} * ${sql.lit(bytes)}`,
    ),
    sql` + `,
  )} end`;

/** More than an org may have: there are as many where they were made before that was bounded. */
const MOST_COUNTED = 100_000;

type Where = { scope_id: string; org_id: string };

/** Nothing shares the room of `global`, though all orgs lie in it; it is one scope with one bound. */
const whereOf = ({ scope_id, org_id }: RolePlace): Where => ({
  scope_id: scope_id === 'global' ? '' : scope_id,
  org_id,
});

function sumRoles(from: Kysely<Tables>, { scope_id, org_id }: Where) {
  const sizes = from
    .selectFrom(listInOrg(from, 'role', org_id).as('one'))
    .innerJoin('resource', 'resource.id', 'one.id')
    .select(['container_id', SIZE.as('size')])
    .limit(MOST_COUNTED);
  const ofScope = sql<number>`case when container_id = ${scope_id} then size else 0 end`;
  return from
    .selectFrom(sizes.as('sizes'))
    .select((row) => [
      row.fn.coalesce(row.fn.sum<number | bigint>('size'), sql<number>`0`).as('org'),
      row.fn.coalesce(row.fn.sum<number | bigint>(ofScope), sql<number>`0`).as('scope'),
    ]);
}

const sums = prepared<Where, { org: number | bigint; scope: number | bigint }>(sumRoles);

export async function sumGrants(db: Db, place: RolePlace): Promise<Sums> {
  const row = await sums.first(db, whereOf(place));
  return { org: Number(row?.org ?? 0), scope: Number(row?.scope ?? 0) };
}

const within = preparedWrite<Where>(
  (from, where) =>
    from
      .selectFrom(sumRoles(from, where).as('sums'))
      .select('org')
      .where('org', '<=', MOST_OF_ORG)
      .where('scope', '<=', MOST_OF_SCOPE),
  { rows: 1, conflict: BOUNDS.grants },
);

/**
 * Refuses its write set when the roles come to more than there is room for. Whoever changes a role
 * bumps the configuration's version: there two of them wait for one another, so that the later one counts
 * what the other wrote.
 */
export function holdRoom(place: RolePlace): Write[] {
  return [bumpConfigVersion(), within(whereOf(place))];
}
