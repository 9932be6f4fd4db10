/** What clients and endpoints of SSH say, before and after either has proved who it is. */

import assert from 'node:assert/strict';
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto';
import { readSshKey } from '../../src/broker/credentials/static/ssh-key.ts';
import { invalid } from '../../src/core/failure.ts';
import {
  type CertificateFields,
  judgeHostKey,
  makeCertificate,
  parseCertificate,
  parseCertificateLine,
} from '../../src/ssh/certificate.ts';
import { encodePrivateKeyFile } from '../../src/ssh/private-key-file.ts';
import {
  encodePublicKey,
  encodeSshPublicKey,
  parsePublicKey,
  parsePublicKeyLine,
} from '../../src/ssh/public-key.ts';
import { signatureAlgorithms, signSsh, verifySsh } from '../../src/ssh/signature.ts';
import {
  encodeBoolean,
  encodeMpint,
  encodeNames,
  encodeString,
  encodeUint32,
  encodeUint64,
  WireReader,
} from '../../src/ssh/wire.ts';
import { WatchedChannels } from '../../src/worker/ssh/channels.ts';
import { readQuestions } from '../../src/worker/ssh/login.ts';
import { CIPHERS, MACS } from '../../src/worker/ssh/transport/algorithms.ts';
import { openerOf, type PacketKeys, sealerOf } from '../../src/worker/ssh/transport/ciphers.ts';
import { SshFault } from '../../src/worker/ssh/transport/fault.ts';
import { Incoming } from '../../src/worker/ssh/transport/incoming.ts';
import { MESSAGE, readExtensions, readFarewell } from '../../src/worker/ssh/transport/messages.ts';
import { encodeKexInit, negotiate } from '../../src/worker/ssh/transport/negotiation.ts';
import type { SessionWatcher } from '../../src/worker/ssh/watching.ts';
import * as corpus from './corpus.ts';
import type { FuzzTarget } from './run.ts';

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');
const line = (value: string): Uint8Array => Buffer.from(value, 'latin1');
const message = (number: number, ...fields: Buffer[]): Buffer =>
  Buffer.concat([Buffer.of(number), ...fields]);

/** The peer's faults are refusals; whatever else is thrown is not. */
function asRefusal(error: unknown): unknown {
  return error instanceof SshFault ? invalid(error.message) : error;
}

/** What is read of bytes that come in pieces of a size, and what ends it. */
function readPieces(bytes: Uint8Array, size: number, incoming: Incoming): [string[], string] {
  const read: string[] = [];
  let isNamed = false;
  try {
    for (let at = 0; at < bytes.length; at += size) {
      incoming.push(Buffer.from(bytes.subarray(at, at + size)));
      if (!isNamed) {
        const name = incoming.identification(true);
        if (name === undefined) continue;
        read.push(name);
        isNamed = true;
      }
      for (let next = incoming.next(); next; next = incoming.next()) read.push(text(next));
    }
  } catch (error) {
    if (!(error instanceof SshFault)) throw error;
    return [read, error.message];
  }
  return [read, ''];
}

/** However they are cut, the same is read; no byte is read twice. */
function readHoweverCut(bytes: Uint8Array, makeIncoming: () => Incoming): void {
  const whole = readPieces(bytes, Math.max(1, bytes.length), makeIncoming());
  assert.ok(whole[0].join('').length <= bytes.length);
  const sizes = bytes.length < 4096 ? [1, 3, 16] : [1000];
  for (const size of sizes) assert.deepEqual(readPieces(bytes, size, makeIncoming()), whole);
  if (whole[1] !== '') throw invalid(whole[1]);
}

const KINDS = Object.values(CIPHERS).flatMap((kind) =>
  kind.isAead ? [{ kind }] : Object.values(MACS).map((mac) => ({ kind, mac })),
);
const keysOf = (which: number): PacketKeys => {
  const { kind, mac } = KINDS[which % KINDS.length] as (typeof KINDS)[number] & {
    mac?: (typeof MACS)[string];
  };
  return {
    kind,
    key: Buffer.alloc(kind.key_bytes, 1),
    iv: Buffer.alloc(kind.iv_bytes, 255),
    ...(mac ? { mac: { kind: mac, key: Buffer.alloc(mac.bytes, 2) } } : {}),
  };
};

const NAME = line('SSH-2.0-OpenSSH_9.2\r\n');

function packet(payload: Buffer, sealer = { block: 8, countsLength: true }): Buffer {
  const counted = (sealer.countsLength ? 5 : 1) + payload.length;
  const padding = 4 + ((2 * sealer.block - ((counted + 4) % sealer.block)) % sealer.block);
  const head = Buffer.concat([encodeUint32(1 + payload.length + padding), Buffer.of(padding)]);
  return Buffer.concat([head, payload, Buffer.alloc(padding)]);
}

const PAYLOADS = [Buffer.of(2), message(94, encodeUint32(0), encodeString('x'.repeat(100)))];
const SEALED = KINDS.map((_, which) => {
  const sealer = sealerOf(keysOf(which));
  const packets = PAYLOADS.map((one, sequence) => sealer.seal(packet(one, sealer), sequence));
  return Buffer.concat([Buffer.of(which), NAME, ...packets]);
});

const OFFERS = (['client', 'server'] as const).map((role) =>
  encodeKexInit(role, ['ssh-ed25519', 'rsa-sha2-512'], Buffer.alloc(16, 7)),
);

/** What both have; every word of a refusal can be shown. */
function readOffer(bytes: Uint8Array): void {
  for (const role of ['client', 'server'] as const) {
    try {
      const own = OFFERS[role === 'client' ? 0 : 1] ?? Buffer.alloc(0);
      const { key_exchange, from_client, to_client, host_key } = negotiate(role, own, bytes);
      const offered = text(bytes);
      for (const name of [key_exchange, from_client.cipher, to_client.cipher, host_key]) {
        assert.ok(offered.includes(name) && text(own).includes(name));
      }
    } catch (error) {
      if (error instanceof SshFault) assert.match(error.message, /^[\x20-\x7e]{1,512}$/);
      throw asRefusal(error);
    }
  }
}

const names = (count: number): string[] => Array.from({ length: count }, (_, at) => `n${at}`);

function readMessage(bytes: Uint8Array): void {
  const whole = Buffer.from(bytes);
  assert.match(readFarewell(whole), /^[\x20-\x7e]{0,256}$/);
  assert.ok(readExtensions(whole).size <= 64);
  const questions = readQuestions(whole);
  assert.ok(questions === undefined || questions.length <= 16);
}

type From = 'client' | 'endpoint';
const told = (from: From, one: Buffer): Buffer =>
  Buffer.concat([Buffer.of(from === 'client' ? 0 : 1, one.length >> 8, one.length & 255), one]);
const numbers = (...all: number[]): Buffer[] => all.map((one) => encodeUint32(one));
const request = (channel: number, type: string, ...fields: Buffer[]): Buffer =>
  message(98, encodeUint32(channel), encodeString(type), encodeBoolean(true), ...fields);

const TALKS = [
  Buffer.concat([
    told('client', message(90, encodeString('session'), ...numbers(3, 1 << 20, 32_768))),
    told('endpoint', message(91, ...numbers(3, 8, 1 << 20, 32_768))),
    told(
      'client',
      request(8, 'pty-req', encodeString('xterm'), ...numbers(80, 24, 0, 0), encodeString('')),
    ),
    told('client', request(8, 'exec', encodeString('id'))),
    told('client', message(94, encodeUint32(8), encodeString('typed'))),
    told('client', request(8, 'window-change', ...numbers(132, 50, 0, 0))),
    told('endpoint', message(94, encodeUint32(3), encodeString('shown'))),
    told('endpoint', message(95, ...numbers(3, 1), encodeString('oops'))),
    told('endpoint', message(93, ...numbers(3, 100))),
    told('endpoint', request(3, 'exit-status', encodeUint32(7))),
    told('endpoint', message(97, encodeUint32(3))),
    told('client', message(97, encodeUint32(8))),
  ]),
  Buffer.concat([
    told('endpoint', message(90, encodeString('forwarded-tcpip'), ...numbers(3, 9, 9))),
    told('client', message(91, ...numbers(3, 8, 9, 9))),
    told('client', message(94, encodeUint32(3), encodeString('in'))),
    told('client', message(90, encodeString('x11'), ...numbers(9, 9, 9))),
    told('endpoint', message(92, ...numbers(9, 1), encodeString('no'), encodeString(''))),
    told('client', message(80, encodeString('keepalive@openssh.com'), encodeBoolean(true))),
  ]),
];

/** Each channel that is told of is closed once; nobody is told of more than was said. */
async function readTalk(bytes: Uint8Array): Promise<void> {
  let open = 0;
  let heard = 0;
  const watcher: SessionWatcher = {
    async openChannel({ type, command = '', pty }) {
      assert.ok(type.length + command.length + (pty?.term.length ?? 0) <= bytes.length);
      let isOpen = true;
      open++;
      return {
        async output(part) {
          heard += part.length;
        },
        async input(part) {
          heard += part.length;
        },
        async resize() {},
        async close() {
          assert.ok(isOpen, 'closed twice');
          isOpen = false;
          open--;
        },
      };
    },
    async close() {},
  };
  const channels = new WatchedChannels(watcher);
  let fault: unknown;
  try {
    for (let at = 0; at + 3 < bytes.length; ) {
      const [from = 0, high = 0, low = 0] = bytes.subarray(at, at + 3);
      at += 3;
      // One that says that it is longer than all that is left is what is left.
      const one = Buffer.from(bytes.subarray(at, at + high * 256 + low));
      at += one.length;
      if (one.length > 0) await channels.see(one, from % 2 === 0 ? 'client' : 'endpoint');
    }
  } catch (error) {
    fault = error;
  }
  await channels.close();
  assert.equal(open, 0);
  assert.ok(heard <= bytes.length);
  if (fault !== undefined) throw asRefusal(fault);
}

/** A key for tests only, the same each time. */
const ED25519 = createPrivateKey({
  key: Buffer.alloc(32, 9),
  format: 'raw-private',
  asymmetricKeyType: 'ed25519',
});
const KEYS: KeyObject[] = [
  ED25519,
  generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey,
  generateKeyPairSync('ec', { namedCurve: 'P-521' }).privateKey,
  ...corpus.privateKeys.flatMap((pem) => {
    const read = readSshKey(text(pem), '');
    if (read.kind !== 'open' || !read.key) return [];
    try {
      encodePublicKey(createPublicKey(read.key));
      return [read.key];
    } catch {
      return [];
    }
  }),
];
const PUBLIC_KEYS = KEYS.map((key) => encodePublicKey(createPublicKey(key)));

/** A key has one form. */
function readPublicKey(bytes: Uint8Array): void {
  const read = parsePublicKey(bytes);
  if (!read) throw invalid('no key');
  assert.deepEqual(encodePublicKey(read.key).blob, Buffer.from(bytes));
  assert.equal(parsePublicKeyLine(encodeSshPublicKey(read.key))?.type, read.type);
}

function readLine(bytes: Uint8Array): void {
  const found = parsePublicKeyLine(text(bytes)) ?? parseCertificateLine(text(bytes));
  if (!found) throw invalid('no line');
}

const AUTHORITY = { key: ED25519, public_key: encodePublicKey(createPublicKey(ED25519)) };
const FIELDS: CertificateFields = {
  serial: 7n,
  use: 'host',
  key_id: 'key',
  principals: ['host', '*.test'],
  valid_after: 0n,
  valid_before: 2n ** 64n - 1n,
  critical_options: {},
  extensions: {},
};
const CERTIFICATES = KEYS.map((key, at) =>
  makeCertificate(
    createPublicKey(key),
    at % 2 === 0
      ? FIELDS
      : {
          ...FIELDS,
          use: 'user',
          critical_options: { 'force-command': 'id' },
          extensions: { 'permit-pty': '', 'permit-x': 'y' },
        },
    { ...AUTHORITY, nonce: Buffer.alloc(32, 3) },
  ),
);

/** Without its signature, which is made anew: so damage reaches the fields. */
function readSigned(bytes: Uint8Array): void {
  const blob = Buffer.concat([bytes, encodeString(signSsh(ED25519, 'ssh-ed25519', bytes))]);
  const verdict = judgeHostKey(
    blob,
    { keys: [], authorities: [AUTHORITY.public_key], name: 'a.test' },
    1_800_000_000_000,
  );
  const read = parseCertificate(blob);
  if (!read) {
    assert.equal(verdict.trusted, false);
    throw invalid('no certificate');
  }
  if (verdict.trusted) assert.equal(read.use, 'host');
  const wire = new WireReader(blob);
  wire.string();
  const nonce = wire.string();
  // What it says comes again of what is made of it.
  const again = parseCertificate(makeCertificate(read.key, read, { ...AUTHORITY, nonce }));
  assert.deepEqual({ ...again, key: 0, blob: 0 }, { ...read, key: 0, blob: 0 });
}

const unsigned = (blob: Buffer): Buffer => {
  const signature = encodeString(signSsh(ED25519, 'ssh-ed25519', Buffer.alloc(0)));
  return blob.subarray(0, blob.length - signature.length);
};

const DATA = Buffer.from('what is signed');
const SIGNATURES = KEYS.flatMap((key, at) =>
  signatureAlgorithms(PUBLIC_KEYS[at]?.type ?? '').map((algorithm) =>
    Buffer.concat([Buffer.of(at), signSsh(key, algorithm, DATA)]),
  ),
);

function readSignature(bytes: Uint8Array): void {
  const key = PUBLIC_KEYS[(bytes[0] ?? 0) % PUBLIC_KEYS.length];
  assert.ok(key);
  const verdict = verifySsh(key, DATA, bytes.subarray(1));
  if (!verdict.valid) throw invalid('not its signature');
  assert.ok(signatureAlgorithms(key.type).includes(verdict.algorithm));
}

/** What is read can be written, and is the same then. */
function readPrivateFile(bytes: Uint8Array): void {
  const read = readSshKey(text(bytes), '');
  if (read.kind !== 'open') throw invalid(read.kind);
  if (!read.key) throw invalid('a key of another kind');
  let file: string;
  try {
    file = encodePrivateKeyFile(read.key, 'comment');
  } catch (error) {
    // A curve that SSH has not.
    if (error instanceof TypeError && error.message.includes('SSH form')) return;
    throw error;
  }
  const again = readSshKey(file, '');
  assert.ok(again.kind === 'open' && again.key?.equals(read.key));
}

/** Everything of one input, until something is missing. */
function readWire(bytes: Uint8Array): void {
  const read = new WireReader(bytes);
  const parts: Buffer[] = [];
  while (!read.isDone && !read.failed) {
    const from = read.position;
    const kind = read.byte() % 5;
    const part =
      kind === 0
        ? encodeString(read.string())
        : kind === 1
          ? encodeMpint(read.mpint())
          : kind === 2
            ? encodeUint64(read.uint64())
            : kind === 3
              ? encodeUint32(read.uint32())
              : encodeString(Buffer.from(encodeNames(read.names()).subarray(4)));
    if (read.failed) break;
    // A name that is not Latin has another form as UTF-8; a number may begin with zeros.
    if (kind !== 4 && kind !== 1) {
      assert.deepEqual(part, Buffer.from(bytes.subarray(from + 1, read.position)));
    }
    parts.push(part);
  }
  assert.ok(parts.length <= bytes.length && read.position <= bytes.length);
}

export const sshTargets: readonly FuzzTarget[] = [
  {
    name: 'ssh-wire',
    corpus: [
      Buffer.concat([Buffer.of(0), encodeString('x'), Buffer.of(1), encodeMpint(Buffer.of(200))]),
      Buffer.concat([Buffer.of(2, 1, 2, 3, 4, 5, 6, 7, 8, 4), encodeNames(['a', 'b'])]),
    ],
    read: readWire,
  },
  {
    name: 'ssh-packets',
    corpus: [
      Buffer.concat([line('hello\r\n'), NAME, ...PAYLOADS.map((one) => packet(one))]),
      Buffer.concat([NAME, ...Array.from({ length: 50 }, () => packet(Buffer.of(2)))]),
    ],
    words: ['SSH-2.0-x\n', '\n'],
    read: (bytes) => readHoweverCut(bytes, () => new Incoming()),
  },
  {
    name: 'ssh-sealed-packets',
    corpus: SEALED,
    read(bytes) {
      // Keys hold from the name on, as if they had been changed right behind it.
      const named = bytes.subarray(1);
      readHoweverCut(named, () => {
        const incoming = new Incoming();
        incoming.changeKeys(openerOf(keysOf(bytes[0] ?? 0)), true);
        return incoming;
      });
    },
  },
  {
    name: 'ssh-offer',
    corpus: OFFERS,
    words: [',', ',,', 'kex-strict-c-v00@openssh.com', 'aes256-ctr', 'none'],
    read: readOffer,
  },
  {
    name: 'ssh-message',
    corpus: [
      message(MESSAGE.DISCONNECT, encodeUint32(11), encodeString('bye'), encodeString('')),
      message(
        MESSAGE.EXT_INFO,
        encodeUint32(1),
        encodeString('server-sig-algs'),
        encodeNames(names(9)),
      ),
      message(
        MESSAGE.USERAUTH_60,
        ...['', '', ''].map((one) => encodeString(one)),
        encodeUint32(1),
        encodeString('Password: '),
        encodeBoolean(false),
      ),
    ],
    read: readMessage,
  },
  {
    name: 'ssh-channels',
    corpus: TALKS,
    words: ['session', 'exec', 'shell', 'exit-signal'],
    read: readTalk,
  },
  { name: 'ssh-public-key', corpus: PUBLIC_KEYS.map(({ blob }) => blob), read: readPublicKey },
  {
    name: 'ssh-key-line',
    corpus: [
      ...KEYS.map((key) => line(`${encodeSshPublicKey(createPublicKey(key))} a comment`)),
      ...CERTIFICATES.map((blob) =>
        line(`${new WireReader(blob).name()} ${blob.toString('base64')}`),
      ),
    ],
    words: [' ', '\t', '=', 'ssh-rsa '],
    read: readLine,
  },
  { name: 'ssh-certificate', corpus: CERTIFICATES.map(unsigned), read: readSigned },
  { name: 'ssh-signature', corpus: SIGNATURES, read: readSignature },
  {
    name: 'ssh-private-key-file',
    corpus: KEYS.map((key) => line(encodePrivateKeyFile(key, 'comment'))),
    words: ['-----BEGIN OPENSSH PRIVATE KEY-----\n', '-----END ', 'AAAA', '\n'],
    read: readPrivateFile,
  },
];
