import { evaluateFilter, STEPS_OF_ONE } from '../resource/filter/evaluate.ts';
import { parseExpression } from '../resource/filter/expression.ts';

/** A worker that a session can be given to. */
export interface EligibleWorker {
  id: string;
  /** As filters see it; empty for one without a name. */
  name: string;
  /** Those of its configuration and those set through the API, together. */
  tags: Readonly<Record<string, readonly string[]>>;
  /** `host:port` where clients and other workers reach it; empty: they do not. */
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

/** Which workers carry a session. */
export interface SessionFilters {
  /** `egress_worker_filter`, or else `worker_filter`: which workers may reach the endpoint. */
  worker_filter: string;
  /** Which workers clients come to; empty: those that may reach the endpoint; {@link ANY_INGRESS}: any. */
  ingress_worker_filter: string;
}

/** No expression: none of the workers that may reach the endpoint takes connections. */
export const ANY_INGRESS = '*';

type IngressVerdict<Worker> =
  | { chosen: readonly [Worker, ...Worker[]]; ingress_worker_filter: string }
  | Extract<WorkerVerdict<Worker>, { refused: string }>;

/**
 * Chooses the workers that clients of a new session come to. There is always one as well that reaches the
 * endpoint: the same, or where it takes no connections or the filters differ, another one.
 *
 * @param workers those that are alive; one without an address takes no connections
 * @param filters of the target
 */
export function chooseIngress<Worker extends Pick<EligibleWorker, 'name' | 'tags' | 'address'>>(
  workers: readonly Worker[],
  { worker_filter, ingress_worker_filter }: SessionFilters,
): IngressVerdict<Worker> {
  const reached = workers.filter(({ address }) => address !== '');
  if (worker_filter === '' && ingress_worker_filter === '') {
    const verdict = chooseWorkers(reached, '');
    return 'chosen' in verdict ? { ...verdict, ingress_worker_filter } : verdict;
  }
  const egress = chooseWorkers(workers, worker_filter);
  if ('refused' in egress) return egress;
  if (ingress_worker_filter !== '') {
    const ingress = chooseWorkers(reached, ingress_worker_filter);
    return 'chosen' in ingress ? { ...ingress, ingress_worker_filter } : ingress;
  }
  const [first, ...others] = egress.chosen.filter(({ address }) => address !== '');
  if (first) return { chosen: [first, ...others], ingress_worker_filter };
  const any = chooseWorkers(reached, '');
  return 'chosen' in any ? { ...any, ingress_worker_filter: ANY_INGRESS } : any;
}

/** Says whether clients of a session may come to a worker. @see B-89, B-154 */
export function judgeIngress(
  worker: Pick<EligibleWorker, 'name' | 'tags'>,
  { worker_filter, ingress_worker_filter }: SessionFilters,
): boolean {
  if (ingress_worker_filter === ANY_INGRESS) return true;
  return judgeWorker(worker, ingress_worker_filter || worker_filter);
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
