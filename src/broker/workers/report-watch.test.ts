import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WorkerStatusRow } from '../../store/tables.ts';
import { type Hearing, ReportWatch } from './report-watch.ts';

const report = (last_status_ms: number, operational_state = 'active'): WorkerStatusRow => ({
  worker_id: 'w_1',
  last_status_ms,
  operational_state,
  active_connection_count: 0,
});

/** At what seconds it is looked, what is said then, and what is known in the end. */
const LOOKS: [what: string, looks: [at: number, says: number | undefined][], judged: Hearing][] = [
  ['nothing that was said', [[0, undefined]], 'not known'],
  ['what was there at the first look', [[0, 7]], 'not known'],
  [
    'what was there at the first look, 15 seconds ago',
    [
      [0, 7],
      [15, 7],
    ],
    'not known',
  ],
  [
    'what was there at the first look, longer ago',
    [
      [0, 7],
      [15.001, 7],
    ],
    'silent',
  ],
  [
    'what has changed',
    [
      [0, 7],
      [5, 8],
    ],
    'heard',
  ],
  [
    'what has changed to an earlier time',
    [
      [0, 7],
      [5, 1],
    ],
    'heard',
  ],
  [
    'what came between two looks',
    [
      [0, undefined],
      [5, 7],
    ],
    'heard',
  ],
  [
    'what has changed while nobody looked for long',
    [
      [0, 7],
      [15.001, 8],
    ],
    'not known',
  ],
  [
    'what has not changed any more for 15 seconds, but may have for longer',
    [
      [0, 7],
      [5, 8],
      [20, 8],
    ],
    'not known',
  ],
  [
    'what has not changed any more for longer',
    [
      [0, 7],
      [5, 8],
      [20.001, 8],
    ],
    'silent',
  ],
  [
    'what has changed again after that',
    [
      [0, 7],
      [15, 7],
      [20, 8],
    ],
    'heard',
  ],
  [
    'what has gone, and is there anew',
    [
      [0, 7],
      [15, undefined],
      [20, 7],
    ],
    'heard',
  ],
];
for (const [what, looks, judged] of LOOKS) {
  test(`a worker is ${judged} by ${what}`, async () => {
    let now = 0;
    const watch = new ReportWatch(() => now * 1_000);
    for (const [at, says] of looks) {
      now = at;
      await watch.look(async () => (says === undefined ? [] : [report(says)]));
    }
    assert.equal(watch.judge('w_1'), judged);
  });
}

test('a worker is not silent because nobody has looked', async () => {
  let now = 0;
  const watch = new ReportWatch(() => now);
  await watch.look(async () => [report(7)]);
  now = 60_000;
  assert.equal(watch.judge('w_1'), 'not known');
});

test('what a slow look has read is of when it began, at the earliest', async () => {
  let now = 0;
  const watch = new ReportWatch(() => now);
  await watch.look(async () => [report(7)]);
  now = 10_000;
  await watch.look(async () => {
    now = 60_000;
    return [report(7)];
  });
  assert.equal(watch.judge('w_1'), 'not known');
});

test('a look that was overtaken by a later one says nothing', async () => {
  const watch = new ReportWatch();
  const slow = Promise.withResolvers<void>();
  const first = watch.look(async () => {
    await slow.promise;
    return [];
  });
  await watch.look(async () => []);
  await watch.look(async () => [report(8)]);
  slow.resolve();
  await first;
  assert.equal(watch.judge('w_1'), 'heard');
});

test('a worker that says that it goes has been heard', async () => {
  const watch = new ReportWatch();
  await watch.look(async () => [report(7)]);
  await watch.look(async () => [report(7, 'shutdown')]);
  assert.equal(watch.judge('w_1'), 'heard');
});
