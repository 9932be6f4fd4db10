import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { Failure } from '../../core/failure.ts';
import type { Effect } from '../../store/write.ts';
import { insertToken } from './store.ts';
import { type PlannedToken, planRootToken, type Token } from './token.ts';
import {
  batchToken,
  batchTokenBytes,
  serviceToken,
  TOKEN_RANDOMNESS,
  tokenAccessor,
} from './token-format.ts';

/** A token that was just made; its text is known here and nowhere else. */
export interface MintedToken {
  client_token: string;
  accessor: string;
  token: Token;
  effects: Effect[];
}

const BATCH_PLACE = { table: 'token', column: 'batch', row: '' };

/** The time as tokens count it, in seconds. */
export function nowSeconds(app: Pick<App, 'now'>): number {
  return Math.floor(app.now() / 1000);
}

/** The key of a token's row: whoever reads the database alone can neither find nor check one. */
export function tokenId(app: Pick<App, 'barrier'>, text: string): string {
  return app.barrier.hmacText('token', `token:${text}`, 'base64url');
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
  const sealed = app.barrier.encrypt('token', BATCH_PLACE, Buffer.from(JSON.stringify(plan)));
  const client_token = batchToken(sealed);
  const token: Token = { ...plan, id: tokenId(app, client_token), accessor: '' };
  return { client_token, accessor: '', token, effects: [] };
}

/** What a batch token carries; undefined for any other text, and for one that was not made here. */
export function openBatchToken(app: App, text: string): Token | undefined {
  const sealed = batchTokenBytes(text);
  if (!sealed) return undefined;
  let opened: Uint8Array;
  try {
    opened = app.barrier.decrypt('token', BATCH_PLACE, sealed);
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
