import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PassingRoom } from './passing.ts';

/** What a part takes itself, whatever is remembered. */
const PART = 160;

/** Something that says when it forgets. */
const open = (room: PassingRoom) => {
  const one = { forgot: 0, forget: () => one.forgot++ };
  return { one, part: room.open(one) };
};

test('what began to remember first forgets first, once all together remember too much', () => {
  const room = new PassingRoom({ all: 3 * PART + 100, one: PART + 60 });
  const [a, b, c] = [open(room), open(room), open(room)];
  room.grow(a.part, 40);
  room.grow(b.part, 40);
  room.grow(c.part, 20);
  assert.deepEqual(
    [a, b, c].map(({ one }) => one.forgot),
    [0, 0, 0],
    'just full',
  );
  room.grow(b.part, 1);
  assert.deepEqual(
    [a, b, c].map(({ one }) => one.forgot),
    [1, 0, 0],
  );
  assert.equal(room.bytes, 2 * PART + 61);
  // It has begun anew, and last.
  room.grow(a.part, 40);
  assert.deepEqual(
    [a, b, c].map(({ one }) => one.forgot),
    [1, 1, 0],
  );
  assert.equal(room.bytes, 2 * PART + 60);
});

test('what remembers too much by itself forgets by itself', () => {
  const room = new PassingRoom({ all: 3 * PART + 100, one: PART + 60 });
  const [a, b] = [open(room), open(room)];
  room.grow(a.part, 30);
  room.grow(b.part, 60);
  assert.equal(b.one.forgot, 0);
  room.grow(b.part, 1);
  assert.deepEqual([a.one.forgot, b.one.forgot], [0, 1]);
  assert.equal(room.bytes, PART + 30);
});

test('one thing larger than all the room is forgotten at once, and nothing else', () => {
  const room = new PassingRoom({ all: 2 * PART + 100, one: 2 * PART + 100 });
  const [a, b] = [open(room), open(room)];
  room.grow(a.part, 10);
  room.grow(b.part, PART + 101);
  assert.deepEqual([a.one.forgot, b.one.forgot], [0, 1]);
  assert.equal(room.bytes, PART + 10);
});
