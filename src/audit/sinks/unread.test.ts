import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createUnread } from './unread.ts';

const MIB = 1 << 20;
const DAY_MS = 86_400_000;

const unreadAt = (held_ms?: number) => {
  const clock = { now: 0 };
  return { clock, unread: createUnread(held_ms, () => clock.now) };
};

const BY_BYTES: [what: string, bytes_after: number, sure: number | undefined][] = [
  ['nothing came after it', 0, undefined],
  ['less came after it than the buffers of both systems hold', 40 * MIB - 1, undefined],
  ['more came after it than the buffers of both systems hold', 40 * MIB, 1],
];
for (const [what, bytes_after, sure] of BY_BYTES) {
  test(`what a connection took ${sure ? 'surely was read' : 'may be unread'} when ${what}`, () => {
    const { unread } = unreadAt();
    unread.add(1, MIB);
    unread.add(2, bytes_after);
    assert.equal(unread.sure(), sure);
  });
}

const BY_TIME: [what: string, held_ms: number | undefined, age: number, sure?: number][] = [
  ['a stream within a day', undefined, DAY_MS - 1],
  ['a stream a day ago', undefined, DAY_MS, 3],
  ['datagrams while they are on their way', 10_000, 9_999],
  ['datagrams after that', 10_000, 10_000, 3],
];
for (const [what, held_ms, age, sure] of BY_TIME) {
  test(`${what}: ${sure ? 'counts as read' : 'may be unread'}`, () => {
    const { clock, unread } = unreadAt(held_ms);
    unread.add(3, 1000);
    clock.now = age;
    assert.equal(unread.sure(), sure);
  });
}

const MINUTE = 60_000;
const ENDED: [what: string, taken: [at: number, seq: number][], end: number, sure?: number][] = [
  ['less than ten minutes after it was taken', [[0, 1]], 10 * MINUTE - 1],
  ['ten minutes after it was taken', [[0, 1]], 10 * MINUTE, 1],
  [
    'and a later one is younger',
    [
      [0, 1],
      [2 * MINUTE, 2],
    ],
    10 * MINUTE,
    1,
  ],
  [
    'and a later one is remembered with it',
    [
      [0, 1],
      [MINUTE - 1, 2],
    ],
    10 * MINUTE,
  ],
  [
    'and both are old',
    [
      [0, 1],
      [MINUTE - 1, 2],
    ],
    11 * MINUTE,
    2,
  ],
];
for (const [what, taken, end, sure] of ENDED) {
  test(`when a server ends in good order ${what}, ${sure ?? 'nothing'} is sure`, () => {
    const { clock, unread } = unreadAt();
    for (const [at, seq] of taken) {
      clock.now = at;
      unread.add(seq, 10);
    }
    clock.now = end;
    unread.settleEnded();
    assert.equal(unread.sure(), sure);
    unread.forget();
    assert.equal(unread.sure(), sure);
  });
}

test('where connections are ended often the same does not come again without end, but while none lasts', () => {
  for (const [lasts, most] of [
    [50_000, 12],
    [9_999, Number.POSITIVE_INFINITY],
  ] as const) {
    const { clock, unread } = unreadAt();
    let times = 0;
    for (; unread.sure() === undefined && times < 1000; times++) {
      unread.add(1, 10);
      clock.now += lasts;
      unread.settleEnded();
      unread.forget();
    }
    assert.equal(times, Math.min(most, 1000));
  }
});

test('what is settled stays so, and what may be unread is forgotten once', () => {
  const { unread } = unreadAt();
  unread.add(1, 10);
  unread.settleAll();
  assert.equal(unread.forget(), false);
  unread.add(2, 10);
  assert.equal(unread.forget(), true);
  assert.equal(unread.forget(), false);
  assert.equal(unread.sure(), 1);
});

test('a rewound sink counts from there', () => {
  const { unread } = unreadAt();
  unread.add(1, 30 * MIB);
  unread.forget();
  unread.add(1, 30 * MIB);
  unread.add(2, 30 * MIB);
  assert.equal(unread.sure(), undefined);
  unread.add(3, 10 * MIB);
  assert.equal(unread.sure(), 1);
});
