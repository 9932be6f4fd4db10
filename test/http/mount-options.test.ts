import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../support/server.ts';

const named = (count: number, prefix: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`${prefix}${at}`, 'x']));

test('however often a mount is tuned, its options are no more than one request may bring', async (t) => {
  const { call } = await startTestServer(t);
  await call('POST', 'sys/mounts/team', { type: 'pki' });
  const tune = async (options: object): Promise<[number, string]> => {
    const reply = await call('POST', 'sys/mounts/team/tune', { options });
    return [reply.status, reply.text];
  };
  assert.equal((await tune(named(999, 'a')))[0], 204);
  const [status, text] = await tune(named(2, 'b'));
  assert.equal(status, 400);
  assert.match(text, /options: with those that the mount has, at most 1000 names/);
  assert.equal((await tune(named(1, 'b')))[0], 204, 'the thousandth');
  assert.equal((await tune({ ...named(1, 'a'), b0: 'y' }))[0], 204, 'those that are there');
  assert.equal((await tune({ b0: 'y'.repeat(65_536) }))[0], 400, 'too long together');
});
