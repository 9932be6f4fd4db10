import { type App, perApp } from '../../../app/app.ts';
import type { JobRun } from '../../../app/job.ts';
import type { Asked } from '../../../app/lease.ts';
import { Breath } from '../../../core/fairness/breath.ts';
import type { Outcome } from '../../../core/fairness/piece.ts';
import type { SharedWork } from '../../../core/fairness/shared-work.ts';
import { GrowingWaits } from '../../../core/growing-waits.ts';
import { type VaultConnection, VaultFault } from '../client/answer.ts';
import { hashTokens, isLeftToAnother, openConnection } from '../tokens/operations.ts';
import {
  deleteVaultToken,
  findVaultToken,
  listTokenMacs,
  listVaultTokens,
  replaceToken,
  saveTokenState,
} from '../tokens/store.ts';
import {
  isWorking,
  lastEndOf,
  longestWait,
  planCare,
  planRenewal,
  renewedStatus,
  saysDenied,
  saysNoSuchToken,
  spanOf,
  type VaultToken,
} from '../tokens/token.ts';
import { askAwake, outcomeOf, type whoseTokens } from './asking.operations.ts';

/** What one run looks at leases and tokens with. */
export interface Keeping {
  work: SharedWork;
  find: ReturnType<typeof whoseTokens>;
}

/** Tokens that were asked for in vain are asked for ever less, by what is asked and their ids. */
const refusedOnes = perApp(() => new GrowingWaits());

const PAGE = 200;

/** Tokens are looked at once all leases were: only then is it known what hangs on them. */
export async function keepTokens(
  app: App,
  turn: JobRun,
  { used, ...asking }: Keeping & { used: ReadonlySet<string>; since: number },
): Promise<void> {
  await hashTokens(app, turn);
  const keeping = { ...asking, usedMacs: await listTokenMacs(app.db, [...used]) };
  const breath = new Breath();
  for (let after = ''; !keeping.work.isOver; ) {
    const page = await listVaultTokens(app.db, { after, limit: PAGE });
    for (const token of page) {
      await breath.take();
      await keepToken(app, turn, { ...token, isUsed: used.has(token.id) }, keeping);
    }
    after = page.at(-1)?.id ?? '';
    if (page.length === 0) return;
  }
}

type KeptToken = Awaited<ReturnType<typeof listVaultTokens>>[number] & { isUsed: boolean };

async function keepToken(
  app: App,
  turn: JobRun,
  kept: KeptToken,
  {
    work,
    find,
    usedMacs,
    since,
  }: Keeping & { usedMacs: ReadonlySet<string | null>; since: number },
): Promise<void> {
  const { id, store_id, isUsed } = kept;
  const now = Math.floor(app.now() / 1000);
  const outcome = { store_id };
  // `since` is from before the leases were read: those of a token that was replaced by then were among them.
  const care = planCare(kept, isUsed, since);
  if (care === 'replace') await turn.commit([replaceToken(id, now)], outcome);
  if (care !== 'revoke' && care !== 'renew') return;
  if (!refusedOnes(app).isOver(`${care} ${id}`, app.now())) return;
  const whose = await find({ token_id: id, token_mac: '' });
  if (!whose) {
    if (care === 'revoke' && lastEndOf(kept) <= now) await letGo(app, turn, kept);
    return;
  }
  work.offer({
    id,
    whose,
    until: kept.expires_at,
    async work(hurry) {
      // Read when it has its place: many wait, and what is sealed may be long.
      const token = await findVaultToken(app.db, id);
      if (!token) return 'done';
      const asked = { whose, hurry };
      if (care === 'renew') return renewToken(app, turn, token, asked);
      const end = await revokeToken(app, token, { asked, usedMacs });
      if (end === 'done') await turn.commit([deleteVaultToken(id)], outcome);
      return end;
    },
  });
}

/** Nothing can be asked of one whose connection does not open: its server has ended it by itself by now. */
async function letGo(app: App, turn: JobRun, { id, store_id }: KeptToken): Promise<void> {
  app.log.warn({ store_id }, 'an old token was left to its own end');
  await turn.commit([deleteVaultToken(id)], { store_id });
}

async function renewToken(
  app: App,
  turn: JobRun,
  token: VaultToken,
  asked: Asked,
): Promise<Outcome> {
  const now = Math.floor(app.now() / 1000);
  const wait = `renew ${token.id}`;
  const save = (state: Parameters<typeof saveTokenState>[1]): Promise<unknown> =>
    turn.commit([saveTokenState(token, state)], {
      store_id: token.store_id,
      token_status: state.status ?? 'renewed',
    });
  const connection = openConnection(app, token);
  try {
    const request = { method: 'PUT', path: 'auth/token/renew-self', body: '{}' } as const;
    const renewed = await askAwake(app, connection, request, asked);
    refusedOnes(app).forget(wait);
    const times = planRenewal(now, renewed.auth_duration ?? spanOf(token));
    const status = renewedStatus(token);
    await save(status === token.status ? times : { ...times, status });
    return 'done';
  } catch (err) {
    if (!(err instanceof VaultFault)) throw err;
    app.log.warn({ err, store_id: token.store_id }, 'the token of a store could not be renewed');
    const outcome = outcomeOf(err);
    if (outcome === 'not asked') return outcome;
    const status = await judgeStatus(app, token, { connection, fault: err, asked });
    if (status !== token.status) await save({ status });
    const left_ms = (token.expires_at - now) * 1000;
    const longest = isWorking({ status }) ? longestWait(left_ms) : undefined;
    refusedOnes(app).note(wait, app.now(), longest);
    return outcome;
  }
}

/** What a token is that could not be renewed. */
async function judgeStatus(
  app: App,
  token: VaultToken,
  refused: Refused,
): Promise<VaultToken['status']> {
  if (token.expires_at <= Math.floor(app.now() / 1000)) return 'expired';
  if (!isWorking(token)) return token.status;
  return (await findStanding(app, refused)) === 'known' ? token.status : 'revoked';
}

/**
 * A token that nothing hangs on any more is revoked, also where it is known here as one that has ended: its server may
 * have refused it, or its renewals may not have been heard of. What its server does not answer, or does not decide, is
 * asked again until it has ended there by itself.
 *
 * @returns `done` where nothing more is to be done about the token
 */
async function revokeToken(
  app: App,
  token: VaultToken,
  { asked, usedMacs }: { asked: Asked; usedMacs: ReadonlySet<string | null> },
): Promise<Outcome> {
  const connection = openConnection(app, token);
  if (await isLeftToAnother(app, token, { connection, usedMacs })) return 'done';
  try {
    const request = { method: 'PUT', path: 'auth/token/revoke-self', body: '{}' } as const;
    await askAwake(app, connection, request, asked);
    return 'done';
  } catch (err) {
    if (!(err instanceof VaultFault)) throw err;
    const standing = await findStanding(app, { connection, fault: err, asked });
    if (standing === 'gone') return 'done';
    const outcome = outcomeOf(err);
    const isOver = outcome !== 'not asked' && lastEndOf(token) <= app.now() / 1000;
    const told = isOver
      ? 'an old token was left to its own end'
      : 'an old token could not be revoked yet';
    app.log.warn({ err, store_id: token.store_id }, told);
    if (isOver) return 'done';
    if (outcome === 'in vain') refusedOnes(app).note(`revoke ${token.id}`, app.now());
    return outcome;
  }
}

/** A request that was refused to a token. */
interface Refused {
  connection: VaultConnection;
  fault: VaultFault;
  asked: Asked;
}

/**
 * Whether a server that refused a token something has it no longer. Some say no more of that than of a token that may not
 * do what was asked: that one may still look itself up, as a store requires, unless its policies or the addresses that it
 * is bound to say otherwise just now.
 */
async function findStanding(
  app: App,
  { connection, fault, asked }: Refused,
): Promise<'gone' | 'denied' | 'known'> {
  if (saysNoSuchToken(fault)) return 'gone';
  if (!saysDenied(fault)) return 'known';
  try {
    await askAwake(app, connection, { method: 'GET', path: 'auth/token/lookup-self' }, asked);
    return 'known';
  } catch (err) {
    if (!(err instanceof VaultFault)) throw err;
    if (saysNoSuchToken(err)) return 'gone';
    return saysDenied(err) ? 'denied' : 'known';
  }
}
