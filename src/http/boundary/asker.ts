import { standOn } from '../../access/standing/operations.ts';
import { systemCaller } from '../../access/system-caller.ts';
import { tokenId } from '../../access/tokens/minting.operations.ts';
import type { Token } from '../../access/tokens/token.ts';
import type { App } from '../../app/app.ts';
import type { Footing, Standing } from '../../app/standing.ts';
import { type Identified, identify } from '../../broker/iam/authentication.operations.ts';
import { type BrokerCaller, refuseCaller } from '../../broker/resource/caller.ts';
import { GrantSet } from '../../broker/resource/grants/decision.ts';
import { noteAccount } from '../../core/fairness/asking.ts';
import type { HttpRequest } from '../request.ts';
import { forRecords, type RequestContext } from '../request-record.ts';

/** Who asks, and how they are found again. */
export interface BoundaryAsker {
  readonly caller: BrokerCaller;
  /** What they were known by last. */
  footing: Footing;
  again(): Promise<Identified>;
}

/**
 * Finds out who asks.
 *
 * @param text of their credentials
 * @param living as `findLiving` has it
 */
export async function findAsker(
  app: App,
  request: HttpRequest,
  { text, living }: { text: string; living: Token | undefined },
  trace: RequestContext,
): Promise<BoundaryAsker> {
  const known = await identify(app, text, request.remote_address, living);
  trace.token = known.token ?? known.bearer;
  const { user_id } = known.who;
  noteAccount(user_id);
  if (text !== '' && !trace.token) {
    trace.unknown_token = Buffer.from(tokenId(app, text), 'base64url');
  }
  if (user_id !== '') trace.record.outcome = { user_id };
  const caller = callerOf(known, trace, request);
  trace.caller = caller;
  // Not what is known of them: it may be let go of.
  const again = (): Promise<Identified> =>
    identify(app, text, request.remote_address, undefined, { who: { user_id } });
  return { caller, footing: footingOf(known), again };
}

/** Releases a caller's grants. Nothing may be judged before they are identified again. */
export function letGo({ caller }: BoundaryAsker, trace: RequestContext): void {
  const who = { ...caller.who, grants: NOTHING_ALLOWED };
  const token = forRecords(caller.token);
  Object.assign(caller, { who, token, acl: undefined, identity: undefined });
  trace.token = forRecords(trace.token);
}

const NOTHING_ALLOWED = new GrantSet('user', []);

/** @throws Failure `unauthenticated` when their log-in has ended: records still tell whose it was */
export async function findAgain(asker: BoundaryAsker, trace: RequestContext): Promise<void> {
  const known = await asker.again();
  if (asker.caller.token && !known.token) throw refuseCaller({ ...asker.caller, who: known.who });
  renew(asker, known);
  // Who stood for nobody still does, and the record names the token all the same.
  trace.token = known.token ?? trace.token;
}

/**
 * What a request rests on once it is permitted.
 *
 * @param permit permits it again, by what the caller is allowed by then
 */
export function standingOf(
  asker: BoundaryAsker,
  permit: (again: BrokerCaller) => Promise<void>,
): Standing {
  return standOn(asker.footing, async () => {
    const known = await asker.again();
    await permit({ ...asker.caller, who: known.who });
    renew(asker, known);
    return standingOf(asker, permit);
  });
}

function renew(asker: BoundaryAsker, known: Identified): void {
  const { who, token, acl, identity } = known;
  Object.assign(asker.caller, { who, token, acl, identity });
  asker.footing = footingOf(known);
}

function footingOf({ token_row, has_line, permission_version }: Identified): Footing {
  return { token: token_row, has_line, mount: undefined, version: permission_version };
}

function callerOf(known: Identified, trace: RequestContext, { onGone }: HttpRequest): BrokerCaller {
  return {
    ...systemCaller(trace.request_id, trace.record.route),
    token: known.token,
    acl: known.acl,
    identity: known.identity,
    who: known.who,
    record: trace.record,
    onGone,
  };
}
