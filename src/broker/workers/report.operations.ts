import { systemCaller } from '../../access/system-caller.ts';
import type { App } from '../../app/app.ts';
import { parseAddress } from '../../config/kinds.ts';
import { Failure, invalid, isConflict } from '../../core/failure.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import { isOf } from '../resource/handler.ts';
import { findResource, saveResource } from '../resource/store.ts';
import { workerDefinition } from './operations.ts';
import { saveStatus } from './store.ts';
import { faultOfAll, type Tags } from './tags.ts';
import type { WorkerBody } from './worker.ts';

/** What a worker that stands alone says of itself when it comes. */
interface Introduction {
  /** Of its configuration; empty: it has the name that it was created with. */
  name: string;
  description: string;
  address: string;
  release_version: string;
  tags: Tags;
}

/** Printable, lower case, as the API takes it. */
const NAME = /^[\x21-\x40\x5b-\x7e]{1,128}$/;

/**
 * Notes what a worker says of itself.
 *
 * @throws Failure `invalid` naming what its configuration has to be mended in, `forbidden` for one
 *   that is not there any more
 */
export async function noteWorker(app: App, id: string, told: Introduction): Promise<void> {
  const known = await findResource(app.db, id);
  if (!isOf(workerDefinition, known)) throw new Failure('forbidden', 'there is no such worker');
  const { name, description } = judgeNames(known, told);
  const fault = faultOfAll(told.tags);
  if (fault !== undefined) throw invalid(`tags: ${fault}`);
  if (told.address !== '') parseAddress('listener.public_address:', told.address);
  const { address, release_version, tags: config_tags } = told;
  const body: WorkerBody = { ...known.body, address, release_version, config_tags };
  const next = { ...known, name, description, body };
  if (JSON.stringify(next) === JSON.stringify(known)) return;
  const caller = systemCaller(app.newId(), 'register-worker');
  caller.record.outcome.resource_id = id;
  const saved = { ...next, version: known.version + 1, updated_ms: app.now() };
  try {
    await app.commit(caller, [saveResource(saved, known.version), bumpConfigVersion()]);
  } catch (error) {
    if (!isConflict(error)) throw error;
    throw invalid(`name: another worker is called "${told.name}", or this one is being changed`);
  }
}

function judgeNames(
  known: { name: string | null; description: string | null },
  told: Introduction,
): { name: string | null; description: string | null } {
  if (told.name !== '' && !NAME.test(told.name)) {
    throw invalid('name: must be lower-case and printable, 128 characters at most');
  }
  if (known.name !== null && told.name !== '' && known.name !== told.name) {
    throw invalid(
      `name: the worker was created as "${known.name}"; leave it out, or rename it there`,
    );
  }
  return {
    name: known.name ?? (told.name || null),
    description: known.description ?? (told.description || null),
  };
}

/** Notes that a worker is there, or that it goes. */
export async function reportWorker(
  app: App,
  worker_id: string,
  operational_state: 'active' | 'shutdown',
): Promise<void> {
  await app.store.commit([
    saveStatus({
      worker_id,
      last_status_ms: app.now(),
      operational_state,
      active_connection_count: 0,
    }),
  ]);
}
