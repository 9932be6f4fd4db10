import { hash as digest, type KeyObject } from 'node:crypto';
import { type HostVerdict, parseCertificate } from '../../../ssh/certificate.ts';
import { parsePublicKey, type SshPublicKey } from '../../../ssh/public-key.ts';
import { signSsh, verifySsh } from '../../../ssh/signature.ts';
import { encodeMpint, encodeString, WireReader } from '../../../ssh/wire.ts';
import { CIPHERS, KEY_EXCHANGES, MACS } from './algorithms.ts';
import type { PacketKeys } from './ciphers.ts';
import { HOST_KEY_NOT_VERIFIABLE, KEY_EXCHANGE_FAILED, SshFault } from './fault.ts';
import { type Agreement, agreementOf, deriveKey } from './key-agreement.ts';
import { MESSAGE } from './messages.ts';
import type { ChosenCipher, Negotiated, Role } from './negotiation.ts';

/** What a side is, by the keys of hosts. */
export type Side =
  | { role: 'client'; judge(host_key: Uint8Array): HostVerdict }
  | { role: 'server'; host_key: { key: KeyObject; public_key: SshPublicKey } };

/** What a side has said before, as it goes into the hash: its identification and its offer. */
interface Said {
  id: string;
  init: Uint8Array;
}

interface Opening {
  client: Said;
  server: Said;
}

/** Of the key exchange alone. */
export interface ExchangeIo {
  send(payload: Buffer): void;
  next(number: number): Promise<Buffer>;
}

export interface Exchanged {
  exchange_hash: Buffer;
  secret: Buffer;
}

/** What it took to calculate, whatever else the machine and the other side did. */
interface Timed {
  spent_ms: number;
}

/**
 * Agrees on a secret, proves the server to the client.
 *
 * @throws SshFault when the peer's part or proof is not right, or its host key is refused
 * @see RFC 4253 §8
 */
export async function exchangeSecret(
  side: Side,
  negotiated: Negotiated,
  opening: Opening,
  io: ExchangeIo,
): Promise<Exchanged & Timed> {
  let spent_ms = 0;
  let since = cpuTime();
  const next = async (number: number): Promise<Buffer> => {
    spent_ms += cpuTime() - since;
    const message = await io.next(number);
    since = cpuTime();
    return message;
  };
  const agreement = agreementOf(negotiated.key_exchange);
  const exchange = { negotiated, opening, io: { ...io, next } };
  const exchanged = await (side.role === 'client'
    ? exchangeAsClient(side.judge, agreement, exchange)
    : exchangeAsServer(side.host_key, agreement, exchange));
  return { ...exchanged, spent_ms: spent_ms + cpuTime() - since };
}

/** Of this thread, in milliseconds. */
function cpuTime(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

interface Exchange {
  negotiated: Negotiated;
  opening: Opening;
  io: ExchangeIo;
}

async function exchangeAsClient(
  judge: (host_key: Uint8Array) => HostVerdict,
  agreement: Agreement,
  { negotiated, opening, io }: Exchange,
): Promise<Exchanged> {
  const request = agreement.begin();
  io.send(Buffer.concat([Buffer.of(MESSAGE.KEX_INIT), encodePart(agreement, request)]));
  const read = new WireReader((await io.next(MESSAGE.KEX_REPLY)).subarray(1));
  const host_key = read.string();
  const reply = readPart(agreement, read);
  const signature = read.string();
  if (!read.isDone) throw new SshFault('its part of the key exchange is malformed');
  const verdict = judge(host_key);
  if (!verdict.trusted) throw new SshFault(verdict.because, HOST_KEY_NOT_VERIFIABLE);
  const secret = agreement.finish(reply);
  const parts = { agreement, host_key, request, reply, secret };
  const exchange_hash = hashExchange(negotiated, opening, parts);
  const shown = parseCertificate(host_key);
  const key = shown ? { type: shown.key_type, key: shown.key } : parsePublicKey(host_key);
  const proof = key && verifySsh(key, exchange_hash, signature);
  const algorithm = negotiated.host_key.replace(/-cert-v01@openssh\.com$/, '');
  if (!proof?.valid || proof.algorithm !== algorithm) {
    throw new SshFault('it does not have the key of its host key', KEY_EXCHANGE_FAILED);
  }
  return { exchange_hash, secret };
}

async function exchangeAsServer(
  { key, public_key }: { key: KeyObject; public_key: SshPublicKey },
  agreement: Agreement,
  { negotiated, opening, io }: Exchange,
): Promise<Exchanged> {
  const read = new WireReader((await io.next(MESSAGE.KEX_INIT)).subarray(1));
  const request = readPart(agreement, read);
  if (!read.isDone) throw new SshFault('its part of the key exchange is malformed');
  const { reply, secret } = agreement.respond(request);
  const host_key = public_key.blob;
  const parts = { agreement, host_key, request, reply, secret };
  const exchange_hash = hashExchange(negotiated, opening, parts);
  io.send(
    Buffer.concat([
      Buffer.of(MESSAGE.KEX_REPLY),
      encodeString(host_key),
      encodePart(agreement, reply),
      encodeString(signSsh(key, negotiated.host_key, exchange_hash)),
    ]),
  );
  return { exchange_hash, secret };
}

const encodePart = ({ isNumber }: Agreement, part: Buffer): Buffer =>
  isNumber ? encodeMpint(part) : encodeString(part);

const readPart = ({ isNumber }: Agreement, read: WireReader): Buffer =>
  isNumber ? read.mpint() : read.string();

function hashExchange(
  { key_exchange }: Negotiated,
  { client, server }: Opening,
  parts: {
    agreement: Agreement;
    host_key: Buffer;
    request: Buffer;
    reply: Buffer;
    secret: Buffer;
  },
): Buffer {
  const all = Buffer.concat([
    encodeString(client.id),
    encodeString(server.id),
    encodeString(client.init),
    encodeString(server.init),
    encodeString(parts.host_key),
    encodePart(parts.agreement, parts.request),
    encodePart(parts.agreement, parts.reply),
    parts.secret,
  ]);
  return digest(KEY_EXCHANGES[key_exchange], all, 'buffer');
}

/** Keys of both directions, as a side uses them. */
export function deriveKeys(
  role: Role,
  negotiated: Negotiated,
  { exchange_hash, secret, session_id }: Exchanged & { session_id: Buffer },
): { sending: PacketKeys; receiving: PacketKeys } {
  const of = { hash: KEY_EXCHANGES[negotiated.key_exchange], secret, exchange_hash, session_id };
  const keysOf = ({ cipher, mac }: ChosenCipher, letters: string): PacketKeys => {
    const [iv = '', key = '', code = ''] = letters;
    const kind = CIPHERS[cipher];
    const mac_kind = MACS[mac];
    if (!kind) throw new Error(`no cipher ${cipher}`);
    return {
      kind,
      key: deriveKey(of, key, kind.key_bytes),
      iv: Buffer.from(deriveKey(of, iv, kind.iv_bytes)),
      ...(mac_kind ? { mac: { kind: mac_kind, key: deriveKey(of, code, mac_kind.bytes) } } : {}),
    };
  };
  const from_client = keysOf(negotiated.from_client, 'ACE');
  const to_client = keysOf(negotiated.to_client, 'BDF');
  return role === 'client'
    ? { sending: from_client, receiving: to_client }
    : { sending: to_client, receiving: from_client };
}
