import { pagesOf } from '../../../access/identity/operations.ts';
import { deleteTree, deleteTreesOf } from '../../../access/tokens/ending.store.ts';
import { mintToken, nowSeconds } from '../../../access/tokens/minting.operations.ts';
import { listUnmountedTokens } from '../../../access/tokens/store.ts';
import { type App, perApp } from '../../../app/app.ts';
import { type EndingPages, noteEnding } from '../../../app/ended.ts';
import type { JobRun } from '../../../app/job.ts';
import { base62 } from '../../../core/base62.ts';
import type { Effect } from '../../../store/write.ts';
import {
  type AuthTokenBody,
  authTokenShown,
  describeAuthToken,
  isOfLogIn,
  judgeUse,
  LIFETIME_MS,
  planTokenRow,
} from '../../principals/auth-token.ts';
import {
  type LogInCursor,
  type LogInsOf,
  listLogIns,
  listLogInsByToken,
  listTokenRows,
  listTokensOf,
  logInsOf,
  tokenRowsOf,
} from '../../principals/log-ins.store.ts';
import { listPlacesById } from '../../resource/by-ids.store.ts';
import { type BrokerCaller, RECOVERY_USER } from '../../resource/caller.ts';
import { isOf, type Kind, type ShownHandler } from '../../resource/handler.ts';
import { newResourceId } from '../../resource/ids.ts';
import { insertLink } from '../../resource/links/store.ts';
import { removeResources, takeResources } from '../../resource/removals.store.ts';
import { newResource, type Resource } from '../../resource/resource.ts';
import { insertResource } from '../../resource/store.ts';
import {
  endSessionsBeforehand,
  planDependentCancellation,
} from '../../sessions/termination.operations.ts';

interface AuthTokenKind extends Kind {
  shown: typeof authTokenShown;
  body: AuthTokenBody;
}

export const authTokenDefinition: ShownHandler<AuthTokenKind> = {
  type: 'auth-token',
  containerField: 'scope_id',
  shown: authTokenShown,
  endBeforehand: async (app, caller, { id }) => {
    const work = await pagesOf(app, caller);
    await noteTokens(app, work, [id]);
    await endSessionsBeforehand(app, work, { log_in_ids: [id] });
  },
  planRemoval: async (app, _caller, resource) => [
    ...planDependentCancellation(app, { log_ins: { ids: [resource.id] } }),
    deleteTreesOf(tokenRowsOf({ ids: [resource.id] })),
  ],
  describe: async (_app, _caller, tokens) => tokens.map(describeAuthToken),
};

/** A token that was just made; its text is known here and nowhere else. */
interface MadeAuthToken {
  resource: Resource<AuthTokenBody>;
  text: string;
  effects: Effect[];
}

/** Characters of a token's secret part: more than 250 bits. */
const SECRET_LENGTH = 44;

/**
 * Makes the token of a log-in: one token for both APIs, found by the hash of its text, and the
 * resource that the broker shows of it.
 */
export function makeAuthToken(
  app: App,
  login: {
    scope_id: string;
    user_id: string;
    account: Resource;
    login_name: string;
    entity_id: string;
    policies: readonly string[];
    principals: readonly string[];
  },
): MadeAuthToken {
  const now = app.now();
  const { account, user_id, scope_id } = login;
  const id = newResourceId('at', app.randomBytes(32));
  const text = `${id}_s1${base62(app.randomBytes(2 * SECRET_LENGTH), SECRET_LENGTH)}`;
  const plan = planTokenRow({
    now: nowSeconds(app),
    auth_token_id: id,
    user_id,
    account_id: account.id,
    auth_method_id: account.container_id,
    display_name: login.login_name,
    entity_id: login.entity_id,
    policies: login.policies,
  });
  const minted = mintToken(app, plan, text);
  const body: AuthTokenBody = {
    account_id: account.id,
    auth_method_id: account.container_id,
    token_row: minted.token.id,
    principals: login.principals,
    expires_ms: now + LIFETIME_MS,
    last_used_ms: now,
  };
  const resource = newResource({
    id,
    type: 'auth-token',
    subtype: 'token',
    scope_id,
    owner_id: user_id,
    unique_key: minted.token.id,
    created_ms: now,
    body,
  });
  return {
    resource,
    text,
    effects: [
      ...minted.effects,
      insertResource(resource),
      // By it the log-in is found when its account goes.
      insertLink({ from_id: id, kind: 'log-in-account', to_id: account.id }),
    ],
  };
}

/**
 * Ends log-ins, with what their token is good for on the other API and with their sessions: those
 * that are there when the write set runs, not those of when it was planned. What they stand on is
 * taken away or held by then, see `takeResources`.
 */
export async function endLogIns(app: Pick<App, 'now'>, of: LogInsOf): Promise<Effect[]> {
  const ids = logInsOf(of);
  return [
    ...takeResources({ ids }),
    ...planDependentCancellation(app, { log_ins: of }),
    deleteTreesOf(tokenRowsOf(of)),
    ...removeResources({ ids }, app.now()),
  ];
}

/** What {@link endLogIns} does besides, of scopes that go: the log-ins themselves go with them. */
export function revokeTokensIn(scope_ids: readonly string[]): Effect {
  return deleteTreesOf(tokenRowsOf({ scope_ids }));
}

const PAGE = 200;

/** One page of the log-ins that are looked through. */
interface LogInPage {
  effects: readonly Effect[];
  /** Ids of those that end. */
  dead: readonly string[];
  /** Where the next page begins; absent after the last. */
  next: LogInCursor | undefined;
}

/**
 * Finds log-ins that nobody can use any more and that would stay in lists, with their sessions:
 * those that have run out or were left unused, whose token the other API revoked, or whose account, user, auth method or
 * scope is gone, as older programs could leave them.
 */
export async function planDeadLogIns(app: App, after: LogInCursor): Promise<LogInPage> {
  const found = await listLogIns(app.db, after, PAGE);
  const logIns = found.filter((one) => isOf(authTokenDefinition, one));
  const last = logIns.at(-1);
  if (!last) return { effects: [], dead: [], next: undefined };
  const [rows, grounds] = await Promise.all([
    listTokenRows(
      app.db,
      logIns.map(({ body }) => body.token_row),
    ),
    listPlacesById(
      app.db,
      logIns.flatMap(({ owner_id, scope_id, body: { account_id, auth_method_id } }) => [
        account_id,
        auth_method_id,
        owner_id,
        scope_id,
      ]),
    ),
  ]);
  const owners = new Map(grounds.map(({ id, owner_id }) => [id, owner_id]));
  const now = app.now();
  const dead = logIns.filter((logIn) => {
    const { token_row, account_id, auth_method_id, ...times } = logIn.body;
    const places = [auth_method_id, logIn.owner_id, logIn.scope_id];
    return (
      !judgeUse(times, now).alive ||
      !rows.has(token_row) ||
      owners.get(account_id) !== logIn.owner_id ||
      places.some((id) => !owners.has(id))
    );
  });
  return {
    effects: dead.length === 0 ? [] : await endLogIns(app, { ids: dead.map(({ id }) => id) }),
    dead: dead.map(({ id }) => id),
    next: logIns.length < PAGE ? undefined : { ms: last.created_ms, id: last.id },
  };
}

/** Where the log-ins begin; those that have run out come first. */
const OLDEST: LogInCursor = { ms: 0, id: '' };

/** Pages of log-ins that are looked through in one run of the job. */
const PAGES = 100;

/** Where the run of before stopped looking. */
const lookedAt = perApp(() => ({ next: OLDEST }));

/**
 * Ends log-ins that nobody can use any more: in every run those that have run out, and of the others
 * as many as it takes a moment to look through, from where the run of before stopped. Those that were
 * left unused are refused on both APIs in the meantime: the order of use has no index, as it changes often.
 */
export async function endDeadLogIns(app: App, turn: JobRun): Promise<void> {
  const endPage = async (at: LogInCursor): Promise<LogInPage> => {
    const page = await planDeadLogIns(app, at);
    if (page.dead.length > 0) {
      const pages = { commit: (effects: readonly Effect[]) => turn.commit(effects) };
      await endSessionsBeforehand(app, pages, { log_in_ids: page.dead });
      await turn.commit(page.effects, { removed: page.dead.length });
    }
    return page;
  };
  const kept = lookedAt(app);
  // The oldest of a page has run out, so that there may be more of them after it.
  for (let at: LogInCursor | undefined = OLDEST; at && !turn.stopping; ) {
    const page: LogInPage = await endPage(at);
    at = page.dead.length > 0 ? page.next : undefined;
  }
  for (let page = 0; page < PAGES && !turn.stopping; page += 1) {
    const { next } = await endPage(kept.next);
    kept.next = next ?? OLDEST;
    if (!next) return;
  }
}

/** Tokens looked at in one read. */
const TOKENS = 500;

/** One page of tokens, and what ends those of log-ins that are not there. */
export async function planStrayTokens(
  app: App,
  after: string,
): Promise<{ effects: readonly Effect[]; stray: readonly string[]; last: string | undefined }> {
  const { tokens, more } = await listUnmountedTokens(app.db, after, TOKENS);
  const ofLogIns = tokens.filter(isOfLogIn).map(({ id }) => id);
  const known = await listLogInsByToken(app.db, ofLogIns);
  const stray = ofLogIns.filter((id) => !known.has(id));
  const last = more ? tokens.at(-1)?.id : undefined;
  return { effects: stray.map(deleteTree), stray, last };
}

/** Whether a caller is a person with a log-in, rather than nobody or a repair. */
export function hasLogIn(caller: BrokerCaller): boolean {
  const { authority, user_id } = caller.who;
  return authority.asker === 'user' && user_id !== RECOVERY_USER;
}

export async function noteTokens(
  app: App,
  work: EndingPages,
  log_in_ids: readonly string[],
): Promise<void> {
  if (work.ending) noteEnding(work, 'token_ids', await listTokensOf(app.db, log_in_ids));
}
