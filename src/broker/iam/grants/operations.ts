import type { App } from '../../../app/app.ts';
import { Breath } from '../../../core/fairness/breath.ts';
import { Kept } from '../../../core/kept.ts';
import { ROOMS } from '../../../core/rooms.ts';
import type { Soon } from '../../../core/steps.ts';
import type { Seen } from '../../resource/by-ids.store.ts';
import { ANONYMOUS_USER, AUTHENTICATED_USER, RECOVERY_USER } from '../../resource/caller.ts';
import { type Besides, GrantSet } from '../../resource/grants/decision.ts';
import type { GrantingRole } from './granting-role.ts';
import { type Pack, splitByWeight, weighPack } from './heavy-roles.ts';
import {
  filePacks,
  holdGrants,
  isAsSeen,
  listGroups,
  listSeen,
  readRolesOf,
  readSeen,
} from './roles.operations.ts';

/**
 * What a user is allowed: through nobody's and everybody's roles, their own and their groups'.
 *
 * @param principals further ones that hold for this log-in: managed groups of the account
 */
export async function loadGrantSet(
  app: App,
  user: { user_id: string; account_id: string; principals?: readonly string[] },
): Promise<GrantSet> {
  if (user.user_id === RECOVERY_USER) return new GrantSet('recovery', []);
  const { user_id, account_id, principals = [] } = user;
  // It may take longer to put together than all the others. Of each scope that was asked about something is kept,
  // which goes when scopes go.
  const kept = await app.cached(
    'broker/grant-sets',
    async () => new Kept(ROOMS.users, weighOwn, 1),
    ['broker/roles', 'broker/role-principals', 'broker/group-members', 'broker/scopes'],
  );
  const key = `${user_id}/${account_id}/${principals.join(',')}`;
  const person = { user_id, account_id, principals };
  const { asker, light, packs } =
    kept.find(key) ?? (await kept.get(key, () => readOwn(app, person)));
  if (packs.length === 0) return light;
  const bases = [light, ...(await filePacks(app, asker, packs))];
  return new GrantSet(asker, [], { bases, own: person });
}

/** What somebody is allowed. */
interface OwnGrants {
  asker: 'user' | 'anonymous';
  /** Roles without those in packs. */
  light: GrantSet;
  /** Roles that grant so much that it is filed once for all who have them. */
  packs: readonly Pack[];
}

const weighOwn = ({ light, packs }: OwnGrants): number =>
  packs.reduce((sum, pack) => sum + weighPack(pack), light.bytes);

/** A role as it was read, besides what is put together of it. */
const READ_ROLE_BYTES = 200;

interface Person {
  user_id: string;
  account_id: string;
  principals: readonly string[];
}

async function readOwn(app: App, person: Person): Promise<OwnGrants> {
  const { user_id, principals } = person;
  if (user_id === ANONYMOUS_USER) {
    const roles = await readRolesOf(app, [ANONYMOUS_USER]);
    return makeOwn('anonymous', roles, { own: person });
  }
  const own = [user_id, ...(await listGroups(app, user_id)), ...principals];
  const everybody = await readEverybody(app);
  const names = everybody ? own : [...EVERYBODY, ...own];
  const roles = (await readRolesOf(app, names)).filter(({ id }) => !everybody?.shared.has(id));
  return makeOwn('user', roles, { bases: everybody ? [everybody.base] : [], own: person });
}

async function makeOwn(
  asker: 'user' | 'anonymous',
  roles: readonly GrantingRole[],
  besides: Besides,
): Promise<OwnGrants> {
  const { light, packs } = await splitByWeight(roles);
  return { asker, light: await GrantSet.make(asker, await holdGrants(light), besides), packs };
}

/** Whose roles everybody has who is logged in. */
const EVERYBODY = [ANONYMOUS_USER, AUTHENTICATED_USER];

interface Everybody {
  /** With templates as they are: whom they stand for is known of whoever asks. */
  base: GrantSet;
  /** The roles in it. */
  shared: ReadonlyMap<string, GrantingRole>;
}

/**
 * What everybody is allowed: projects bring roles of this kind, and there may be thousands. It is put
 * together once for all users, unless it takes more than all projects bring that there can be, and again when
 * one of those roles is another.
 */
export function readEverybody(app: App): Soon<Everybody | undefined> {
  const load = async (): Promise<Everybody | undefined> => {
    const seen = await listSeen(app, EVERYBODY);
    const last = lastEverybody.get(app);
    if (last && isSame(last.roles, seen)) return last.everybody;
    // The former grants are not held while they are put together anew; the roles they stand on are.
    lastEverybody.delete(app);
    const read = await readSeen(app, seen, last?.everybody?.shared);
    const everybody = await makeEverybody(read);
    // Where the grants are not kept, the versions of their roles are.
    const roles = everybody?.shared ?? (await mapById(seen));
    lastEverybody.set(app, { roles, everybody });
    return everybody;
  };
  return app.cached('broker/everybody', load, ['broker/everybody']);
}

/** Everybody's roles as they were read last. */
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
  const base = await GrantSet.make('user', await holdGrants(roles));
  if (base.bytes + roles.length * READ_ROLE_BYTES > ROOMS.everybody) return undefined;
  await base.fileNamed();
  return { base, shared: await mapById(roles) };
}
