import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../core/failure.ts';
import type { ConnectionEnd } from '../upstream.ts';
import { Ends } from './ends.ts';

const end = (n: number): ConnectionEnd => ({
  connection_id: `sc_${n}`,
  bytes_up: n,
  bytes_down: 0,
  reason: 'unknown',
});

/** A server that answers when it is let. */
function startServer() {
  const calls: { ids: string[]; answer: PromiseWithResolvers<{ closed: number }> }[] = [];
  const ends = new Ends({
    close(request) {
      const answer = Promise.withResolvers<{ closed: number }>();
      calls.push({ ids: request.ends.map(({ connection_id }) => connection_id), answer });
      return answer.promise;
    },
  });
  return { calls, ends };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('the first is told at once, and those that end meanwhile are told together', async () => {
  const { calls, ends } = startServer();
  const told = [1, 2, 3].map((n) => ends.tell(end(n)));
  assert.deepEqual(
    calls.map(({ ids }) => ids),
    [['sc_1']],
  );
  calls[0]?.answer.resolve({ closed: 1 });
  await told[0];
  assert.deepEqual(calls[1]?.ids, ['sc_2', 'sc_3']);
  calls[1]?.answer.resolve({ closed: 2 });
  await Promise.all(told);
});

test('no more than 500 are told at once', async () => {
  const { calls, ends } = startServer();
  const told = Array.from({ length: 1002 }, (_, n) => ends.tell(end(n)));
  for (const most of [1, 500, 500, 1]) {
    const call = calls.shift();
    assert.equal(call?.ids.length, most);
    call?.answer.resolve({ closed: most });
    await turn();
  }
  await Promise.all(told);
});

test('what is refused is told again before others, and once alone when it is the last time', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { calls, ends } = startServer();
  const first = ends.tell(end(1));
  const second = ends.tell(end(2));
  calls.shift()?.answer.reject(new Failure('unavailable', 'not now'));
  ends.close();
  await first;
  assert.deepEqual(calls[0]?.ids, ['sc_2']);
  calls.shift()?.answer.reject(new Failure('unavailable', 'not now'));
  await second;
  assert.deepEqual(calls, []);
});

test('one that the server never takes keeps back no other, and is given up in the end', async () => {
  let now = 0;
  const taken = new Map<string, number>();
  const ends = new Ends(
    {
      async close(request) {
        const ids = request.ends.map(({ connection_id }) => connection_id);
        if (ids.includes('sc_250')) throw new Failure('invalid', 'no such end');
        for (const id of ids) taken.set(id, now);
        return { closed: ids.length };
      },
    },
    {
      now: () => now,
      pass: async (milliseconds) => {
        now += milliseconds;
      },
    },
  );
  await Promise.all(Array.from({ length: 1_000 }, (_, n) => ends.tell(end(n))));
  assert.equal(taken.size, 999);
  assert.equal(now, 30_000, 'the one is told again until then');
  assert.ok(Math.max(...taken.values()) < 10_000, 'the others were told long before');
});
