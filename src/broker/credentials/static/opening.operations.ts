import type { KeyObject } from 'node:crypto';
import { openInTurn } from '../../../access/concurrency/operations.ts';
import type { App } from '../../../app/app.ts';
import type { Caller } from '../../../app/caller.ts';
import { nextBreath } from '../../../core/fairness/breath.ts';
import { deriveBcryptKey } from './bcrypt-pbkdf.ts';
import { type LockedKey, readSshKey, UNLOCK_LENGTH, unlock } from './ssh-key.ts';

/**
 * The private key in a PEM text; undefined for one that cannot be read, or not with this passphrase, and of a kind
 * that is not used here.
 */
export async function openSshKey(
  app: App,
  caller: Caller,
  { pem, passphrase }: { pem: string; passphrase: string },
): Promise<KeyObject | undefined> {
  const read = readSshKey(pem, passphrase);
  if (read.kind === 'open') return read.key;
  if (read.kind !== 'locked') return undefined;
  return openInTurn(app, caller, async () => unlock(read.key, await derive(read.key, passphrase)));
}

/** A little at a time, so that other requests go on meanwhile. */
export async function derive({ salt, rounds }: LockedKey, passphrase: string): Promise<Uint8Array> {
  const work = deriveBcryptKey(passphrase, salt, rounds, UNLOCK_LENGTH);
  for (let step = work.next(); ; step = work.next()) {
    if (step.done) return step.value;
    await nextBreath();
  }
}
