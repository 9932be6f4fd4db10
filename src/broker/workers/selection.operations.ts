import type { App } from '../../app/app.ts';
import { Failure } from '../../core/failure.ts';
import { ownWorker } from './embedded.operations.ts';
import { listWorkersWithKeys } from './enrolment.store.ts';
import { readPresence } from './presence.operations.ts';
import {
  chooseIngress,
  chooseWorkers,
  type EligibleWorker,
  joinTags,
  type SessionFilters,
} from './selection.ts';
import { listSilent } from './status.operations.ts';
import { listCarrying } from './store.ts';
import { readWorkers } from './worker-cache.operations.ts';

/**
 * Workers that can carry a session: active, and heard of within the last fifteen
 * seconds. This server's own one is alive as long as it can ask.
 */
export async function listEligibleWorkers(app: App): Promise<EligibleWorker[]> {
  const [workers, { alive, own }] = await Promise.all([readWorkers(app), readPresence(app)]);
  return workers.flatMap((worker) => {
    const { address, config_tags, api_tags } = worker.body;
    if (worker.id !== own && !alive.has(worker.id)) return [];
    const { id, name } = worker;
    return [{ id, name: name ?? '', tags: joinTags(config_tags, api_tags), address }];
  });
}

/** Ids of workers that carry something and have not been heard of for so long that it is lost, or are not there any more. */
export async function listSilentWorkers(app: App): Promise<string[]> {
  const carrying = await listCarrying(app.db);
  if (carrying.length === 0) return [];
  const own = ownWorker(app)?.id;
  return listSilent(
    app,
    carrying.filter((id) => id !== own),
  );
}

/** Which of some workers are known: those of servers that are there, and those that stand alone and have a key. */
async function listKnownWorkers(app: App, ids: readonly string[]): Promise<Set<string>> {
  const known = await listWorkersWithKeys(app.db, ids);
  for (const { id, body } of await readWorkers(app)) if (body.node !== '') known.add(id);
  return known;
}

/** Which of some workers that carry something can go on with it: they are known, and have not fallen silent. */
export async function listUsableWorkers(app: App, ids: readonly string[]): Promise<Set<string>> {
  const known = await listKnownWorkers(app, ids);
  const own = ownWorker(app)?.id;
  const others = [...known].filter((id) => id !== own && ids.includes(id));
  for (const id of await listSilent(app, others)) known.delete(id);
  return known;
}

/**
 * A worker as filters see it.
 *
 * @throws Failure `forbidden` for one that is not there
 */
export async function requireWorker(
  app: App,
  id: string,
): Promise<Pick<EligibleWorker, 'id' | 'name' | 'tags'>> {
  const worker = (await readWorkers(app)).find((one) => one.id === id);
  if (!worker) throw new Failure('forbidden', 'there is no such worker');
  const { config_tags, api_tags } = worker.body;
  return { id, name: worker.name ?? '', tags: joinTags(config_tags, api_tags) };
}

/**
 * The workers that clients of a target's new session come to, in random order: clients use the first.
 *
 * @throws Failure `unresolved` when there is none, `precondition` when a filter cannot be asked
 */
export async function requireWorkers(
  app: App,
  filters: SessionFilters,
): Promise<{
  workers: readonly [EligibleWorker, ...EligibleWorker[]];
  /** As the session keeps it. */
  ingress_worker_filter: string;
}> {
  const verdict = chooseIngress(await listEligibleWorkers(app), filters);
  if ('refused' in verdict) {
    const kind = verdict.refused === 'fault' ? 'precondition' : 'unresolved';
    throw new Failure(kind, verdict.because);
  }
  const { chosen, ingress_worker_filter } = verdict;
  const [first = chosen[0], ...others] = inRandomOrder(app, chosen);
  return { workers: [first, ...others], ingress_worker_filter };
}

/** The workers that may reach a session's endpoint, in random order. */
export async function listEgressWorkers(app: App, filter: string): Promise<EligibleWorker[]> {
  const verdict = chooseWorkers(await listEligibleWorkers(app), filter);
  return 'chosen' in verdict ? inRandomOrder(app, verdict.chosen) : [];
}

function inRandomOrder<Item>(app: App, items: readonly Item[]): Item[] {
  if (items.length < 2) return [...items];
  const start = (app.randomBytes(2)[0] ?? 0) % items.length;
  return [...items.slice(start), ...items.slice(0, start)];
}
