import {
  createDiffieHellmanGroup,
  createECDH,
  createPublicKey,
  decapsulate,
  diffieHellman,
  encapsulate,
  generateKeyPairSync,
  hash,
  type KeyObject,
} from 'node:crypto';
import { encodeMpint, encodeString } from '../../../ssh/wire.ts';
import type { KeyExchangeName } from './algorithms.ts';
import { KEY_EXCHANGE_FAILED, SshFault } from './fault.ts';

/** A shared secret, as it goes into hashes. */
type Secret = Buffer;

/** One side's part of agreeing on a secret; the client speaks first. */
export interface Agreement {
  /** What the client sends. */
  begin(): Buffer;
  /** The server's answer to that, and the secret. */
  respond(request: Buffer): { reply: Buffer; secret: Secret };
  /** The client's secret by that. */
  finish(reply: Buffer): Secret;
  /** Whether what is sent is a number rather than bytes. */
  readonly isNumber: boolean;
}

/** @see RFC 4253 §8, RFC 5656 §4, RFC 8731, RFC 8268; draft-ietf-sshm-mlkem-hybrid-kex */
export function agreementOf(name: KeyExchangeName): Agreement {
  switch (name) {
    case 'mlkem768x25519-sha256':
      return new HybridAgreement();
    case 'curve25519-sha256':
    case 'curve25519-sha256@libssh.org':
      return symmetric(new X25519());
    case 'ecdh-sha2-nistp256':
      return symmetric(curve('prime256v1'));
    case 'ecdh-sha2-nistp384':
      return symmetric(curve('secp384r1'));
    case 'ecdh-sha2-nistp521':
      return symmetric(curve('secp521r1'));
    case 'diffie-hellman-group14-sha256':
      return symmetric(group('modp14'), true);
    case 'diffie-hellman-group16-sha512':
      return symmetric(group('modp16'), true);
  }
}

/** Both sides do the same: each sends what its key shows. */
interface Exchange {
  readonly shown: Buffer;
  agree(peers: Buffer): Buffer;
}

function symmetric(exchange: Exchange, isNumber = false): Agreement {
  const secretOf = (peers: Buffer): Secret => encodeMpint(attempt(() => exchange.agree(peers)));
  return {
    begin: () => exchange.shown,
    respond: (request) => ({ reply: exchange.shown, secret: secretOf(request) }),
    finish: secretOf,
    isNumber,
  };
}

/** What a peer sends need be no key. */
function attempt<T>(calculate: () => T): T {
  try {
    return calculate();
  } catch {
    throw new SshFault('its part of the key exchange is not valid', KEY_EXCHANGE_FAILED);
  }
}

function curve(name: string): Exchange {
  const ecdh = createECDH(name);
  const shown = ecdh.generateKeys();
  return { shown, agree: (peers) => ecdh.computeSecret(peers) };
}

function group(name: string): Exchange {
  const dh = createDiffieHellmanGroup(name);
  const shown = dh.generateKeys();
  // The library refuses what would make the secret foreseeable: 0, 1, p - 1 and what is beyond.
  return { shown, agree: (peers) => dh.computeSecret(peers) };
}

const raw = (key: KeyObject): Buffer => key.export({ format: 'raw-public' });

class X25519 implements Exchange {
  readonly shown: Buffer;
  readonly #key: KeyObject;

  constructor() {
    const { publicKey, privateKey } = generateKeyPairSync('x25519');
    this.#key = privateKey;
    this.shown = raw(publicKey);
  }

  agree(peers: Buffer): Buffer {
    const publicKey = createPublicKey({
      key: peers,
      format: 'raw-public',
      asymmetricKeyType: 'x25519',
    });
    return diffieHellman({ privateKey: this.#key, publicKey });
  }
}

const KEM_KEY_BYTES = 1184;
const KEM_CIPHERTEXT_BYTES = 1088;

/** ML-KEM-768 and X25519 together: whoever breaks one of them still has the other before him. */
class HybridAgreement implements Agreement {
  readonly isNumber = false;
  readonly #curve = new X25519();
  #kem: KeyObject | undefined;

  begin(): Buffer {
    const { publicKey, privateKey } = generateKeyPairSync('ml-kem-768');
    this.#kem = privateKey;
    return Buffer.concat([raw(publicKey), this.#curve.shown]);
  }

  respond(request: Buffer): { reply: Buffer; secret: Secret } {
    return attempt(() => {
      const publicKey = createPublicKey({
        key: request.subarray(0, KEM_KEY_BYTES),
        format: 'raw-public',
        asymmetricKeyType: 'ml-kem-768',
      });
      const { sharedKey, ciphertext } = encapsulate(publicKey);
      const agreed = this.#curve.agree(request.subarray(KEM_KEY_BYTES));
      return {
        reply: Buffer.concat([ciphertext, this.#curve.shown]),
        secret: combine(sharedKey, agreed),
      };
    });
  }

  finish(reply: Buffer): Secret {
    return attempt(() => {
      if (!this.#kem) throw new Error('nothing was begun');
      const sharedKey = decapsulate(this.#kem, reply.subarray(0, KEM_CIPHERTEXT_BYTES));
      return combine(sharedKey, this.#curve.agree(reply.subarray(KEM_CIPHERTEXT_BYTES)));
    });
  }
}

function combine(kem: Buffer, agreed: Buffer): Secret {
  return encodeString(hash('sha256', Buffer.concat([kem, agreed]), 'buffer'));
}

/**
 * Keys of both directions (RFC 4253 §7.2).
 *
 * @param letter `A` to `F`, which key it is
 */
export function deriveKey(
  of: { hash: string; secret: Secret; exchange_hash: Buffer; session_id: Buffer },
  letter: string,
  length: number,
): Buffer {
  const { secret, exchange_hash, session_id } = of;
  const begin = Buffer.concat([secret, exchange_hash]);
  let key = hash(of.hash, Buffer.concat([begin, Buffer.from(letter), session_id]), 'buffer');
  while (key.length < length) {
    key = Buffer.concat([key, hash(of.hash, Buffer.concat([begin, key]), 'buffer')]);
  }
  return key.subarray(0, length);
}
