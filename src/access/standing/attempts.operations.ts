import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { Failure } from '../../core/failure.ts';
import { ChangesInTurn } from '../../core/fairness/changes-in-turn.ts';
import type { Hold } from '../../core/fairness/right-of-way.ts';
import type { Effect } from '../../store/write.ts';
import { commitEnd, endInTurn, isBeingEnded } from '../endings/operations.ts';
import { goFirst, type WriteContext } from '../endings/precedence.operations.ts';
import { isInLine, waitInLine } from './lines.operations.ts';
import { commitOnceFor } from './operations.ts';
import { Patience } from './patience.operations.ts';

/**
 * Makes a write set durable if the caller may still do that by then. When what is permitted was
 * changed meanwhile, the request is judged again, and the same set is tried again: what it rests on
 * besides is in its own conditions. A set that was planned by what the caller may do, or is, has to
 * go by {@link commitOnceFor}.
 *
 * @param effects the same each time, but for the record: it names the caller as they were judged last
 * @throws Failure as the request would be refused if it came now; `conflict` for a reason of the
 *   write set's own
 */
export function commitFor(
  context: WriteContext,
  caller: Caller,
  effects: () => readonly Effect[],
): Promise<void> {
  return tryWithin(1, context, caller, () => commitOnceFor(context.store, caller, effects()));
}

/** Ends page by page what would be much for one write set, once only a change by others can refuse the plan. */
export interface Beforehand {
  /** Key of what is ended, whatever the path of the request: it is ended by one request at a time. */
  of: string;
  end(): Promise<void>;
}

/** What a request would do, given what it has read. */
export interface Planned<Result> {
  effects: readonly Effect[];
  result: Result;
  /** What the request's record says that it has come to. */
  outcome?: Readonly<Record<string, unknown>>;
  /** Whether what it writes is there, where it would be made otherwise. */
  found?: boolean;
  beforehand?: Beforehand | undefined;
}

/** Most plans of a request: a new one is made each time that somebody else has changed what was read. */
const PLANS = 8;

/** The result of an attempt; undefined after a conflict that may pass. */
type Tried<Result> = { done: Result } | undefined;

/**
 * Tries once more while there is patience. Judging and planning at length gives way to others, also to changes of
 * permissions: a request that has lost to these again and again goes first.
 */
async function tryAgain<Result>(
  context: WriteContext,
  caller: Caller,
  attempt: () => Promise<Tried<Result>>,
  patience: Patience,
): Promise<Tried<Result>> {
  const { isBehind } = patience;
  const first = async (hold: Hold): Promise<Tried<Result>> => {
    // What was permitted before it was this request's turn may be outdated by now.
    await context.store.refreshConfig();
    caller.standing = await caller.standing?.renew();
    let tried = await attempt();
    while (!tried && !hold.isOver && patience.isBehind === isBehind) tried = await attempt();
    return tried;
  };
  return patience.isWorn ? goFirst(context, patience.changes, first) : attempt();
}

/** Until it is done. */
async function tryOn<Result>(...how: Parameters<typeof tryAgain<Result>>): Promise<Result> {
  for (;;) {
    const tried = await tryAgain(...how);
    if (tried) return tried.done;
  }
}

/** A line in which requests that lost to others again and again run one by one; changes of what they rest on go by it, too. */
interface ChangeLine {
  app: App;
  key: string;
}

/**
 * Runs an attempt again after a conflict; each attempt plans anew, and commits by `commitOnce`.
 *
 * @param line by which what the attempt rests on is changed
 * @throws Failure `conflict` after some attempts, not counting those by which the request was judged again
 */
export function retryOnConflict<Result>(
  context: WriteContext,
  caller: Caller,
  attempt: () => Promise<Result>,
  line?: ChangeLine,
): Promise<Result> {
  return tryWithin(PLANS, context, caller, attempt, line);
}

function tryWithin<Result>(
  plans: number,
  context: WriteContext,
  caller: Caller,
  attempt: () => Promise<Result>,
  line?: ChangeLine,
): Promise<Result> {
  const patience = new Patience(plans);
  const tryOnce = async (): Promise<Tried<Result>> => {
    try {
      return { done: await attempt() };
    } catch (error) {
      patience.bear(error);
      return undefined;
    }
  };
  return tryInLine(context, caller, tryOnce, patience, {
    line,
    mayStayOut: () => line !== undefined && !patience.isFarBehind,
  });
}

/** Tries until it is done: in the line, if there is one, once the request may not stay out of it any longer. */
async function tryInLine<Result>(
  context: WriteContext,
  caller: Caller,
  attempt: () => Promise<Tried<Result>>,
  patience: Patience,
  { line, mayStayOut }: { line: ChangeLine | undefined; mayStayOut(): boolean },
): Promise<Result> {
  // Nearly always the only attempt, and on the path of every issuance: no line is asked for before it.
  let tried = await attempt();
  while (!tried && mayStayOut()) tried = await tryAgain(context, caller, attempt, patience);
  if (tried) return tried.done;
  const goOn = () => tryOn(context, caller, attempt, patience);
  return line ? waitInLine(line.app, line.key, goOn) : goOn();
}

/**
 * Plans and commits. A plan rests on rows that it has read, and its effects are refused once one of
 * them is another one (`saveAsRead`, `deleteAsRead`, a version, a hold): then everything is planned
 * anew, and judged anew, by what is there now. A change that is impossible by then is refused by the next plan.
 *
 * @param plan reads what it rests on from the database, whenever it is called; costly parts that
 *   rest on nothing, such as the hash of a password, are made once
 * @param line where the request waits after it has lost to others; unless given, that goes by its own path
 * @throws Failure `conflict` after some attempts, or when what was to be changed was removed
 */
export async function commitPlanned<Result>(
  app: App,
  caller: Caller,
  plan: () => Promise<Planned<Result>>,
  line?: PlansLine,
): Promise<Result> {
  const noted = { ...caller.record.outcome };
  const planAnew = async (): Promise<Planned<Result>> => {
    // What an earlier attempt has noted did not happen.
    caller.record.outcome = { ...noted };
    return plan();
  };
  const key = line?.key ?? keyOf(caller);
  const isAwaited = line?.changes === true && isInLine(app, key);
  const made = isAwaited ? [] : [await plan()];
  const wasThere = caller.found === true || made[0]?.found === true;
  const how = { made, key, wasThere };
  const of = made[0]?.beforehand?.of;
  if (of === undefined) return commitByPlans(app, caller, planAnew, how);
  // Who waits plans anew, and holds nothing of this plan meanwhile.
  if (isBeingEnded(app, of)) made.length = 0;
  // Taken before `commitByPlans`, in which a request may go first: whoever has this turn would wait for that.
  return endInTurn(app, of, () => commitByPlans(app, caller, planAnew, how));
}

/** Where those wait that plan by the same. */
interface PlansLine {
  key: string;
  /**
   * Whether that is what is changed: then whoever comes while others stand in line stands in it as well.
   * Others are in nobody's way.
   */
  changes: boolean;
}

const changesOf = perApp(() => new ChangesInTurn());

/**
 * As {@link commitPlanned}, of a plan that reads what may be long: that is changed by few at once, and whoever
 * waits for that holds nothing of it.
 *
 * @param how.bytes of it before the change, as far as they are known
 */
export function commitInTurn<Result>(
  app: App,
  caller: Caller,
  plan: () => Promise<Planned<Result>>,
  { bytes, ...line }: PlansLine & { bytes: number },
): Promise<Result> {
  return changesOf(app).run(line.key, bytes, () => commitPlanned(app, caller, plan, line));
}

const keyOf = ({ mount, record }: Caller): string => `${mount.id} ${record.path}`;

/** How a write set is planned and tried. */
interface Planning<Result> {
  /** A plan that there is already; it is taken from here, so that nothing of it is held for longer. */
  made: Planned<Result>[];
  key: string;
  /** Whether what is changed is known to have been there. */
  wasThere: boolean;
}

async function commitByPlans<Result>(
  app: App,
  caller: Caller,
  planAnew: () => Promise<Planned<Result>>,
  { made, key, ...known }: Planning<Result>,
): Promise<Result> {
  let { wasThere } = known;
  const patience = new Patience(PLANS);
  const attempt = async (): Promise<Tried<Result>> => {
    const { effects, result, found, outcome, beforehand } = made.pop() ?? (await planAnew());
    if (found === false && wasThere) throw new Failure('conflict', REMOVED);
    wasThere ||= found ?? false;
    // Permission to create is not permission to update what somebody else has created meanwhile.
    if (found && caller.found === false) caller.standing = await caller.standing?.renew();
    if (outcome) Object.assign(caller.record.outcome, outcome);
    try {
      await beforehand?.end();
      const commit = () => app.commitOnce(caller, effects);
      await (beforehand ? commitEnd(app, commit) : commit());
      return { done: result };
    } catch (error) {
      patience.bear(error);
      return undefined;
    }
  };
  if (made.length === 0 && isInLine(app, key)) {
    return waitInLine(app, key, () => tryOn(app, caller, attempt, patience));
  }
  return tryInLine(app, caller, attempt, patience, {
    // Of many at once one wins: the others go on one by one, or all but one would lose again.
    line: { app, key },
    // Requests that are only judged anew stay out of the line, unless they change permissions.
    mayStayOut: () => !patience.isBehind && !patience.changes,
  });
}

const REMOVED = 'it was removed by somebody else in the meantime';
