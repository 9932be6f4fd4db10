// What peers of SSH, clients of sessions and whoever can write into a storage bucket may send takes no longer than
// its length is worth: the longest that is read at all, made of what is most work.

import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  FileFault,
  openPieces,
  pieceStart,
  sealPiece,
} from '../../src/broker/recordings/recordings/sealed-piece.ts';
import { linesOf } from '../../src/cli/recordings/cast-lines.ts';
import { ScreenText } from '../../src/cli/recordings/screen-text.ts';
import { judgeHostKey, makeCertificate, parseCertificate } from '../../src/ssh/certificate.ts';
import { readPrivateSection } from '../../src/ssh/private-section.ts';
import { encodePublicKey, parsePublicKey, parsePublicKeyLine } from '../../src/ssh/public-key.ts';
import { verifySsh } from '../../src/ssh/signature.ts';
import { encodeBoolean, encodeMpint, encodeString, encodeUint32 } from '../../src/ssh/wire.ts';
import { Asciicast } from '../../src/worker/recording/asciicast.ts';
import { TextPieces } from '../../src/worker/recording/text-pieces.ts';
import { WatchedChannels } from '../../src/worker/ssh/channels.ts';
import { readQuestions } from '../../src/worker/ssh/login.ts';
import { CIPHERS } from '../../src/worker/ssh/transport/algorithms.ts';
import { openerOf, sealerOf } from '../../src/worker/ssh/transport/ciphers.ts';
import { SshFault } from '../../src/worker/ssh/transport/fault.ts';
import { Incoming } from '../../src/worker/ssh/transport/incoming.ts';
import { readExtensions, readFarewell } from '../../src/worker/ssh/transport/messages.ts';
import { encodeKexInit, negotiate } from '../../src/worker/ssh/transport/negotiation.ts';
import { Outgoing } from '../../src/worker/ssh/transport/outgoing.ts';
import { SshTransport } from '../../src/worker/ssh/transport/transport.ts';
import { BinaryFrames } from '../../src/worker/wire/frames.ts';
import { decodeClientHandshake, decodeHandshakeResult } from '../../src/worker/wire/handshake.ts';
import { readHelloNames, sessionOf } from '../../src/worker/wire/hello-names.ts';
import { cpuUntil } from '../support/cpu-time.ts';
import { holdBounds } from '../support/machine.ts';
import { frameOf } from '../support/session-client.ts';
import { SshPeer } from '../support/ssh-peer.ts';
import { streamPair } from '../support/stream-pair.ts';
import { holdsNobodyUp } from '../support/turns.ts';

const KIB = 1 << 10;
const PACKET = 256 * KIB;

const message = (number: number, ...fields: Buffer[]): Buffer =>
  Buffer.concat([Buffer.of(number), ...fields]);

function readAll(bytes: Buffer, size: number, incoming = new Incoming()): number {
  let read = 0;
  for (let at = 0; at < bytes.length; at += size) {
    incoming.push(bytes.subarray(at, at + size));
    while (incoming.next()) read++;
  }
  return read;
}

const plain = new Outgoing();
const longest = plain.packet(Buffer.alloc(PACKET - 16, 94));
const short = Buffer.concat(Array.from({ length: 65_536 }, () => plain.packet(Buffer.of(2))));
const kind = CIPHERS['aes256-gcm@openssh.com'] as (typeof CIPHERS)[string];
const keys = () => ({ kind, key: Buffer.alloc(32, 1), iv: Buffer.alloc(12, 2) });
const sealing = new Outgoing();
sealing.changeKeys(sealerOf(keys()), true);
const sealed = Buffer.concat(Array.from({ length: 10_000 }, () => sealing.packet(Buffer.of(2))));

function greet(lines: number): void {
  const incoming = new Incoming();
  const text = Buffer.from(`${'x'.repeat(250)}\r\n`.repeat(lines));
  assert.throws(() => {
    for (const byte of text) {
      incoming.push(Buffer.of(byte));
      incoming.identification(true);
    }
  }, SshFault);
}

const own = encodeKexInit('server', ['ssh-ed25519'], Buffer.alloc(16));
/** An offer whose lists are as long as a packet lets all of them be. */
function offerOf(name: (at: number) => string): Buffer {
  const each = Math.floor((PACKET - 100) / 10);
  let list = '';
  for (let at = 0; list.length < each - 16; at++) list += `${at === 0 ? '' : ','}${name(at)}`;
  return Buffer.concat([
    Buffer.alloc(17, 20),
    ...Array.from({ length: 10 }, () => encodeString(list)),
    Buffer.alloc(5),
  ]);
}
const refusedOffer = (offer: Buffer) => () => {
  assert.throws(() => negotiate('server', own, offer), SshFault);
  assert.throws(() => negotiate('client', own, offer), SshFault);
};

const watcher = {
  openChannel: async () => ({
    async output() {},
    async input() {},
    async resize() {},
    async close() {},
  }),
  async close() {},
};
async function seeMany(one: Buffer, count: number): Promise<void> {
  const channels = new WatchedChannels(watcher);
  for (let nth = 0; nth < count; nth++) await channels.see(one, 'client');
}
const named = [encodeUint32(7), encodeString('x'.repeat(PACKET - 100)), encodeBoolean(false)];

const ed25519 = createPrivateKey({
  key: Buffer.alloc(32, 9),
  format: 'raw-private',
  asymmetricKeyType: 'ed25519',
});
const authority = { key: ed25519, public_key: encodePublicKey(createPublicKey(ed25519)) };
const FIELDS = {
  ...({ serial: 1n, use: 'host', key_id: '', valid_after: 0n, valid_before: 2n ** 60n } as const),
  ...{ critical_options: {}, extensions: {} },
};
const certify = (principals: string[]): Buffer =>
  makeCertificate(
    createPublicKey(ed25519),
    { ...FIELDS, principals },
    { ...authority, nonce: Buffer.alloc(32) },
  );
const stars = certify(Array.from({ length: 256 }, () => `*${'a'.repeat(126)}b`));
const empties = certify(Array.from({ length: 60_000 }, () => ''));
const manyStars = certify([`${'*a'.repeat(100_000)}b`]);
const NAME = 'a'.repeat(255);
const judge = (blob: Buffer) => () => {
  const known = { keys: [], authorities: [authority.public_key], name: NAME };
  assert.equal(judgeHostKey(blob, known, 1_000).trusted, false);
};
/** No prime stands behind it, and nobody has its other half. */
const wide = (bits: number): Buffer => {
  const n = Buffer.alloc(bits / 8, 0xff);
  return Buffer.concat([
    encodeString('ssh-rsa'),
    ...[encodeMpint(Buffer.alloc(8, 0xff)), encodeMpint(n)],
  ]);
};
/** A private key whose public numbers are fine, with others that no key has. */
const longSection = ((): Buffer => {
  const n = Buffer.alloc(256, 0xff);
  const [d, p] = [Buffer.alloc(PACKET, 0x77), Buffer.alloc(PACKET / 2, 0x55)];
  const numbers = [n, Buffer.of(1, 0, 1), d, Buffer.of(1), p, p].map((one) => encodeMpint(one));
  return Buffer.concat([Buffer.alloc(8), encodeString('ssh-rsa'), ...numbers, encodeString('')]);
})();
const notSigned = Buffer.concat([
  encodeString('rsa-sha2-512'),
  encodeString(Buffer.alloc(2048, 0x7f)),
]);

const KEY = Buffer.alloc(32, 5);
const FILE = { recording_id: 'sr_1', id: 'chr_1' };
function storedFile(pieces: number) {
  let head = pieceStart(FILE);
  const parts = Array.from({ length: pieces }, () => {
    const piece = { key: KEY, nonce: randomBytes(12), content: Buffer.alloc(0), is_last: false };
    const made = sealPiece(FILE, head, piece);
    head = made.head;
    return made.bytes;
  });
  return { bytes: Buffer.concat(parts), head };
}
const stored = storedFile(15_000);
async function* inParts(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
async function openAll(bytes: Uint8Array, size: number): Promise<void> {
  const file = { ...FILE, key: KEY, end: stored.head, is_closed: false };
  for await (const content of openPieces(inParts(bytes, size), file)) {
    assert.equal(content.length, 0);
  }
}

async function lines(bytes: Uint8Array, size: number): Promise<void> {
  for await (const line of linesOf(inParts(bytes, size))) assert.ok(line.length >= 0);
}
const show = (text: string, size: number) => () => {
  const screen = new ScreenText();
  for (let at = 0; at < text.length; at += size) screen.take(text.slice(at, at + size));
};

const sink = { piece() {}, other() {} };
function frames(bytes: Buffer<ArrayBuffer>, size: number): void {
  const reader = new BinaryFrames(sink);
  for (let at = 0; at < bytes.length; at += size) reader.add(bytes.subarray(at, at + size));
}
const emptyFrames = Buffer.concat(Array.from({ length: 170_000 }, () => frameOf(2, Buffer.of())));

/** A first message of TLS with so many bytes of ALPN names, in records of a size. */
function helloOf(alpn: Buffer, record: number): Buffer {
  const u16 = (value: number): Buffer => Buffer.of(value >> 8, value & 255);
  const list = Buffer.concat([u16(alpn.length), alpn]);
  const extension = Buffer.concat([u16(16), u16(list.length), list]);
  const body = Buffer.concat([
    Buffer.alloc(34),
    Buffer.of(0, 0, 2, 0x13, 1, 1, 0),
    ...[u16(extension.length), extension],
  ]);
  const whole = Buffer.concat([Buffer.of(1, 0), u16(body.length), body]);
  const records: Buffer[] = [];
  for (let at = 0; at < whole.length; at += record) {
    const part = whole.subarray(at, at + record);
    records.push(Buffer.of(22, 3, 1), u16(part.length), part);
  }
  return Buffer.concat(records);
}
function readHello(hello: Buffer): void {
  const names = readHelloNames(hello);
  assert.ok(names);
  assert.equal(sessionOf(names), undefined);
}
const longAlmost = Buffer.concat([Buffer.of(65), Buffer.from(`s_${'a'.repeat(62)}-`)]);

const cases: [name: string, most: number, work: () => unknown][] = [
  ['the longest packet, byte by byte', 300, () => assert.equal(readAll(longest, 1), 1)],
  ['short packets in one piece', 150, () => assert.equal(readAll(short, 1 << 30), 65_536)],
  ['short packets in pieces of three bytes', 600, () => readAll(short, 3)],
  [
    'short packets that are encrypted',
    600,
    () => {
      const incoming = new Incoming();
      incoming.changeKeys(openerOf(keys()), true);
      assert.equal(readAll(sealed, 7, incoming), 10_000);
    },
  ],
  ['greetings without end, byte by byte', 100, () => greet(40)],
  ['an offer of empty names', 200, refusedOffer(offerOf(() => ''))],
  ['an offer of other names', 200, refusedOffer(offerOf((at) => at.toString(36)))],
  ['an offer of names that are its own', 200, refusedOffer(offerOf(() => 'curve25519-sha256x'))],
  [
    'last words that nobody can read',
    100,
    () => readFarewell(message(1, encodeUint32(2), encodeString(Buffer.alloc(PACKET, 7)))),
  ],
  [
    'extensions without end',
    100,
    () => readExtensions(message(7, encodeUint32(0xffffffff), Buffer.alloc(PACKET))),
  ],
  [
    'questions without end',
    100,
    () => readQuestions(message(60, Buffer.alloc(12), encodeUint32(0xffffffff))),
  ],
  ['rooms for more in no channel', 300, () => seeMany(message(93, ...named.slice(0, 1)), 100_000)],
  ['long requests to no channel', 300, () => seeMany(message(98, ...named), 1_000)],
  ['global requests', 300, () => seeMany(message(80, ...named.slice(1)), 100_000)],
  ['a host certificate of as many names as fit', 100, judge(empties)],
  ['a host certificate of names that almost fit', 300, judge(stars)],
  ['a host certificate of stars', 100, judge(manyStars)],
  [
    'a certificate whose lengths lie in each other',
    100,
    () => assert.equal(parseCertificate(Buffer.alloc(PACKET, 1)), undefined),
  ],
  [
    'a signature by the longest key',
    150,
    () => {
      const key = parsePublicKey(wide(16_384));
      assert.ok(key);
      assert.equal(verifySsh(key, Buffer.alloc(PACKET), notSigned).valid, false);
    },
  ],
  [
    'a private key of numbers that are too long',
    20,
    () => assert.equal(readPrivateSection(longSection), undefined),
  ],
  [
    'a line of a key that ends in spaces',
    100,
    () =>
      assert.equal(
        parsePublicKeyLine(`ssh-rsa ${'A'.repeat(16_384)}${' '.repeat(PACKET)}\n\n`),
        undefined,
      ),
  ],
  ['a file of short pieces in one part', 1_000, () => openAll(stored.bytes, 1 << 30)],
  ['a file of short pieces in parts of 64 KiB', 1_000, () => openAll(stored.bytes, 64 * KIB)],
  [
    'a file that says that its first piece is long',
    600,
    () =>
      assert.rejects(
        openAll(Buffer.concat([encodeUint32(1 << 20), Buffer.alloc(32 * KIB)]), 1),
        FileFault,
      ),
  ],
  ['a recording without lines, byte by byte', 1_000, () => lines(Buffer.alloc(64 * KIB, 65), 1)],
  ['a recording of empty lines', 1_000, () => lines(Buffer.alloc(64 * KIB, 10), 64 * KIB)],
  ['escapes alone', 300, show('\u001b'.repeat(1 << 20), 64 * KIB)],
  ['escapes alone, one by one', 300, show('\u001b'.repeat(64 * KIB), 1)],
  ['controls that never end, one by one', 300, show(`\u001b[${'0;'.repeat(32 * KIB)}`, 1)],
  ['short controls', 600, show('\u001b[0m'.repeat(1 << 18), 64 * KIB)],
  ['strings of controls that begin again', 300, show('\u001b]'.repeat(1 << 19), 64 * KIB)],
  [
    'a string of controls that never ends',
    300,
    show(`\u001b]${'\u001b\u0018'.repeat(1 << 18)}`, 100),
  ],
  [
    'output byte by byte',
    900,
    () => {
      const facts = {
        type: 'session',
        program: 'shell',
        pty: { term: '', columns: 1, rows: 1 },
      } as const;
      const cast = new Asciicast(facts, { began: 0, keepsInput: true });
      for (let nth = 0; nth < 100_000; nth++) cast.take(Buffer.of(0x80), 'stdout', nth);
    },
  ],
  [
    'beginnings of characters',
    300,
    () => {
      const pieces = new TextPieces();
      for (let nth = 0; nth < 100_000; nth++) pieces.take(Buffer.of(0xf0));
      pieces.take(Buffer.alloc(1 << 20, 0xf0));
    },
  ],
  ['empty frames', 200, () => frames(Buffer.from(emptyFrames), 64 * KIB)],
  ['empty frames, byte by byte', 600, () => frames(Buffer.from(emptyFrames), 1)],
  [
    'a first message of many fields',
    100,
    () => decodeClientHandshake(Buffer.alloc(4096, Buffer.of(0x50, 1))),
  ],
  [
    'an answer of many fields',
    600,
    () => decodeHandshakeResult(Buffer.alloc(PACKET, Buffer.of(0x50, 1))),
  ],
  ['names of nothing', 150, () => readHello(helloOf(Buffer.alloc(60_000), 16_384))],
  ['names in records of a byte', 300, () => readHello(helloOf(Buffer.alloc(60_000), 1))],
  [
    'names that almost are sessions',
    100,
    () => readHello(helloOf(Buffer.concat(Array.from({ length: 900 }, () => longAlmost)), 16_384)),
  ],
];

for (const [name, most, work] of cases) {
  test(`${name} takes no longer than it is worth`, async () => {
    await holdBounds({ [name]: most }, async () => {
      const took = await cpuUntil(async () => work());
      return { [name]: took };
    });
  });
}

for (const [why, payload] of [
  ['says nothing', Buffer.of(2)],
  ['is passed on', Buffer.of(80)],
] as const) {
  test(`a flood of what ${why} leaves their turn to others`, async () => {
    await holdsNobodyUp(async () => {
      const [near, far] = streamPair();
      const host_key = { key: ed25519, public_key: authority.public_key };
      const transport = new SshTransport(near, { role: 'server', host_key }, ['ssh-ed25519']);
      const peer = new SshPeer(far, { role: 'client', judge: () => ({ trusted: true }) });
      await Promise.all([transport.start(), peer.start()]);
      const flood: Buffer[] = [];
      for (let nth = 0; nth < 30_000; nth++) {
        flood.push(peer.seal(payload));
        if (nth % 200 === 0) await nextTurn();
      }
      near.push(Buffer.concat(flood));
      peer.send(Buffer.of(81));
      for (;;) if ((await transport.receive())?.[0] === 81) return;
    });
  });
}
