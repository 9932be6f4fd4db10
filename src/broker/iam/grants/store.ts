import type { Db } from '../../../store/database.ts';
import { listInPages, PAGE } from '../../../store/in-pages.ts';
import { keyPages } from '../../../store/key-page.ts';
import { preparedForIds, type Seen } from '../../resource/by-ids.store.ts';
import type { LinkKind } from '../../resource/links/store.ts';

// Who has which role is asked of the index of links by whom they lead to: what others have is not read.

const pagesTo = keyPages('resource_link', 'from_id', ['to_id', 'kind']);

function listTo(db: Db, to_id: string, kind: LinkKind): Promise<string[]> {
  return listInPages<string>((after = '') => pagesTo(db, { to_id, kind, after, limit: PAGE }));
}

/** Groups that a user is in, in byte order. */
export function listGroupsOf(db: Db, user_id: string): Promise<string[]> {
  return listTo(db, user_id, 'group-member');
}

/** So many principals are asked about at once. */
const PRINCIPALS_AT_ONCE = 64;

/** Each role once, however many of the principals have it, and no more than a page of them. */
const someOfPrincipals = preparedForIds<Record<never, never>, { from_id: string }>((from, ids) =>
  from
    .selectFrom('resource_link')
    .select('from_id')
    .distinct()
    .where('to_id', 'in', ids)
    .where('kind', '=', 'role-principal' satisfies LinkKind)
    .limit(PAGE),
);

async function listRoleIds(db: Db, principals: readonly string[]): Promise<string[]> {
  const few = await someOfPrincipals(db, principals, {});
  if (few.length < PAGE) return few.map(({ from_id }) => from_id);
  const roles: string[] = [];
  for (const principal of principals) {
    for (const role of await listTo(db, principal, 'role-principal')) roles.push(role);
  }
  return roles;
}

const versions = preparedForIds<Record<never, never>, Seen>((from, ids) =>
  from.selectFrom('resource').select(['id', 'version', 'updated_ms']).where('id', 'in', ids),
);

/** What tells whether one knows the roles already that some principals have; each once, in byte order. */
export async function listRolesOf(db: Db, principals: readonly string[]): Promise<Seen[]> {
  const ids = new Set<string>();
  for (let at = 0; at < principals.length; at += PRINCIPALS_AT_ONCE) {
    const some = principals.slice(at, at + PRINCIPALS_AT_ONCE);
    for (const id of await listRoleIds(db, some)) ids.add(id);
  }
  return versions(db, [...ids].sort(), {});
}

/** The same of some roles, of those that are there. */
export function listRolesById(db: Db, ids: readonly string[]): Promise<Seen[]> {
  return versions(db, ids, {});
}
