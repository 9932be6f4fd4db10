import { systemCaller } from '../../access/system-caller.ts';
import { type App, perApp } from '../../app/app.ts';
import { nodeName } from '../../config/config.ts';
import { Failure } from '../../core/failure.ts';
import { VERSION } from '../../core/version.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import { isOf } from '../resource/handler.ts';
import { newResourceId } from '../resource/ids.ts';
import { newResource } from '../resource/resource.ts';
import { findResourceByKey, insertResource, saveResource } from '../resource/store.ts';
import { workerDefinition } from './operations.ts';
import { reportWorker } from './report.operations.ts';
import { formatAddress, type WorkerBody, workerNameOf } from './worker.ts';
import { readWorkers } from './worker-cache.operations.ts';

// Every server carries sessions itself: its own worker is registered when it is unsealed and
// reports like any other.

interface Own {
  worker: { id: string } | undefined;
  /** Where it listens; undefined before it does. */
  listening: { host: string; port: number } | undefined;
}

const ownOf = perApp((): Own => ({ worker: undefined, listening: undefined }));

/** Notes where this server's worker listens, before it is registered. */
export function noteListening(app: App, at: { host: string; port: number }): void {
  ownOf(app).listening = at;
}

/** This server's own worker, once it is registered. */
export function ownWorker(app: App): { id: string } | undefined {
  return ownOf(app).worker;
}

/** Registers this server's worker, or tells where it listens now. */
async function registerOwnWorker(app: App): Promise<void> {
  const node = nodeName(app.config);
  const unique_key = `node:${node}`;
  const known = await findResourceByKey(app.db, 'worker', unique_key);
  const now = app.now();
  const facts = {
    address:
      app.config.proxy_address ?? formatAddress(ownOf(app).listening ?? app.config.proxy_listen),
    release_version: `Gatehouse v${VERSION}`,
    config_tags: { type: app.config.mode === 'dev' ? ['dev', 'local'] : ['embedded'] },
    node,
  };
  if (isOf(workerDefinition, known)) {
    const body: WorkerBody = { ...known.body, ...facts };
    if (JSON.stringify(body) !== JSON.stringify(known.body)) {
      const next = { ...known, body, version: known.version + 1, updated_ms: now };
      await app.commit(systemCaller(app.newId(), 'register-worker'), [
        saveResource(next, known.version),
        bumpConfigVersion(),
      ]);
    }
    ownOf(app).worker = { id: known.id };
    return;
  }
  const body: WorkerBody = { ...facts, api_tags: {} };
  const worker = newResource({
    id: newResourceId('w', app.randomBytes(32)),
    type: 'worker',
    subtype: 'worker',
    scope_id: 'global',
    name: workerNameOf(node),
    unique_key,
    created_ms: now,
    body,
  });
  const caller = systemCaller(app.newId(), 'register-worker');
  caller.record.outcome.resource_id = worker.id;
  await app.commit(caller, [insertResource(worker), bumpConfigVersion()]);
  ownOf(app).worker = { id: worker.id };
}

/** Reports that this server's worker is there, or that it goes. Never throws. */
export async function reportOwnWorker(app: App, state: 'active' | 'shutdown'): Promise<void> {
  try {
    const own = ownOf(app);
    // Also after another node has removed it, silent as this one was.
    const known = await readWorkers(app);
    if (!known.some((worker) => worker.id === own.worker?.id)) await registerOwnWorker(app);
    if (!own.worker) return;
    await reportWorker(app, own.worker.id, state);
  } catch (err) {
    if (err instanceof Failure) app.log.info({ why: err.message }, 'a worker could not report');
    else app.log.error({ err }, 'a worker could not report');
  }
}
