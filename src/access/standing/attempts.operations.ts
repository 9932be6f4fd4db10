import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { Failure } from '../../core/failure.ts';
import { ChangesInTurn } from '../../core/fairness/changes-in-turn.ts';
import { Lines } from '../../core/fairness/line.ts';
import type { Hold } from '../../core/fairness/right-of-way.ts';
import type { Effect } from '../../store/write.ts';
import { commitEnd, endInTurn, isBeingEnded } from '../endings/operations.ts';
import { type Ground, goFirst } from '../endings/precedence.operations.ts';
import { commitOnceFor } from './operations.ts';
import { Patience } from './patience.operations.ts';

/**
 * Makes a write set durable if the caller may still do that by then. When what is permitted was
 * changed meanwhile, the request is judged again, and the same set is tried again: what it rests on
 * besides is in its own conditions. A set that was planned by what the caller may do, or is, has to
 * go by {@link commitOnceFor}.
 *
 * @throws Failure as the request would be refused if it came now; `conflict` for a reason of the
 *   write set's own
 */
export function commitFor(
  ground: Ground,
  caller: Caller,
  effects: readonly Effect[],
): Promise<void> {
  return tryWithin(1, ground, caller, () => commitOnceFor(ground.store, caller, effects));
}

/** Ends what would be much for one write set, page by page, once nothing but a change by others can refuse the plan. */
export interface Beforehand {
  /** What it is of, whatever paths lead to that: it is ended once at a time. */
  of: string;
  end(): Promise<void>;
}

/** What a request would do, by what it has read. */
export interface Planned<Result> {
  effects: readonly Effect[];
  result: Result;
  /** What the request's record says that it has come to. */
  outcome?: Readonly<Record<string, unknown>>;
  /** Whether what it writes is there, where it would be made otherwise. */
  found?: boolean;
  beforehand?: Beforehand | undefined;
}

/** Each but the last means that somebody else's change of what was read was durable. */
const PLANS = 8;

/** What an attempt has come to; undefined after a conflict that may pass. */
type Tried<Result> = { done: Result } | undefined;

/**
 * Tries on while there is patience. Judging and planning at length gives way to others, and so to those who change
 * what is permitted: whoever came too late for them again and again goes first.
 */
async function tryAgain<Result>(
  ground: Ground,
  caller: Caller,
  attempt: () => Promise<Tried<Result>>,
  patience: Patience,
): Promise<Tried<Result>> {
  const { isBehind } = patience;
  const first = async (hold: Hold): Promise<Tried<Result>> => {
    // What was permitted before it was this request's turn may be outdated by now.
    await ground.store.refreshConfig();
    caller.standing = await caller.standing?.renew();
    let tried = await attempt();
    while (!tried && !hold.isOver && patience.isBehind === isBehind) tried = await attempt();
    return tried;
  };
  return patience.isWorn ? goFirst(ground, patience.changes, first) : attempt();
}

/** Until it is done. */
async function tryOn<Result>(...how: Parameters<typeof tryAgain<Result>>): Promise<Result> {
  for (;;) {
    const tried = await tryAgain(...how);
    if (tried) return tried.done;
  }
}

/** Where those wait for each other that others were quicker than again and again: what they rest on changes by this line. */
interface ChangeLine {
  app: App;
  thing: string;
}

/**
 * Tries again what a conflict has ended: what plans anew, and commits by `commitOnce`.
 *
 * @param line of those who change what is planned by
 * @throws Failure `conflict` after some attempts, not counting those by which the request was judged again
 */
export function retryOnConflict<Result>(
  ground: Ground,
  caller: Caller,
  attempt: () => Promise<Result>,
  line?: ChangeLine,
): Promise<Result> {
  return tryWithin(PLANS, ground, caller, attempt, line);
}

function tryWithin<Result>(
  plans: number,
  ground: Ground,
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
  return tryInLine(ground, caller, tryOnce, patience, {
    line,
    mayStayOut: () => line !== undefined && !patience.isFarBehind,
  });
}

/** Until it is done: in a line, if there is one, once it may stay out of it no longer. */
async function tryInLine<Result>(
  ground: Ground,
  caller: Caller,
  attempt: () => Promise<Tried<Result>>,
  patience: Patience,
  { line, mayStayOut }: { line: ChangeLine | undefined; mayStayOut(): boolean },
): Promise<Result> {
  // Nearly always the only attempt: it is in the way of every certificate.
  let tried = await attempt();
  while (!tried && mayStayOut()) tried = await tryAgain(ground, caller, attempt, patience);
  if (tried) return tried.done;
  const goOn = () => tryOn(ground, caller, attempt, patience);
  return line ? linesOf(line.app).wait(line.thing, goOn) : goOn();
}

/**
 * Plans and commits. A plan rests on rows that it has read, and its effects are refused once one of
 * them is another one (`saveAsRead`, `deleteAsRead`, a version, a hold): then everything is planned
 * anew, and judged anew, by what is there now. What cannot be at all is told by the next plan.
 *
 * @param plan reads what it rests on from the database, whenever it is called; costly parts that
 *   rest on nothing, such as the hash of a password, are made once
 * @param line where those wait that others were quicker than, where that is not the request's own path
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
    // What an attempt before has noted has not come to pass.
    caller.record.outcome = { ...noted };
    return plan();
  };
  const thing = line?.thing ?? thingOf(caller);
  const isAwaited = line?.changes === true && linesOf(app).has(thing);
  const made = isAwaited ? [] : [await plan()];
  const wasThere = caller.found === true || made[0]?.found === true;
  const how = { made, thing, wasThere };
  const of = made[0]?.beforehand?.of;
  if (of === undefined) return commitByPlans(app, caller, planAnew, how);
  // Who waits plans anew, and holds nothing of this plan meanwhile.
  if (isBeingEnded(app, of)) made.length = 0;
  // Not within what follows: there it may go first, and who has this turn would wait for that.
  return endInTurn(app, of, () => commitByPlans(app, caller, planAnew, how));
}

/** Where those wait that plan by a thing. */
interface PlansLine {
  thing: string;
  /**
   * Whether it is the thing that is changed: then whoever comes while others stand in line stands in it as well.
   * Others are in nobody's way.
   */
  changes: boolean;
}

const changesOf = perApp(() => new ChangesInTurn());

/**
 * As {@link commitPlanned}, of a plan that reads what may be long: such a thing is changed by few at once, and whoever
 * waits for that holds nothing of it.
 *
 * @param how.bytes of the thing before the change, as far as they are known
 */
export function commitInTurn<Result>(
  app: App,
  caller: Caller,
  plan: () => Promise<Planned<Result>>,
  { bytes, ...line }: PlansLine & { bytes: number },
): Promise<Result> {
  return changesOf(app).run(line.thing, bytes, () => commitPlanned(app, caller, plan, line));
}

const thingOf = ({ mount, record }: Caller): string => `${mount.id} ${record.path}`;

/** How a write set is planned and tried. */
interface Planning<Result> {
  /** A plan that there is already; it is taken from here, so that nothing of it is held for longer. */
  made: Planned<Result>[];
  thing: string;
  /** Whether what is changed is known to have been there. */
  wasThere: boolean;
}

async function commitByPlans<Result>(
  app: App,
  caller: Caller,
  planAnew: () => Promise<Planned<Result>>,
  { made, thing, ...known }: Planning<Result>,
): Promise<Result> {
  let { wasThere } = known;
  const patience = new Patience(PLANS);
  const attempt = async (): Promise<Tried<Result>> => {
    const { effects, result, found, outcome, beforehand } = made.pop() ?? (await planAnew());
    if (found === false && wasThere) throw new Failure('conflict', REMOVED);
    wasThere ||= found ?? false;
    // Who may make a thing may perhaps not change one that has come meanwhile.
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
  const lines = linesOf(app);
  if (made.length === 0 && lines.has(thing)) {
    return lines.wait(thing, () => tryOn(app, caller, attempt, patience));
  }
  return tryInLine(app, caller, attempt, patience, {
    // Of many at once one is quicker: the others go on one by one, or all but one would lose again.
    line: { app, thing },
    // Those that are only judged anew are in nobody's way, unless they change what is permitted.
    mayStayOut: () => !patience.isBehind && !patience.changes,
  });
}

const linesOf = perApp(() => new Lines());

const REMOVED = 'it was removed by somebody else in the meantime';
