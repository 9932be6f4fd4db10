import { writeSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { type Logger, pino } from 'pino';
import { namesOfPaths } from '../access/capabilities/operations.ts';
import type { App } from '../app/app.ts';
import type { Job } from '../app/job.ts';
import { startFeeding } from '../audit/devices/jobs.ts';
import { makeInitialBroker } from '../broker/seed/bootstrap.operations.ts';
import { makeSeed } from '../broker/seed/operations.ts';
import { startReporting } from '../broker/workers/jobs.ts';
import type { Config } from '../config/config.ts';
import { threadsOf } from '../config/threads.ts';
import type { Failure } from '../core/failure.ts';
import { compileDialects, type Routers } from '../http/dialects.ts';
import { CAN_SHARE } from '../http/doors.ts';
import { fitConnections, readOpenFileLimit, tellConnections } from '../http/open-files.ts';
import { createServer, type HttpServer } from '../http/server.ts';
import { compileRelyingParties } from '../http/vault/relying-parties.ts';
import { findNames } from '../http/vault/target.ts';
import { startRenewing } from '../seal/jobs.ts';
import { openSeal } from '../seal/operations.ts';
import { openStore, type Store } from '../store/store.ts';
import { startCarrying } from '../worker/jobs.ts';
import { AnsweringThreads } from './answering/answering.pool.ts';
import { defaultThreads } from './answering/default-threads.ts';
import { countThreads } from './answering/share.ts';
import { buildApp } from './build-app.ts';
import { startJobs } from './jobs.ts';
import { LogLines } from './log-lines.ts';
import { compileRouters, relyingPartyRouters } from './routes.ts';

/** A server that is up. */
export interface Running {
  app: App;
  /** Where one thread does everything; of several, each has its own. */
  readonly http: HttpServer;
  /** Where several threads answer. */
  readonly threads: AnsweringThreads | undefined;
  /** Reads the files of the TLS certificate anew. */
  reloadTls(): void;
  /** Where it listens, with the port that was given when the configured one is 0. */
  address: { host: string; port: number };
  /** Where relying parties read, without TLS; undefined: nowhere. */
  public_address: { host: string; port: number } | undefined;
  /** What the person who started it should hear, if anything. */
  notice: string | undefined;
  /** Why fewer threads answer than are asked for. */
  fewer_threads: string | undefined;
  /** Calls back when nothing can be answered any more; the process should end. */
  onDeath(listener: (death: Failure) => void): void;
  /** Finishes what is under way, writes what is waiting, and lets go of everything. */
  stop(): Promise<void>;
  /** Opens the files of audit sinks anew, after log rotation. */
  reopenSinks(): void;
}

/** What a test may put in the place of the real thing. */
export interface Overrides {
  now?: () => number;
  log?: Logger;
  /** Stands between the server and its store. */
  store?: (real: Store) => Store;
  /** Instead of all the work that is done on timers. */
  jobs?: readonly Job[];
}

/**
 * Builds the one `App` and everything around it, and listens.
 *
 * @param beforeListening is called when all is there but listeners: of several threads the first answers before the last listens
 * @throws Failure with one line for the operator when something it needs cannot be had
 */
export async function startServer(
  settings: Config,
  given: Overrides = {},
  beforeListening: () => void = () => {},
): Promise<Running> {
  // What a request makes is to go with it (docs/adr/0008-hot-path.md).
  setFlagsFromString('--no-allocation-site-pretenuring');
  // Standard error, so that an audit sink may have standard output to itself.
  const log =
    given.log ?? pino({ level: settings.log_level }, new LogLines((bytes) => writeSync(2, bytes)));
  const { threads, because } = countThreads(settings.threads ?? defaultThreads(), {
    connections: CAN_SHARE,
    open_files: readOpenFileLimit(),
  });
  const config = fitListeners({ ...settings, threads });
  const opened = await openStore(
    config.storage.type === 'sqlite'
      ? { engine: 'sqlite', directory: config.storage.directory, log }
      : { engine: 'postgres', url: config.storage.url, node_name: config.storage.node_name, log },
  );
  const closers: (() => Promise<void> | void)[] = [() => opened.close()];
  const stop = async (): Promise<void> => {
    for (let close = closers.pop(); close; close = closers.pop()) await close();
  };
  try {
    const real = given.store?.(opened) ?? opened;
    const sinks = await startFeeding(config, real, log);
    closers.push(() => sinks.close());
    // What other threads write is recorded as well.
    real.onOthers(() => sinks.wake());
    const commit: Store['commit'] = async (effects) => {
      await real.commit(effects);
      sinks.wake();
    };
    const app = buildApp(config, { ...real, commit }, log, given.now ?? Date.now, closers);
    let notice: string | undefined;
    app.barrier.onUnseal(async () => {
      await makeInitialBroker(app);
      if (config.seed) notice = await makeSeed(app, config.seed);
    });
    const carry = await startCarrying(app);
    startReporting(app);
    app.barrier.onUnseal(carry);
    await openSeal(app);
    startRenewing(app);
    startJobs(app, given.jobs);
    const routers = compileRouters();
    namesOfPaths(app).find = (path) => findNames(app, routers, path);
    beforeListening();
    const answering =
      threads > 1
        ? await answerOnThreads(app, routers, closers)
        : await answerHere(app, routers, closers);
    tellConnections(log, settings.connections, config.connections);
    const told = { notice, fewer_threads: because };
    return Object.assign(answering, { app, ...told, stop, reopenSinks: sinks.reopen });
  } catch (error) {
    await stop();
    throw error;
  }
}

type Listening = Pick<
  Running,
  'http' | 'threads' | 'reloadTls' | 'address' | 'public_address' | 'onDeath'
>;

/** One thread does everything. */
async function answerHere(
  app: App,
  routers: Routers,
  closers: (() => Promise<void> | void)[],
): Promise<Listening> {
  const http = createServer(app, app.config, (closing) => compileDialects(app, routers, closing));
  closers.push(() => http.close());
  const address = await http.listen(app.config.listen);
  const public_address = await listenToRelyingParties(app, closers);
  const reloadTls = (): void => http.reloadTls();
  return { http, threads: undefined, reloadTls, address, public_address, onDeath: () => {} };
}

/** Several threads answer; this one does what is in one place for all of them. */
async function answerOnThreads(
  app: App,
  routers: Routers,
  closers: (() => Promise<void> | void)[],
): Promise<Listening> {
  const closing = { isClosing: false };
  const threads = new AnsweringThreads(app, {
    api: compileDialects(app, routers, closing),
    'relying parties': compileRelyingParties(app, relyingPartyRouters()),
  });
  closers.push(() => {
    closing.isClosing = true;
    return threads.stop();
  });
  const { address, public_address } = await threads.start(threadsOf(app.config));
  return {
    get http(): HttpServer {
      throw new TypeError('each thread that answers has its own');
    },
    threads,
    reloadTls: () => threads.reloadTls(),
    address,
    public_address,
    onDeath: (listener) => threads.onDeath(listener),
  };
}

function fitListeners(settings: Config): Config {
  const { connections, public_listener, threads } = settings;
  const open_files = readOpenFileLimit();
  const others = public_listener?.connections;
  const fitted = fitConnections(connections, open_files, {
    others: others?.max_connections,
    threads,
  });
  if (!public_listener || !others) return { ...settings, connections: fitted };
  const shared = fitConnections(others, open_files, {
    others: connections.max_connections,
    threads,
  });
  return {
    ...settings,
    connections: fitted,
    public_listener: { ...public_listener, connections: shared },
  };
}

async function listenToRelyingParties(
  app: App,
  closers: (() => Promise<void> | void)[],
): Promise<Running['public_address']> {
  const { public_listener } = app.config;
  if (!public_listener) return undefined;
  const http = createServer(app, public_listener, () =>
    compileRelyingParties(app, relyingPartyRouters()),
  );
  closers.push(() => http.close());
  return http.listen(public_listener.listen);
}
