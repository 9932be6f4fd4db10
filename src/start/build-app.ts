import { randomFillSync, randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { commitFor } from '../access/standing/attempts.operations.ts';
import { commitOnceFor } from '../access/standing/operations.ts';
import type { App } from '../app/app.ts';
import type { Caller } from '../app/caller.ts';
import { createTrail, hashSecret } from '../audit/operations.ts';
import { Barrier } from '../barrier/barrier.ts';
import type { Config } from '../config/config.ts';
import { pooledRandom } from '../core/random-pool.ts';
import { cacheConfig } from '../store/config-cache.ts';
import type { Store } from '../store/store.ts';
import { endDependants, leaseKinds, planDependants } from './routes.ts';

/**
 * What operations reach, on one thread.
 *
 * @param closers is given what has to be done when the server stops
 */
export function buildApp(
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
      await commitFor({ store, now, newId }, caller, () => [...effects, audit.entryOf(caller)]);
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
