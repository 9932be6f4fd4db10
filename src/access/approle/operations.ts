import { type App, perApp } from '../../app.ts';
import { hashSecret } from '../../audit/operations.ts';
import { Failure } from '../../core/failure.ts';
import { mergePatch } from '../../core/fields.ts';
import { foldName } from '../../core/fold.ts';
import { type KeyPage, listKeys, listMatching } from '../../core/key-list.ts';
import { partyOf } from '../../core/party.ts';
import type { Answer } from '../../http/route.ts';
import type { Turn } from '../../jobs.ts';
import { bumpPermissionVersion } from '../../store/permission-version.ts';
import type { Write } from '../../store/write.ts';
import type { Caller } from '../caller.ts';
import { findAlias } from '../identity/aliases/store.ts';
import { nameKey } from '../identity/entity.ts';
import { endLogInsBeforehand, planAliasRemoval } from '../identity/operations.ts';
import { endLeasesOfRevoked } from '../leases/ending/operations.ts';
import { commitPage, commitPlanned, type Planned } from '../standing/operations.ts';
import { areWithin, judgeAddress } from '../tokens/addresses.ts';
import { nowSeconds } from '../tokens/minting/operations.ts';
import { logInIfFound, type SucceededLogIn } from '../tokens/operations.ts';
import type { TokenSettings } from '../tokens/settings.ts';
import type { Token } from '../tokens/token.ts';
import { startWalk } from '../walks/operations.ts';
import { type Approle, checkApprole, describeApprole, storedApprole } from './role.ts';
import {
  describeSecretId,
  isUsable,
  planSecretId,
  type SecretId,
  type SecretIdBody,
  type SecretIdWish,
} from './secret-id.ts';
import {
  deleteApprole,
  deleteExpiredSecretIds,
  deleteSecretId,
  deleteSecretIdsOfRole,
  deleteSpentSecretId,
  findApprole,
  findApproleById,
  findSecretId,
  findSecretIdByAccessor,
  holdApprole,
  holdSecretId,
  insertSecretId,
  listApproles,
  listExpiredSecretIds,
  listIdsLike,
  listIdsOfRole,
  listSecretIds,
  type RoleKey,
  type StoredApprole,
  saveApprole,
  useSecretId,
} from './store.ts';
import { Throttle } from './throttle.ts';

type SentRole = { [Name in keyof Approle]?: Approle[Name] | undefined };
interface RoleName {
  role_name: string;
}

/** One text for everything that is wrong with a log-in: which half it was is nobody's business. */
const REFUSED = 'invalid role or secret ID';

function keyOf(caller: Caller, input: RoleName): RoleKey {
  return { mount_id: caller.mount.id, name: foldName(input.role_name) };
}

async function requireRole(app: App, caller: Caller, input: RoleName): Promise<StoredApprole> {
  const role = await findApprole(app.db, keyOf(caller, input));
  if (!role) throw new Failure('not_found', '');
  return role;
}

export async function isApprole(
  app: App,
  caller: Caller,
  params: Readonly<Record<string, string>>,
): Promise<boolean> {
  const key = keyOf(caller, { role_name: params.role_name ?? '' });
  return (await findApprole(app.db, key)) !== undefined;
}

export async function readApprole(app: App, caller: Caller, input: RoleName): Promise<Answer> {
  return { data: describeApprole((await requireRole(app, caller, input)).rules) };
}

export async function listApproleNames(app: App, caller: Caller): Promise<Answer> {
  return listKeys((page) => listApproles(app.db, { mount_id: caller.mount.id, ...page }), {});
}

/** Writes a role; what is left out stays as it was. */
export async function writeApprole(
  app: App,
  caller: Caller,
  input: RoleName & { role_id: string; policies?: string[] | undefined } & SentRole,
): Promise<Answer> {
  const { role_name: _name, role_id, policies, ...sent } = input;
  const token_policies = sent.token_policies ?? policies;
  const new_id = app.newId();
  return commitEnding(app, caller, async () => {
    const existing = await findApprole(app.db, keyOf(caller, input));
    const rules = mergePatch(existing?.rules ?? storedApprole.parse({}), {
      ...sent,
      token_policies,
    });
    checkApprole(rules, existing?.rules);
    const id = role_id || existing?.role_id || new_id;
    const plan = await planRole(app, caller, input, { existing, role_id: id, rules });
    return { ...plan, result: {}, found: existing !== undefined };
  });
}

export async function removeApprole(app: App, caller: Caller, input: RoleName): Promise<Answer> {
  const key = keyOf(caller, input);
  return commitEnding(app, caller, async () => {
    const existing = await findApprole(app.db, key);
    if (!existing) return { effects: [], result: {} };
    const namesake = await planNamesake(app, caller, { existing, next: undefined });
    return {
      effects: [deleteApprole(key, existing), ...namesake.effects],
      result: {},
      beforehand: async () => {
        await deleteSecretIdsBeforehand(app, caller, key);
        await namesake.beforehand?.();
      },
    };
  });
}

/** Less than a page of them goes with the role: whoever else writes would wait for it. */
async function deleteSecretIdsBeforehand(app: App, caller: Caller, key: RoleKey): Promise<void> {
  for (;;) {
    const ids = await listIdsOfRole(app.db, key, DELETED);
    if (ids.length < DELETED) return;
    await commitPage(app, caller, [deleteSecretIdsOfRole(key, ids)], { secret_ids: ids.length });
  }
}

/** As {@link commitPlanned}, where log-ins may end by it. */
async function commitEnding(
  app: App,
  caller: Caller,
  plan: () => Promise<Planned<Answer>>,
): Promise<Answer> {
  const answer = await commitPlanned(app, caller, plan);
  await endLeasesOfRevoked(app, caller);
  return answer;
}

export async function readRoleId(app: App, caller: Caller, input: RoleName): Promise<Answer> {
  const { role_id } = await requireRole(app, caller, input);
  return { data: { role_id } };
}

export async function writeRoleId(
  app: App,
  caller: Caller,
  input: RoleName & { role_id: string },
): Promise<Answer> {
  if (input.role_id === '') throw new Failure('invalid', 'missing role_id');
  const { role_id } = input;
  return commitEnding(app, caller, async () => {
    const existing = await requireRole(app, caller, input);
    const wanted = { existing, role_id, rules: existing.rules };
    return { ...(await planRole(app, caller, input, wanted)), result: {} };
  });
}

/** A role as it is to be, and as it was read. */
interface WantedRole {
  existing: StoredApprole | undefined;
  role_id: string;
  rules: Approle;
}

async function planRole(
  app: App,
  caller: Caller,
  input: RoleName,
  { existing, role_id, rules }: WantedRole,
): Promise<Ending> {
  const key = keyOf(caller, input);
  const role_id_key = await requireOwnRoleId(app, caller, { key, role_id, existing });
  const { effects, beforehand } = await planNamesake(app, caller, { existing, next: role_id });
  const saved = saveApprole(key, existing, { role_id, role_id_key, rules });
  return { effects: [saved, ...effects], beforehand };
}

/** What ends log-ins in its write set, and what of them ends before. */
type Ending = Pick<Planned<Answer>, 'effects' | 'beforehand'>;

/**
 * Whoever logs in is the entity that the ID names, where letters count alike in either case: a
 * chosen ID is neither another role's, nor one that somebody goes by who is not this role.
 *
 * @returns what no other role's ID folds to. Two of before may fold to the same: as long as they
 *   keep their IDs one of them has no key, and both can be written
 */
async function requireOwnRoleId(
  app: App,
  caller: Caller,
  wanted: { key: RoleKey; role_id: string; existing: StoredApprole | undefined },
): Promise<string | null> {
  const { key, role_id, existing } = wanted;
  const folded = nameKey(role_id);
  if (existing?.role_id === role_id && existing.role_id_key === folded) return folded;
  const isTaken = (await listIdsLike(app.db, key, folded)).map(nameKey).includes(folded);
  if (existing?.role_id === role_id) return isTaken ? null : folded;
  if (isTaken) throw new Failure('conflict', 'role_id is in use by another role');
  if (existing && nameKey(existing.role_id) === folded) return folded;
  if (await findAlias(app.db, caller.mount.accessor, role_id)) {
    throw new Failure('conflict', 'role_id is the name of an alias: it belongs to an entity');
  }
  return folded;
}

/** An ID that is given up takes its alias and its log-ins along: who has it next is another entity. */
async function planNamesake(
  app: App,
  caller: Caller,
  { existing, next }: { existing: StoredApprole | undefined; next: string | undefined },
): Promise<Ending> {
  if (!existing || (next !== undefined && nameKey(existing.role_id) === nameKey(next))) {
    return { effects: [] };
  }
  const at = { mount_accessor: caller.mount.accessor, name: existing.role_id };
  return {
    effects: [...(await planAliasRemoval(app, at)), ...bumpPermissionVersion()],
    beforehand: () => endLogInsBeforehand(app, caller, at),
  };
}

/** The key of a secret ID's row; one text may be in use on several mounts. */
function secretKey(app: App, mount_id: string, secret_id: string): string {
  return app.barrier.hmac('token', `secret-id:${mount_id}:${secret_id}`).toString('base64url');
}

/** @param input.secret_id a text of the operator's choice; random when empty */
export async function createSecretId(
  app: App,
  caller: Caller,
  input: RoleName & SecretIdWish & { secret_id: string },
): Promise<Answer> {
  const key = keyOf(caller, input);
  const now = nowSeconds(app);
  const secret_id = input.secret_id || app.newId();
  const named = {
    id: secretKey(app, key.mount_id, secret_id),
    accessor: app.newId(),
    mount_id: key.mount_id,
  };
  const body = await commitPlanned<SecretIdBody>(app, caller, async () => {
    const role = await requireRole(app, caller, input);
    const planned = planSecretId(role.rules, input, now);
    const expires_at = planned.ttl > 0 ? now + planned.ttl : undefined;
    const known = await findSecretId(app.db, named.id);
    if (known && isUsable(known, now)) throw new Failure('conflict', KNOWN);
    const secret = { ...planned, ...named, role: role.name, expires_at };
    const effects = [
      holdApprole(key, role),
      ...(known ? [deleteSecretId(known)] : []),
      insertSecretId({ ...secret, uses_left: planned.num_uses }),
    ];
    const outcome = { secret_id_accessor: named.accessor };
    return { effects, result: planned, outcome };
  });
  return {
    data: {
      secret_id,
      secret_id_accessor: named.accessor,
      secret_id_num_uses: body.num_uses,
      secret_id_ttl: body.ttl,
    },
  };
}

const KNOWN = 'the secret ID exists already';

export async function createCustomSecretId(
  app: App,
  caller: Caller,
  input: RoleName & SecretIdWish & { secret_id: string },
): Promise<Answer> {
  if (input.secret_id === '') throw new Failure('invalid', 'missing secret_id');
  return createSecretId(app, caller, input);
}

export async function listSecretIdAccessors(
  app: App,
  caller: Caller,
  input: RoleName,
): Promise<Answer> {
  await requireRole(app, caller, input);
  const key = keyOf(caller, input);
  const now = nowSeconds(app);
  const walk = startWalk(app, caller);
  const read = async (page: KeyPage) => {
    const { rows, more } = await walk(() => listSecretIds(app.db, key, page));
    return { rows: rows.map((secret) => ({ key: secret.accessor, secret })), more };
  };
  return listKeys((page) => listMatching(read, ({ secret }) => isUsable(secret, now), page), {});
}

/** Secret IDs that one write set deletes. */
const DELETED = 500;

/** Deletes secret IDs that have run out; those that are spent go with their last log-in. */
export async function tidySecretIds(app: App, turn: Turn): Promise<void> {
  while (!turn.stopping) {
    const now = nowSeconds(app);
    const ids = await listExpiredSecretIds(app.db, now, DELETED);
    if (ids.length === 0) return;
    await turn.commit([deleteExpiredSecretIds(ids, now)], { removed: ids.length });
  }
}

async function findOfRole(
  app: App,
  caller: Caller,
  input: RoleName & { secret_id: string },
): Promise<SecretId | undefined> {
  const secret = await findSecretId(app.db, secretKey(app, caller.mount.id, input.secret_id));
  const found = secret?.role === keyOf(caller, input).name ? secret : undefined;
  Object.assign(
    caller.record.outcome,
    found
      ? { secret_id_accessor: found.accessor }
      : { secret_id: hashSecret(app, input.secret_id) },
  );
  return found;
}

async function requireOfRole(
  app: App,
  caller: Caller,
  input: RoleName & { secret_id_accessor: string },
): Promise<SecretId> {
  const { mount_id, name } = keyOf(caller, input);
  const secret = await findSecretIdByAccessor(app.db, input.secret_id_accessor);
  caller.record.recognised = secret !== undefined;
  if (secret?.mount_id === mount_id && secret.role === name) return secret;
  throw new Failure('not_found', 'failed to find accessor entry for secret_id_accessor');
}

export async function lookUpSecretId(
  app: App,
  caller: Caller,
  input: RoleName & { secret_id: string },
): Promise<Answer> {
  const secret = await findOfRole(app, caller, input);
  return secret && isUsable(secret, nowSeconds(app)) ? { data: describeSecretId(secret) } : {};
}

export async function destroySecretId(
  app: App,
  caller: Caller,
  input: RoleName & { secret_id: string },
): Promise<Answer> {
  const secret = await findOfRole(app, caller, input);
  if (secret) await app.commit(caller, [deleteSecretId(secret)]);
  return {};
}

export async function lookUpSecretIdAccessor(
  app: App,
  caller: Caller,
  input: RoleName & { secret_id_accessor: string },
): Promise<Answer> {
  return { data: describeSecretId(await requireOfRole(app, caller, input)) };
}

export async function destroySecretIdAccessor(
  app: App,
  caller: Caller,
  input: RoleName & { secret_id_accessor: string },
): Promise<Answer> {
  const secret = await requireOfRole(app, caller, input);
  await app.commit(caller, [deleteSecretId(secret)]);
  return {};
}

const throttleOf = perApp(() => new Throttle());

/**
 * Logs a machine in with the ID of its role and a secret ID, unless too many failed of late. All
 * that a refusal depends on is what was sent: it is the same for a role that is not there.
 */
export async function logInWithSecretId(
  app: App,
  caller: Caller,
  input: { role_id: string; secret_id: string },
): Promise<Answer> {
  if (input.role_id === '') throw new Failure('invalid', 'missing role_id');
  const throttle = throttleOf(app);
  const key = throttleKey(caller, input.role_id);
  const answer = throttle.isOpen(key, nowSeconds(app))
    ? await logInIfFound(app, caller, () => checkMachine(app, caller, input))
    : undefined;
  if (answer) return answer;
  throttle.fail(key, nowSeconds(app));
  throw new Failure('invalid', input.secret_id === '' ? 'missing secret_id' : REFUSED);
}

/** What comes from one address for one role; a text that is no role's must not take up room. */
function throttleKey(caller: Caller, role_id: string): string {
  return `${caller.mount.id} ${partyOf(caller.record.remote_address)} ${role_id.slice(0, 64)}`;
}

/** What a role that is not there is looked at as, so that it takes as long. */
const NO_ROLE: StoredApprole = {
  name: '',
  role_id: '',
  role_id_key: null,
  body_tag: '',
  rules: storedApprole.parse({}),
};

/** Finds out whose log-in it is, by the same steps whether there is such a role or not. */
async function checkMachine(
  app: App,
  caller: Caller,
  input: { role_id: string; secret_id: string },
): Promise<SucceededLogIn | undefined> {
  const mount_id = caller.mount.id;
  const [known, secret] = [
    await findApproleById(app.db, mount_id, input.role_id),
    await findSecretId(app.db, secretKey(app, mount_id, input.secret_id)),
  ];
  caller.record.recognised = known !== undefined;
  const { name, role_id, rules } = known ?? readAgain(NO_ROLE);
  const { remote_address } = caller.record;
  const isNear = (cidrs: readonly string[]) => judgeAddress(cidrs, remote_address);
  const isFromNear = isNear(rules.secret_id_bound_cidrs) && isNear(rules.token_bound_cidrs);
  const of_role = {
    settings: rules,
    display_name: 'approle',
    meta: { role_name: name },
    alias: role_id,
  };
  if (!known || !isFromNear) return undefined;
  const held = holdApprole({ mount_id, name }, known);
  if (!rules.bind_secret_id) return { ...of_role, effects: [held] };
  if (input.secret_id === '' || secret?.role !== name) return undefined;
  caller.record.outcome.secret_id_accessor = secret.accessor;
  if (!isUsable(secret, nowSeconds(app)) || !isNear(secret.cidr_list)) return undefined;
  const bound = secret.token_bound_cidrs;
  // The role may have been narrowed since.
  if (!areWithin(bound, rules.token_bound_cidrs)) return undefined;
  return {
    ...of_role,
    settings: bound.length > 0 ? { ...rules, token_bound_cidrs: bound } : rules,
    meta: { ...secret.metadata, ...of_role.meta },
    // Counted with the token it is spent on, so that the last use is given to one of two.
    effects: [
      held,
      ...(secret.num_uses > 0
        ? [useSecretId(secret, REFUSED), deleteSpentSecretId(secret)]
        : [holdSecretId({ id: secret.id, accessor: secret.accessor })]),
    ],
  };
}

/** What a role gives to log-ins by now, and what holds it; undefined once the role is gone. */
export async function findApproleSettings(
  app: App,
  { mount_id, meta }: Pick<Token, 'mount_id' | 'meta'>,
): Promise<{ settings: TokenSettings; held: Write } | undefined> {
  const role = await findApprole(app.db, { mount_id, name: meta?.role_name ?? '' });
  if (!role) return undefined;
  return { settings: role.rules, held: holdApprole({ mount_id, name: role.name }, role) };
}

/** Takes as long as reading a role from its row does. */
function readAgain(role: StoredApprole): StoredApprole {
  return { ...role, rules: storedApprole.parse(JSON.parse(JSON.stringify(role.rules))) };
}
