import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { listEligibleWorkers } from '../../src/broker/workers/selection.operations.ts';
import { eachPlace, type Place } from '../support/engines.ts';
import { newDirectory, settingsOf } from '../support/node-process.ts';
import { type Client, startTestServer } from '../support/server.ts';
import { eventually } from '../support/workers-alone.ts';

async function startNode(
  t: Pick<TestContext, 'after'>,
  place: Place,
  directory: string,
  node_name: string,
  now: () => number,
): Promise<Client> {
  const { storage, seal } = settingsOf(place, directory, node_name);
  assert.ok(storage.type === 'postgres');
  const config = { mode: 'server' as const, dev_root_token: undefined, storage, seal };
  return startTestServer(t, { config, now });
}

const alive = async ({ running }: Client): Promise<string[]> =>
  (await listEligibleWorkers(running.app)).map((worker) => worker.name).sort();

eachPlace('workers of several nodes', (newPlace, engine) => {
  if (engine !== 'postgres') return;

  test('sessions are given to the workers of all nodes that are up, and to no other', async (t) => {
    const place = await newPlace();
    const directory = newDirectory(t);
    let later = 0;
    const now = (): number => Date.now() + later;
    const a = await startNode(t, place, directory, 'a', now);
    const made = await a.call('PUT', 'sys/init', {}, { token: '' });
    const token = made.textAt('root_token');
    const stops: (() => Promise<void>)[] = [];
    const b = await startNode(
      { after: (stop) => stops.push(stop as never) },
      place,
      directory,
      'B',
      now,
    );
    // What a node knows of the others it has read within the last second.
    later += 1_000;
    assert.deepEqual(await alive(a), ['a', 'b']);
    assert.deepEqual(await alive(b), ['a', 'b']);

    const list = await a.call('GET', 'workers?scope_id=global', undefined, { token });
    const items = list.field('items') as { id: string; name: string }[];
    const other = items.find((item) => item.name === 'b');
    const remove = () => a.call('DELETE', `workers/${other?.id}`, undefined, { token });
    assert.equal((await remove()).status, 400, 'its server is running');

    for (const stop of stops) await stop();
    later += 1_000;
    assert.deepEqual(await alive(a), ['a']);
    assert.equal((await remove()).status, 204, 'its server has stopped');
  });

  test('a worker that falls silent is given no session after fifteen seconds', async (t) => {
    const place = await newPlace();
    const directory = newDirectory(t);
    let ahead = 0;
    const a = await startNode(t, place, directory, 'a', () => Date.now() + ahead);
    await a.call('PUT', 'sys/init', {}, { token: '' });
    await startNode(t, place, directory, 'b', Date.now);
    ahead = 10_000;
    assert.deepEqual(await alive(a), ['a', 'b']);
    // Nobody has looked meanwhile: the time that the report names is all there is.
    let gone = performance.now() + 30_000;
    t.mock.method(performance, 'now', () => gone++);
    ahead = 30_000;
    assert.deepEqual(await alive(a), ['a']);
  });

  test('a worker of a node whose clock is wrong is given sessions once it was heard', async (t) => {
    const place = await newPlace();
    const directory = newDirectory(t);
    const a = await startNode(t, place, directory, 'a', () => Date.now() + 60_000);
    await a.call('PUT', 'sys/init', {}, { token: '' });
    await startNode(t, place, directory, 'b', Date.now);
    await eventually(async () => assert.deepEqual(await alive(a), ['a', 'b']), 60_000);
  });
});
