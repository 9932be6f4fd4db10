import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { Failure } from '../../core/failure.ts';
import { askInTurn } from './asking.ts';

/** What a worker does that is asked. */
const HABITS = {
  answers: async () => 'brought',
  refuses: async () => {
    throw new Failure('unresolved', 'the endpoint cannot be reached');
  },
  hangs: () => new Promise<never>(() => {}),
  'is slow': () => wait(250, 'brought'),
} satisfies Record<string, () => Promise<string>>;
type Habit = keyof typeof HABITS;

const CASES: [workers: Habit[], by: number | undefined, asked: number][] = [
  [['answers', 'answers'], 0, 1],
  [['refuses', 'answers'], 1, 2],
  [['hangs', 'answers'], 1, 2],
  [['hangs', 'refuses', 'answers'], 2, 3],
  [['hangs', 'hangs', 'answers'], 2, 3],
  [['is slow', 'hangs', 'hangs'], 0, 2],
  [['is slow', 'refuses', 'refuses'], 0, 3],
  [['is slow'], 0, 1],
  [['refuses', 'hangs'], undefined, 2],
  [['refuses', 'refuses', 'refuses'], undefined, 3],
  [[], undefined, 0],
];
for (const [workers, by, most] of CASES) {
  const whose = by === undefined ? 'nobody' : `number ${by + 1}`;
  const named = workers.join(', ') || 'is not there';
  test(`of workers of which one after the other ${named}, ${whose} brings it`, async () => {
    const asked: string[] = [];
    const ids = workers.map((_, at) => `w_${at}`);
    const ask = (id: string) => {
      asked.push(id);
      return HABITS[workers[ids.indexOf(id)] ?? 'hangs']();
    };
    // A share of what is slow is over before it answers.
    const done = await askInTurn(ids, ask, 600);
    if (by === undefined) {
      assert.ok('refusals' in done);
      assert.deepEqual(
        done.refusals,
        workers.map((habit, at) => ({
          worker_id: `w_${at}`,
          why: habit === 'refuses' ? 'the endpoint cannot be reached' : 'it does not answer',
        })),
      );
    } else {
      assert.deepEqual(done, { worker_id: `w_${by}`, answer: 'brought' });
    }
    assert.ok(asked.length <= most || most === 0, 'no more are asked than need be');
  });
}

test('a mistake in the program is no answer of a worker', async () => {
  const ask = async () => {
    throw new TypeError('a mistake');
  };
  await assert.rejects(askInTurn(['w_1', 'w_2'], ask, 600), TypeError);
});
