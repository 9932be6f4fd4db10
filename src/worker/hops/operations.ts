import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { type App, perApp } from '../../app/app.ts';
import type { EnvelopeContext } from '../../barrier/envelope.ts';
import {
  findCuts,
  requireSession,
} from '../../broker/sessions/connections/carried-session.operations.ts';
import type { ClosedReason } from '../../broker/sessions/connections/connection.ts';
import { listConnectionsById, saveEgressWorker } from '../../broker/sessions/connections/store.ts';
import {
  listEgressWorkers,
  listEligibleWorkers,
} from '../../broker/workers/selection.operations.ts';
import { listAlive } from '../../broker/workers/status.operations.ts';
import { readWorkers } from '../../broker/workers/worker-cache.operations.ts';
import { BoundedMap } from '../../core/bounded-map.ts';
import { Failure, isConflict } from '../../core/failure.ts';
import type { SessionConnectionRow } from '../../store/tables.ts';
import type { ConnectionEnd } from '../upstream.ts';
import type { Brought, Errand } from '../wire/hop.ts';
import { TICKET_MS } from '../wire/hop.ts';
import { askInTurn } from './asking.ts';
import { sendersOf } from './senders.ts';
import {
  answerErrand,
  deleteErrands,
  findErrand,
  insertErrand,
  listErrands,
  takeErrand,
} from './store.ts';

/** So many workers are asked, in turn, and for so long in all. */
const MOST_ASKED = 3;
const PATIENCE_MS = 25_000;
/** They are a connection's only until that is connected. */
const MOST_REACHED = 65_536;
/** A server that waits for an answer of another one looks this often. */
const LOOK_MS = 200;
/** What no other server has taken by then is not taken: the worker is connected to none. */
const TAKEN_MS = 3_000;

const NOBODY = 'no worker that the session’s filter admits could reach its endpoint';

/** Connections that were asked for: each has one way to its endpoint, so that a session has no more than it may. */
const reachedOf = perApp(() => new BoundedMap<true>(MOST_REACHED));

/**
 * Has another worker dial the endpoint of a connection, and bring it to the worker that carries that.
 *
 * @param worker_id whose connection it is
 * @returns which worker has brought it
 * @throws Failure `forbidden` for a connection that is not its own, or over; `unresolved` when no
 *   worker can reach the endpoint
 */
export async function reachEndpoint(
  app: App,
  worker_id: string,
  { connection_id, ticket }: { connection_id: string; ticket: string },
): Promise<Brought & { worker_id: string }> {
  const [row] = await listConnectionsById(app.db, [connection_id]);
  if (row?.worker_id !== worker_id || row.status !== 'authorized') {
    throw new Failure('forbidden', 'there is no such connection, or it is not to be reached');
  }
  const { session_id } = row;
  const { endpoint, worker_filter, status } = await requireSession(app, session_id);
  const ingress = (await listEligibleWorkers(app)).find(({ id }) => id === worker_id);
  if (status !== 'active' || !ingress || ingress.address === '') {
    throw new Failure('forbidden', 'the session is over, or the worker takes no connections');
  }
  const reached = reachedOf(app);
  if (reached.has(connection_id)) throw new Failure('forbidden', 'the connection is reached once');
  reached.set(connection_id, true);
  const errand: Errand = {
    ...{ endpoint, session_id, connection_id },
    ...{ address: ingress.address, worker_id, ticket },
  };
  const ids = await listAsked(app, worker_filter, worker_id);
  const ask = (id: string, left_ms: number) => send(app, id, errand, left_ms);
  const done = await askInTurn(ids, ask, PATIENCE_MS);
  if ('answer' in done) {
    await noteEgress(app, row, done.worker_id);
    return { ...done.answer, worker_id: done.worker_id };
  }
  app.log.warn({ session_id, connection_id, asked: done.refusals }, NOBODY);
  throw new Failure('unresolved', NOBODY);
}

/** Before a byte flows, so that whatever ends the worker ends this, too. @throws Failure `unresolved` for one that is not known any more */
async function noteEgress(
  app: App,
  { id, worker_id }: SessionConnectionRow,
  egress_id: string,
): Promise<void> {
  const worker = (await readWorkers(app)).find((one) => one.id === egress_id);
  try {
    if (!worker) throw new Failure('conflict', GONE);
    const egress = { id: egress_id, is_alone: worker.body.node === '' };
    await app.store.commit([saveEgressWorker(id, worker_id, egress, app.now())]);
  } catch (cause) {
    if (isConflict(cause)) throw new Failure('unresolved', GONE, { cause });
    throw cause;
  }
}

const GONE = 'the worker was deleted meanwhile, or the connection is over';

/**
 * What ended because its session is over, and the worker behind heard of that first, or because that worker has died,
 * or goes, has not ended by its endpoint, which is how it looks to the worker in front.
 */
export async function judgeEnds(
  app: App,
  ends: readonly ConnectionEnd[],
): Promise<readonly ConnectionEnd[]> {
  const judged = ends.filter(looksEndedBehind);
  if (judged.length === 0) return ends;
  const cuts = await findCuts(
    app,
    judged.map(({ connection_id }) => connection_id),
  );
  const unexplained = judged.filter(({ connection_id }) => !cuts.has(connection_id));
  const behind = new Set(unexplained.map(({ egress_worker_id }) => egress_worker_id ?? ''));
  const lost = new Set<string | undefined>();
  const look = async (id: string): Promise<void> => {
    if (!(await isThere(app, id))) lost.add(id);
  };
  await Promise.all([...behind].map(look));
  return ends.map((end) => {
    if (!looksEndedBehind(end)) return end;
    const cut = cuts.get(end.connection_id);
    if (cut) return { ...end, reason: cut };
    return lost.has(end.egress_worker_id) ? { ...end, reason: 'system error' } : end;
  });
}

const BY_ENDPOINT: readonly ClosedReason[] = ['unknown', 'network error'];

const looksEndedBehind = ({ egress_worker_id, reason }: ConnectionEnd): boolean =>
  egress_worker_id !== undefined && BY_ENDPOINT.includes(reason);

/** One whose connection another server holds is judged by its last report. */
async function isThere(app: App, worker_id: string): Promise<boolean> {
  const near = sendersOf(app).get(worker_id);
  if (near) return near.isThere();
  if (app.store.engine === 'sqlite') return false;
  return (await listAlive(app)).has(worker_id);
}

/** Those whose connection this server holds come first: they hear of it at once. */
async function listAsked(app: App, filter: string, ingress_id: string): Promise<string[]> {
  const senders = sendersOf(app);
  const workers = await listEgressWorkers(app, filter);
  const ids = workers.flatMap(({ id }) => (id === ingress_id ? [] : [id]));
  const isNear = (id: string): boolean => senders.has(id);
  // SQLite is one server's alone.
  const far = app.store.engine === 'sqlite' ? [] : ids.filter((id) => !isNear(id));
  const inOrder = [...ids.filter(isNear), ...far];
  return inOrder.slice(0, MOST_ASKED);
}

async function send(app: App, id: string, errand: Errand, left_ms: number): Promise<Brought> {
  const near = sendersOf(app).get(id);
  return near ? near.bring(errand) : sendFar(app, id, errand, left_ms);
}

const placeOf = (id: string): EnvelopeContext => ({
  table: 'worker_errand',
  column: 'errand_sealed',
  row: id,
});

/** By a row in the store, which the server takes that holds the worker's connection. */
export async function sendFar(
  app: App,
  worker_id: string,
  errand: Errand,
  left_ms: number,
): Promise<Brought> {
  const id = app.newId();
  const errand_sealed = app.barrier.encrypt('credential', placeOf(id), encode(errand));
  const expires_ms = app.now() + Math.floor(Math.min(left_ms, TICKET_MS));
  await app.store.commit([insertErrand({ id, worker_id, errand_sealed, expires_ms })]);
  try {
    const began = performance.now();
    for (;;) {
      await wait(LOOK_MS);
      const row = await findErrand(app.db, id);
      const waited = performance.now() - began;
      if (!row || waited > (row.is_taken ? left_ms : Math.min(left_ms, TAKEN_MS))) {
        throw new Failure('unresolved', 'no server holds a connection to the worker');
      }
      if (row.answer === '') continue;
      const answer = answers.parse(JSON.parse(row.answer));
      if ('why' in answer) throw new Failure('unresolved', answer.why);
      return answer;
    }
  } finally {
    await app.store.commit([deleteErrands(id, app.now() - TICKET_MS)]).catch(() => {});
  }
}

const errands = z.object({
  endpoint: z.string(),
  session_id: z.string().optional(),
  connection_id: z.string().optional(),
  address: z.string(),
  worker_id: z.string(),
  ticket: z.string(),
  reach: z
    .object({
      allow_loopback: z.boolean(),
      allowed_networks: z.array(z.string()),
      denied_networks: z.array(z.string()),
    })
    .optional(),
});
const answers = z.union([
  z.object({ endpoint_tcp_address: z.string(), endpoint_tcp_port: z.int() }),
  z.object({ why: z.string() }),
]);

const encode = (errand: Errand): Uint8Array => Buffer.from(JSON.stringify(errand));

/** Sends workers whose connection this server holds where other servers want them. Never throws. */
export async function runErrands(app: App): Promise<void> {
  if (app.store.engine === 'sqlite' || app.barrier.sealed) return;
  const ids = [...sendersOf(app).keys()];
  if (ids.length === 0) return;
  try {
    for (const row of await listErrands(app.db, ids, app.now())) {
      void runOne(app, row).catch((err: unknown) => {
        app.log.warn({ err }, 'a worker could not be sent where another server wants it');
      });
    }
  } catch (err) {
    app.log.warn({ err }, 'what other servers ask of workers could not be read');
  }
}

async function runOne(
  app: App,
  { id, worker_id, errand_sealed }: { id: string; worker_id: string; errand_sealed: Uint8Array },
): Promise<void> {
  const near = sendersOf(app).get(worker_id);
  if (!near) return;
  try {
    await app.store.commit([takeErrand(id)]);
  } catch (error) {
    // Another server was first, or nobody waits for it any more.
    if (error instanceof Failure && error.kind === 'conflict') return;
    throw error;
  }
  const opened = app.barrier.decrypt('credential', placeOf(id), errand_sealed);
  const errand = errands.parse(JSON.parse(Buffer.from(opened).toString('utf8')));
  const answer = await near.bring(errand).catch((error: unknown) => {
    if (error instanceof Failure) return { why: error.message };
    throw error;
  });
  await app.store.commit([answerErrand(id, JSON.stringify(answer))]);
}
