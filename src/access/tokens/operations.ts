import type { App } from '../../app.ts';
import { Failure } from '../../core/failure.ts';
import { readMounts } from '../../mounts/operations.ts';
import {
  batchToken,
  batchTokenBytes,
  serviceToken,
  TOKEN_RANDOMNESS,
  tokenAccessor,
} from '../../seal/token-format.ts';
import type { Effect } from '../../store/write.ts';
import type { Acl } from '../acl.ts';
import type { Caller, IdentityFacts, TokenFacts } from '../caller.ts';
import { readAcl } from '../policies/operations.ts';
import { judgeAddress } from './addresses.ts';
import { findToken, insertToken, isLineDead, useToken } from './store.ts';
import { judgeLife, type PlannedToken, planRootToken, type Token, tokenFacts } from './token.ts';

/** Who a token's text stands for. */
export interface Authenticated {
  token: TokenFacts;
  acl: Acl;
  identity: IdentityFacts | undefined;
}

/** A token that was just made; its text is known here and nowhere else. */
export interface MintedToken {
  client_token: string;
  accessor: string;
  token: Token;
  effects: Effect[];
}

/** A token that a request came with. */
interface Presented {
  text: string;
  token: Token;
}

// Two answers repeat the text that came with the request (lookup-self, renew-self); it is
// nobody else's business and so is not among the facts that every operation sees.
const presented = new WeakMap<TokenFacts, Presented>();

const BATCH_PLACE = { table: 'token', column: 'batch', row: '' };

export function nowSeconds(app: Pick<App, 'now'>): number {
  return Math.floor(app.now() / 1000);
}

/** The key of a token's row: whoever reads the database alone can neither find nor check one. */
export function tokenId(app: Pick<App, 'barrier'>, text: string): string {
  return app.barrier.hmac('token', `token:${text}`).toString('base64url');
}

/**
 * Finds out who a token stands for, and takes one of its uses if they are counted.
 *
 * @param remote_address the peer; a token bound to addresses is refused without it
 * @returns undefined for a token that is unknown, revoked, run out or used up, that descends
 *   from one, or that may not be used from there
 * @throws Failure `unavailable` when sealed, or when the use cannot be recorded
 */
export async function authenticate(
  app: App,
  text: string,
  remote_address?: string,
): Promise<Authenticated | undefined> {
  const token = await findLiving(app, text);
  if (!token) return undefined;
  if (!judgeAddress(token.bound_cidrs, remote_address)) return undefined;
  if (token.num_uses > 0 && !(await takeUse(app, token.id))) return undefined;
  const facts = tokenFacts(token);
  presented.set(facts, { text, token });
  return { token: facts, acl: await readAcl(app, token.policies, undefined), identity: undefined };
}

/** The token and text that a caller came with. */
export function requirePresented(caller: Caller): Presented {
  const known = caller.token && presented.get(caller.token);
  if (!known) throw new Failure('unauthenticated', 'permission denied');
  return known;
}

/** A token that could be used now, by its text. */
export async function findLiving(app: App, text: string): Promise<Token | undefined> {
  const token = openBatchToken(app, text) ?? (await findToken(app.db, tokenId(app, text)));
  return token && (await isLiving(app, token)) ? token : undefined;
}

/** Says whether a token can be used: neither it nor any above it has run out, nor its mount gone. */
export async function isLiving(app: App, token: Token): Promise<boolean> {
  const now = nowSeconds(app);
  if (!judgeLife(token, now).alive) return false;
  if (token.mount_id !== '') {
    const mounts = await readMounts(app);
    if (![...mounts.values()].some((mount) => mount.id === token.mount_id)) return false;
  }
  if (token.parent_id === undefined) return true;
  // A stored token's parent is there as long as it is itself; a batch token's may be gone.
  if (token.type === 'batch' && !(await findToken(app.db, token.parent_id))) return false;
  return !(await isLineDead(app.db, token.parent_id, now));
}

/** Counts a use in the database, where no two requests can take the same one. */
async function takeUse(app: App, id: string): Promise<boolean> {
  try {
    // Of its own, before the request is permitted; the request's record follows with its end.
    await app.store.commit([useToken({ id })]);
    return true;
  } catch (error) {
    if (error instanceof Failure && error.kind === 'conflict') return false;
    throw error;
  }
}

/**
 * Gives a planned token its text. Nothing is written yet: the text may leave the server once
 * the effects are committed.
 *
 * @param id a text of the operator's choice instead of a random one
 */
export function mintToken(
  app: Pick<App, 'barrier' | 'randomBytes'>,
  plan: PlannedToken,
  id = '',
): MintedToken {
  if (plan.type === 'batch') return mintBatchToken(app, plan);
  const client_token = id || serviceToken(app.randomBytes(TOKEN_RANDOMNESS));
  const accessor = tokenAccessor(app.randomBytes(TOKEN_RANDOMNESS));
  const token: Token = { ...plan, id: tokenId(app, client_token), accessor };
  return { client_token, accessor, token, effects: [insertToken(token)] };
}

/** A batch token carries what is known of it, sealed, and leaves no row. */
function mintBatchToken(app: Pick<App, 'barrier'>, plan: PlannedToken): MintedToken {
  const sealed = app.barrier.seal('token', BATCH_PLACE, Buffer.from(JSON.stringify(plan)));
  const client_token = batchToken(sealed);
  const token: Token = { ...plan, id: tokenId(app, client_token), accessor: '' };
  return { client_token, accessor: '', token, effects: [] };
}

function openBatchToken(app: App, text: string): Token | undefined {
  const sealed = batchTokenBytes(text);
  if (!sealed) return undefined;
  let opened: Uint8Array;
  try {
    opened = app.barrier.open('token', BATCH_PLACE, sealed);
  } catch (error) {
    // These bytes came from a client: that they do not open is no sign of a broken database.
    if (error instanceof Failure && app.barrier.sealed) throw error;
    return undefined;
  }
  const plan: PlannedToken = JSON.parse(Buffer.from(opened).toString('utf8'));
  return {
    ...plan,
    id: tokenId(app, text),
    accessor: '',
    // JSON has no undefined: what is absent was not there.
    parent_id: plan.parent_id,
    expires_at: plan.expires_at,
    renewed_at: undefined,
  };
}

/**
 * Makes a root token, as a write set that whoever initialises a server commits with the rest.
 *
 * @param input.id the token's text, for development only; random unless given
 */
export function prepareRootToken(
  app: Pick<App, 'barrier' | 'randomBytes' | 'now'>,
  input: { id?: string | undefined } = {},
): MintedToken {
  return mintToken(app, planRootToken(nowSeconds(app)), input.id);
}

/** Makes a root token at once. */
export async function createRootToken(
  app: App,
  caller: Caller,
  input: { id?: string | undefined } = {},
): Promise<{ client_token: string; accessor: string }> {
  const { client_token, accessor, effects } = prepareRootToken(app, input);
  await app.commit(caller, effects);
  return { client_token, accessor };
}
