import type { ResourceLimits } from 'node:worker_threads';
import { evaluateInTurn } from '../../access/concurrency/programs.operations.ts';
import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { Failure } from '../../core/failure.ts';
import { OnDemandThread } from '../../core/on-demand.pool.ts';
import type { CelQuestion, CelVerdict } from './evaluate.ts';
import type { CelProgram } from './program.ts';
import type { CelTask, FromCelThread, ToCelThread } from './task.ts';

/**
 * Refuses a program that cannot be compiled.
 *
 * @throws Failure `invalid` naming the expression; `rate_limited` when too many wait; `unavailable` when it
 *   takes too long
 */
export async function requireCompiling(
  app: App,
  caller: Caller,
  program: CelProgram,
): Promise<void> {
  await runInTurn(app, caller, { kind: 'compile', program });
}

/** Asks a program about a request. @throws Failure as {@link requireCompiling} */
export async function evaluateOnThread(
  app: App,
  caller: Caller,
  question: CelQuestion,
): Promise<CelVerdict> {
  const verdict = await runInTurn(app, caller, { kind: 'evaluate', question });
  if (!verdict) throw new Error('a program was evaluated to nothing');
  return verdict;
}

function runInTurn(app: App, caller: Caller, task: CelTask): Promise<CelVerdict | undefined> {
  return evaluateInTurn(app, caller, () => chooseThread(app).run({ task }));
}

interface ThreadBounds {
  /** Milliseconds for one program. */
  deadline_ms: number;
  limits: ResourceLimits;
}

export const CEL_BOUNDS: ThreadBounds = {
  // An evaluation that is within its budget takes a second or two; a busy machine makes it longer.
  deadline_ms: 5_000,
  // What programs make is counted; what makes more all the same ends the thread, and nothing else.
  limits: { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 32 },
};

type CelThread = OnDemandThread<Omit<ToCelThread, 'id'>, FromCelThread, CelVerdict | undefined>;

// One for each place of those who evaluate: a program of one network that takes long holds up no other network's.
const threadsOf = perApp((app): readonly [CelThread, CelThread] => [
  newCelThread(app),
  newCelThread(app),
]);

/** The second is there only while the first has something to do. */
function chooseThread(app: App): CelThread {
  const [first, second] = threadsOf(app);
  return first.isFree || !second.isFree ? first : second;
}

/** A thread that evaluates programs, ended with the server. */
export function newCelThread(app: App, bounds = CEL_BOUNDS): CelThread {
  const thread: CelThread = new OnDemandThread({
    name: 'cel',
    beside: import.meta.url,
    log: app.log,
    undone: 'the program was not evaluated',
    ...bounds,
    read: readAnswer,
  });
  app.onClose(() => thread.stop());
  return thread;
}

function readAnswer(answer: FromCelThread): CelVerdict | undefined {
  switch (answer.type) {
    case 'done':
      return answer.verdict;
    case 'refused':
      throw new Failure(answer.kind, answer.message, answer.detail);
    case 'failed':
      throw new Error(answer.message);
  }
}
