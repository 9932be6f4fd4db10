import { aside } from '../../store/aside.ts';
import { build, type Db } from '../../store/database.ts';
import { type Write, write } from '../../store/write.ts';
import {
  accountsOf,
  type LogInsIn,
  type LogInsOf,
  logInsOf,
  usersNamed,
  usersOf,
} from '../principals/log-ins.store.ts';
import type { LinkKind } from '../resource/links/store.ts';
import { type Ids, idsOf as idsIn } from '../resource/removals.store.ts';
import type { ResourceTypeName } from '../resource/types.ts';

// Pages of what a removal ends. What a page has ended is no longer found by the same question, so
// that each begins where the index does.

const idsOf = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id);

/** Whose log-ins are meant, where it is said by users. */
function ownersOf(of: LogInsOf | LogInsIn): readonly string[] | Ids | undefined {
  if ('user_ids' in of) return of.user_ids;
  if ('entity_ids' in of) return idsIn(usersOf(of.entity_ids));
  return 'alias_ids' in of ? usersNamed(of.alias_ids) : undefined;
}

/** Log-ins that end, but for those that the removal itself goes by. */
export async function listLogInsOf(
  db: Db,
  of: LogInsOf | LogInsIn,
  { but, limit }: { but: readonly string[]; limit: number },
): Promise<string[]> {
  // A list of none is no list to PostgreSQL; nothing has this id.
  const left = ['', ...but];
  const owners = ownersOf(of);
  if (owners !== undefined || 'scope_ids' in of) {
    const log_ins = db.selectFrom('resource').select('id').where('type', '=', 'auth-token');
    const own =
      'scope_ids' in of
        ? log_ins.where('scope_id', 'in', of.scope_ids)
        : log_ins.where('owner_id', 'in', owners ?? []);
    return idsOf(await own.where('id', 'not in', left).limit(limit).execute());
  }
  if ('account_ids' in of || 'auth_method_id' in of) {
    const accounts = 'account_ids' in of ? of.account_ids : accountsOf(of.auth_method_id);
    const through = db
      .selectFrom('resource_link')
      .select('from_id as id')
      .where('to_id', 'in', accounts)
      .where('kind', '=', 'log-in-account')
      // Said once more: PostgreSQL would rather go through the log-ins of everybody.
      .where(aside('kind'), '=', 'log-in-account');
    return idsOf(await through.where('from_id', 'not in', left).limit(limit).execute());
  }
  const log_ins = db.selectFrom('resource').select('id').where('id', 'in', logInsOf(of));
  return idsOf(await log_ins.where('id', 'not in', left).limit(limit).execute());
}

/** Those of some log-ins that end. */
export async function listAmong(
  db: Db,
  of: LogInsOf | LogInsIn,
  ids: readonly string[],
): Promise<string[]> {
  if (ids.length === 0) return [];
  const some = db.selectFrom('resource').select('id').where('id', 'in', ids);
  return idsOf(await some.where('id', 'in', logInsOf(of)).execute());
}

/** What is left to the end: some, and groups that somebody is in. */
export interface Left {
  ids: readonly string[];
  member_id: string;
}

const groupsOf = (member_id: string) =>
  build
    .selectFrom('resource_link')
    .select('from_id')
    .where('to_id', '=', member_id)
    .where('kind', '=', 'group-member');

interface Page {
  type: ResourceTypeName;
  but: Left;
  limit: number;
}

/** What lies in a container. */
export async function listContainedIds(
  db: Db,
  container_id: string,
  { type, but, limit }: Page,
): Promise<string[]> {
  const contained = db.selectFrom('resource').select('id').where('container_id', '=', container_id);
  const others = contained.where('type', '=', type).where('id', 'not in', but.ids);
  return idsOf(await others.limit(limit).execute());
}

/** What lies in scopes. */
export async function listInScopes(
  db: Db,
  scope_ids: readonly string[],
  { type, but, limit }: Page,
): Promise<string[]> {
  const inside = db.selectFrom('resource').select('id').where('scope_id', 'in', scope_ids);
  const others = inside.where('type', '=', type).where('id', 'not in', but.ids);
  const ids = type === 'group' ? others.where('id', 'not in', groupsOf(but.member_id)) : others;
  return idsOf(await ids.limit(limit).execute());
}

/** Projects of an org, but for those with a group that is left to the end. */
export async function listProjects(
  db: Db,
  org_id: string,
  { but, limit }: Omit<Page, 'type'>,
): Promise<string[]> {
  const left = build
    .selectFrom('resource as own')
    .select('own.scope_id')
    .where('own.id', 'in', groupsOf(but.member_id));
  const projects = db.selectFrom('resource').select('id').where('container_id', '=', org_id);
  const others = projects.where('type', '=', 'scope').where('id', 'not in', left);
  return idsOf(await others.limit(limit).execute());
}

/** What a role or a group in some scopes leads to. */
export async function listLinksInScopes(
  db: Db,
  scope_ids: readonly string[],
  { type, kind, but, limit }: Page & { kind: LinkKind },
): Promise<{ from_id: string; to_id: string }[]> {
  const links = db
    .selectFrom('resource')
    .innerJoin('resource_link', 'resource_link.from_id', 'resource.id')
    .select(['resource_link.from_id', 'resource_link.to_id'])
    .where('resource.scope_id', 'in', scope_ids)
    .where('resource.type', '=', type)
    .where('resource_link.kind', '=', kind);
  const others =
    type === 'group' ? links.where('resource.id', 'not in', groupsOf(but.member_id)) : links;
  return others.limit(limit).execute();
}

/** Takes links away; one that is gone already is. */
export function unlink(
  kind: LinkKind,
  links: readonly { from_id: string; to_id: string }[],
): Write[] {
  const byFrom = Map.groupBy(links, ({ from_id }) => from_id);
  return [...byFrom].map(([from_id, some]) =>
    write(
      build
        .deleteFrom('resource_link')
        .where('from_id', '=', from_id)
        .where('kind', '=', kind)
        .where(
          'to_id',
          'in',
          some.map(({ to_id }) => to_id),
        ),
    ),
  );
}

/** A link, as it is kept. */
interface StoredLink {
  from_id: string;
  kind: string;
  to_id: string;
}

/** Which end of links is meant. */
export type LinkEnd = 'from_id' | 'to_id';

/** What leads to some resources, or from them. Log-ins are no part of it: by their accounts they are found, and they end. */
export async function listLinksOfSome(
  db: Db,
  end: LinkEnd,
  ids: readonly string[],
  { but, limit }: { but?: Left; limit: number },
): Promise<StoredLink[]> {
  const links = db.selectFrom('resource_link').selectAll().where(end, 'in', ids);
  const ended = links.where('kind', '<>', 'log-in-account' satisfies LinkKind);
  const others = but
    ? ended.where('to_id', 'not in', but.ids).where('to_id', 'not in', groupsOf(but.member_id))
    : ended;
  return others.limit(limit).execute();
}

/** As {@link unlink}, of what leads to the same, or from it. */
export function unlinkAt(end: LinkEnd, links: readonly StoredLink[]): Write[] {
  const other = end === 'to_id' ? 'from_id' : 'to_id';
  const byEnd = Map.groupBy(links, (link) => `${link.kind} ${link[end]}`);
  return [...byEnd.values()].flatMap((some) => {
    const [first] = some;
    if (!first) return [];
    const others = some.map((link) => link[other]);
    const one = build.deleteFrom('resource_link').where(end, '=', first[end]);
    return write(one.where('kind', '=', first.kind).where(other, 'in', others));
  });
}
