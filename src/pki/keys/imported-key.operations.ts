import { signInTurn } from '../../access/concurrency/signatures.operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { invalid } from '../../core/failure.ts';
import type { PemBlock } from '../../core/pem.ts';
import { describePublicKey, publicKeyInfo } from '../../x509/keys.ts';
import { parsePrivateKeyBlock, provePair } from '../../x509/private-keys.ts';
import type { FreshKey } from './generation.operations.ts';

/**
 * A private key that was brought, in whatever form. Nothing is proven of it yet.
 *
 * @throws Failure `invalid` for one that is encrypted, that cannot be read, or of a kind that is not supported
 */
export function readPrivateKey(block: PemBlock): FreshKey {
  const private_key = parsePrivateKeyBlock(block);
  const public_key = publicKeyInfo(private_key);
  return { ...describePublicKey(public_key), private_key, public_key };
}

/**
 * Refuses a private key that is not the one of the public key beside it: certificates would be linked with it, and
 * nothing that it signs could be verified.
 *
 * @throws Failure `invalid`; `rate_limited` as signing does
 */
export async function requirePair(app: App, caller: Caller, key: FreshKey): Promise<void> {
  const prove = () => provePair(key.private_key, key.public_key);
  if (await signInTurn(app, caller, key, prove)) return;
  throw invalid('the private key does not go with the public key that it comes with');
}
