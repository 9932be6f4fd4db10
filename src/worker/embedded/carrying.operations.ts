import { generateKeyPairSync } from 'node:crypto';
import { systemCaller } from '../../access/system-caller.ts';
import type { App } from '../../app/app.ts';
import { listToCut } from '../../broker/sessions/connections/carried-session.operations.ts';
import { listLostHops, listOverHops } from '../../broker/sessions/connections/hops.operations.ts';
import {
  closeUnknown,
  noteTraffic,
  UNKNOWN_MS,
} from '../../broker/sessions/connections/operations.ts';
import { noteListening, ownWorker } from '../../broker/workers/embedded.operations.ts';
import { LEAF_MS } from '../../broker/workers/root/leaf.ts';
import { makeWorkerLeaf } from '../../broker/workers/root/operations.ts';
import { Failure } from '../../core/failure.ts';
import { ChangedTraffic } from '../changed-traffic.ts';
import { GRACE_MS } from '../grace.ts';
import { addSender } from '../hops/senders.ts';
import { upstreamOf } from '../serving.operations.ts';
import { type AddressedCut, answerCall, type Call, type Carried, cutsOf } from '../upstream.ts';
import { type Answering, CarryingThread } from './carrying.pool.ts';

/** How often it is looked whether the store has been silent for too long. */
const WATCH_MS = 1_000;

/** This server's carrying: what it does of it at intervals. */
export interface Carrying {
  /** Cuts what is over. Never throws. */
  cut(): Promise<void>;
  /** Notes bytes, and closes what is not carried any more. Never throws. */
  report(): Promise<void>;
  /** As {@link report}, at once: what this worker is said to carry from before it listened is over. */
  begin(): Promise<void>;
  /** Proves itself to other workers under the root in use, and may be sent to them. */
  renew(root: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Begins to carry sessions: the listener is there when this returns.
 *
 * @param cutElsewhere tells workers that stand alone what is over
 * @throws Error when it cannot be had */
export async function beginCarrying(
  app: App,
  cutElsewhere: (
    cuts: readonly AddressedCut[],
    lost: ReadonlyMap<string, string[]>,
  ) => void = () => {},
): Promise<Carrying> {
  const begun_ms = app.now() - 1;
  const thread = new CarryingThread(app.config.proxy_listen, {
    answer: (call) => answerOwn(app, call),
    onDeath: (why) => {
      app.log.error({ why }, 'what was carried is lost, another thread takes its place');
      return report(app, { carried: { open: [], brought: [] } }, app.now());
    },
  });
  await thread.listen();
  noteListening(app, thread.address);
  let heard = performance.now();
  const changed = new ChangedTraffic();
  const renewal = proving(app, thread);
  // Apart from the question: a store that hangs answers nothing at all.
  const watch = setInterval(() => {
    if (performance.now() - heard > GRACE_MS) thread.cutAll();
  }, WATCH_MS);
  watch.unref();
  return {
    async cut() {
      if (app.barrier.sealed) return;
      try {
        const [cuts, lost] = await Promise.all([listToCut(app), listLostHops(app)]);
        const own = ownWorker(app)?.id;
        thread.cut(cutsOf(cuts, own), lost.get(own ?? ''));
        cutElsewhere(cuts, lost);
        heard = performance.now();
      } catch (err) {
        app.log.warn({ err }, 'which sessions are over could not be read');
      }
    },
    async report() {
      // Of before it was asked: noting may take its time.
      const before_ms = app.now() - UNKNOWN_MS;
      const carried = await thread.carried();
      thread.cut([], await report(app, { carried, changed }, before_ms));
    },
    async begin() {
      await report(app, { carried: await thread.carried() }, begun_ms);
    },
    renew: (root) => renewal(root),
    close() {
      clearInterval(watch);
      return thread.close();
    },
  };
}

/** @returns what has the thread prove itself, anew when half of its certificate is over */
function proving(app: App, thread: CarryingThread): (root: string) => Promise<void> {
  let made: { root: string; worker_id: string; at_ms: number } | undefined;
  let takeAway = (): void => {};
  return async (root) => {
    const worker_id = ownWorker(app)?.id;
    if (worker_id === undefined) return;
    const isSame = made?.root === root && made.worker_id === worker_id;
    if (made && isSame && app.now() < made.at_ms + LEAF_MS / 2) return;
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const info = publicKey.export({ type: 'spki', format: 'der' });
    const { certificate, roots } = await makeWorkerLeaf(app, worker_id, info);
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    thread.prove({ key, certificate, roots });
    takeAway();
    takeAway = addSender(app, worker_id, thread);
    made = { root, worker_id, at_ms: app.now() };
  };
}

/**
 * @param carried what the thread carries; undefined when it does not say so: nothing is noted or closed then
 * @returns ids of connections that are over and have to be ended
 */
async function report(
  app: App,
  { carried, changed }: { carried: Carried | undefined; changed?: ChangedTraffic },
  before_ms: number,
): Promise<string[]> {
  const own = ownWorker(app);
  if (!own || !carried || app.barrier.sealed) return [];
  const { open, brought } = carried;
  try {
    await noteTraffic(app, own.id, changed?.of(open) ?? []);
    changed?.note(open);
    const ids = new Set(open.map(({ connection_id }) => connection_id));
    const caller = systemCaller(app.newId(), 'carry-session');
    return [
      ...(await closeUnknown(app, caller, { worker_id: own.id, open: ids }, before_ms)),
      ...(await listOverHops(app, own.id, brought)),
    ];
  } catch (err) {
    app.log.warn({ err }, 'what is carried could not be noted');
    return [];
  }
}

async function answerOwn(app: App, { name, request }: Call): ReturnType<Answering> {
  const own = ownWorker(app);
  if (!own) throw new Failure('unavailable', 'the server is sealed, or has only just started');
  return answerCall(upstreamOf(app, own.id), name, request);
}
