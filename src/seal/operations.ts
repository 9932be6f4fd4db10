import { findLiving } from '../access/permissions/authentication.operations.ts';
import { systemCaller } from '../access/system-caller.ts';
import { createRootToken, prepareRootToken } from '../access/tokens/minting.operations.ts';
import { noteToken } from '../access/tokens/recorded.ts';
import { type App, perApp } from '../app/app.ts';
import type { RecordedRequest } from '../app/audit-trail.ts';
import type { Caller } from '../app/caller.ts';
import { Barrier } from '../barrier/barrier.ts';
import { KEY_LENGTH, NONCE_LENGTH } from '../barrier/envelope.ts';
import { KEYRING_KEY_RANDOMNESS, openKeyring, wrapKeyringKey } from '../barrier/keyring.ts';
import type { TransitSeal } from '../config/seal-settings.ts';
import { Failure, invalid, isConflict } from '../core/failure.ts';
import { planFirstMounts } from '../mounts/operations.ts';
import { bumpConfigVersion } from '../store/config-version.ts';
import { chooseShareCounts, type InitRequest } from './initialisation.ts';
import { isMigrating } from './migration.operations.ts';
import {
  makeShares,
  openRootKey,
  opensByItself,
  RECOVERY_PLACE,
  recoveryHash,
  type Seal,
  type ShareCounts,
  wrapRootKey,
} from './seal.ts';
import { makeSealKey, openSealKey, tellWrongKey, wrapByNewest } from './seal-key.operations.ts';
import { splitRandomness } from './shamir.ts';
import { hashShares } from './share-hash.ts';
import {
  deleteReplacedSeal,
  findNewestTerm,
  findSeal,
  hasReplacedSeal,
  insertKey,
  insertSeal,
  listKeyring,
  saveWrappedSealKey,
} from './store.ts';
import { openBarrier } from './unsealing.operations.ts';

/** Sealed by request: from then on only a restart opens a seal by itself. */
const memoryOf = perApp(() => ({ sealed_by_request: false }));

/** Shares for people, and the first token. Whoever has handed the shares out wipes them. */
export interface Initialised {
  kind: Seal['kind'];
  shares: Uint8Array[];
  root_token: string;
}

/**
 * Makes the keys of a new installation, its first mounts and its first token, in one write set.
 *
 * @param input.root_token the token's text, for development only; random unless given
 * @throws Failure `invalid` if there is an installation already, or for impossible counts
 */
export async function initialise(
  app: App,
  caller: Caller,
  input: InitRequest & { root_token?: string | undefined },
): Promise<Initialised> {
  const since = app.barrier.sealings;
  if ((await findSeal(app.db)) !== undefined) throw invalid('Vault is already initialized');
  const kind = app.config.seal.type;
  const counts = chooseShareCounts(kind, input);
  const { seal_key, seal_key_wrapped } = await makeSealKey(app, app.config.seal);
  const root_key = app.randomBytes(KEY_LENGTH);
  const created_at = Math.floor(app.now() / 1000);
  const keyring = (['hash', 'data'] as const).map((use, term) =>
    wrapKeyringKey({
      root_key,
      use,
      term,
      random: app.randomBytes(KEYRING_KEY_RANDOMNESS),
      created_at,
    }),
  );
  // The server's own barrier stays shut until all of this is durable.
  const barrier = new Barrier((length) => app.randomBytes(length));
  await barrier.unseal(openKeyring(Uint8Array.from(root_key), keyring), barrier.sealings);
  const recovery_key =
    opensByItself(kind) && counts !== undefined ? app.randomBytes(KEY_LENGTH) : undefined;
  const shares = counts === undefined ? [] : splitKey(app, recovery_key ?? seal_key, counts);
  const seal: Seal = {
    kind,
    shares: counts?.shares ?? 0,
    threshold: counts?.threshold ?? 0,
    generation: 1,
    root_key_sealed: wrapRootKey({ seal_key, root_key, nonce: app.randomBytes(NONCE_LENGTH) }),
    recovery_hash_sealed:
      recovery_key === undefined
        ? null
        : barrier.encrypt('config', RECOVERY_PLACE, recoveryHash(recovery_key)),
    share_hashes: shares.length === 0 ? null : hashShares(shares),
    seal_key_wrapped,
    cluster_id: app.newId(),
    cluster_name: `gatehouse-cluster-${Buffer.from(app.randomBytes(4)).toString('hex')}`,
    created_at,
  };
  const token = prepareRootToken(
    { barrier, randomBytes: (length) => app.randomBytes(length), now: () => app.now() },
    { id: input.root_token },
  );
  noteToken(caller, token.token);
  await barrier.seal();
  recovery_key?.fill(0);
  seal_key.fill(0);

  await app.commit(caller, [
    insertSeal(seal),
    ...keyring.map(insertKey),
    ...planFirstMounts(app),
    ...token.effects,
  ]);

  if (opensByItself(kind)) await app.barrier.unseal(openKeyring(root_key, keyring), since);
  else root_key.fill(0);
  return { kind, shares, root_token: token.client_token };
}

/** Splits a key for people, with randomness of its own that does not stay in memory. */
export function splitKey(app: App, key: Uint8Array, counts: ShareCounts): Uint8Array[] {
  const randomness = app.randomBytes(splitRandomness(key.length, counts.threshold));
  const shares = makeShares(key, counts, randomness);
  randomness.fill(0);
  return shares;
}

/**
 * What a server does about its seal when it starts: it opens by itself unless people do that; a development server
 * is initialised first, and has the root token it was told to have.
 *
 * @throws Failure `unavailable` if it is configured for another seal than its data has, or if
 *   the key file is missing or not the right one
 */
export async function openSeal(app: App): Promise<void> {
  const caller = systemCaller(app.newId(), 'start');
  const seal = await findSeal(app.db);
  const migrating = seal !== undefined && isMigrating(app, seal);
  if (seal !== undefined && seal.kind !== app.config.seal.type && !migrating) {
    throw new Failure(
      'unavailable',
      `seal.type is "${app.config.seal.type}", but the data was initialised with "${seal.kind}"; former_seal says how that one is opened, to move from it`,
    );
  }
  app.store.onConfigChange(() => {
    refreshKeys(app).catch((err: unknown) => {
      app.log.error({ err }, 'keys of another node were not loaded');
    });
  });
  if (seal !== undefined) {
    await clearReplaced(app, caller, seal);
    if (migrating) app.log.warn({}, 'sealed until sys/unseal moves the data to another seal');
    else if (opensByItself(seal.kind)) await unsealByItself(app, seal, app.barrier.sealings);
  } else if (app.config.mode === 'dev') {
    await initialise(app, caller, { root_token: app.config.dev_root_token });
  }
  const wanted = app.config.dev_root_token;
  if (wanted !== undefined && !app.barrier.sealed && !(await findLiving(app, wanted))) {
    await createRootToken(app, caller, { id: wanted });
  }
}

/** Deletes what an earlier program left of seals that were replaced: their shares open it. */
async function clearReplaced(app: App, caller: Caller, seal: Seal): Promise<void> {
  if (await hasReplacedSeal(app.db, seal)) await app.commit(caller, [deleteReplacedSeal(seal)]);
}

async function unsealByItself(app: App, seal: Seal, since: number): Promise<void> {
  const settings = app.config.seal;
  const seal_key = await openSealKey(app, seal, settings);
  try {
    const root_key = openRootKey(seal_key, seal.root_key_sealed);
    if (root_key === undefined) throw new Failure('unavailable', tellWrongKey(settings));
    await openBarrier(app, openKeyring(root_key, await listKeyring(app.db)), since);
    if (settings.type === 'transit') await followRotation(app, seal, settings, seal_key);
  } finally {
    seal_key.fill(0);
  }
}

/** Has the seal key encrypted anew once the key of the engine was rotated. What fails is tried at the next start. */
async function followRotation(
  app: App,
  { seal_key_wrapped: wrapped }: Seal,
  settings: TransitSeal,
  seal_key: Uint8Array,
): Promise<void> {
  if (wrapped === null) return;
  try {
    const fresh = await wrapByNewest(settings, wrapped, seal_key);
    if (fresh === undefined) return;
    const caller = systemCaller(app.newId(), 'seal/follow-rotation');
    await app.commit(caller, [saveWrappedSealKey(wrapped, fresh)]);
    app.log.info({}, 'the seal key is encrypted by the newest version of the transit key now');
  } catch (error) {
    // Another node may have done it.
    if (isConflict(error)) return;
    const why = error instanceof Error ? error.message : String(error);
    app.log.warn({ why }, 'the seal key was not encrypted anew by the transit engine');
  }
}

/** Follows what other nodes do: they initialise the installation, and rotate its keys. */
async function refreshKeys(app: App): Promise<void> {
  if (!app.barrier.sealed) {
    if ((await findNewestTerm(app.db)) === app.barrier.generation().term) return;
    await app.barrier.reload(await listKeyring(app.db));
    return;
  }
  if (!opensByItself(app.config.seal.type) || memoryOf(app).sealed_by_request) return;
  const since = app.barrier.sealings;
  const seal = await findSeal(app.db);
  if (seal?.kind === app.config.seal.type) await unsealByItself(app, seal, since);
}

/**
 * Seals this node: its keys are wiped. The record of it is durable first, unless the database does not
 * take it: whoever seals in an emergency does not wait for that.
 *
 * @returns whether the record is durable
 * @throws Failure as the caller would be refused
 */
export async function sealServer(app: App, caller: Caller): Promise<boolean> {
  const recorded = await recordSealing(app, caller);
  await lockServer(app);
  return recorded;
}

/** As {@link sealServer}, for somebody who is known although nothing could be looked up. */
export async function sealUnrecorded(app: App, request: RecordedRequest): Promise<void> {
  keepRecord(app, request, 'the database cannot be asked');
  await lockServer(app);
}

async function lockServer(app: App): Promise<void> {
  memoryOf(app).sealed_by_request = true;
  await app.barrier.seal();
}

/** So long the database has for the record, in milliseconds. */
const PATIENCE = 3_000;

async function recordSealing(app: App, caller: Caller): Promise<boolean> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error('the database takes too long')), PATIENCE);
  try {
    await Promise.race([app.commit(caller, []), late.promise]);
    return true;
  } catch (error) {
    if (error instanceof Failure && error.kind !== 'unavailable') throw error;
    keepRecord(app, caller, error instanceof Error ? error.message : String(error));
    caller.recorded = true;
    return false;
  } finally {
    clearTimeout(timer);
  }
}

/** The log says at once what the audit trail says when the database is there again. */
function keepRecord(app: App, request: RecordedRequest, why: string): void {
  const { token, record } = request;
  app.log.error(
    { why, accessor: token?.accessor, remote_address: record.remote_address },
    'sealed by request before that could be recorded',
  );
  app.audit.keep(request, { status: 'done' });
}

/** Makes a new generation of data keys. Values sealed before stay readable. */
export async function rotateKeys(app: App, caller: Caller): Promise<void> {
  const row = app.barrier.nextGeneration(Math.floor(app.now() / 1000));
  await app.commit(caller, [insertKey(row), bumpConfigVersion()]);
  await app.barrier.reload(await listKeyring(app.db));
}
