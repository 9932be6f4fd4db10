import type { App } from '../../../app/app.ts';
import type { Caller } from '../../../app/caller.ts';
import type { DataResult, NothingResult } from '../../../app/output.ts';
import { Failure, invalid } from '../../../core/failure.ts';
import { foldName } from '../../../core/fold.ts';
import { type KeyList, listKeys } from '../../../core/key-list.ts';
import { mergePatch } from '../../../core/patches.ts';
import { bumpPermissionVersion } from '../../../store/permission-version.ts';
import type { Write } from '../../../store/write.ts';
import { commitPage } from '../../endings/operations.ts';
import { findAlias } from '../../identity/aliases.store.ts';
import { endLogInsBeforehand, planAliasRemoval } from '../../identity/operations.ts';
import { nameKey } from '../../identity/record.ts';
import { removeLogInsAfterCommit } from '../../leases/ended-tokens.operations.ts';
import { commitInTurn, type Planned } from '../../standing/attempts.operations.ts';
import type { TokenSettings } from '../../tokens/settings.ts';
import type { Token } from '../../tokens/token.ts';
import {
  type Approle,
  type ApproleReply,
  checkApprole,
  describeApprole,
  storedApprole,
} from './role.ts';
import {
  DELETED_AT_ONCE,
  deleteApprole,
  deleteSecretIdsOfRole,
  findApprole,
  holdApprole,
  listApproles,
  listIdsLike,
  listIdsOfRole,
  measureApprole,
  type RoleKey,
  type StoredApprole,
  saveApprole,
} from './store.ts';

type SentRole = { [Name in keyof Approle]?: Approle[Name] | undefined };
export interface RoleName {
  role_name: string;
}

export function keyOf(caller: Caller, input: RoleName): RoleKey {
  return { mount_id: caller.mount.id, name: foldName(input.role_name) };
}

export async function requireRole(
  app: App,
  caller: Caller,
  input: RoleName,
): Promise<StoredApprole> {
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
  return (await measureApprole(app.db, key)) > 0;
}

export async function readApprole(
  app: App,
  caller: Caller,
  input: RoleName,
): Promise<DataResult<ApproleReply>> {
  return { data: describeApprole((await requireRole(app, caller, input)).rules) };
}

export async function listApproleNames(app: App, caller: Caller): Promise<KeyList> {
  return listKeys((page) => listApproles(app.db, { mount_id: caller.mount.id, ...page }), {});
}

/** Writes a role; what is left out stays as it was. */
export async function writeApprole(
  app: App,
  caller: Caller,
  input: RoleName & { role_id: string; policies?: string[] | undefined } & SentRole,
): Promise<NothingResult> {
  const { role_name: _name, role_id, policies, ...sent } = input;
  const token_policies = sent.token_policies ?? policies;
  const newId = app.newId();
  return commitEnding(app, caller, input, async () => {
    const existing = await findApprole(app.db, keyOf(caller, input));
    const rules = mergePatch(existing?.rules ?? storedApprole.parse({}), {
      ...sent,
      token_policies,
    });
    checkApprole(rules, existing?.rules);
    const id = role_id || existing?.role_id || newId;
    const plan = await planRole(app, caller, input, { existing, role_id: id, rules });
    return { ...plan, result: {}, found: existing !== undefined };
  });
}

export async function removeApprole(
  app: App,
  caller: Caller,
  input: RoleName,
): Promise<NothingResult> {
  const key = keyOf(caller, input);
  return commitEnding(app, caller, input, async () => {
    const existing = await findApprole(app.db, key);
    if (!existing) return { effects: [], result: {} };
    const namesake = await planNamesake(app, caller, { existing, next: undefined });
    return {
      effects: [deleteApprole(key, existing), ...namesake.effects],
      result: {},
      beforehand: {
        of: lineOfApprole(key),
        async end() {
          await deleteSecretIdsBeforehand(app, caller, key);
          await namesake.beforehand?.end();
        },
      },
    };
  });
}

/** Less than a page of them goes with the role: whoever else writes would wait for it. */
async function deleteSecretIdsBeforehand(app: App, caller: Caller, key: RoleKey): Promise<void> {
  for (;;) {
    const ids = await listIdsOfRole(app.db, key, DELETED_AT_ONCE);
    if (ids.length < DELETED_AT_ONCE) return;
    await commitPage(app, caller, [deleteSecretIdsOfRole(key, ids)], { secret_ids: ids.length });
  }
}

/** In which a role is changed. */
export const lineOfApprole = ({ mount_id, name }: RoleKey): string => `approle ${mount_id} ${name}`;

/** Changes a role, where log-ins may end by it. */
async function commitEnding(
  app: App,
  caller: Caller,
  input: RoleName,
  plan: () => Promise<Planned<NothingResult>>,
): Promise<NothingResult> {
  const key = keyOf(caller, input);
  const bytes = await measureApprole(app.db, key);
  const line = lineOfApprole(key);
  const answer = await commitInTurn(app, caller, plan, { key: line, changes: true, bytes });
  await removeLogInsAfterCommit(app, caller);
  return answer;
}

export async function readRoleId(
  app: App,
  caller: Caller,
  input: RoleName,
): Promise<DataResult<Pick<StoredApprole, 'role_id'>>> {
  const { role_id } = await requireRole(app, caller, input);
  return { data: { role_id } };
}

export async function writeRoleId(
  app: App,
  caller: Caller,
  input: RoleName & { role_id: string },
): Promise<NothingResult> {
  if (input.role_id === '') throw invalid('missing role_id');
  const { role_id } = input;
  return commitEnding(app, caller, input, async () => {
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
type Ending = Pick<Planned<NothingResult>, 'effects' | 'beforehand'>;

/**
 * Whoever logs in is the entity that the ID names, where letters count alike in either case: a
 * chosen ID is neither another role's, nor one that somebody goes by who is not this role.
 *
 * @returns what no other role's ID folds to. Two older ones may fold to the same: as long as they
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
    beforehand: {
      of: lineOfApprole({ mount_id: caller.mount.id, name: existing.name }),
      end: () => endLogInsBeforehand(app, caller, at),
    },
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
