import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallerTally } from './caller-tally.ts';

const take = (tally: CallerTally<string>, party: string, route: string, isRoom?: boolean) =>
  tally.take({ party, route }, () => `caller ${party}`, isRoom);

/** Who asks for what, whether it is recorded by itself, and why. */
const CASES: [party: string, route: string, recorded: boolean, why: string][] = [
  ['a', 'delete', true, 'the first'],
  ['a', 'delete', false, 'the same again'],
  ['a', 'update', true, 'the same caller, something else'],
  ['b', 'delete', true, 'somebody else, the same'],
  ['b', 'delete', false, 'and again'],
  ['a', 'delete', false, 'the first caller still'],
];

test('the first request of a caller for something is recorded, the others are counted by both', () => {
  const tally = new CallerTally<string>();
  for (const [party, route, recorded, why] of CASES) {
    assert.equal(take(tally, party, route), recorded, why);
  }
  assert.deepEqual(tally.drain(), [
    { caller: 'caller a', requests: 2, route: 'delete' },
    { caller: 'caller b', requests: 1, route: 'delete' },
  ]);
  assert.deepEqual(tally.drain(), []);
  assert.equal(take(tally, 'a', 'delete'), true, 'and once more after they were counted');
  assert.deepEqual(tally.drain(), [], 'what has a record is not counted');
});

test('what there is no room for is counted', () => {
  const tally = new CallerTally<string>();
  assert.equal(take(tally, 'a', 'delete', false), false);
  assert.deepEqual(tally.drain(), [{ caller: 'caller a', requests: 1, route: 'delete' }]);
});

test('whoever asks for everything is named, and no more than twenty of it is told apart', () => {
  const tally = new CallerTally<string>();
  let whole = 0;
  for (let n = 0; n < 1000; n++) if (take(tally, 'a', `route ${n % 50}`)) whole++;
  assert.equal(whole, 20);
  assert.equal(take(tally, 'b', 'route 49'), true, 'others have room of their own');
  const counts = tally.drain();
  assert.equal(counts.length, 21);
  assert.ok(counts.every(({ caller }) => caller === 'caller a'));
  assert.deepEqual(counts.at(-1), { caller: 'caller a', requests: 600, route: undefined });
  assert.equal(
    counts.reduce((sum, { requests }) => sum + requests, 0),
    1000 - 20,
  );
});

test('of more than fifty callers the others are counted by what they asked for', () => {
  const tally = new CallerTally<string>();
  const recorded = Array.from({ length: 52 }, (_, n) => take(tally, `${n}`, 'delete'));
  assert.deepEqual(recorded, [...Array(50).fill(true), false, false]);
  assert.equal(take(tally, '51', 'update'), false);
  assert.equal(take(tally, '49', 'update'), true, 'of those who were there before');
  assert.deepEqual(tally.drain(), [
    { caller: undefined, requests: 2, route: 'delete' },
    { caller: undefined, requests: 1, route: 'update' },
  ]);
});
