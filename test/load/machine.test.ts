import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cpuOf } from '../support/cpu-time.ts';
import { holdBounds, type Pace } from '../support/machine.ts';

const QUIET: Pace = { slowness: 1, pause: 0 };
const SLOW: Pace = { slowness: 3, pause: 0 };
const PAUSED: Pace = { slowness: 1.2, pause: 60 };

const cases: [took: number[], pace: Pace, holds: boolean, attempts: number, why: string][] = [
  [[49], QUIET, true, 1, 'is within'],
  [[49], SLOW, true, 1, 'is within, whatever the machine'],
  [[50, 50, 50], QUIET, false, 3, 'is over each time'],
  [[300, 49], QUIET, true, 2, 'is within the second time'],
  [[300, 300, 49], QUIET, true, 3, 'is within the last time'],
  [[149], SLOW, true, 1, 'is within on a machine that is slow'],
  [[150, 150, 150], SLOW, false, 3, 'is over on a machine that is slow'],
  [[109], PAUSED, true, 1, 'is within but for a pause'],
  [[110, 110, 110], PAUSED, false, 3, 'is over by more than a pause'],
];
for (const [took, pace, holds, attempts, why] of cases) {
  test(`what takes ${took} ms of 50 ${why}`, async () => {
    let tried = 0;
    const attempt = async (nth: number) => {
      tried += 1;
      return { work: took[nth] ?? 0 };
    };
    const held = holdBounds({ work: 50 }, attempt, { pace: () => pace });
    await (holds ? held : assert.rejects(held, /work: \d+ ms of 50, [13]\.\d times as slow/));
    assert.equal(tried, attempts);
  });
}

test('of several bounds each is held, in one attempt', async () => {
  const times = [
    { turn: 60, whole: 100 },
    { turn: 40, whole: 500 },
    { turn: 60, whole: 500 },
  ];
  const attempt = async (nth: number) => times[nth] ?? { turn: 40, whole: 100 };
  const bounds = { turn: 50, whole: 400 };
  const over = { message: /^turn: 60 ms of 50, .*; whole: 500 ms of 400, .*; turn: .* whole: / };
  await assert.rejects(holdBounds(bounds, attempt, { pace: () => QUIET }), over);
});

test('work that cannot be done again is tried once', async () => {
  const attempt = async (nth: number) => ({ work: nth === 0 ? 60 : 0 });
  await assert.rejects(holdBounds({ work: 50 }, attempt, { attempts: 1, pace: () => QUIET }));
});

test('what takes much longer than it may is over, as fast as this machine is just now', async () => {
  let sum = 0;
  // A hundred times as much as it may.
  const work = (): void => {
    for (let at = 0; at < 1_000_000_000; at += 1) sum += at % 7;
  };
  await assert.rejects(holdBounds({ work: 8 }, async () => ({ work: cpuOf(work) })));
  assert.ok(sum > 0);
});
