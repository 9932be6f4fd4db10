import type { Kysely } from 'kysely';
import { bumpConfigVersion } from '../../store/config-version.ts';
import { build, preparedWrite } from '../../store/database.ts';
import type { Tables } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';
import { inPieces, type LinkKind } from '../links/store.ts';
import type { Scope } from '../resource.ts';
import {
  BOUNDS,
  MOST_GROUPS,
  MOST_GROUPS_OF_USER,
  MOST_MEMBERS,
  MOST_PRINCIPALS,
  MOST_ROLES,
} from './bounds.ts';

// Each of these counts in the write set that adds. Whoever adds bumps the configuration's version: there two
// of them wait for one another, so that the later one counts what the other wrote.

type Org = {
  org_id: string;
  /** Whose projects count as well: none, though all orgs lie in it, for `global`. */
  inside: string;
};

/** The org that a scope is or lies in, as bounds count. */
export const orgOf = (scope: Pick<Scope, 'id' | 'type' | 'parent_scope_id'>): string =>
  scope.type === 'project' ? scope.parent_scope_id : scope.id;

const whereOf = (org_id: string): Org => ({ org_id, inside: org_id === 'global' ? '' : org_id });

type Counted = 'role' | 'group';

/** Ids of what lies in an org and in its projects, as a question; nothing but that is looked at. */
export function listInOrg(from: Kysely<Tables>, type: Counted, { org_id, inside }: Org) {
  const direct = from
    .selectFrom('resource')
    .select('resource.id')
    .where('resource.container_id', '=', org_id)
    .where('resource.type', '=', type);
  return direct.unionAll(
    from
      .selectFrom('resource as inner')
      // In this order: SQLite would look at everything of the type, whosever it is.
      .crossJoin('resource')
      .select('resource.id')
      .whereRef('resource.container_id', '=', 'inner.id')
      .where('inner.container_id', '=', inside)
      .where('inner.type', '=', 'scope')
      .where('resource.type', '=', type),
  );
}

function holdNumber(type: Counted, most: number, conflict: string) {
  return preparedWrite<Org>(
    (from, org) => {
      const some = from.selectFrom(listInOrg(from, type, org).as('one')).select('one.id');
      return from
        .selectFrom(some.limit(most + 1).as('some'))
        .select((row) => row.fn.countAll().as('count'))
        .having((row) => row(row.fn.countAll(), '<=', most));
    },
    { rows: 1, conflict },
  );
}

function holdLinks(type: Counted, kind: LinkKind, most: number, conflict: string) {
  return preparedWrite<Org>(
    (from, org) => {
      const links = from
        .selectFrom(listInOrg(from, type, org).as('one'))
        .innerJoin('resource_link', 'resource_link.from_id', 'one.id')
        .select('one.id')
        .where('resource_link.kind', '=', kind);
      return from
        .selectFrom(links.limit(most + 1).as('some'))
        .select((row) => row.fn.countAll().as('count'))
        .having((row) => row(row.fn.countAll(), '<=', most));
    },
    { rows: 1, conflict },
  );
}

const numbers = {
  role: holdNumber('role', MOST_ROLES, BOUNDS.roles),
  group: holdNumber('group', MOST_GROUPS, BOUNDS.groups),
} as const;

/** Refuses its write set, which has added some, when an org has more roles or groups than it may. */
export function holdNumberOf(type: Counted, scope: Parameters<typeof orgOf>[0]): Write[] {
  return [bumpConfigVersion(), numbers[type](whereOf(orgOf(scope)))];
}

const members = holdLinks('group', 'group-member', MOST_MEMBERS, BOUNDS.members);
const principals = holdLinks('role', 'role-principal', MOST_PRINCIPALS, BOUNDS.principals);

/** Refuses its write set, which has added some, when the roles of an org have more principals than they may. */
export function holdPrincipals(scope: Parameters<typeof orgOf>[0]): Write[] {
  return [bumpConfigVersion(), principals(whereOf(orgOf(scope)))];
}

/** As {@link holdPrincipals}, for members of groups. */
export function holdMembers(scope: Parameters<typeof orgOf>[0]): Write[] {
  return [bumpConfigVersion(), members(whereOf(orgOf(scope)))];
}

/** Refuses its write set, which has put users into a group, when one is in more groups of the org than may be. */
export function holdGroupsOf(
  user_ids: readonly string[],
  scope: Parameters<typeof orgOf>[0],
): Write[] {
  const org = whereOf(orgOf(scope));
  return [
    bumpConfigVersion(),
    ...inPieces(user_ids).map((ids) =>
      write(groupsOf(ids, org), { rows: 0, conflict: BOUNDS.groups_of_user }),
    ),
  ];
}

/** Users who are in too many. Whoever is in fewer of all orgs is looked for in the index alone. */
function groupsOf(ids: readonly string[], { org_id, inside }: Org) {
  const inMany = build
    .selectFrom('resource_link as any')
    .select('any.to_id')
    .where('any.to_id', 'in', ids)
    .where('any.kind', '=', 'group-member')
    .groupBy('any.to_id')
    .having((row) => row(row.fn.countAll(), '>', MOST_GROUPS_OF_USER));
  const projects = build
    .selectFrom('resource as inner')
    .select('inner.id')
    .where('inner.container_id', '=', inside)
    .where('inner.type', '=', 'scope');
  return build
    .selectFrom('resource_link')
    .innerJoin('resource', 'resource.id', 'resource_link.from_id')
    .select('resource_link.to_id')
    .where('resource_link.to_id', 'in', inMany)
    .where('resource_link.kind', '=', 'group-member')
    .where((row) =>
      row.or([
        row('resource.container_id', '=', org_id),
        row('resource.container_id', 'in', projects),
      ]),
    )
    .groupBy('resource_link.to_id')
    .having((row) => row(row.fn.countAll(), '>', MOST_GROUPS_OF_USER));
}
