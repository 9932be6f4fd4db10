import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Bench, must, type RaceCase, raceAll } from '../support/racing.ts';
import { startTestServer } from '../support/server.ts';

for (const again of [false, true]) {
  test(`a wrapped answer${again ? ', wrapped anew,' : ''} ends with the mount that gave it, and not with another`, async (t) => {
    const { call } = await startTestServer(t);
    const wrapped: string[] = [];
    for (const mount of ['goes', 'stays']) {
      await must(call('POST', `sys/mounts/${mount}`, { type: 'pki' }));
      const ca = { common_name: 'R', key_type: 'ec' };
      await must(call('POST', `${mount}/root/generate/internal`, ca));
      const role = { allow_any_name: true, key_type: 'ec', ttl: '1h' };
      await must(call('POST', `${mount}/roles/web`, role));
      const headers = { 'x-vault-wrap-ttl': '10m' };
      const body = { common_name: 'a.test' };
      const made = await must(call('POST', `${mount}/issue/web`, body, { headers }));
      const token = made.textAt('wrap_info.token');
      const anew = again && (await must(call('POST', 'sys/wrapping/rewrap', { token })));
      wrapped.push(anew ? anew.textAt('wrap_info.token') : token);
    }
    await must(call('DELETE', 'sys/mounts/goes'));
    const taken: [number, boolean][] = [];
    for (const token of wrapped) {
      const reply = await call('POST', 'sys/wrapping/unwrap', {}, { token });
      taken.push([reply.status, reply.text.includes('PRIVATE KEY')]);
    }
    assert.deepEqual(taken, [
      [400, false],
      [200, true],
    ]);
  });
}

/** Whoever has the token of an answer, while the mount that gave it goes. */
const taking = (verb: 'unwrap' | 'rewrap'): RaceCase => ({
  name: `${verb} and the mount that gave the answer`,
  refused: [400],
  async setUp({ maker, remover, next }: Bench) {
    const { call } = maker;
    const mount = `goes${next()}`;
    await must(call('POST', `sys/mounts/${mount}`, { type: 'pki' }));
    await must(
      call('POST', `${mount}/root/generate/internal`, { common_name: 'R', key_type: 'ec' }),
    );
    const role = { allow_any_name: true, key_type: 'ec', ttl: '1h' };
    await must(call('POST', `${mount}/roles/web`, role));
    const headers = { 'x-vault-wrap-ttl': '10m' };
    const body = { common_name: 'a.test' };
    const made = await must(call('POST', `${mount}/issue/web`, body, { headers }));
    const token = made.textAt('wrap_info.token');
    const path = `sys/wrapping/${verb}`;
    return {
      path,
      make: () => call('POST', path, { token }),
      remove: () => remover.call('DELETE', `sys/mounts/${mount}`),
      async ended(taken) {
        if (verb === 'unwrap') return assert.match(taken.text, /PRIVATE KEY/);
        const again = { token: taken.textAt('wrap_info.token') };
        assert.equal((await remover.call('POST', 'sys/wrapping/unwrap', again)).status, 400);
      },
    };
  },
});

raceAll('wrapped answers', [taking('unwrap'), taking('rewrap')]);
