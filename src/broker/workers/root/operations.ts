import { z } from 'zod';
import { systemCaller } from '../../../access/system-caller.ts';
import type { App } from '../../../app/app.ts';
import { Failure, isConflict } from '../../../core/failure.ts';
import type { WorkerRootRow } from '../../../store/tables.ts';
import type { Effect } from '../../../store/write.ts';
import type { BrokerCaller } from '../../resource/caller.ts';
import { formatTime } from '../../resource/resource.ts';
import { LEAF_RANDOMNESS, makeLeaf } from './leaf.ts';
import { makeRoot, OVERLAP_MS, ROOT_RANDOMNESS, type Root } from './root.ts';
import { deleteAllKeys, deleteRoots, insertRoot, listRoots } from './store.ts';

// Workers that stand alone will be enrolled under these roots; servers' own workers need none.

/** What shows of the authority of workers. */
export const workerRoots = z.object({
  certs: z.array(
    z.object({
      id: z.string().describe('`current` or `next`.'),
      public_key_sha256: z.string().describe("Of the subject's key, in lower-case hex."),
      not_before_time: z.string(),
      not_after_time: z.string(),
    }),
  ),
});

export type WorkerRoots = z.output<typeof workerRoots>;

/** The authority of workers: its root in use and the next one. Made when first asked for. */
export async function readWorkerAuthority(app: App): Promise<WorkerRoots> {
  const present = await listRoots(app.db);
  const [current, next] = present;
  if (current && next && current.not_after_ms > app.now()) return describeRoots(present);
  try {
    const caller = systemCaller(app.newId(), 'renew-worker-authority');
    // The next root takes over, and another one follows it.
    const upcoming =
      next && next.not_after_ms > app.now()
        ? [sealed(app, 'current', rootOf(app, next)), fresh(app, 'next', app.now() + OVERLAP_MS)]
        : newRoots(app);
    await app.commit(caller, [...deleteRoots(present), ...upcoming]);
  } catch (error) {
    // Another node was first.
    if (!isConflict(error)) throw error;
  }
  return describeRoots(await listRoots(app.db));
}

/** Which root is in use: the hash of its key. */
export async function currentRoot(app: App): Promise<string> {
  return (await readWorkerAuthority(app)).certs[0]?.public_key_sha256 ?? '';
}

/** A certificate under the root in use, and the roots that those who trust it should know. */
export async function makeWorkerLeaf(
  app: App,
  name: string,
  subjectPublicKeyInfo: Uint8Array,
): Promise<{ certificate: Uint8Array; not_after_ms: number; roots: readonly Uint8Array[] }> {
  await readWorkerAuthority(app);
  const rows = await listRoots(app.db);
  const [current] = rows;
  if (!current) throw new Failure('unavailable', 'the roots of workers are being replaced');
  const root = rootOf(app, current);
  const random = app.randomBytes(LEAF_RANDOMNESS);
  const leaf = makeLeaf(root, { name, subjectPublicKeyInfo, random, from_ms: app.now() });
  root.seed.fill(0);
  return { ...leaf, roots: rows.map(({ certificate }) => certificate) };
}

/** Throws both roots away and makes new ones: what was enrolled under them must come anew. */
export async function reinitializeWorkerAuthority(
  app: App,
  caller: BrokerCaller,
): Promise<WorkerRoots> {
  await app.commit(caller, [
    ...deleteRoots(await listRoots(app.db)),
    ...newRoots(app),
    deleteAllKeys(),
  ]);
  return describeRoots(await listRoots(app.db));
}

function newRoots(app: App): Effect[] {
  return [fresh(app, 'current', app.now()), fresh(app, 'next', app.now() + OVERLAP_MS)];
}

function fresh(app: App, use: WorkerRootRow['use'], from_ms: number): Effect {
  return sealed(app, use, makeRoot(app.randomBytes(ROOT_RANDOMNESS), from_ms));
}

const placeOf = (use: string) => ({ table: 'worker_root', column: 'key_sealed', row: use });

function sealed(app: App, use: WorkerRootRow['use'], root: Root): Effect {
  const { seed, ...open } = root;
  const key_sealed = app.barrier.encrypt('pki-key', placeOf(use), seed);
  seed.fill(0);
  return insertRoot({ use, ...open, key_sealed });
}

function rootOf(app: App, row: WorkerRootRow): Root {
  const { use, key_sealed, ...open } = row;
  return { ...open, seed: app.barrier.decrypt('pki-key', placeOf(use), key_sealed) };
}

function describeRoots(roots: readonly WorkerRootRow[]): WorkerRoots {
  return {
    certs: roots.map((root) => ({
      id: root.use,
      public_key_sha256: root.public_key_sha256,
      not_before_time: formatTime(root.not_before_ms),
      not_after_time: formatTime(root.not_after_ms),
    })),
  };
}
