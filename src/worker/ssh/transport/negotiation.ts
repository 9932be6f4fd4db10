import { encodeBoolean, encodeNames, encodeUint32, WireReader } from '../../../ssh/wire.ts';
import { CIPHERS, KEY_EXCHANGES, type KeyExchangeName, MACS } from './algorithms.ts';
import { KEY_EXCHANGE_FAILED, SshFault } from './fault.ts';
import { MESSAGE, printable } from './messages.ts';

export type Role = 'client' | 'server';

/** Both peers count packets anew with each set of keys (OpenSSH `PROTOCOL` §1.10). */
const STRICT = { client: 'kex-strict-c-v00@openssh.com', server: 'kex-strict-s-v00@openssh.com' };
/** The peer may say what it can (RFC 8308). */
const EXT_INFO = 'ext-info-c';

/** What one side offers. */
interface Offer {
  key_exchanges: readonly string[];
  host_keys: readonly string[];
  /** From the client, then to it. */
  ciphers: readonly [readonly string[], readonly string[]];
  macs: readonly [readonly string[], readonly string[]];
  compressions: readonly [readonly string[], readonly string[]];
  guesses: boolean;
}

/** For one direction. */
export interface ChosenCipher {
  cipher: string;
  /** Empty for a cipher with a tag of its own. */
  mac: string;
}

export interface Negotiated {
  key_exchange: KeyExchangeName;
  host_key: string;
  from_client: ChosenCipher;
  to_client: ChosenCipher;
  isStrict: boolean;
  /** What the peer sends next was a guess, and a wrong one. */
  skipsNext: boolean;
}

/**
 * The message that a side begins a key exchange with (RFC 4253 §7.1).
 *
 * @param cookie 16 random bytes
 */
export function encodeKexInit(
  role: Role,
  host_keys: readonly string[],
  cookie: Uint8Array,
): Buffer {
  const extras = role === 'client' ? [EXT_INFO, STRICT.client] : [STRICT.server];
  const ciphers = encodeNames(Object.keys(CIPHERS));
  const macs = encodeNames(Object.keys(MACS));
  const none = encodeNames(['none']);
  return Buffer.concat([
    Buffer.of(MESSAGE.KEXINIT),
    cookie,
    encodeNames([...Object.keys(KEY_EXCHANGES), ...extras]),
    encodeNames(host_keys),
    ...[ciphers, ciphers, macs, macs, none, none],
    ...[encodeNames([]), encodeNames([])],
    encodeBoolean(false),
    encodeUint32(0),
  ]);
}

/** @throws SshFault for one that is none */
function readKexInit(payload: Uint8Array): Offer {
  const read = new WireReader(payload);
  read.take(17);
  const key_exchanges = read.names();
  const host_keys = read.names();
  const ciphers = [read.names(), read.names()] as const;
  const macs = [read.names(), read.names()] as const;
  const compressions = [read.names(), read.names()] as const;
  read.string();
  read.string();
  const guesses = read.boolean();
  read.uint32();
  if (read.failed) throw new SshFault('its offer is malformed');
  return { key_exchanges, host_keys, ciphers, macs, compressions, guesses };
}

/**
 * What both sides can do, by the client's order of preference.
 *
 * @throws SshFault when there is nothing, saying of what
 */
export function negotiate(role: Role, own: Uint8Array, peers: Uint8Array): Negotiated {
  const [ours, theirs] = [readKexInit(own), readKexInit(peers)];
  const [client, server] = role === 'client' ? [ours, theirs] : [theirs, ours];
  const choose = (what: string, list: (offer: Offer) => readonly string[]): string => {
    const served = new Set(list(server));
    const chosen = list(client).find((name) => served.has(name));
    if (chosen !== undefined) return chosen;
    const has = printable(list(theirs).slice(0, 16).join(', '));
    throw new SshFault(`no common ${what}: the other side has ${has}`, KEY_EXCHANGE_FAILED);
  };
  const cipherOf = (way: 0 | 1): ChosenCipher => {
    const cipher = choose('cipher', ({ ciphers }) => ciphers[way]);
    const mac = CIPHERS[cipher]?.isAead ? '' : choose('MAC', ({ macs }) => macs[way]);
    choose('compression', ({ compressions }) => compressions[way]);
    return { cipher, mac };
  };
  const key_exchange = choose('key exchange', ({ key_exchanges }) => key_exchanges);
  if (!isKeyExchange(key_exchange)) throw new SshFault('no key exchange was chosen');
  const host_key = choose('kind of host key', ({ host_keys }) => host_keys);
  const guessed =
    theirs.key_exchanges[0] === ours.key_exchanges[0] && theirs.host_keys[0] === ours.host_keys[0];
  return {
    key_exchange,
    host_key,
    from_client: cipherOf(0),
    to_client: cipherOf(1),
    isStrict: theirs.key_exchanges.includes(STRICT[role === 'client' ? 'server' : 'client']),
    skipsNext: theirs.guesses && !guessed,
  };
}

/** Names that only say something are chosen by nobody: each side has one of its own. */
const isKeyExchange = (name: string): name is KeyExchangeName => Object.hasOwn(KEY_EXCHANGES, name);
