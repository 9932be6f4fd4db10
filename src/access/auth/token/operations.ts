import type { Acl } from '../../../acl/acl.ts';
import { maySudo } from '../../../acl/grants.ts';
import type { App } from '../../../app/app.ts';
import type { Caller, TokenFacts } from '../../../app/caller.ts';
import { effectiveLeaseTtls, fullPath } from '../../../app/mount.ts';
import type { AuthResult, DataResult } from '../../../app/output.ts';
import { Failure, invalid } from '../../../core/failure.ts';
import { type KeyList, type KeyPage, listKeys, listMatching } from '../../../core/key-list.ts';
import { presentMount } from '../../../mounts/operations.ts';
import { holdSettings } from '../../../mounts/store.ts';
import { startFilling } from '../../concurrency/walks.operations.ts';
import {
  findLiving,
  isLiving,
  requirePresented,
} from '../../permissions/authentication.operations.ts';
import { listUnknownPolicies } from '../../policies/operations.ts';
import { commitPlanned, type Planned } from '../../standing/attempts.operations.ts';
import { describeToken, type TokenReply } from '../../tokens/answers.ts';
import { planToken } from '../../tokens/creation.ts';
import type { TokenRequest } from '../../tokens/creation-request.ts';
import { LONGEST_LINE, listDead, mayHaveChildren } from '../../tokens/line.store.ts';
import {
  type MintedToken,
  mintToken,
  nowSeconds,
  tokenId,
} from '../../tokens/minting.operations.ts';
import { noteToken } from '../../tokens/recorded.ts';
import { holdTokenRole } from '../../tokens/roles.store.ts';
import { findTokenByAccessor, listAccessors } from '../../tokens/store.ts';
import type { PlannedToken, Token } from '../../tokens/token.ts';
import { answerMinted, entityPolicies, identityPolicies } from '../minted.operations.ts';
import { lineOfTokenRole, requireTokenRole } from './roles.operations.ts';

/** Makes a child of the caller's token, or an orphan. */
export async function createToken(
  app: App,
  caller: Caller,
  input: { request: TokenRequest; orphan: boolean; role_name?: string },
): Promise<AuthResult> {
  const { role_name, request } = input;
  const path = `${fullPath(caller.mount)}${creationPath(input)}`;
  const plan = async (): Promise<Planned<{ minted: MintedToken; warnings: string[] }>> => {
    const { token: parent, acl } = requireAuthenticated(caller);
    const role =
      role_name === undefined
        ? undefined
        : { name: role_name, ...(await requireTokenRole(app, role_name)) };
    const mount = await presentMount(app, caller.mount);
    const { token: plan, warnings } = planToken({
      request,
      parent,
      entity_policies: await entityPolicies(app, parent.entity_id),
      sudo: await maySudo(acl, path),
      orphan: input.orphan,
      role,
      ...effectiveLeaseTtls(mount.config),
      now: nowSeconds(app),
    });
    await requireRoomBelow(app, plan);
    const minted = mintToken(app, plan, request.id);
    noteToken(caller, minted.token);
    const held = [...holdSettings(mount), ...(role ? [holdTokenRole(role)] : [])];
    const effects = [...held, ...minted.effects];
    return { effects, result: { minted, warnings } };
  };
  const line =
    role_name === undefined ? undefined : { key: lineOfTokenRole(role_name), changes: false };
  const { minted, warnings } = await commitPlanned(app, caller, plan, line);
  const unknown = await listUnknownPolicies(app, minted.token.policies);
  return answerMinted(app, minted, [
    ...warnings,
    ...unknown.map((name) => `Policy "${name}" does not exist`),
  ]);
}

async function requireRoomBelow(app: App, { type, parent_id }: PlannedToken): Promise<void> {
  if (type === 'batch' || parent_id === undefined) return;
  if (await mayHaveChildren(app.db, parent_id)) return;
  throw invalid(
    `a token made by a token and so on is at most the ${LONGEST_LINE}th of its line: make an orphan`,
  );
}

function creationPath(input: { orphan: boolean; role_name?: string }): string {
  if (input.role_name !== undefined) return `create/${input.role_name}`;
  return input.orphan ? 'create-orphan' : 'create';
}

/** What the caller's own token is. */
export async function lookUpSelf(app: App, caller: Caller): Promise<DataResult<TokenReply>> {
  const { text, token } = requirePresented(caller);
  // The use that this request takes is gone already.
  const left = token.num_uses > 0 ? { uses_left: token.uses_left - 1 } : {};
  return {
    data: describeToken(
      { ...token, ...left },
      text,
      nowSeconds(app),
      await identityPolicies(app, token),
    ),
  };
}

/** What a token is, by its text; the caller's own unless given. */
export async function lookUpToken(
  app: App,
  caller: Caller,
  input: { token: string },
): Promise<DataResult<TokenReply>> {
  if (input.token === '') return lookUpSelf(app, caller);
  const token = await requireLiving(app, caller, input.token);
  return {
    data: describeToken(token, input.token, nowSeconds(app), await identityPolicies(app, token)),
  };
}

/**
 * A living token by its text; the record says which, also of one that is not there.
 *
 * @throws Failure `forbidden`
 */
export async function requireLiving(app: App, caller: Caller, text: string): Promise<Token> {
  const token = await findLiving(app, text);
  noteToken(caller, token ?? { id: tokenId(app, text) });
  if (!token) throw new Failure('forbidden', 'bad token');
  return token;
}

/** Accessors of all tokens that are alive. */
export async function listTokenAccessors(app: App, caller: Caller): Promise<KeyList> {
  const fillPage = startFilling(app, caller);
  return listKeys(
    (page) =>
      fillPage((read) => listMatching((some) => read(() => readAccessors(app, some)), page)),
    {},
  );
}

async function readAccessors(app: App, page: KeyPage) {
  const now = nowSeconds(app);
  const tokens = await listAccessors(app.db, page);
  const hasRunOut = ({ expires_at }: (typeof tokens)[number]) =>
    expires_at !== null && expires_at <= now;
  const others = tokens.filter((token) => !hasRunOut(token));
  const ids = others.map(({ id }) => id);
  const dead = await listDead(app.db, ids, now);
  const rows = tokens.map((token) => ({
    key: token.accessor,
    is_listed: !hasRunOut(token) && !dead.has(token.id),
  }));
  return { rows, more: tokens.length === page.limit };
}

export async function lookUpAccessor(
  app: App,
  caller: Caller,
  input: { accessor: string },
): Promise<DataResult<TokenReply>> {
  const token = await requireByAccessor(app, input.accessor);
  noteToken(caller, token);
  return { data: describeToken(token, '', nowSeconds(app), await identityPolicies(app, token)) };
}

/**
 * A living token by its accessor.
 *
 * @throws Failure `invalid`
 */
export async function requireByAccessor(app: App, accessor: string): Promise<Token> {
  if (accessor === '') throw invalid('missing accessor');
  const token = await findTokenByAccessor(app.db, accessor);
  if (!token || !(await isLiving(app, token))) throw invalid('invalid accessor');
  return token;
}

/** @throws Failure `unauthenticated` for a caller without a token */
export function requireAuthenticated(caller: Caller): { token: TokenFacts; acl: Acl } {
  const { token, acl } = caller;
  if (!token || !acl) throw new Failure('unauthenticated', 'permission denied');
  return { token, acl };
}
