import { isDenied, judgeAccess, judgeGrants } from '../../acl/acl.ts';
import { MOST_COMPARISONS } from '../../acl/comparisons.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { DataResult } from '../../app/output.ts';
import type { RawAnswer, WrapInfo } from '../../app/result.ts';
import { Failure, invalid, isConflict } from '../../core/failure.ts';
import { holdMount } from '../../mounts/store.ts';
import type { WrappedAnswerRow } from '../../store/tables.ts';
import type { Effect } from '../../store/write.ts';
import { findLiving } from '../permissions/authentication.operations.ts';
import { commitPlanned } from '../standing/attempts.operations.ts';
import { footingOf, judgeSlowlyWith } from '../standing/operations.ts';
import { deleteTree } from '../tokens/ending.store.ts';
import { deleteBare } from '../tokens/expiration.store.ts';
import { mintToken, nowSeconds } from '../tokens/minting.operations.ts';
import type { Token } from '../tokens/token.ts';
import {
  decodeAnswer,
  encodeAnswer,
  findFull,
  isWrappingToken,
  makerOf,
  type PlannedWrapping,
  planWrappingToken,
  requireWrappingRoom,
  sumOf,
  type Wrapped,
  type WrappedAnswer,
  type Wrapping,
} from '../tokens/wrapping.ts';
import {
  deleteRanOut,
  findLivingWrappedBy,
  findWrapped,
  findWrappedBy,
  findWrapping,
  holdWrappedWithin,
  insertWrapped,
  takeWrapped,
} from './store.ts';

/**
 * Puts an answer away, sealed, for whoever presents the token that stands for it.
 *
 * @param wrapped.ttl seconds until it is gone
 * @returns what the caller is answered instead; the wrapping is durable by then
 */
export async function wrapAnswer(
  app: App,
  caller: Caller,
  wrapped: { answer: WrappedAnswer; ttl: number; wrapped_accessor: string },
): Promise<WrapInfo> {
  return commitPlanned<WrapInfo>(app, caller, async () => {
    const maker = makerOf(caller);
    const { info, effects, bytes } = planWrapping(app, wrapped.answer, {
      creation_path: caller.record.path,
      created_at_ms: app.now(),
      ttl: wrapped.ttl,
      wrapped_accessor: wrapped.wrapped_accessor,
      mount_id: footingOf(caller.mount)?.id ?? '',
      maker,
    });
    const cleared = await clearRoom(app, maker, { answers: 1, bytes });
    caller.record.outcome.wrapping_accessor = info.accessor;
    return { effects: [...cleared, ...effects, holdWrappedWithin({ maker })], result: info };
  });
}

/**
 * To be asked before something is done whose answer is to be wrapped: what is issued or taken would be
 * lost if its answer could not be put away.
 *
 * @throws Failure `invalid` when the caller has no more room
 */
export async function requireRoomToWrap(app: App, caller: Caller): Promise<void> {
  await clearRoom(app, makerOf(caller), { answers: 1, bytes: 1 });
}

/**
 * What makes room for one more: nothing mostly, otherwise what of the maker's has run out and was not
 * cleared away yet.
 *
 * @throws Failure `invalid` when what is left leaves no room
 */
async function clearRoom(app: App, maker: string, more: Wrapped): Promise<Effect[]> {
  if (findFull(sumOf(await findWrappedBy(app.db, maker), more)) === undefined) return [];
  const now = nowSeconds(app);
  requireWrappingRoom(sumOf(await findLivingWrappedBy(app.db, maker, now), more));
  return [deleteRanOut(maker, now)];
}

function planWrapping(
  app: App,
  answer: WrappedAnswer,
  { mount_id, maker, ...wrapping }: PlannedWrapping,
): { info: WrapInfo; effects: Effect[]; bytes: number } {
  const minted = mintToken(app, planWrappingToken({ ...wrapping, mount_id, maker }));
  const token_id = minted.token.id;
  const answer_sealed = app.barrier.encrypt('response', placeOf(token_id), encodeAnswer(answer));
  const { wrapped_accessor } = wrapping;
  const bytes = answer_sealed.length;
  const row = { token_id, ...wrapping, answer_sealed, maker, bytes };
  return {
    info: {
      token: minted.client_token,
      accessor: minted.accessor,
      ttl: wrapping.ttl,
      creation_time: creationTime(wrapping),
      creation_path: wrapping.creation_path,
      ...(wrapped_accessor === '' ? {} : { wrapped_accessor }),
    },
    effects: [...minted.effects, insertWrapped(row)],
    bytes,
  };
}

const placeOf = (row: string) => ({ table: 'wrapped_answer', column: 'answer_sealed', row });

function creationTime({ created_at_ms }: Pick<Wrapping, 'created_at_ms'>): string {
  return new Date(created_at_ms).toISOString();
}

/** The sealed answer that a token stands for, while it can be taken, and the mount that gave it. */
async function requireWrapped(
  app: App,
  text: string,
): Promise<WrappedAnswerRow & { mount_id: string; accessor: string }> {
  const token = await requireWrappingToken(app, text);
  const row = await findWrapped(app.db, token.id);
  if (!row) throw unusable();
  return { ...row, mount_id: token.mount_id, accessor: token.accessor };
}

async function requireWrappingToken(app: App, text: string): Promise<Token> {
  const token = text === '' ? undefined : await findLiving(app, text);
  if (!token || !isWrappingToken(token)) throw unusable();
  return token;
}

function unusable(): Failure {
  return invalid('wrapping token is not valid or does not exist');
}

/**
 * The endpoints are open to whoever has a wrapping token. Who comes with a token of their own
 * besides, must be allowed to use them.
 */
function requirePermission(caller: Caller): Promise<void> {
  return judgeSlowlyWith(caller, async () => {
    const { acl, asked } = caller;
    if (!acl || !asked || (await judgeAccess(acl, asked)).allowed) return;
    throw new Failure('forbidden', 'permission denied');
  });
}

/** As {@link requirePermission}, but that what no policy grants is open all the same, as upstream. */
function refuseForbidden(caller: Caller): Promise<void> {
  return judgeSlowlyWith(caller, async () => {
    const { acl, asked } = caller;
    if (!acl || !asked) return;
    const budget = asked.budget ?? { left: MOST_COMPARISONS };
    const granted = await judgeGrants(acl, asked, budget);
    const isAllowed = !granted.allowed || (await judgeAccess(acl, asked)).allowed;
    if (isAllowed && !(await isDenied(acl, asked, budget))) return;
    throw new Failure('forbidden', 'permission denied');
  });
}

function openWrapped(app: App, row: WrappedAnswerRow): WrappedAnswer {
  return decodeAnswer(app.barrier.decrypt('response', placeOf(row.token_id), row.answer_sealed));
}

/** Takes an answer: of all who try, the first gets it, and its token is gone. */
async function take(
  app: App,
  caller: Caller,
  row: WrappedAnswerRow & { mount_id: string; accessor: string },
  effects: readonly Effect[] = [],
): Promise<void> {
  Object.assign(caller.record.outcome, {
    creation_path: row.creation_path,
    unwrapped_accessor: row.accessor,
  });
  try {
    await app.commit(caller, [
      // Its answer is nobody's once that is gone: what is in it could not be taken back.
      ...(row.mount_id === '' ? [] : [holdMount({ id: row.mount_id })]),
      takeWrapped(row.token_id),
      // Nothing else is ever made by it.
      deleteTree(row.token_id),
      deleteBare({ id: row.token_id }),
      ...effects,
    ]);
  } catch (error) {
    if (isConflict(error)) throw unusable();
    throw error;
  }
}

/** Wraps what was sent. @see S-26 */
export async function wrapData(
  caller: Caller,
  data: Record<string, unknown>,
): Promise<DataResult<Record<string, unknown>>> {
  if (!caller.wrap_ttl) throw invalid('endpoint requires response wrapping to be used');
  return { data };
}

/** Hands out the original answer, once. @see S-22 */
export async function unwrap(
  app: App,
  caller: Caller,
  input: { token: string },
): Promise<{ raw: RawAnswer }> {
  await requirePermission(caller);
  const row = await requireWrapped(app, input.token);
  // Opened first: an answer that cannot be read is not thrown away.
  const raw = openWrapped(app, row);
  await take(app, caller, row);
  return { raw };
}

/**
 * Puts an answer under a new token with a life of the same length; the old one is gone.
 *
 * @see S-25
 */
export async function rewrap(
  app: App,
  caller: Caller,
  input: { token: string },
): Promise<{ wrap_info: WrapInfo }> {
  await requirePermission(caller);
  const row = await requireWrapped(app, input.token);
  const { creation_path, ttl, wrapped_accessor, mount_id, maker } = row;
  const given = { creation_path, ttl, wrapped_accessor, mount_id, maker };
  const wrapping = { ...given, created_at_ms: app.now() };
  const { info, effects } = planWrapping(app, openWrapped(app, row), wrapping);
  caller.record.outcome.wrapping_accessor = info.accessor;
  await take(app, caller, row, effects);
  return { wrap_info: info };
}

/** What a wrapping token stands for, without taking it. @see S-24 */
export async function lookUpWrapping(
  app: App,
  caller: Caller,
  input: { token: string },
): Promise<DataResult<{ creation_path: string; creation_time: string; creation_ttl: number }>> {
  await refuseForbidden(caller);
  const { id } = await requireWrappingToken(app, input.token);
  const row = await findWrapping(app.db, id);
  if (!row) throw unusable();
  return {
    data: {
      creation_path: row.creation_path,
      creation_time: creationTime(row),
      creation_ttl: row.ttl,
    },
  };
}
