import { systemCaller } from '../../access/system-caller.ts';
import type { App } from '../../app/app.ts';
import { listToCut } from '../../broker/sessions/connections/carried-session.operations.ts';
import { closeUnknown, noteTraffic } from '../../broker/sessions/connections/operations.ts';
import { noteListening, ownWorker } from '../../broker/workers/embedded.operations.ts';
import { Failure } from '../../core/failure.ts';
import { upstreamOf } from '../serving.operations.ts';
import { answerCall, type Call, type Traffic } from '../upstream.ts';
import { type Answering, CarryingThread } from './carrying.pool.ts';

/** How long a server that cannot read its store, or is sealed, lets what it carries go on. */
export const GRACE_MS = 15_000;

/** This server's carrying: what it does of it at intervals. */
export interface Carrying {
  /** Cuts what is over. Never throws. */
  cut(): Promise<void>;
  /** Notes bytes, and closes what is not carried any more. Never throws. */
  report(): Promise<void>;
  /** As {@link report}, once: nothing can be under way before the first connection. */
  begin(): Promise<void>;
  close(): Promise<void>;
}

/** Begins to carry sessions: the listener is there when this returns. @throws Error when it cannot be had */
export async function beginCarrying(app: App): Promise<Carrying> {
  const thread = new CarryingThread(app.config.proxy_listen, {
    answer: (call) => answerOwn(app, call),
    onDeath: (why) => {
      app.log.error({ why }, 'what was carried is lost, another thread takes its place');
      void report(app, [], 0);
    },
  });
  await thread.listen();
  noteListening(app, thread.address);
  let heard = performance.now();
  const told = new Map<string, number>();
  return {
    async cut() {
      try {
        if (!app.barrier.sealed) {
          thread.cut(await listToCut(app));
          heard = performance.now();
          return;
        }
      } catch (err) {
        app.log.warn({ err }, 'which sessions are over could not be read');
      }
      if (performance.now() - heard > GRACE_MS) thread.cutAll();
    },
    report: async () => report(app, changed(told, await thread.traffic())),
    begin: async () => report(app, await thread.traffic(), 0),
    close: () => thread.close(),
  };
}

/** Of what is carried, with whether there is anything new to be noted of it. */
type Carried = Traffic & { isNews?: boolean };

function changed(told: Map<string, number>, open: readonly Traffic[]): Carried[] {
  const before = new Map(told);
  told.clear();
  return open.map((one) => {
    const sum = one.bytes_up + one.bytes_down;
    told.set(one.connection_id, sum);
    return { ...one, isNews: before.get(one.connection_id) !== sum };
  });
}

const PAGE = 500;

async function report(app: App, open: readonly Carried[], unknown_ms?: number): Promise<void> {
  const own = ownWorker(app);
  if (!own || app.barrier.sealed) return;
  try {
    const news = open.filter(({ isNews = true }) => isNews);
    for (let at = 0; at < news.length; at += PAGE) {
      const page = news.slice(at, at + PAGE).map(({ isNews, ...traffic }) => traffic);
      await noteTraffic(app, own.id, page);
    }
    const ids = new Set(open.map(({ connection_id }) => connection_id));
    const caller = systemCaller(app.newId(), 'carry-session');
    await closeUnknown(app, caller, { worker_id: own.id, open: ids }, unknown_ms);
  } catch (err) {
    app.log.warn({ err }, 'what is carried could not be noted');
  }
}

async function answerOwn(app: App, { name, request }: Call): ReturnType<Answering> {
  const own = ownWorker(app);
  if (!own) throw new Failure('unavailable', 'the server is sealed, or has only just started');
  return answerCall(upstreamOf(app, own.id), name, request);
}
