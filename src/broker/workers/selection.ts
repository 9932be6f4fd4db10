import { evaluateFilter, STEPS_OF_ONE } from '../resource/filter/evaluate.ts';
import { parseExpression } from '../resource/filter/expression.ts';

/** A worker that a session can be given to. */
export interface EligibleWorker {
  id: string;
  /** As filters see it; empty for one without a name. */
  name: string;
  /** Those of its configuration and those set through the API, together. */
  tags: Readonly<Record<string, readonly string[]>>;
  /** `host:port` where clients reach it. */
  address: string;
}

type WorkerVerdict<Worker> =
  | { chosen: readonly [Worker, ...Worker[]] }
  | { refused: 'none' | 'filtered' | 'fault'; because: string };

/**
 * Chooses the workers that a filter admits. A worker that lacks what the filter looks at is
 * not admitted, also by a `not`; a filter that cannot be asked at all is a fault.
 *
 * @param workers those that are alive
 * @param filter  a target's `egress_worker_filter`, or its `worker_filter`; empty: none
 */
export function chooseWorkers<Worker extends Pick<EligibleWorker, 'name' | 'tags'>>(
  workers: readonly Worker[],
  filter: string,
): WorkerVerdict<Worker> {
  const [first, ...others] = workers;
  if (!first) {
    return { refused: 'none', because: 'No workers are available to handle this session.' };
  }
  if (filter === '') return { chosen: [first, ...others] };
  const parsed = parseExpression(filter);
  if (!parsed.valid) return faulty(parsed.because);
  const admitted: Worker[] = [];
  // One for all of them: nobody else is served meanwhile.
  const budget = { steps: STEPS_OF_ONE };
  for (const worker of workers) {
    const { name, tags } = worker;
    const verdict = evaluateFilter(parsed.expression, { name, tags }, budget);
    if ('fault' in verdict && verdict.fault !== 'missing') return faulty(verdict.because);
    if (verdict.matches) admitted.push(worker);
  }
  const [admittedFirst, ...more] = admitted;
  if (admittedFirst) return { chosen: [admittedFirst, ...more] };
  return {
    refused: 'filtered',
    because: 'No workers are available to handle this session, or all have been filtered.',
  };
}

function faulty(because: string): { refused: 'fault'; because: string } {
  return {
    refused: 'fault',
    because: `Worker filter expression evaluation resulted in error: ${because}`,
  };
}

/** Says whether one worker is admitted by the filter that a session was made with. @see B-89 */
export function judgeWorker(
  worker: Pick<EligibleWorker, 'name' | 'tags'>,
  filter: string,
): boolean {
  return 'chosen' in chooseWorkers([worker], filter);
}

/** Tags of two origins together, each value once. */
export function joinTags(
  ...origins: readonly Readonly<Record<string, readonly string[]>>[]
): Record<string, string[]> {
  const joined = new Map<string, Set<string>>();
  for (const tags of origins) {
    for (const [key, values] of Object.entries(tags)) {
      const known = joined.get(key) ?? new Set<string>();
      for (const value of values) known.add(value);
      joined.set(key, known);
    }
  }
  return Object.fromEntries([...joined].map(([key, values]) => [key, [...values]]));
}
