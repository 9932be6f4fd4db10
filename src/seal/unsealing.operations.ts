import { type App, perApp } from '../app/app.ts';
import type { Caller } from '../app/caller.ts';
import { type Keyring, openKeyring, wipeKeyring } from '../barrier/keyring.ts';
import { type Failure, invalid, isConflict } from '../core/failure.ts';
import { isMigrating, judgeMigration, planMigration } from './migration.operations.ts';
import { openRootKey, type Seal } from './seal.ts';
import { tellSealToken } from './seal-token.operations.ts';
import {
  addShare,
  collectedKey,
  isComplete,
  type ShareCollection,
  startCollection,
  wipeCollection,
} from './share-collection.ts';
import { deriveHashes } from './share-hash.ts';
import { isShareOf, requireShare } from './share-verification.ts';
import type { SealFacts } from './status.ts';
import {
  findNextSeal,
  findSeal,
  holdSeal,
  listKeyring,
  replaceMigrated,
  replaceSeal,
  saveShareHashes,
} from './store.ts';

/** Shares for this node, which people bring one by one. */
const memoryOf = perApp<{ unsealing: ShareCollection | undefined }>((app) => {
  const memory: { unsealing: ShareCollection | undefined } = { unsealing: undefined };
  // Also those that came while the others opened it: nobody gave them for the next time.
  app.barrier.onUnseal(() => {
    wipeCollection(memory.unsealing);
    memory.unsealing = undefined;
  });
  return memory;
});

/** How it stands with this node's seal. */
export async function readSealFacts(app: App): Promise<SealFacts> {
  const seal = await findSeal(app.db);
  const { cluster_name } = app.config;
  const token_warning = tellSealToken(app);
  return {
    seal: seal && cluster_name !== '' ? { ...seal, cluster_name } : seal,
    migrating: seal !== undefined && isMigrating(app, seal),
    configured: app.config.seal.type,
    sealed: app.barrier.sealed,
    collection: app.barrier.sealed ? memoryOf(app).unsealing : undefined,
    storage: app.store.engine,
    ...(token_warning !== undefined && { warning: token_warning }),
  };
}

/** @throws Failure `invalid` before `sys/init` */
export async function requireSeal(app: App): Promise<Seal> {
  const seal = await findSeal(app.db);
  if (seal === undefined) throw invalid('Vault is not initialized');
  return seal;
}

/**
 * Makes the record of a change durable before the change, which is in memory alone, is made: none of
 * these is without its record.
 *
 * @param judge finds what is to be changed, and throws what refuses it; asked again afterwards, since
 *   others may have come in between. From then on the change must not wait for anything
 */
export async function recordFirst<T>(app: App, caller: Caller, judge: () => T): Promise<T> {
  judge();
  await app.commit(caller, []);
  // What follows in the same request, a refusal or a second change, has a record of its own.
  caller.recorded = false;
  const found = judge();
  caller.recorded = true;
  return found;
}

/**
 * Puts the seal of new shares in force that was stored, and whose answer went out, before anybody knew whether it
 * was: whoever shows one of its shares proves that they were handed out. See `putInForce`.
 */
export async function putShownInForce(
  app: App,
  caller: Caller,
  key: string | undefined,
): Promise<void> {
  const seal = await findSeal(app.db);
  const next = seal && (await findNextSeal(app.db, seal));
  if (!next || !key || !isShareOf(key, next)) return;
  try {
    await app.commit(caller, replaceSeal(next));
  } catch (error) {
    // Another request, or another node, has done it.
    if (!isConflict(error)) throw error;
  }
  caller.recorded = false;
}

interface UnsealInput {
  key?: string | undefined;
  reset: boolean;
  migrate: boolean;
}

/**
 * Takes one share; with enough of them the server is unsealed.
 *
 * @throws Failure `invalid` for what is no share of this key
 */
export async function unseal(app: App, caller: Caller, input: UnsealInput): Promise<SealFacts> {
  const since = app.barrier.sealings;
  await putShownInForce(app, caller, input.key);
  const seal = await requireSeal(app);
  if (input.reset) return resetUnsealing(app, caller, seal, input.key);
  const migrates = judgeMigration(app, seal, input);
  if (migrates && seal.threshold === 0) return migrateSeal(app, caller, { seal, since });
  if (!input.key) {
    throw invalid("'key' must be specified in request body as JSON, or 'reset' set to true");
  }
  if (!app.barrier.sealed) return readSealFacts(app);
  if (seal.kind !== 'shamir' && !migrates) {
    throw invalid('this seal opens by itself when the server starts: restart it');
  }
  const share = requireShare(input.key, seal);
  const keyring = await listKeyring(app.db);
  await recordFirst(app, caller, () => requireNoSealing(app, since));
  if (!app.barrier.sealed) return readSealFacts(app);

  // From here to the key nothing waits, so no two requests complete one collection.
  const collection = addShare(unsealingOf(app, seal), share, app.now());
  memoryOf(app).unsealing = collection;
  if (!isComplete(collection)) return readSealFacts(app);
  caller.recorded = false;
  if (migrates) {
    const key = collectedKey(collection);
    wipeCollection(collection);
    memoryOf(app).unsealing = undefined;
    if (key === undefined) throw invalid('Unseal failed, invalid key');
    return migrateSeal(app, caller, { seal, since, key });
  }
  const root_key = takeRootKey(collection, seal);
  const hashes = seal.share_hashes === null && root_key && deriveHashes(collection.shares, seal);
  wipeCollection(collection);
  memoryOf(app).unsealing = undefined;
  if (root_key === undefined) throw invalid('Unseal failed, invalid key');

  const opened = openKeyring(root_key, keyring);
  try {
    await app.commit(caller, [holdSeal(seal), ...(hashes ? [saveShareHashes(seal, hashes)] : [])]);
  } catch (error) {
    wipeKeyring(opened);
    throw error;
  }
  caller.recorded = false;
  if (!(await openBarrier(app, opened, since))) throw sealedMeanwhile();
  caller.recorded = true;
  return readSealFacts(app);
}

/** Moves the seal to the one of the configuration, and unseals. Nothing is changed unless all of it can be. */
async function migrateSeal(
  app: App,
  caller: Caller,
  { seal, since, key }: { seal: Seal; since: number; key?: Uint8Array },
): Promise<SealFacts> {
  const plan = await planMigration(app, seal, key).finally(() => key?.fill(0));
  if (plan === undefined) throw invalid('Unseal failed, invalid key');
  const opened = await (async () => {
    try {
      await app.commit(caller, replaceMigrated(plan.next));
      caller.recorded = false;
      return openKeyring(plan.root_key, await listKeyring(app.db));
    } catch (error) {
      plan.root_key.fill(0);
      throw error;
    }
  })();
  if (!(await openBarrier(app, opened, since))) throw sealedMeanwhile();
  caller.recorded = true;
  return readSealFacts(app);
}

/**
 * Unseals this node, with the keys as they are now: others may have been added since they were read.
 *
 * @param since the barrier's `sealings` when the unsealing began
 * @returns false if the node was sealed meanwhile; then it stays so
 */
export async function openBarrier(app: App, keyring: Keyring, since: number): Promise<boolean> {
  if (!(await app.barrier.unseal(keyring, since))) return false;
  await app.barrier.reload(await listKeyring(app.db));
  return true;
}

function requireNoSealing(app: App, since: number): void {
  if (app.barrier.sealings !== since) throw sealedMeanwhile();
}

/** Not `unavailable`: clients send that again by themselves, and would open what was just sealed. */
function sealedMeanwhile(): Failure {
  return invalid('the server was sealed meanwhile: give the shares again');
}

/** The collection under way; one of shares from before a rekeying is dropped. */
function unsealingOf(app: App, seal: Seal): ShareCollection {
  const memory = memoryOf(app);
  if (memory.unsealing?.generation === seal.generation) return memory.unsealing;
  wipeCollection(memory.unsealing);
  return startCollection(app.newId(), seal, app.now());
}

function takeRootKey(collection: ShareCollection, seal: Seal): Uint8Array | undefined {
  const key = collectedKey(collection);
  const root_key = key && openRootKey(key, seal.root_key_sealed);
  key?.fill(0);
  return root_key;
}

/**
 * Forgets the shares given so far. While the server is sealed nobody can be known by a token: who
 * shows one of the shares may, and for others they stay. Wrong shares are no reason, none is kept.
 * The answer is a status all the same, since clients of old begin with a reset.
 */
async function resetUnsealing(
  app: App,
  caller: Caller,
  seal: Seal,
  key: string | undefined,
): Promise<SealFacts> {
  const memory = memoryOf(app);
  if (memory.unsealing === undefined) return readSealFacts(app);
  if (!key) {
    caller.record.outcome = { status: 'refused', error: KEPT };
    return { ...(await readSealFacts(app)), warning: KEPT };
  }
  requireShare(key, seal).fill(0);
  await recordFirst(app, caller, () => undefined);
  wipeCollection(memory.unsealing);
  memory.unsealing = undefined;
  return readSealFacts(app);
}

const KEPT =
  "shares that others gave are not forgotten for a stranger: give the missing ones, or one of the shares as 'key' together with 'reset'";
