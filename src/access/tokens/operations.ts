import type { App } from '../../app.ts';
import { Failure } from '../../core/failure.ts';
import { type KeyPage, listKeys, listMatching } from '../../core/key-list.ts';
import type { Answer } from '../../http/route.ts';
import { effectiveLeaseTtls, fullPath } from '../../mounts/mount.ts';
import { presentMount } from '../../mounts/operations.ts';
import { holdSettings } from '../../mounts/store.ts';
import type { Effect } from '../../store/write.ts';
import type { Acl } from '../acl.ts';
import type { Caller, TokenFacts } from '../caller.ts';
import { maySudo } from '../grants.ts';
import { nameKey } from '../identity/entity.ts';
import { ensureEntityForAlias, listEntityPolicies, pagesOf } from '../identity/operations.ts';
import { endLeasesOfRevoked } from '../leases/ending/operations.ts';
import { listUnknownPolicies } from '../policies/operations.ts';
import { commitPlanned, settle } from '../standing/operations.ts';
import { startWalk } from '../walks/operations.ts';
import { describeAuth, describeToken } from './answers.ts';
import { findLiving, isLiving, requirePresented } from './authentication/operations.ts';
import { planToken, type TokenWish } from './creation.ts';
import { removeEnded } from './ending/operations.ts';
import { deleteBare } from './ending/store.ts';
import {
  type MintedToken,
  mintToken,
  nowSeconds,
  openBatchToken,
  tokenId,
} from './minting/operations.ts';
import { noteToken } from './recorded.ts';
import { requireTokenRole } from './roles/operations.ts';
import { holdTokenRole } from './roles/store.ts';
import { type LogIn, planLogIn } from './settings.ts';
import {
  deleteAlone,
  deleteTree,
  ENDED,
  findToken,
  findTokenByAccessor,
  LONGEST_LINE,
  listAccessors,
  listDead,
  mayHaveChildren,
} from './store.ts';
import type { PlannedToken, Token } from './token.ts';

/** Makes a child of the caller's token, or an orphan. */
export async function createToken(
  app: App,
  caller: Caller,
  input: { wish: TokenWish; orphan: boolean; role_name?: string },
): Promise<Answer> {
  const { role_name, wish } = input;
  const path = `${fullPath(caller.mount)}${creationPath(input)}`;
  const { minted, warnings } = await commitPlanned(app, caller, async () => {
    const { token: parent, acl } = requireAuthenticated(caller);
    const role =
      role_name === undefined
        ? undefined
        : { name: role_name, ...(await requireTokenRole(app, role_name)) };
    const mount = await presentMount(app, caller.mount);
    const { token: plan, warnings } = planToken({
      wish,
      parent,
      entity_policies: await entityPolicies(app, parent.entity_id),
      sudo: await maySudo(acl, path),
      orphan: input.orphan,
      role,
      ...effectiveLeaseTtls(mount.config),
      now: nowSeconds(app),
    });
    await requireRoomBelow(app, plan);
    const minted = mintToken(app, plan, wish.id);
    noteToken(caller, minted.token);
    const held = [...holdSettings(mount), ...(role ? [holdTokenRole(role)] : [])];
    const effects = [...held, ...minted.effects];
    return { effects, result: { minted, warnings } };
  });
  const unknown = await listUnknownPolicies(app, minted.token.policies);
  return answerMinted(app, minted, [
    ...warnings,
    ...unknown.map((name) => `Policy "${name}" does not exist`),
  ]);
}

async function requireRoomBelow(app: App, { type, parent_id }: PlannedToken): Promise<void> {
  if (type === 'batch' || parent_id === undefined) return;
  if (await mayHaveChildren(app.db, parent_id)) return;
  throw new Failure(
    'invalid',
    `a token made by a token and so on is at most the ${LONGEST_LINE}th of its line: make an orphan`,
  );
}

function creationPath(input: { orphan: boolean; role_name?: string }): string {
  if (input.role_name !== undefined) return `create/${input.role_name}`;
  return input.orphan ? 'create-orphan' : 'create';
}

/** The answer that hands a token to its owner; only after its effects are committed. */
export async function answerMinted(
  app: App,
  minted: MintedToken,
  warnings: string[],
): Promise<Answer> {
  const policies = await identityPolicies(app, minted.token);
  const auth = describeAuth(minted.token, minted.client_token, nowSeconds(app), policies);
  return warnings.length > 0 ? { auth, warnings } : { auth };
}

/** Policies that a token has by what it stands for. */
export async function identityPolicies(app: App, token: Token): Promise<readonly string[]> {
  return token.restricted ? [] : entityPolicies(app, token.entity_id);
}

async function entityPolicies(app: App, entity_id: string): Promise<readonly string[]> {
  return entity_id === '' ? [] : listEntityPolicies(app, entity_id);
}

/**
 * Makes the token of a log-in that has succeeded, together with the effects it had. It stands
 * for the entity that the mount means by `alias`; whoever comes for the first time gets one.
 */
export async function logIn(app: App, caller: Caller, input: SucceededLogIn): Promise<Answer> {
  // Another first log-in of the same name may make its entity in the meantime, somebody may change the
  // entity, or tune the mount.
  return settle(
    app,
    caller,
    async () => {
      const person = await ensureEntityForAlias(app, caller.mount, input.alias);
      // Whoever has more policies than are read gets no token that could not be used. Who is new has
      // none, and is not to be remembered as somebody who is not there.
      if (!person.is_new) await listEntityPolicies(app, person.entity.id);
      return logInAs(app, caller, input, person);
    },
    LOG_INS,
  );
}

const LOG_INS = 3;

/**
 * As {@link logIn}, of somebody who is found again when what lets them in was changed by somebody else
 * meanwhile: nobody who came rightly is told that they did not.
 *
 * @param find reads what lets them in whenever it is called; undefined: nothing does
 * @returns undefined when nothing lets them in, or whom it stands for may not come in
 * @throws Failure `unavailable` when it is changed again and again
 */
export async function logInIfFound(
  app: App,
  caller: Caller,
  find: () => Promise<SucceededLogIn | undefined>,
): Promise<Answer | undefined> {
  for (let left = LOG_INS; left > 0; left -= 1) {
    const found = await find();
    if (!found) return undefined;
    try {
      return await logIn(app, caller, found);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      if (error.kind === 'forbidden') return undefined;
      if (error.kind !== 'conflict') throw error;
    }
  }
  throw new Failure('unavailable', 'what this log-in rests on is being changed; try again');
}

/** Somebody who has proved to be who they say. */
export interface SucceededLogIn extends Pick<LogIn, 'settings' | 'display_name' | 'meta'> {
  /** What the mount calls whoever logs in. */
  alias: string;
  effects?: readonly Effect[];
}

async function logInAs(
  app: App,
  caller: Caller,
  input: SucceededLogIn,
  { entity, alias, effects }: Awaited<ReturnType<typeof ensureEntityForAlias>>,
): Promise<Answer> {
  if (entity.disabled) throw new Failure('forbidden', 'permission denied');
  const mount = await presentMount(app, caller.mount);
  const { token: plan, warnings } = planLogIn({
    ...input,
    entity_id: entity.id,
    alias: {
      id: alias.id,
      mount_accessor: alias.mount_accessor,
      name_key: nameKey(alias.name),
      ...(alias.moves === 0 ? {} : { moves: alias.moves }),
    },
    remote_address: caller.record.remote_address,
    path: caller.record.path,
    mount: {
      id: mount.id,
      token_type: mount.config.token_type,
      ...effectiveLeaseTtls(mount.config),
    },
    now: nowSeconds(app),
  });
  const minted = mintToken(app, plan);
  noteToken(caller, minted.token);
  // In the order in which a removal takes them: the account, then what it is called.
  await app.commitOnce(caller, [
    ...holdSettings(mount),
    ...(input.effects ?? []),
    ...effects,
    ...minted.effects,
  ]);
  return answerMinted(app, minted, warnings);
}

/** What the caller's own token is. */
export async function lookUpSelf(app: App, caller: Caller): Promise<Answer> {
  const { text, token } = requirePresented(caller);
  // The use that this request takes is gone already.
  const now_left = token.num_uses > 0 ? { uses_left: token.uses_left - 1 } : {};
  return {
    data: describeToken(
      { ...token, ...now_left },
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
): Promise<Answer> {
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
export async function listTokenAccessors(app: App, caller: Caller): Promise<Answer> {
  const walk = startWalk(app, caller);
  const read = (page: KeyPage) => walk(() => readAccessors(app, page));
  return listKeys((page) => listMatching(read, ({ is_dead }) => !is_dead, page), {});
}

async function readAccessors(app: App, page: KeyPage) {
  const now = nowSeconds(app);
  const tokens = await listAccessors(app.db, now, page);
  const ids = tokens.map(({ id }) => id);
  const dead = await listDead(app.db, ids, now);
  const rows = tokens.map(({ id, accessor }) => ({ key: accessor, is_dead: dead.has(id) }));
  return { rows, more: tokens.length === page.limit };
}

export async function lookUpAccessor(
  app: App,
  caller: Caller,
  input: { accessor: string },
): Promise<Answer> {
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
  if (accessor === '') throw new Failure('invalid', 'missing accessor');
  const token = await findTokenByAccessor(app.db, accessor);
  if (!token || !(await isLiving(app, token))) throw new Failure('invalid', 'invalid accessor');
  return token;
}

/** Revokes a token and all that descend from it; one that is unknown is as good as revoked. */
export async function revokeByText(
  app: App,
  caller: Caller,
  input: { token: string },
): Promise<Answer> {
  if (input.token === '') throw new Failure('invalid', 'missing token');
  const id = tokenId(app, input.token);
  noteToken(caller, { id });
  if (openBatchToken(app, input.token)) throw unrevocable();
  return revoke(app, caller, id);
}

export async function revokeSelf(app: App, caller: Caller): Promise<Answer> {
  const { token } = requireAuthenticated(caller);
  if (token.type === 'batch') throw unrevocable();
  return revoke(app, caller, token.id);
}

export async function revokeByAccessor(
  app: App,
  caller: Caller,
  input: { accessor: string },
): Promise<Answer> {
  const token = await requireByAccessor(app, input.accessor);
  return revoke(app, caller, token.id);
}

/** Revokes a token and leaves its children, as orphans. */
export async function revokeOrphan(
  app: App,
  caller: Caller,
  input: { token: string },
): Promise<Answer> {
  if (input.token === '') throw new Failure('invalid', 'missing token');
  const id = tokenId(app, input.token);
  noteToken(caller, { id });
  if (openBatchToken(app, input.token)) throw unrevocable();
  const token = await findToken(app.db, id);
  // The children of one that is dead are dead, and stay so.
  const isThere = token && (await isLiving(app, { ...token, num_uses: 0 }));
  if (!isThere) throw new Failure('invalid', 'token to revoke not found');
  return revoke(app, caller, id, deleteAlone(id));
}

/**
 * What hung on the token is dead with it, and what others keep of it ends in the same write set. As much of that as a request may take is ended before
 * this is answered, the rest by the jobs.
 */
async function revoke(app: App, caller: Caller, id: string, marks?: Effect[]): Promise<Answer> {
  const token = await findToken(app.db, id);
  noteToken(caller, token ?? { id });
  const stands = (token?.entity_id ?? '') !== '';
  const of = { token_ids: [id], ended_by: ENDED };
  if (stands) await app.endDependants(app, await pagesOf(app, caller), of);
  await app.commit(caller, await planRevocation(app, id, marks));
  try {
    const left = await removeEnded(app, [id]);
    await endLeasesOfRevoked(app, caller, left);
  } catch (err) {
    app.log.warn({ err }, 'what hung on a revoked token is ended later');
  }
  return {};
}

function unrevocable(): Failure {
  return new Failure('invalid', 'batch tokens cannot be revoked: they end with their TTL');
}

/** The effects that end a token and all that descend from it, with what others keep of it. */
export async function planRevocation(
  app: App,
  id: string,
  marks: Effect[] = [deleteTree(id)],
): Promise<Effect[]> {
  const of = { token_ids: [id], ended_by: ENDED };
  const ended = (await standsForSomebody(app, id)) ? await app.planDependants(app, of) : [];
  return [...marks, ...ended, deleteBare({ id })];
}

/** Nobody but an entity has anything by a token that is kept elsewhere. */
async function standsForSomebody(app: App, id: string): Promise<boolean> {
  return ((await findToken(app.db, id))?.entity_id ?? '') !== '';
}

function requireAuthenticated(caller: Caller): { token: TokenFacts; acl: Acl } {
  const { token, acl } = caller;
  if (!token || !acl) throw new Failure('unauthenticated', 'permission denied');
  return { token, acl };
}
