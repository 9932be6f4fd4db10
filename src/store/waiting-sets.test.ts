import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Asking, OWN_WORK } from '../core/fairness/asking.ts';
import { askingOf, type WaitingSet, WaitingSets } from './waiting-sets.ts';
import type { Effect } from './write.ts';

const WRITE: Effect = { sql: 'update thing set n = 1', parameters: [] };
const ALL = { effects: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY };

function by(address: string, account = ''): Asking {
  const asking = new Asking(address);
  asking.account = account;
  return asking;
}

function setOf(asking: Asking, { effects = 1, bytes = 10 } = {}): WaitingSet {
  const writes = Array<Effect>(effects).fill(WRITE);
  return { effects: writes, bytes, asking, resolve: () => {}, reject: () => {} };
}

const A = '198.51.100.1';
const B = '203.0.113.2';

/** Adds so many sets of each, and says whose the first of the batches are. */
function order(
  sets: [asking: Asking, count: number, size?: { effects?: number; bytes?: number }][],
  limits: { effects: number; bytes: number },
): string[] {
  const waiting = new WaitingSets();
  for (const [asking, count, size] of sets) {
    for (let i = 0; i < count; i++) waiting.add(setOf(asking, size));
  }
  return waiting.take(limits).map(({ asking }) => `${asking.party} ${asking.account}`.trim());
}

const LITTLE = { effects: 4, bytes: 1_000 };

test('all that fits one batch goes in the order of coming', () => {
  assert.deepEqual(
    order(
      [
        [by(A), 2],
        [by(B), 2],
      ],
      LITTLE,
    ),
    [A, A, B, B],
  );
});

test('of more than one batch turns go round the sites', () => {
  const sets: [Asking, number][] = [
    [by(A), 50],
    [by(B), 50],
  ];
  const turns = order(sets, { effects: 20, bytes: 1_000 });
  assert.ok(turns.indexOf(B) < 3, turns.join());
  assert.ok(Math.abs(turns.filter((who) => who === A).length - 10) <= 1, turns.join());
});

test('and in an address round the accounts', () => {
  const sets: [Asking, number][] = [
    [by(A, 'x'), 50],
    [by(A, 'y'), 1],
    [by(A, 'z'), 50],
  ];
  assert.deepEqual(order(sets, LITTLE), [`${A} x`, `${A} y`, `${A} z`, `${A} x`]);
});

test('a network of many addresses has no more turns than one of a single address', () => {
  const crowd = Array.from({ length: 50 }, (_, at): [Asking, number] => [by(`2001:db8::${at}`), 5]);
  const many = Array.from({ length: 50 }, (_, at): [Asking, number] => [
    by(`2001:db8:0:${at.toString(16)}::1`),
    5,
  ]);
  for (const others of [crowd, many]) {
    const turns = order([...others, [by(A), 9]], { effects: 10, bytes: 1_000 });
    assert.ok(turns.filter((who) => who === A).length >= 4, turns.join());
  }
});

test('nor has a crowd of neighbours, whose sets go round their addresses', () => {
  const crowd = Array.from({ length: 250 }, (_, n): [Asking, number] => [by(`192.0.2.${n}`), 2]);
  const turns = order([...crowd, [by(B), 10]], { effects: 20, bytes: 1_000 });
  assert.ok(turns.filter((who) => who === B).length >= 9, turns.join());
  assert.ok(new Set(turns).size >= 10, turns.join());
});

test('a batch ends with the set that fills it, by statements or by bytes', () => {
  assert.equal(order([[by(A), 9, { effects: 3 }]], LITTLE).length, 2);
  assert.equal(order([[by(A), 9, { effects: 100 }]], LITTLE).length, 1);
  assert.equal(order([[by(A), 9, { bytes: 400 }]], { effects: 99, bytes: 1_000 }).length, 3);
});

test('what a batch did not come to is the next of its line, before what comes later', () => {
  const waiting = new WaitingSets();
  const [x, y] = [by(A), by(B)];
  const sets = [setOf(x), setOf(x), setOf(x), setOf(y)];
  for (const set of sets) waiting.add(set);
  const taken = waiting.take(LITTLE);
  assert.deepEqual(taken, sets);
  waiting.putBack(taken.slice(1));
  const late = setOf(x);
  waiting.add(late);
  assert.equal(waiting.count, 4);
  const next = waiting.take(ALL);
  assert.ok(next.findIndex(({ asking }) => asking === y) < 3, 'the other has its turn among them');
  const own = next.filter(({ asking }) => asking === x);
  assert.ok(own[0] === sets[1] && own[1] === sets[2] && own[2] === late);
  assert.equal(waiting.count, 0);
  assert.deepEqual(waiting.take(ALL), []);
});

test('of one site not more than half of the room waits, and there is room for each that comes anew', () => {
  const waiting = new WaitingSets();
  const fill = (asking: Asking): number => {
    let sets = 0;
    for (; waiting.hasRoom(asking); sets++) waiting.add(setOf(asking, { bytes: 100_000 }));
    return sets;
  };
  const one = fill(by(A, 'x'));
  const other = fill(by(A, 'y'));
  assert.ok(one * 100_000 <= (16 << 20) + 100_000, `${one}`);
  assert.ok((one + other) * 100_000 <= (32 << 20) + 100_000, `${one + other}`);
  assert.ok(other > 50, 'an account finds room beside another one');
  assert.ok(fill(by(B)) > 50, 'and so does another site');
  assert.ok(fill(by('203.0.113.9')) > 20, 'and a third');
  assert.ok(waiting.hasRoom(OWN_WORK), 'and the server itself');
});

test('neighbours leave room for each other network that comes anew', () => {
  const bounds: [bytes: number, most: number][] = [
    [100_000, 48 << 20],
    [0, 15_000],
  ];
  for (const [bytes, most] of bounds) {
    const waiting = new WaitingSets();
    const fill = (asking: Asking): number => {
      let sets = 0;
      for (; waiting.hasRoom(asking); sets++) waiting.add(setOf(asking, { bytes }));
      return sets * (bytes || 1);
    };
    let kept = 0;
    for (let n = 1; n <= 250; n++)
      kept += fill(by(`192.0.2.${n}`, 'x')) + fill(by(`192.0.2.${n}`, 'y'));
    assert.ok(kept > most * 0.99 && kept <= most + bytes, `${kept}`);
    assert.ok(fill(by(B)) > most / 20, 'another network');
    assert.ok(fill(by('2001:db8::1')) > most / 40, 'and a third');
    assert.equal(fill(by('192.0.2.1', 'z')), 0);
  }
});

test('sets are bounded by their number, too', () => {
  const waiting = new WaitingSets();
  let sets = 0;
  for (; waiting.hasRoom(by(A)); sets++) waiting.add(setOf(by(A), { bytes: 0 }));
  assert.equal(sets, 5_000);
  for (; waiting.hasRoom(OWN_WORK); sets++) waiting.add(setOf(OWN_WORK, { bytes: 0 }));
  assert.equal(sets, 25_000);
});

test('records of reads are written for the server itself', () => {
  assert.equal(askingOf([{ audit: '{}' }], by(A)), OWN_WORK);
  const asking = by(A);
  assert.equal(askingOf([WRITE, { audit: '{}' }], asking), asking);
});

/** Batches that come to one set each, of a flood that always has others waiting. */
function flood(others: readonly Asking[], batches: number): number[] {
  const waiting = new WaitingSets();
  const served = others.map(() => 0);
  const floods = [by(A, 'flood'), by(A, 'flood2')];
  for (const asking of [...floods, ...floods]) waiting.add(setOf(asking, { effects: 9 }));
  for (const asking of others) waiting.add(setOf(asking));
  for (let at = 0; at < batches; at++) {
    const [first, ...rest] = waiting.take({ effects: 40, bytes: 1_000 });
    assert.ok(first);
    waiting.putBack(rest);
    waiting.add(setOf(first.asking, { effects: floods.includes(first.asking) ? 9 : 1 }));
    const other = others.indexOf(first.asking);
    if (other >= 0) served[other] = (served[other] ?? 0) + 1;
  }
  return served;
}

test('batches that are cut behind the first set of a flood starve nobody, however long that goes on', () => {
  const served = flood([by(A, 'other'), by(B), OWN_WORK], 400);
  for (const turns of served) assert.ok(turns >= 40, `${served}`);
});

test('what was taken of a line that is never empty is not kept', async () => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const waiting = new WaitingSets();
  const taken: WeakRef<WaitingSet>[] = [];
  for (let at = 0; at < 2_000; at++) {
    for (const asking of [by(A, 'x'), by(A, 'y')]) waiting.add(setOf(asking));
    for (const set of waiting.take({ effects: 1, bytes: 1_000 })) taken.push(new WeakRef(set));
  }
  // What a reference was made to stays for the turn of the loop in which that was.
  await nextTurn();
  collect();
  const kept = taken.filter((set) => set.deref() !== undefined).length;
  assert.ok(taken.length === 2_000 && kept < 200, `${kept} of ${taken.length}`);
});
