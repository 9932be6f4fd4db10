import type { Holding } from '../access/holding/operations.ts';
import { standOn } from '../access/standing/operations.ts';
import type { Footing, Standing } from '../access/standing/standing.ts';
import { systemCaller } from '../access/system-caller.ts';
import { tokenId } from '../access/tokens/minting/operations.ts';
import type { Token } from '../access/tokens/token.ts';
import type { App } from '../app.ts';
import type { BrokerCaller } from '../broker/caller.ts';
import { Authority } from '../broker/grants/decision.ts';
import { type Identified, identify } from '../broker/identity/operations.ts';
import { noteAccount } from '../core/asking.ts';
import type { HttpRequest } from './request.ts';
import type { Trace } from './request-record.ts';

/** What a request of the broker's API comes with. */
interface Came {
  request: HttpRequest;
  /** Of its credentials. */
  text: string;
  /** As `findLiving` has it. */
  living: Token | undefined;
  trace: Trace;
  holding: Holding;
}

/** Who asks, and how they are found again. */
export interface BoundaryAsker {
  readonly caller: BrokerCaller;
  /** Whether so much is known of them that it is let go of where that takes its time. */
  readonly isMuch: boolean;
  /** Lets go of what they are allowed. Nothing is judged before they are found again. */
  letGo(): void;
  findAgain(): Promise<void>;
  /**
   * What the request rests on once it is permitted.
   *
   * @param permit permits it again, by what the caller is allowed by then
   */
  standing(permit: (again: BrokerCaller) => Promise<void>): Standing;
}

/** Finds out who asks. */
export async function findAsker(app: App, came: Came): Promise<BoundaryAsker> {
  const { text, living, trace, request, holding } = came;
  const known = await identify(app, text, request.remote_address, living);
  hold(holding, known);
  trace.token = known.token;
  const { user_id } = known.who;
  noteAccount(user_id);
  if (text !== '' && !known.token) {
    trace.unknown_token = Buffer.from(tokenId(app, text), 'base64url');
  }
  if (user_id !== '') trace.record.outcome = { user_id };
  const caller = callerOf(known, trace, request);
  trace.caller = caller;
  return askerOf(caller, footingOf(known), holding, () =>
    identify(app, text, request.remote_address, undefined, { who: { user_id } }),
  );
}

function askerOf(
  caller: BrokerCaller,
  first: Footing,
  holding: Holding,
  again: () => Promise<Identified>,
): BoundaryAsker {
  let footing = first;
  const renew = async (permit: (again: BrokerCaller) => Promise<void>): Promise<Standing> => {
    const known = await again();
    hold(holding, known);
    await permit({ ...caller, who: known.who });
    const { who, token, acl, identity } = known;
    Object.assign(caller, { who, token, acl, identity });
    return standOn(footingOf(known), () => renew(permit));
  };
  return {
    caller,
    get isMuch() {
      return holding.isMuch;
    },
    letGo() {
      const who = { ...caller.who, authority: NOTHING_ALLOWED };
      Object.assign(caller, { who, acl: undefined, identity: undefined });
      holding.take({ token: caller.token });
    },
    async findAgain() {
      const known = await again();
      hold(holding, known);
      const { who, token, acl, identity } = known;
      Object.assign(caller, { who, token, acl, identity });
      footing = footingOf(known);
    },
    standing: (permit) => standOn(footing, () => renew(permit)),
  };
}

const NOTHING_ALLOWED = new Authority('user', []);

function hold(holding: Holding, known: Identified): void {
  const { authority } = known.who;
  holding.take(known, [{ of: authority, bytes: authority.bytes }]);
}

/** What a permitted request rests on: its token, and what is permitted. */
function footingOf({ token_row, has_line, permission_version }: Identified): Footing {
  return { token_id: token_row, has_line, mount: undefined, version: permission_version };
}

function callerOf(known: Identified, trace: Trace, { onGone }: HttpRequest): BrokerCaller {
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
