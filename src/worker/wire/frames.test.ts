import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { frameOf, OPCODE } from '../../../test/support/session-client.ts';
import { BinaryFrames, binaryHead } from './frames.ts';
import { unmask } from './unmask.ts';

test('a mask is taken off pieces of any length, at any place, from any of its bytes', () => {
  const whole = randomBytes(200);
  const mask = Buffer.from([1, 0x92, 0xf3, 0x84]);
  for (let offset = 0; offset < 8; offset++) {
    for (let phase = 0; phase < 4; phase++) {
      for (const length of [0, 1, 2, 3, 4, 5, 31, 32, 33, 34, 35, 36, 100, 131]) {
        const piece = Buffer.from(whole).subarray(offset, offset + length);
        const plain = piece.map((byte, at) => byte ^ (mask[(phase + at) & 3] ?? 0));
        unmask(piece, mask.readInt32LE(), phase);
        assert.deepEqual([...piece], [...plain], `${offset} ${phase} ${length}`);
      }
    }
  }
});

test('nothing beside a piece is touched', () => {
  const whole = Buffer.alloc(100, 5);
  unmask(whole.subarray(3, 90), 0x01020304, 1);
  assert.deepEqual([...whole.subarray(0, 3), ...whole.subarray(90)], Array(13).fill(5));
});

interface Read {
  messages: string[];
  others: Buffer;
}

/** What is read of bytes that come in pieces of a length. */
function readFrames(bytes: Uint8Array, size: number): Read {
  const read: Read = { messages: [], others: Buffer.alloc(0) };
  let message = '';
  const frames = new BinaryFrames({
    piece(piece, isEnd) {
      message += piece.toString('latin1');
      if (!isEnd) return;
      read.messages.push(message);
      message = '';
    },
    other(other) {
      read.others = Buffer.concat([read.others, other]);
    },
  });
  for (let at = 0; at < bytes.length; at += size) {
    frames.add(Buffer.from(bytes.subarray(at, at + size)));
  }
  return read;
}

const long = 'x'.repeat(70_000);
const fragment = (opcode: number, text: string, isFinal: boolean): Buffer => {
  const frame = frameOf(opcode, Buffer.from(text));
  frame[0] = (isFinal ? 0x80 : 0) | opcode;
  return frame;
};
const withByte = (frame: Buffer, at: number, byte: number): Buffer => {
  const changed = Buffer.from(frame);
  changed[at] = byte;
  return changed;
};
const one = frameOf(OPCODE.binary, Buffer.from('one'));
const ping = frameOf(OPCODE.ping, Buffer.from('are you there'));
const bye = frameOf(OPCODE.close, Buffer.from([3, 232]));
const text = frameOf(OPCODE.text, Buffer.from('text'));

const streams: [why: string, frames: Buffer[], messages: string[], others: Buffer[]][] = [
  ['messages', [one, one], ['one', 'one'], []],
  ['an empty message', [frameOf(OPCODE.binary, Buffer.alloc(0)), one], ['', 'one'], []],
  ['a message of 125', [frameOf(2, Buffer.from(long.slice(0, 125)))], [long.slice(0, 125)], []],
  ['a message of 126', [frameOf(2, Buffer.from(long.slice(0, 126)))], [long.slice(0, 126)], []],
  ['a message of 70000', [frameOf(2, Buffer.from(long)), one], [long, 'one'], []],
  ['pings and a close', [one, ping, one, bye], ['one', 'one'], [ping, bye]],
  ['a text among them', [one, text, one], ['one', 'one'], [text]],
  ['a message in parts', [fragment(2, 'a', false), fragment(0, 'b', true), one], ['ab', 'one'], []],
  [
    'parts of which the last is empty, and a ping between them',
    [fragment(2, 'a', false), ping, fragment(0, 'b', false), fragment(0, '', true)],
    ['ab'],
    [ping],
  ],
  [
    'a text in parts',
    [fragment(1, 'a', false), fragment(0, 'b', true), one],
    ['one'],
    [fragment(1, 'a', false), fragment(0, 'b', true)],
  ],
  ['a reserved bit', [one, withByte(one, 0, 0xc2), one], ['one'], [withByte(one, 0, 0xc2), one]],
  ['no mask', [one, Buffer.from([0x82, 1, 7]), one], ['one'], [Buffer.from([0x82, 1, 7]), one]],
  [
    'a length beyond all lengths',
    [one, Buffer.from([0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 7]), one],
    ['one'],
    [Buffer.from([0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 7]), one],
  ],
  ['a message amid another', [fragment(2, 'a', false), one, ping], [], [one, ping]],
];

for (const [why, frames, messages, others] of streams) {
  test(`of ${why} binary messages are read, and the rest is passed on, however it is cut`, () => {
    const bytes = Buffer.concat(frames);
    for (const size of [1, 2, 3, 7, 13, 14, 15, 1000, bytes.length]) {
      const read = readFrames(bytes, size);
      assert.deepEqual(read.messages, messages, String(size));
      // Masks are random, so parts that are made twice differ: their length tells.
      assert.equal(read.others.length, Buffer.concat(others).length, String(size));
    }
  });
}

test('what is passed on is as it came', () => {
  const bytes = Buffer.concat([one, ping, text, one, bye]);
  assert.deepEqual(readFrames(bytes, 5).others, Buffer.concat([ping, text, bye]));
});

for (const length of [0, 125, 126, 65_535, 65_536, 5_000_000]) {
  test(`the head of a message of ${length} says so`, () => {
    const head = binaryHead(length);
    const short = (head[1] ?? 0) & 127;
    assert.equal(head[0], 0x82);
    const said =
      short < 126 ? short : short === 126 ? head.readUInt16BE(2) : Number(head.readBigUInt64BE(2));
    assert.equal(said, length);
    assert.equal(head.length, short < 126 ? 2 : short === 126 ? 4 : 10);
  });
}
