// Sessions whose token runs out or is far below the one that is revoked, and leases of a person who goes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findLivingLease, insertLease } from '../../src/access/leases/store.ts';
import { tidyTokens } from '../../src/access/tokens/expiration.operations.ts';
import { tokenId } from '../../src/access/tokens/minting.operations.ts';
import { planOrphanCancellation } from '../../src/broker/sessions/termination.operations.ts';
import { eachPlace } from '../support/engines.ts';
import { startBroker } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';

const TARGET = 'targets/ttcp_1234567890:authorize-session';
const GRANTS = ['ids=*;type=target;actions=authorize-session'];

eachPlace('a session by a token of the other API', (newPlace) => {
  async function open(t: { after(stop: () => Promise<void>): void }) {
    const clock = { now: Math.floor(Date.now() / 1000) * 1000 };
    const broker = await startBroker(t, {
      place: await newPlace(),
      now: () => clock.now,
      jobs: [],
    });
    const { client } = broker;
    const ok = async (...call: Parameters<typeof client.call>): Promise<Reply> => {
      const reply = await client.call(...call);
      assert.ok(reply.status < 300, reply.text);
      return reply;
    };
    const { app } = client.running;
    const person = await broker.person(GRANTS);
    const self = await ok('GET', 'auth/token/lookup-self', undefined, { token: person.token });
    const entity = self.textAt('data.entity_id');
    await ok('POST', 'sys/auth/up', { type: 'userpass' });
    const mount_accessor = (await ok('GET', 'sys/auth/up')).textAt('data.accessor');
    await ok('POST', 'identity/entity-alias', {
      name: 'ann',
      mount_accessor,
      canonical_id: entity,
    });
    return {
      app,
      clock,
      entity,
      ok,
      person,
      client,
      async logIn(settings: object): Promise<string> {
        const password = 'correct horse';
        await ok('POST', 'auth/up/users/ann', { password, ...settings });
        const made = await ok('POST', 'auth/up/login/ann', { password }, { token: '' });
        return made.textAt('auth.client_token');
      },
      statusOf: async (made: Reply) =>
        (
          await app.db
            .selectFrom('session')
            .select('status')
            .where('id', '=', made.textAt('session_id'))
            .executeTakeFirst()
        )?.status,
      tidy: () => tidyTokens(app, { stopping: false, commit: (all) => app.store.commit(all) }),
    };
  }

  test('is canceled by the job that finds the token run out, and not while that is renewed', async (t) => {
    const { clock, logIn, ok, statusOf, tidy } = await open(t);
    const token = await logIn({ token_ttl: '10m', token_max_ttl: '2h' });
    const made = await ok('POST', TARGET, {}, { token });
    clock.now += 8 * 60_000;
    await ok('POST', 'auth/token/renew-self', {}, { token });
    clock.now += 8 * 60_000;
    await tidy();
    assert.equal(await statusOf(made), 'pending');
    clock.now += 3 * 60_000;
    await tidy();
    assert.equal(await statusOf(made), 'canceling');
  });

  test('of a batch token lives no longer than that, and of any other as its target says', async (t) => {
    const { logIn, ok } = await open(t);
    const secondsOf = (made: Reply): number =>
      (Date.parse(made.textAt('expiration')) - Date.parse(made.textAt('created_time'))) / 1000;
    const batch = await logIn({ token_type: 'batch', token_ttl: '10m' });
    assert.equal(secondsOf(await ok('POST', TARGET, {}, { token: batch })), 600);
    const service = await logIn({ token_type: 'service', token_ttl: '10m' });
    assert.equal(secondsOf(await ok('POST', TARGET, {}, { token: service })), 28_800);
  });

  test('is not given to the last use of one, and to the one before it is', async (t) => {
    const { logIn, ok, client } = await open(t);
    const token = await logIn({ token_num_uses: 2 });
    await ok('POST', TARGET, {}, { token });
    const last = await client.call('POST', TARGET, {}, { token });
    assert.equal(last.status, 400, last.text);
    assert.match(last.text, /last use/);
  });

  test('of a token below one that is revoked is canceled as soon as that is answered', async (t) => {
    const { app, logIn, ok, statusOf } = await open(t);
    const token = await logIn({});
    const parent = (await ok('POST', 'auth/token/create', {})).textAt('auth.client_token');
    const child = (await ok('POST', 'auth/token/create', {}, { token: parent })).textAt(
      'auth.client_token',
    );
    const made = await ok('POST', TARGET, {}, { token });
    // Only a token with the root policy stands for somebody without being a log-in's.
    await app.store.commit([
      {
        sql: 'update session set token_id = $1',
        parameters: [tokenId(app, child)],
      },
    ]);
    await ok('POST', 'auth/token/revoke', { token });
    assert.equal(await statusOf(made), 'pending');
    await ok('POST', 'auth/token/revoke', { token: parent });
    assert.equal(await statusOf(made), 'canceling');
  });

  test('that an older program left without its token is found', async (t) => {
    const { app, logIn, ok } = await open(t);
    const made = await ok('POST', TARGET, {}, { token: await logIn({}) });
    assert.deepEqual((await planOrphanCancellation(app)).ended, []);
    await app.store.commit([{ sql: "update session set token_id = 'gone'", parameters: [] }]);
    assert.deepEqual((await planOrphanCancellation(app)).ended, [made.textAt('session_id')]);
  });

  for (const [name, path] of [
    ['removed', 'identity/entity/id/'],
    ['disabled', ''],
  ] as const) {
    test(`a lease that a log-in of the broker's asked for is ${path ? 'over' : 'there'} once its person is ${name}`, async (t) => {
      const { app, entity, ok, person } = await open(t);
      const now = Math.floor(app.now() / 1000);
      const lease = {
        id: 'x/y',
        token_id: tokenId(app, person.token),
        mount_id: '',
        kind: 'certificate',
        data: {},
        issued_at: now,
        expires_at: now + 600,
        renewed_at: undefined,
        renewable: false,
      };
      await app.store.commit([insertLease(lease)]);
      if (path) await ok('DELETE', `${path}${entity}`);
      else await ok('POST', `identity/entity/id/${entity}`, { disabled: true });
      const living = await findLivingLease(app.db, lease.id, now);
      assert.equal(living === undefined, path !== '');
    });
  }
});
