// Log-ins of machines by any of several threads, and those of people in one place: what failed counts for all of them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachPlace, type Place } from '../support/engines.ts';
import { assertWhoAnswers, startThreads, watchHandedOn } from '../support/everywhere.ts';
import { type Scope, sharedStart } from '../support/shared-start.ts';

/** Failures within a minute after which a role ID is not looked at any more for an address. */
const MOST = 20;

async function start(scope: Scope, place: Place) {
  const client = await startThreads(scope, place);
  const { call } = client;
  await call('POST', 'sys/auth/approle', { type: 'approle' });
  await call('POST', 'sys/auth/userpass', { type: 'userpass' });
  const newRole = async (name: string, settings: object = {}) => {
    await call('POST', `auth/approle/role/${name}`, { token_ttl: '1h', ...settings });
    const role_id = (await call('GET', `auth/approle/role/${name}/role-id`)).textAt('data.role_id');
    const newSecret = async (body: object = {}): Promise<string> =>
      (await call('POST', `auth/approle/role/${name}/secret-id`, body)).textAt('data.secret_id');
    return { role_id, newSecret };
  };
  return { ...client, newRole };
}

eachPlace('log-ins on several threads', (newPlace) => {
  const shared = sharedStart(newPlace, start);

  test('any of them answers what needs nothing that is in one place', async () => {
    const { everywhere, running, call, newRole } = await shared();
    const { role_id, newSecret } = await newRole('web');
    const secret_id = await newSecret();
    await call('POST', 'auth/userpass/users/ann', { password: 'correct horse' });
    const handed = watchHandedOn(running.app);
    const at = 'auth/approle/role/web';
    const cases: [method: string, path: string, body?: object, handedOn?: string][] = [
      ['POST', 'auth/approle/login', { role_id, secret_id }],
      ['GET', 'auth/approle/role?list=true'],
      ['GET', at],
      ['GET', `${at}/role-id`],
      ['POST', `${at}/secret-id`, {}],
      ['GET', `${at}/secret-id?list=true`],
      ['POST', `${at}/secret-id/lookup`, { secret_id }],
      ['POST', `${at}/secret-id/destroy`, { secret_id }],
      ['GET', 'auth/userpass/users?list=true'],
      ['GET', 'auth/userpass/users/ann'],
      // Whose passwords are hashed next is decided in one place.
      ['POST', 'auth/userpass/login/ann', { password: 'correct horse' }, 'userpass-login'],
      ['POST', at, { token_ttl: '1h' }, 'app-role-write-role'],
    ];
    await assertWhoAnswers(everywhere, handed, cases);
  });

  test('a secret ID is good for as many log-ins as it says on all of them together', async () => {
    const { everywhere, newRole } = await shared();
    for (const num_uses of [1, 7]) {
      // Those that come to nothing count against the role.
      const { role_id, newSecret } = await newRole(`counted-${num_uses}`);
      const secret_id = await newSecret({ num_uses });
      const answers = await everywhere.ask('POST', 'auth/approle/login', { role_id, secret_id });
      const good = answers.filter(({ status }) => status === 200);
      assert.equal(good.length, num_uses);
    }
  });

  test('a first log-in by all of them at once makes one entity', async () => {
    const { everywhere, newRole } = await shared();
    const { role_id, newSecret } = await newRole('fresh');
    const asked = { role_id, secret_id: await newSecret() };
    const answers = await everywhere.ask('POST', 'auth/approle/login', asked);
    const entities = new Set(answers.map(({ body }) => JSON.parse(body).auth?.entity_id));
    assert.equal(entities.size, 1, [...entities].join());
  });

  test('a secret ID that is destroyed, and a role that is changed, are so on all of them', async () => {
    const { everywhere, call, newRole } = await shared();
    const { role_id, newSecret } = await newRole('changing');
    const near = await newSecret();
    const logIn = (secret_id: string) =>
      everywhere.ask('POST', 'auth/approle/login', { role_id, secret_id }, '');
    for (let round = 0; round < 3; round += 1) {
      const secret_id = await newSecret();
      await call('POST', 'auth/approle/role/changing', { token_policies: [`round-${round}`] });
      for (const { body } of await logIn(secret_id)) {
        assert.deepEqual(JSON.parse(body).auth.policies, ['default', `round-${round}`]);
      }
      await everywhere.askOne(round, 'POST', 'auth/approle/role/changing/secret-id/destroy', {
        secret_id,
      });
      const gone = { role_id, secret_id };
      const refused = await everywhere.askOne(round + 1, 'POST', 'auth/approle/login', gone, '');
      assert.equal(refused.status, 400);
      for (const { status } of await logIn(near)) assert.equal(status, 200);
    }
    await call('DELETE', 'auth/approle/role/changing');
    assert.deepEqual(await everywhere.statuses('GET', 'auth/approle/role/changing'), [404]);
  });

  test('so many failed log-ins of a role are counted for all of them together', async () => {
    const { everywhere, newRole } = await shared();
    const { role_id, newSecret } = await newRole('guessed');
    const near = await newRole('beside');
    const secret_id = await newSecret();
    // One after the other, whichever thread each comes to.
    for (let wrong = 0; wrong < MOST - 1; wrong += 1) {
      const guess = { role_id, secret_id: `no-${wrong}` };
      const { status } = await everywhere.askOne(wrong, 'POST', 'auth/approle/login', guess, '');
      assert.equal(status, 400);
    }
    const logIn = { role_id, secret_id };
    assert.deepEqual(await everywhere.statuses('POST', 'auth/approle/login', logIn, ''), [200]);
    const last = { role_id, secret_id: 'no' };
    await everywhere.askOne(1, 'POST', 'auth/approle/login', last, '');
    assert.deepEqual(await everywhere.statuses('POST', 'auth/approle/login', logIn, ''), [400]);
    const other = { role_id: near.role_id, secret_id: await near.newSecret() };
    assert.deepEqual(await everywhere.statuses('POST', 'auth/approle/login', other, ''), [200]);
  });

  test('a user who is locked is so whichever thread is asked', async () => {
    const { everywhere, call } = await shared();
    await call('POST', 'auth/userpass/users/bob', { password: 'correct horse' });
    await call('POST', 'auth/userpass/users/eve', { password: 'correct horse' });
    const wrong = await everywhere.statuses('POST', 'auth/userpass/login/bob', {
      password: 'wrong',
    });
    assert.ok(!wrong.includes(200), `${wrong}`);
    const right = { password: 'correct horse' };
    const statuses = await everywhere.statuses('POST', 'auth/userpass/login/bob', right, '');
    assert.deepEqual(statuses, [400]);
    for (const { body } of await everywhere.ask('GET', 'sys/locked-users')) {
      assert.equal(JSON.parse(body).data.total, 1);
    }
    const { status } = await everywhere.askOne(0, 'POST', 'auth/userpass/login/eve', right, '');
    assert.equal(status, 200);
  });
});
