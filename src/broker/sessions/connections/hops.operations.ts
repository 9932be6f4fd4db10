import type { App } from '../../../app/app.ts';
import { listUsableWorkers } from '../../workers/selection.operations.ts';
import { listConnectionsById, listOpenOfPair, listOpenPairs } from './store.ts';

// Of connections that run through two workers: neither is relied on to end what is over.

/** Connections of two lost workers that are looked at at once; the others come with the next look. */
const MOST_LOST = 1_000;

/**
 * What runs through two workers of which one is not known any more (deleted, or its key taken away) or has fallen silent. Both
 * have to end it, and one of them may not obey.
 *
 * @returns ids of connections, by worker
 */
export async function listLostHops(app: App): Promise<Map<string, string[]>> {
  const lost = new Map<string, string[]>();
  const pairs = await listOpenPairs(app.db);
  if (pairs.length === 0) return lost;
  const ids = pairs.flatMap(({ worker_id, egress_worker_id }) => [worker_id, egress_worker_id]);
  const usable = await listUsableWorkers(app, ids);
  for (const pair of pairs) {
    const both = [pair.worker_id, pair.egress_worker_id];
    if (both.every((id) => usable.has(id))) continue;
    const connection_ids = await listOpenOfPair(app.db, pair, MOST_LOST);
    for (const id of both) lost.set(id, [...(lost.get(id) ?? []), ...connection_ids]);
  }
  return lost;
}

/**
 * What a connection's worker has not taken of it a minute after it is closed is dropped there; and so long after a
 * connection was begun it is known who has brought its endpoint.
 */
const DRAINED_MS = 70_000;

/**
 * Of what a worker has brought to others, what must be over: the other one may have told an end, and go on all the same.
 *
 * @param brought ids of connections
 * @returns those that it has to end
 */
export async function listOverHops(
  app: App,
  worker_id: string,
  brought: readonly string[],
): Promise<string[]> {
  if (brought.length === 0) return [];
  const since_ms = app.now() - DRAINED_MS;
  const rows = new Map((await listConnectionsById(app.db, brought)).map((row) => [row.id, row]));
  return brought.filter((id) => {
    const row = rows.get(id);
    if (!row) return true;
    if (row.status === 'closed') return (row.closed_ms ?? 0) <= since_ms;
    return row.egress_worker_id !== worker_id && row.created_ms <= since_ms;
  });
}
