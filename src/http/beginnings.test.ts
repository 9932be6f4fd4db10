import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { doFor, whoAsks } from '../core/fairness/asking.ts';
import { noteNewcomer } from '../sockets/turn-length.ts';
import { Beginnings } from './beginnings.ts';

/** @returns work that takes so many milliseconds; from here on nothing else takes any, whatever else the machine does */
function stopTime(t: TestContext): (ms: number) => void {
  let now = performance.now();
  t.mock.method(performance, 'now', () => now);
  return (ms) => {
    now += ms;
  };
}

test('those of one turn go the same way step by step, each as whoever asked for it', async () => {
  const beginnings = new Beginnings();
  const steps: string[] = [];
  const ask = (name: string) =>
    doFor(name, () =>
      beginnings.begin(async () => {
        steps.push(`${name}: 1`);
        await undefined;
        steps.push(`${name}: 2`);
        return whoAsks().party;
      }),
    );
  const asked = [ask('192.0.2.1'), ask('192.0.2.2')];
  assert.deepEqual(steps, []);
  assert.deepEqual(await Promise.all(asked), ['192.0.2.1', '192.0.2.2']);
  assert.deepEqual(steps, ['192.0.2.1: 1', '192.0.2.2: 1', '192.0.2.1: 2', '192.0.2.2: 2']);
});

test('of what takes long no more than a turn is begun, and it is said that others wait', async (t) => {
  const work = stopTime(t);
  const beginnings = new Beginnings();
  const slow = async () => work(3);
  // How long they take is known then.
  await beginnings.begin(slow);
  await nextTurn();
  let done = 0;
  const asked = Array.from({ length: 20 }, () => beginnings.begin(slow).then(() => ++done));
  let turns = 0;
  let behind = 0;
  while (done < asked.length) {
    await nextTurn();
    turns += 1;
    if (beginnings.isBehind) behind += 1;
  }
  // Two of them take longer than a turn may.
  assert.deepEqual([turns, behind], [10, 9]);
  await Promise.all(asked);
  await nextTurn();
  assert.equal(beginnings.isBehind, false);
});

test('no more is read than a turn has time for, of whomever it is', async (t) => {
  const work = stopTime(t);
  const beginnings = new Beginnings();
  const slow = async () => work(3);
  await beginnings.begin(slow);
  await nextTurn();
  const asked: Promise<void>[] = [];
  while (!beginnings.isBehind && asked.length < 20) asked.push(beginnings.begin(slow));
  assert.ok(asked.length <= 2, `${asked.length} are read in one turn`);
  await Promise.all(asked);
  await nextTurn();
  assert.equal(beginnings.isBehind, false);
  // Of what is quick, as many as come.
  const quick = async () => {};
  for (let time = 0; time < 2; time += 1)
    await Promise.all(
      Array(16)
        .fill(quick)
        .map((one) => beginnings.begin(one)),
    );
  await nextTurn();
  const many = Array.from({ length: 64 }, () => beginnings.begin(quick));
  assert.equal(beginnings.isBehind, false);
  await Promise.all(many);
});

test('one by one while clients come', async (t) => {
  stopTime(t);
  const beginnings = new Beginnings();
  noteNewcomer();
  const steps: string[] = [];
  const ask = (name: string) =>
    beginnings.begin(async () => {
      steps.push(`${name}: 1`);
      await undefined;
      steps.push(`${name}: 2`);
    });
  await Promise.all([ask('a'), ask('b')]);
  assert.deepEqual(steps, ['a: 1', 'a: 2', 'b: 1', 'b: 2']);
});

test('one that fails fails alone', async () => {
  const beginnings = new Beginnings();
  const failed = beginnings.begin(async () => {
    throw new Error('failed');
  });
  const other = beginnings.begin(async () => 'done');
  await assert.rejects(failed, /failed/);
  assert.equal(await other, 'done');
});
