import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { declaredRoutes } from '../../src/start/routes.ts';
import { listEndpoints, listFields } from '../worst-cases/cases.ts';
import { measure, type Sent, startWatched, type Watched } from '../worst-cases/measure.ts';
import { tryCases } from '../worst-cases/run.ts';

test('every field of every endpoint is tried', () => {
  const tried = new Set(
    listFields('some').map(
      ({ endpoint, place }) => `${endpoint.id} ${'name' in place ? place.name : ''}`,
    ),
  );
  const listed = new Set(listEndpoints().map(({ id }) => id));
  const { system, secret, auth, broker } = declaredRoutes;
  for (const route of [system, ...Object.values(secret), ...Object.values(auth)].flat()) {
    if (!listed.has(route.id)) continue;
    const names = route.body === 'bytes' ? [] : Object.keys(route.input.shape);
    for (const name of names) assert.ok(tried.has(`${route.id} ${name}`), `${route.id} ${name}`);
  }
  for (const { id, access, input, query, attributes = {} } of broker) {
    if (access === 'public') continue;
    const nested = Object.values(attributes).flatMap(({ shape }) => Object.keys(shape));
    const names = [...Object.keys({ ...input.shape, ...query?.shape }), ...nested];
    for (const name of names) assert.ok(tried.has(`${id} ${name}`), `${id} ${name}`);
  }
});

test('no text in any field holds the event loop for 50 ms, whoever sends it', async () => {
  // Two minutes on a quiet machine; how many are tried is no question of time.
  const { findings, tried, fields } = await tryCases({ milliseconds: 1_800_000, each: 1 });
  assert.deepEqual(findings, []);
  assert.ok(tried >= fields, `only ${tried} of ${fields} were tried in time`);
});

let server: Watched;
before(async () => {
  server = await startWatched();
});
after(() => server.stop());

const HEALTH: Sent = { method: 'GET', target: '/v1/sys/health', headers: {} };

/** On the slowest of machines, too. */
const TOO_LONG_ANYWHERE_MS = 1_000;

/** The server as it would be if reading a request took so long. */
const slowBy = (milliseconds: number): Watched => ({
  ...server,
  send: async (sent) => {
    await server.hold(milliseconds);
    return server.send(sent);
  },
});

test('a reader that takes too long is found, and one that does not is not', async () => {
  assert.equal((await measure(server, HEALTH)).isTooLong, false);
  assert.equal((await measure(slowBy(20), HEALTH)).isTooLong, false);
  assert.equal((await measure(slowBy(TOO_LONG_ANYWHERE_MS), HEALTH)).isTooLong, true);
});

test('a pause that comes once only is not taken for a slow reader', async () => {
  let times = 0;
  const once: Watched = {
    ...server,
    send: async (sent) => {
      if (times++ === 0) await server.hold(TOO_LONG_ANYWHERE_MS);
      return server.send(sent);
    },
  };
  assert.equal((await measure(once, HEALTH)).isTooLong, false);
  assert.equal(times, 2);
});

test('a document of many mounts leaves the event loop to others in between', async () => {
  const headers = { 'x-vault-token': 'root' };
  const body = Buffer.from(JSON.stringify({ type: 'pki' }));
  for (let at = 0; at < 25; at++) {
    const target = `/v1/sys/mounts/pki${at}`;
    assert.equal((await server.send({ method: 'POST', target, headers, body })).status, 204);
  }
  for (const query of ['', '?generic_mount_paths=true']) {
    const target = `/v1/sys/internal/specs/openapi${query}`;
    const { status, pause, isTooLong } = await measure(server, { method: 'GET', target, headers });
    assert.equal(status, 200);
    assert.ok(!isTooLong, `${pause} ms`);
  }
});
