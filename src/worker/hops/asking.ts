import { setTimeout as wait } from 'node:timers/promises';
import { Failure } from '../../core/failure.ts';

/** Why nobody did it. */
export interface Refusal {
  worker_id: string;
  why: string;
}

/**
 * Asks one worker after the other until one has done it. Each has a share of the time before the next one is asked
 * besides: one that hangs keeps nobody from being asked, and one that is only slow may still be the first.
 *
 * @param ask gives up by itself some time. @throws Failure when the worker cannot
 * @returns what the first has answered, or why each did not
 */
export async function askInTurn<Answer>(
  ids: readonly string[],
  ask: (worker_id: string, left_ms: number) => Promise<Answer>,
  patience_ms: number,
): Promise<{ worker_id: string; answer: Answer } | { refusals: readonly Refusal[] }> {
  const until = performance.now() + patience_ms;
  const left = (): number => Math.max(0, until - performance.now());
  const refusals = new Map(ids.map((id) => [id, 'it does not answer']));
  const begun: Promise<{ worker_id: string; answer: Answer }>[] = [];
  const answered = async (latest: (typeof begun)[number] | undefined, share_ms: number) => {
    const first = Promise.any(begun);
    try {
      return await within(latest ? Promise.race([latest, first]) : first, share_ms);
    } catch (error) {
      if (error instanceof Failure || error instanceof AggregateError) return undefined;
      throw error;
    }
  };
  for (const [at, worker_id] of ids.entries()) {
    const latest = ask(worker_id, left()).then(
      (answer) => ({ worker_id, answer }),
      (error: unknown) => {
        if (error instanceof Failure) refusals.set(worker_id, error.message);
        throw error;
      },
    );
    begun.push(latest);
    const done = await answered(latest, left() / (ids.length - at));
    if (done) return done;
  }
  const done = await answered(undefined, left());
  return done ?? { refusals: [...refusals].map(([worker_id, why]) => ({ worker_id, why })) };
}

/** @returns undefined when it takes longer */
export async function within<Value>(
  work: Promise<Value>,
  milliseconds: number,
): Promise<Value | undefined> {
  const stop = new AbortController();
  const over = wait(milliseconds, undefined, { signal: stop.signal });
  over.catch(() => {});
  try {
    return await Promise.race([work, over]);
  } finally {
    stop.abort();
  }
}
