import type { Acl } from '../../acl/acl.ts';
import { type App, perApp } from '../../app/app.ts';
import type { Caller, TokenFacts } from '../../app/caller.ts';
import type { TokenRowKey } from '../../app/standing.ts';
import { judgeAddress } from '../../config/cidrs.ts';
import { Failure, isConflict } from '../../core/failure.ts';
import type { IdentityFacts } from '../../core/identity-template.ts';
import { jsonBytes, LastOf } from '../../core/kept.ts';
import { ROOMS } from '../../core/rooms.ts';
import { type Soon, whenThere } from '../../core/steps.ts';
import { findMountById } from '../../mounts/operations.ts';
import { readPermissionVersion } from '../standing/operations.ts';
import { isLineDead } from '../tokens/line.store.ts';
import { nowSeconds, openBatchToken, tokenId } from '../tokens/minting.operations.ts';
import { findToken, useToken } from '../tokens/store.ts';
import { isAlive, isParentOf, type Token, tokenFacts } from '../tokens/token.ts';
import { isWrappingToken } from '../tokens/wrapping.ts';
import { type Permissions, readPermissions } from './operations.ts';

/** Who a token's text stands for. */
export interface Authenticated {
  token: TokenFacts;
  acl: Acl;
  identity: IdentityFacts | undefined;
  /** The row that it ends with: its own, or of the token that a batch token was made by. */
  token_row: TokenRowKey | undefined;
  /** Whether others are above that row, and it ends with them. */
  has_line: boolean;
  /** What is permitted goes by this; undefined where it does not depend on what is configured. */
  permission_version: number | undefined;
}

/** A token that a request came with. */
interface Presented {
  text: string;
  token: Token;
}

// Two answers repeat the text that came with the request (lookup-self, renew-self); it is
// nobody else's business and so is not among the facts that every operation sees.
const presented = new WeakMap<TokenFacts, Presented>();

/**
 * Finds out who a token stands for, and takes one of its uses if they are counted.
 *
 * @param remote_address the peer; a token bound to addresses is refused without it
 * @returns undefined for a token that is unknown, revoked, run out or used up, that descends
 *   from one, whose entity is disabled or gone, that may not be used from there, or that stands
 *   for a wrapped answer
 * @throws Failure `unavailable` when sealed, or when the use cannot be recorded
 */
export function authenticate(
  app: App,
  text: string,
  remote_address?: string,
): Soon<Authenticated | undefined> {
  return whenThere(findLiving(app, text), (living) =>
    authenticateLiving(app, living, text, remote_address),
  );
}

/** As {@link authenticate}, of a text that {@link findLiving} was asked about in this request. */
export function authenticateLiving(
  app: App,
  living: Token | undefined,
  text: string,
  remote_address: string | undefined,
): Soon<Authenticated | undefined> {
  return whenThere(identifyToken(app, living, text, remote_address), (known) => {
    const { num_uses = 0, id = '' } = known?.counted ?? {};
    return whenThere(num_uses === 0 || takeUse(app, id), (taken) =>
      taken ? known?.authenticated : undefined,
    );
  });
}

/** As {@link authenticate}, again within one request: the use that it takes is taken already. */
export async function authenticateAgain(
  app: App,
  text: string,
  remote_address?: string,
): Promise<Authenticated | undefined> {
  const found = openBatchToken(app, text) ?? (await findToken(app.db, tokenId(app, text)));
  // As it was when the request came, so that what is judged anew is judged alike.
  const taken = found && found.num_uses > 0 ? 1 : 0;
  const token = found && { ...found, uses_left: found.uses_left + taken };
  const isUsable = token && (await isLiving(app, token));
  const known = await identifyToken(app, isUsable ? token : undefined, text, remote_address);
  return known?.authenticated;
}

/**
 * Who a text stands for, for the record of a request that is refused before anything was done for them: of
 * counted uses none is taken.
 *
 * @param living as {@link findLiving} has it
 */
export async function recognise(
  app: App,
  { text, living }: { text: string; living: Token | undefined },
  remote_address: string,
): Promise<TokenFacts | undefined> {
  try {
    return (await identifyToken(app, living, text, remote_address))?.authenticated.token;
  } catch (error) {
    // Whoever has too many policies to be judged by is not judged here.
    if (error instanceof Failure && error.kind === 'forbidden') return undefined;
    throw error;
  }
}

function identifyToken(
  app: App,
  token: Token | undefined,
  text: string,
  remote_address: string | undefined,
): Soon<{ authenticated: Authenticated; counted: Token } | undefined> {
  // Who has the token of a wrapped answer may take that answer; it is nobody's identity.
  if (!token || isWrappingToken(token)) return undefined;
  if (!judgeAddress(token.bound_cidrs, remote_address)) return undefined;
  // Read before what it stands for: see `readPermissionVersion`.
  return whenThere(readPermissionVersion(app), (version) =>
    whenThere(
      readPermissions(app, token),
      (permissions) => permissions && present(token, text, permissions, version),
    ),
  );
}

function present(
  token: Token,
  text: string,
  { acl, identity, identity_policies }: Permissions,
  version: number,
): { authenticated: Authenticated; counted: Token } {
  const facts = { ...tokenFacts(token), identity_policies };
  presented.set(facts, { text, token });
  const authenticated: Authenticated = {
    token: facts,
    acl,
    identity,
    token_row:
      token.type === 'batch' ? parentRowOf(token) : { id: token.id, accessor: token.accessor },
    has_line: token.parent_id !== undefined,
    permission_version: acl.root && token.entity_id === '' ? undefined : version,
  };
  return { authenticated, counted: token };
}

function parentRowOf({ parent_id, parent_accessor = '' }: Token): TokenRowKey | undefined {
  return parent_id === undefined ? undefined : { id: parent_id, accessor: parent_accessor };
}

/** The token and text that a caller came with. */
export function requirePresented(caller: Caller): Presented {
  const known = caller.token && presented.get(caller.token);
  if (!known) throw new Failure('unauthenticated', 'permission denied');
  return known;
}

/** Tokens read since the last write to their table, by id; anew after each such write. */
const keptTokens = perApp((app) => {
  const make = () => new LastOf<Token>(ROOMS.tokens, jsonBytes, LARGEST_PART);
  const kept = { tokens: make() };
  const forget = (): void => {
    kept.tokens = make();
  };
  app.store.onWrite('token', forget);
  app.barrier.onSeal(forget);
  return kept;
});

/** Most take 1 to 2 kB; with long metadata and many policies it may be a hundred times as much. */
const LARGEST_PART = 1 / 3;

/**
 * A stored token, kept between requests where every write passes through this process: reading
 * and parsing it took 5 % of an issuance. A revocation is in force before it is acknowledged.
 */
function findKeptToken(app: App, id: string): Soon<Token | undefined> {
  if (app.store.engine !== 'sqlite') return findToken(app.db, id);
  app.store.catchUp();
  // What was read before a write goes into the former map, which nobody reads again.
  const { tokens } = keptTokens(app);
  return (
    tokens.find(id) ??
    findToken(app.db, id).then((token) => {
      if (token?.num_uses === 0) tokens.set(id, Object.freeze(token));
      return token;
    })
  );
}

/** A token that could be used now, by its text. */
export function findLiving(app: App, text: string): Soon<Token | undefined> {
  const found = openBatchToken(app, text) ?? findKeptToken(app, tokenId(app, text));
  return whenThere(
    found,
    (token) => token && whenThere(isLiving(app, token), (lives) => (lives ? token : undefined)),
  );
}

/** Says whether a token can be used: neither it nor any above it has run out, nor its mount gone. */
export function isLiving(app: App, token: Token): Soon<boolean> {
  const now = nowSeconds(app);
  if (!isAlive(token, now)) return false;
  const { mount_id, parent_id } = token;
  return whenThere(mount_id === '' || findMountById(app, mount_id), (mount) => {
    if (!mount) return false;
    return parent_id === undefined || isLineLiving(app, { ...token, parent_id }, now);
  });
}

async function isLineLiving(
  app: App,
  token: Token & { parent_id: string },
  now: number,
): Promise<boolean> {
  // A stored token's parent is nothing to it once that was ended alone; a batch token's row it is.
  if (token.type === 'batch' && !(await isParentThere(app, token, now))) return false;
  return !(await isLineDead(app.db, token.parent_id, now));
}

async function isParentThere(app: App, batch: Token, now: number): Promise<boolean> {
  const { parent_id = '' } = batch;
  const parent = await findToken(app.db, parent_id);
  if (!parent || !isParentOf(parent, batch)) return false;
  return parent.expires_at === undefined || parent.expires_at > now;
}

/** Seconds that the request has, which takes the last use of a token. */
const LAST_REQUEST = 60;

/** Counts a use in the database, where no two requests can take the same one. */
async function takeUse(app: App, id: string): Promise<boolean> {
  try {
    // Of its own, before the request is permitted; the request's record follows with its end.
    await app.store.commit([useToken({ id, ends: nowSeconds(app) + LAST_REQUEST })]);
    return true;
  } catch (error) {
    if (isConflict(error)) return false;
    throw error;
  }
}
