import type { App } from '../app/app.ts';
import { Barrier } from '../barrier/barrier.ts';
import { NONCE_LENGTH } from '../barrier/envelope.ts';
import { openKeyring } from '../barrier/keyring.ts';
import { Failure, invalid } from '../core/failure.ts';
import {
  openRootKey,
  opensByItself,
  RECOVERY_PLACE,
  recoveryHash,
  type Seal,
  wrapRootKey,
} from './seal.ts';
import { makeSealKey, openSealKey, tellWrongKey } from './seal-key.operations.ts';
import { isCurrentKey } from './share-verification.ts';
import { listKeyring } from './store.ts';

/** Whether the data has another seal than it is to have, and the configuration says how both are opened. */
export function isMigrating(app: App, seal: Pick<Seal, 'kind'>): boolean {
  const { seal: wanted, former_seal } = app.config;
  return seal.kind !== wanted.type && seal.kind === former_seal?.type;
}

/**
 * Whether a request to unseal is one to move to another seal.
 *
 * @throws Failure `invalid` where it says the opposite of the configuration
 */
export function judgeMigration(app: App, seal: Seal, input: { migrate: boolean }): boolean {
  const isDue = app.barrier.sealed && isMigrating(app, seal);
  if (input.migrate && !isDue) {
    throw invalid("can't perform a seal migration, no migration seal found");
  }
  if (isDue && !input.migrate) {
    throw invalid(
      "migrate option not provided and seal migration is pending: send 'migrate' as true",
    );
  }
  if (isDue && seal.threshold === 0 && !opensByItself(app.config.seal.type)) {
    throw invalid('there are no recovery shares, which would become those of the unseal key');
  }
  return isDue;
}

/** The seal that follows, and the key that it guards. */
export interface MigratedSeal {
  next: Seal;
  root_key: Uint8Array;
}

/**
 * Moves a seal to the one that the configuration asks for. Its shares go on: those of the unseal key become ones of the
 * recovery key, and the other way around.
 *
 * @param key that the shares make: the unseal key of `shamir`, the recovery key of others; undefined where there are none
 * @returns undefined when that is not the key
 * @throws Failure `unavailable` where what opens one of the two cannot be reached
 */
export async function planMigration(
  app: App,
  seal: Seal,
  key: Uint8Array | undefined,
): Promise<MigratedSeal | undefined> {
  const root_key = await openFormer(app, seal, key);
  if (root_key === undefined) return undefined;
  try {
    const next = await planNext(app, seal, { root_key, key });
    if (next) return { next, root_key };
  } catch (error) {
    root_key.fill(0);
    throw error;
  }
  root_key.fill(0);
  return undefined;
}

/** @returns undefined where it is not the key that it should be */
async function planNext(
  app: App,
  seal: Seal,
  { root_key, key }: { root_key: Uint8Array; key: Uint8Array | undefined },
): Promise<Seal | undefined> {
  const rows = await listKeyring(app.db);
  // The server's own barrier stays shut until all of this is durable.
  const barrier = new Barrier((length) => app.randomBytes(length));
  await barrier.unseal(openKeyring(Uint8Array.from(root_key), rows), barrier.sealings);
  try {
    const isShamir = seal.kind === 'shamir';
    if (!isShamir && key !== undefined && !isCurrentKey(barrier, seal, key)) return undefined;
    const recovery_hash_sealed =
      isShamir && key !== undefined
        ? barrier.encrypt('config', RECOVERY_PLACE, recoveryHash(key))
        : seal.recovery_hash_sealed;
    return await wrapAnew(app, { ...seal, recovery_hash_sealed }, root_key, key);
  } finally {
    await barrier.seal();
  }
}

async function openFormer(
  app: App,
  seal: Seal,
  key: Uint8Array | undefined,
): Promise<Uint8Array | undefined> {
  const { former_seal } = app.config;
  if (former_seal === undefined) throw new Error('there is no former seal');
  if (former_seal.type === 'shamir') return key && openRootKey(key, seal.root_key_sealed);
  const seal_key = await openSealKey(app, seal, former_seal);
  const root_key = openRootKey(seal_key, seal.root_key_sealed);
  seal_key.fill(0);
  if (root_key === undefined) throw new Failure('unavailable', tellWrongKey(former_seal));
  return root_key;
}

async function wrapAnew(
  app: App,
  seal: Seal,
  root_key: Uint8Array,
  key: Uint8Array | undefined,
): Promise<Seal> {
  const { seal: wanted } = app.config;
  const isShamir = wanted.type === 'shamir';
  if (isShamir && key === undefined) throw new Error('there is no key to become the seal key');
  const { seal_key, seal_key_wrapped } =
    isShamir && key !== undefined
      ? { seal_key: Uint8Array.from(key), seal_key_wrapped: null }
      : await makeSealKey(app, wanted);
  const nonce = app.randomBytes(NONCE_LENGTH);
  const root_key_sealed = wrapRootKey({ seal_key, root_key, nonce });
  seal_key.fill(0);
  return {
    ...seal,
    kind: wanted.type,
    generation: seal.generation + 1,
    root_key_sealed,
    seal_key_wrapped,
    ...(isShamir && { recovery_hash_sealed: null }),
  };
}
