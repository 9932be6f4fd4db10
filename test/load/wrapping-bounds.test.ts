// A wrapped answer has no owner and outlives the token that asked for it: what one may have lie wrapped is
// bounded by who had it wrapped.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { eachPlace, type Place } from '../support/engines.ts';
import { storageOf } from '../support/seeded-broker.ts';
import { type Client, type Reply, startTestServer } from '../support/server.ts';

const MOST = 1_000;
const NO_ROOM = {
  errors: ['at most 1000 wrapped answers of one entity, token or address wait to be unwrapped'],
};
const wrapFor = (ttl: string) => ({ headers: { 'x-vault-wrap-ttl': ttl } });

interface Served extends Client {
  newToken(more?: Record<string, unknown>): Promise<string>;
  wrap(token?: string, body?: Record<string, unknown>): Promise<Reply>;
  /** Makes as many of the wrapped answers there are as are told, each with as many bytes. */
  multiply(to: number): Promise<void>;
}

async function serve(t: TestContext, place: Place, clock?: { now: number }): Promise<Served> {
  const client = await startTestServer(t, {
    config: { storage: storageOf(place) },
    ...(clock ? { now: () => clock.now } : {}),
  });
  const { call, running } = client;
  return {
    ...client,
    async newToken(more = {}) {
      const made = await call('POST', 'auth/token/create', { policies: ['default'], ...more });
      return made.textAt('auth.client_token');
    },
    wrap: (token, body = { v: 1 }) =>
      call('POST', 'sys/wrapping/wrap', body, token ? { ...wrapFor('1h'), token } : wrapFor('1h')),
    async multiply(to) {
      const copies = Array.from({ length: to - 1 }, (_, i) => `('${i}')`).join(', ');
      const token = 'parent_id, mount_id, expires_at, uses_left, renewed_at, body';
      const answer =
        'creation_path, created_at_ms, ttl, wrapped_accessor, answer_sealed, maker, bytes';
      const from = 'wrapped_answer, (values';
      await running.app.store.commit([
        {
          sql: `insert into token (id, accessor, ${token})
            select n.column1, n.column1, ${token} from token, (values ${copies}) as n
            where id in (select token_id from wrapped_answer)`,
          parameters: [],
        },
        {
          sql: `insert into wrapped_answer (token_id, ${answer})
            select n.column1, ${answer} from ${from} ${copies}) as n`,
          parameters: [],
        },
      ]);
    },
  };
}

eachPlace('wrapped answers', (newPlace) => {
  test('a token has so many answers wrapped and no more, also when two are wrapped at once', async (t) => {
    const { call, newToken, wrap, multiply } = await serve(t, await newPlace());
    const token = await newToken();
    const first = await wrap(token);
    await multiply(MOST - 1);
    const pair = await Promise.all([wrap(token), wrap(token)]);
    assert.deepEqual(pair.map(({ status }) => status).sort(), [200, 400]);
    const refused = pair.find(({ status }) => status === 400);
    assert.deepEqual(JSON.parse(refused?.text ?? ''), NO_ROOM);
    assert.equal((await wrap(await newToken())).status, 200, 'another token');
    const taken = { token: first.textAt('wrap_info.token') };
    const anew = await call('POST', 'sys/wrapping/rewrap', taken);
    assert.equal(anew.status, 200, 'in place of another');
    assert.equal(
      (await wrap(token)).status,
      400,
      'what was wrapped anew counts for its first maker',
    );
    const last = { token: anew.textAt('wrap_info.token') };
    assert.equal((await call('POST', 'sys/wrapping/unwrap', last)).status, 200);
    assert.equal(
      (await wrap(token)).status,
      200,
      'in the room that one who took his answer has left',
    );
  });

  test('what has run out takes no room, by number or by bytes, and what has not takes it', async (t) => {
    const clock = { now: Date.now() };
    const { newToken, wrap, multiply, running } = await serve(t, await newPlace(), clock);
    const countAll = async (): Promise<number> =>
      (await running.app.db.selectFrom('wrapped_answer').select('token_id').execute()).length;
    const token = await newToken({ ttl: '24h' });
    assert.equal((await wrap(token)).status, 200);
    await multiply(MOST);
    clock.now += 3_599_000 - (clock.now % 1000);
    assert.equal((await wrap(token)).status, 400, 'a second before the end');
    assert.equal(await countAll(), MOST);
    clock.now += 1000;
    const pair = await Promise.all([wrap(token), wrap(token)]);
    assert.deepEqual(
      pair.map(({ status }) => status),
      [200, 200],
    );
    assert.equal(await countAll(), 2);
    const v = 'x'.repeat(1_030_000);
    for (let i = 0; i < 16; i += 1) assert.equal((await wrap(token, { v })).status, 200);
    assert.equal((await wrap(token, { v })).status, 400);
    clock.now += 3_600_000;
    assert.equal((await wrap(token, { v })).status, 200);
  });

  test('a token has so many bytes wrapped and no more', async (t) => {
    const { newToken, wrap } = await serve(t, await newPlace());
    const token = await newToken();
    const v = 'x'.repeat(1_030_000);
    for (let i = 0; i < 16; i += 1) assert.equal((await wrap(token, { v })).status, 200);
    const more = await wrap(token, { v });
    assert.deepEqual([more.status, /at most 16 MiB/.test(more.text)], [400, true]);
    assert.equal((await wrap(token)).status, 200, 'what is short has room yet');
    assert.equal((await wrap(await newToken(), { v })).status, 200, 'another token');
  });

  test('tokens of one entity, and an orphan that one of them made, have the room of one', async (t) => {
    const { call, wrap, multiply } = await serve(t, await newPlace());
    const makes = 'path "auth/token/create/apart" { capabilities = ["update"] }';
    await call('POST', 'sys/policies/acl/makes', { policy: makes });
    await call('POST', 'auth/token/roles/apart', { orphan: true });
    await call('POST', 'sys/auth/up', { type: 'userpass' });
    const logIns: string[] = [];
    for (const name of ['ann', 'ann', 'bob']) {
      const user = { password: 'secret-1', token_policies: 'makes' };
      await call('POST', `auth/up/users/${name}`, user);
      const made = await call('POST', `auth/up/login/${name}`, { password: user.password });
      logIns.push(made.textAt('auth.client_token'));
    }
    const [one, other, unrelated] = logIns;
    const orphan = await call(
      'POST',
      'auth/token/create/apart',
      { policies: ['default'] },
      { token: one ?? '' },
    );
    assert.equal((await wrap(one)).status, 200);
    await multiply(MOST);
    assert.equal((await wrap(other)).status, 400);
    assert.equal((await wrap(orphan.textAt('auth.client_token'))).status, 400);
    assert.equal((await wrap(unrelated)).status, 200);
  });

  test('log-ins that are wrapped have the room of their address, and those that are not have no need of it', async (t) => {
    const { call, wrap, multiply } = await serve(t, await newPlace());
    await call('POST', 'sys/auth/up', { type: 'userpass' });
    const password = 'secret-1';
    await call('POST', 'auth/up/users/ann', { password });
    const logIn = (options: object) =>
      call('POST', 'auth/up/login/ann', { password }, { token: '', ...options });
    assert.equal((await logIn(wrapFor('1h'))).status, 200);
    await multiply(MOST);
    const refused = await logIn(wrapFor('1h'));
    assert.deepEqual([refused.status, JSON.parse(refused.text)], [400, NO_ROOM]);
    assert.equal((await logIn({})).status, 200);
    assert.equal((await wrap()).status, 200, 'one with a token at the same address');
  });

  test('nothing is done whose answer could not be put away', async (t) => {
    const { call, running, multiply } = await serve(t, await newPlace());
    await call('POST', 'sys/mounts/pki', { type: 'pki' });
    const key_type = 'ed25519';
    await call('POST', 'pki/root/generate/internal', { common_name: 'R', key_type });
    await call('POST', 'pki/roles/web', { allow_any_name: true, key_type, ttl: '1h' });
    const countCertificates = async () =>
      (await running.app.db.selectFrom('pki_certificate').select('serial').execute()).length;
    const issue = () => call('POST', 'pki/issue/web', { common_name: 'a.test' }, wrapFor('60'));
    assert.equal((await issue()).status, 200);
    const before = await countCertificates();
    await multiply(MOST);
    assert.equal((await issue()).status, 400);
    assert.equal(await countCertificates(), before);
  });

  test('an answer is wrapped for 768 hours at most', async (t) => {
    const { call } = await serve(t, await newPlace());
    const tried: [ttl: string, status: number][] = [];
    for (const ttl of ['768h', '2764800', '2764801', '2764800.5', '87600h']) {
      tried.push([ttl, (await call('POST', 'sys/wrapping/wrap', { v: 1 }, wrapFor(ttl))).status]);
    }
    assert.deepEqual(tried, [
      ['768h', 200],
      ['2764800', 200],
      ['2764801', 400],
      ['2764800.5', 400],
      ['87600h', 400],
    ]);
  });
});
