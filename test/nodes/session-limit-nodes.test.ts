import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachPlace } from '../support/engines.ts';
import { inReverse, newDirectory, settingsOf, startNodeProcess } from '../support/node-process.ts';
import { addTarget, startCarryingServer } from '../support/workers-alone.ts';

eachPlace('sessions of one user on several nodes', (newPlace, engine) => {
  if (engine !== 'postgres') return;

  test('two nodes together give a user exactly as many as the limit allows, again and again', async (t) => {
    const scope = inReverse(t);
    const place = await newPlace();
    const directory = newDirectory(scope);
    const session_limits = { max_per_user: 3 };
    const a = await startCarryingServer(scope, {
      storing: { ...settingsOf(place, directory, 'a'), session_limits },
    });
    const b = await startNodeProcess(scope, {
      ...settingsOf(place, directory, 'b'),
      session_limits,
    });
    const { admin } = a.project;
    const headers = { authorization: `Bearer ${admin.token}` };
    const atB = (path: string) => b.as('')('POST', path, {}, { token: '', headers });
    const targets = await Promise.all(
      Array.from({ length: 5 }, () => addTarget(a, { attributes: { default_port: 22 } })),
    );
    for (let round = 0; round < 5; round++) {
      const all = await Promise.all(
        Array.from({ length: 50 }, (_, at) => {
          const path = `targets/${targets[at % 5]}:authorize-session`;
          return at % 2 === 0 ? admin.call('POST', path, {}) : atB(path);
        }),
      );
      const made = all.filter(({ status }) => status === 200);
      const others = all.filter(({ status }) => status !== 200);
      assert.equal(made.length, 3, others.map(({ text }) => text).join('\n'));
      for (const { status, text } of others) {
        assert.equal(status, 400, text);
        assert.match(text, /has 3 sessions that have not ended, and may have at most 3/);
      }
      for (const one of made) {
        const id = one.textAt('session_id');
        const version = (await a.ask('GET', `sessions/${id}`)).field('version');
        await a.ask('POST', `sessions/${id}:cancel`, { version });
      }
    }
  });
});
