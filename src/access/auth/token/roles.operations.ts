import type { App } from '../../../app/app.ts';
import type { Caller } from '../../../app/caller.ts';
import type { DataResult, NothingResult } from '../../../app/output.ts';
import { Failure, invalid } from '../../../core/failure.ts';
import { type KeyList, listKeys } from '../../../core/key-list.ts';
import { mergePatch } from '../../../core/patches.ts';
import { commitInTurn, type Planned } from '../../standing/attempts.operations.ts';
import {
  checkTokenRole,
  describeTokenRole,
  type TokenRole,
  type TokenRoleReply,
  tokenRoleSchema,
} from '../../tokens/role.ts';
import {
  deleteTokenRole,
  findStoredTokenRole,
  findTokenRole,
  listTokenRoles,
  measureTokenRole,
  type StoredTokenRole,
  saveTokenRole,
} from '../../tokens/roles.store.ts';

/** @throws Failure `invalid`: the role is part of a request, not what it is about */
export async function requireTokenRole(app: App, name: string): Promise<StoredTokenRole> {
  const role = await findStoredTokenRole(app.db, name);
  if (!role) throw invalid(`unknown role "${name}"`);
  return role;
}

export async function readTokenRole(
  app: App,
  _caller: Caller,
  input: { role_name: string },
): Promise<DataResult<TokenRoleReply>> {
  const role = await findTokenRole(app.db, input.role_name);
  if (!role) throw new Failure('not_found', '');
  return { data: describeTokenRole(input.role_name, role) };
}

export async function isTokenRole(
  app: App,
  _caller: Caller,
  params: Readonly<Record<string, string>>,
): Promise<boolean> {
  return (await measureTokenRole(app.db, { name: params.role_name ?? '' })) > 0;
}

export async function listTokenRoleNames(app: App): Promise<KeyList> {
  return listKeys((page) => listTokenRoles(app.db, page), {});
}

/** Key of the line for changes of a role, and for token creations that lost to one. */
export const lineOfTokenRole = (role_name: string): string => `token role ${role_name}`;

/** Writes a role; what is left out stays as it was. */
export async function writeTokenRole(
  app: App,
  caller: Caller,
  input: { role_name: string } & { [Name in keyof TokenRole]?: TokenRole[Name] | undefined },
): Promise<NothingResult> {
  const { role_name, ...sent } = input;
  const plan = async (): Promise<Planned<NothingResult>> => {
    const existing = await findStoredTokenRole(app.db, role_name);
    const role = mergePatch(existing?.rules ?? tokenRoleSchema.parse({}), sent);
    checkTokenRole(role);
    const effects = [saveTokenRole(role_name, existing, role)];
    return { effects, result: {}, found: existing !== undefined };
  };
  const bytes = await measureTokenRole(app.db, { name: role_name });
  const key = lineOfTokenRole(role_name);
  return commitInTurn(app, caller, plan, { key, changes: true, bytes });
}

export async function removeTokenRole(
  app: App,
  caller: Caller,
  input: { role_name: string },
): Promise<NothingResult> {
  await app.commit(caller, [deleteTokenRole(input.role_name)]);
  return {};
}
