import type { App } from '../../../app/app.ts';
import type { Caller } from '../../../app/caller.ts';
import type { NothingResult } from '../../../app/output.ts';
import { type Failure, invalid } from '../../../core/failure.ts';
import type { Effect } from '../../../store/write.ts';
import { commitEnd, endInTurn } from '../../endings/operations.ts';
import { pagesOf } from '../../identity/operations.ts';
import { removeTokensAfterCommit } from '../../leases/ended-tokens.operations.ts';
import { isLiving } from '../../permissions/authentication.operations.ts';
import { ENDED } from '../../tokens/ended.ts';
import { deleteAlone, deleteTree } from '../../tokens/ending.store.ts';
import { deleteBare } from '../../tokens/expiration.store.ts';
import { openBatchToken, tokenId } from '../../tokens/minting.operations.ts';
import { noteToken } from '../../tokens/recorded.ts';
import { findToken } from '../../tokens/store.ts';
import { requireAuthenticated, requireByAccessor } from './operations.ts';

/** Revokes a token and all that descend from it; one that is unknown is as good as revoked. */
export async function revokeByText(
  app: App,
  caller: Caller,
  input: { token: string },
): Promise<NothingResult> {
  return revoke(app, caller, requireRevocable(app, caller, input.token));
}

export async function revokeSelf(app: App, caller: Caller): Promise<NothingResult> {
  const { token } = requireAuthenticated(caller);
  if (token.type === 'batch') throw unrevocable();
  return revoke(app, caller, token.id);
}

export async function revokeByAccessor(
  app: App,
  caller: Caller,
  input: { accessor: string },
): Promise<NothingResult> {
  const token = await requireByAccessor(app, input.accessor);
  return revoke(app, caller, token.id);
}

/** Revokes a token and leaves its children, as orphans. */
export async function revokeOrphan(
  app: App,
  caller: Caller,
  input: { token: string },
): Promise<NothingResult> {
  const id = requireRevocable(app, caller, input.token);
  const token = await findToken(app.db, id);
  // The children of one that is dead are dead, and stay so.
  const isThere = token && (await isLiving(app, { ...token, num_uses: 0 }));
  if (!isThere) throw invalid('token to revoke not found');
  return revoke(app, caller, id, deleteAlone(id));
}

/**
 * Its leases and children are dead with the token, and what others keep of it ends in the same write set. As much
 * of them as a request may take is removed before this is answered, the rest by the jobs.
 */
async function revoke(
  app: App,
  caller: Caller,
  id: string,
  marks?: Effect[],
): Promise<NothingResult> {
  const token = await findToken(app.db, id);
  noteToken(caller, token ?? { id });
  const stands = (token?.entity_id ?? '') !== '';
  const of = { token_ids: [id], ended_by: ENDED };
  await endInTurn(app, id, async () => {
    if (stands) await app.endDependants(app, await pagesOf(app, caller), of);
    const effects = await planRevocation(app, id, marks);
    const commit = () => app.commit(caller, effects);
    await (stands ? commitEnd(app, commit) : commit());
  });
  await removeTokensAfterCommit(app, caller, { token_ids: [id] });
  return {};
}

/** The id of a token that a request names by its text, whether it is there or not. */
function requireRevocable(app: App, caller: Caller, text: string): string {
  if (text === '') throw invalid('missing token');
  const id = tokenId(app, text);
  noteToken(caller, { id });
  if (openBatchToken(app, text)) throw unrevocable();
  return id;
}

function unrevocable(): Failure {
  return invalid('batch tokens cannot be revoked: they end with their TTL');
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
