import type { App } from '../../app.ts';
import { Breath } from '../../core/breath.ts';
import { Kept } from '../../core/kept.ts';
import { ROOMS } from '../../core/rooms.ts';
import { ANONYMOUS_USER, AUTHENTICATED_USER, RECOVERY_USER } from '../caller.ts';
import { Authority } from '../grants/decision.ts';
import { fillTemplates } from '../grants/grant.ts';
import type { HeldGrant } from '../grants/reach.ts';
import type { Seen } from '../resources/by-ids/store.ts';
import type { GrantingRole } from './roles/granting-role.ts';
import { isAsSeen, listGroups, listSeen, readRolesOf, readSeen } from './roles/operations.ts';

/**
 * What a user is allowed: through nobody's and everybody's roles, their own and their groups'.
 *
 * @param principals further ones that hold for this log-in: managed groups of the account
 */
export async function readAuthority(
  app: App,
  user: { user_id: string; account_id: string; principals?: readonly string[] },
): Promise<Authority> {
  if (user.user_id === RECOVERY_USER) return new Authority('recovery', []);
  const { user_id, account_id, principals = [] } = user;
  // It may be one user's who is allowed 140,000 single ids: that takes longer than all the others. Of each scope
  // that was asked about something is kept, which goes when scopes go.
  const kept = await app.cached('broker/authorities', async () => new Kept(ROOMS.users, weigh, 1), [
    'broker/roles',
    'broker/role-principals',
    'broker/group-members',
    'broker/scopes',
  ]);
  const key = `${user_id}/${account_id}/${principals.join(',')}`;
  return kept.get(key, () => makeAuthority(app, { user_id, account_id, principals }));
}

const weigh = ({ bytes }: Authority): number => bytes;

/** A role as it was read, besides what is put together of it. */
const READ_ROLE_BYTES = 200;

interface Person {
  user_id: string;
  account_id: string;
  principals: readonly string[];
}

async function makeAuthority(app: App, person: Person): Promise<Authority> {
  const { user_id, principals } = person;
  if (user_id === ANONYMOUS_USER) {
    const roles = await readRolesOf(app, [ANONYMOUS_USER]);
    return Authority.make('anonymous', await holdGrants(roles, person));
  }
  const own = [user_id, ...(await listGroups(app, user_id)), ...principals];
  const everybody = await readEverybody(app);
  if (!everybody) {
    const roles = await readRolesOf(app, [...EVERYBODY, ...own]);
    return Authority.make('user', await holdGrants(roles, person));
  }
  const { base, shared } = everybody;
  const roles = (await readRolesOf(app, own)).filter(({ id }) => !shared.has(id));
  return Authority.make('user', await holdGrants(roles, person), { base, own: person });
}

/** Whose roles everybody has who is logged in. */
const EVERYBODY = [ANONYMOUS_USER, AUTHENTICATED_USER];

interface Everybody {
  /** With templates as they are: whom they stand for is known of whoever asks. */
  base: Authority;
  /** The roles in it. */
  shared: ReadonlyMap<string, GrantingRole>;
}

/**
 * What everybody is allowed: projects bring roles of this kind, and there may be thousands. It is put
 * together once for all users, unless it takes more than all projects bring that there can be, and again when
 * one of those roles is another.
 */
export function readEverybody(app: App): Promise<Everybody | undefined> {
  const load = async (): Promise<Everybody | undefined> => {
    const seen = await listSeen(app, EVERYBODY);
    const last = lastEverybody.get(app);
    if (last && isSame(last.roles, seen)) return last.everybody;
    // What was put together is not held while it is put together anew, but the roles are that it stands on.
    lastEverybody.delete(app);
    const read = await readSeen(app, seen, last?.everybody?.shared);
    const everybody = await makeEverybody(read);
    // Of what is not kept it is known what it was.
    const roles = everybody?.shared ?? (await mapById(seen));
    lastEverybody.set(app, { roles, everybody });
    return everybody;
  };
  return app.cached('broker/everybody', load, ['broker/everybody']);
}

/** Of how everybody's roles were read last. */
const lastEverybody = new WeakMap<
  App,
  { roles: ReadonlyMap<string, Seen>; everybody: Everybody | undefined }
>();

const isSame = (known: ReadonlyMap<string, Seen>, seen: readonly Seen[]): boolean =>
  known.size === seen.length && seen.every((role) => isAsSeen(role, known.get(role.id)));

async function mapById<Role extends Seen>(roles: readonly Role[]): Promise<Map<string, Role>> {
  const byId = new Map<string, Role>();
  const breath = new Breath();
  for (const role of roles) {
    byId.set(role.id, role);
    if (breath.isDue) await breath.take();
  }
  return byId;
}

async function makeEverybody(roles: readonly GrantingRole[]): Promise<Everybody | undefined> {
  const all: HeldGrant[] = [];
  const breath = new Breath();
  for (const role of roles) {
    for (const one of role.held) all.push(one);
    for (const one of role.templates) all.push(one);
    if (breath.isDue) await breath.take();
  }
  const base = await Authority.make('user', all);
  if (weigh(base) + roles.length * READ_ROLE_BYTES > ROOMS.everybody) return undefined;
  return { base, shared: await mapById(roles) };
}

async function holdGrants(roles: readonly GrantingRole[], person: Person): Promise<HeldGrant[]> {
  const all: HeldGrant[] = [];
  const breath = new Breath();
  for (const { held, templates } of roles) {
    for (const one of held) all.push(one);
    for (const one of fill(templates, person)) all.push(one);
    await breath.take();
  }
  return all;
}

function fill(templates: readonly HeldGrant[], person: Person): HeldGrant[] {
  return templates.flatMap(({ text: _, ...one }) => {
    const grant = fillTemplates(one.grant, person);
    return grant ? [{ ...one, grant }] : [];
  });
}
