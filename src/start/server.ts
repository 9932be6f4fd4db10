import { randomFillSync, randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { type Logger, pino } from 'pino';
import { namesOfPaths } from '../access/capabilities/operations.ts';
import { commitFor } from '../access/standing/attempts.operations.ts';
import { commitOnceFor } from '../access/standing/operations.ts';
import type { App } from '../app/app.ts';
import type { Caller } from '../app/caller.ts';
import type { Job } from '../app/job.ts';
import { startFeeding } from '../audit/devices/jobs.ts';
import { createTrail, hashSecret } from '../audit/operations.ts';
import { Barrier } from '../barrier/barrier.ts';
import { makeInitialBroker } from '../broker/seed/bootstrap.operations.ts';
import { makeSeed } from '../broker/seed/operations.ts';
import { startReporting } from '../broker/workers/jobs.ts';
import type { Config } from '../config/config.ts';
import { pooledRandom } from '../core/random-pool.ts';
import { compileDialects } from '../http/dialects.ts';
import { fitConnections, readOpenFileLimit, tellConnections } from '../http/open-files.ts';
import { createServer, type HttpServer } from '../http/server.ts';
import { compileRelyingParties } from '../http/vault/relying-parties.ts';
import { findNames } from '../http/vault/target.ts';
import { startRenewing } from '../seal/jobs.ts';
import { openSeal } from '../seal/operations.ts';
import { cacheConfig } from '../store/config-cache.ts';
import { openStore, type Store } from '../store/store.ts';
import { startCarrying } from '../worker/jobs.ts';
import { startJobs } from './jobs.ts';
import { LogLines } from './log-lines.ts';
import {
  authRouters,
  boundaryRouter,
  endDependants,
  leaseKinds,
  planDependants,
  relyingPartyRouters,
  secretRouters,
  systemRouter,
} from './routes.ts';

/** A server that is up. */
export interface Running {
  app: App;
  http: HttpServer;
  /** Where it listens, with the port that was given when the configured one is 0. */
  address: { host: string; port: number };
  /** Where relying parties read, without TLS; undefined: nowhere. */
  public_address: { host: string; port: number } | undefined;
  /** What the person who started it should hear, if anything. */
  notice: string | undefined;
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
 * @throws Failure with one line for the operator when something it needs cannot be had
 */
export async function startServer(settings: Config, given: Overrides = {}): Promise<Running> {
  // What a request makes is to go with it (docs/adr/0008-hot-path.md).
  setFlagsFromString('--no-allocation-site-pretenuring');
  // Standard error, so that an audit sink may have standard output to itself.
  const log =
    given.log ?? pino({ level: settings.log_level }, new LogLines((bytes) => writeSync(2, bytes)));
  const config = fitListeners(settings);
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
    await startCarrying(app);
    startReporting(app);
    await openSeal(app);
    startRenewing(app);
    startJobs(app, given.jobs);
    const routers = {
      system: systemRouter(),
      secret: secretRouters(),
      auth: authRouters(),
      boundary: boundaryRouter(),
    };
    namesOfPaths(app).find = (path) => findNames(app, routers, path);
    const http = createServer(app, config, (closing) => compileDialects(app, routers, closing));
    closers.push(() => http.close());
    const address = await http.listen(config.listen);
    const public_address = await listenToRelyingParties(app, closers);
    tellConnections(log, settings.connections, config.connections);
    return { app, http, address, public_address, notice, stop, reopenSinks: sinks.reopen };
  } catch (error) {
    await stop();
    throw error;
  }
}

function fitListeners(settings: Config): Config {
  const { connections, public_listener } = settings;
  const open_files = readOpenFileLimit();
  const others = public_listener?.connections;
  const fitted = fitConnections(connections, open_files, others?.max_connections);
  if (!public_listener || !others) return { ...settings, connections: fitted };
  const shared = fitConnections(others, open_files, connections.max_connections);
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

function buildApp(
  config: Config,
  store: Store,
  log: Logger,
  now: () => number,
  closers: (() => Promise<void> | void)[],
): App {
  const random = pooledRandom((bytes) => randomFillSync(bytes));
  const barrier = new Barrier(random);
  const audit = createTrail({
    store,
    now,
    hash: (secret) => hashSecret({ barrier }, secret),
    wait_for_reads: config.audit.wait_for_reads,
    onError: (err) => log.error({ err }, 'audit records wait to be written'),
  });
  closers.push(() => audit.close());
  const newId = (): string => randomUUID();
  return {
    config,
    store,
    db: store.db,
    barrier,
    audit,
    log,
    leaseKinds,
    planDependants,
    endDependants,
    now,
    randomBytes: random,
    newId,
    async commit(caller: Caller, effects) {
      await commitFor({ store, now, newId }, caller, [...effects, audit.entryOf(caller)]);
      caller.recorded = true;
    },
    async commitOnce(caller, effects) {
      await commitOnceFor(store, caller, [...effects, audit.entryOf(caller)]);
      caller.recorded = true;
    },
    ...cacheConfig(store, barrier),
    onClose: (close) => closers.push(close),
  };
}
