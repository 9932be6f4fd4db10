// An SSH authority on several threads: what one was told, all go by; and what takes long has its turn among those of all.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachPlace } from '../support/engines.ts';
import { assertWhoAnswers, startThreads, watchHandedOn } from '../support/everywhere.ts';
import { sharedStart } from '../support/shared-start.ts';

const ROLE = {
  key_type: 'ca',
  allow_user_certificates: true,
  allowed_users: '*',
  default_user: 'ann',
  ttl: '1h',
};
const ED25519 = { key_type: 'ed25519' };

eachPlace('an SSH authority on several threads', (newPlace) => {
  const shared = sharedStart(newPlace, async (scope, place) => {
    const client = await startThreads(scope, place);
    const { call } = client;
    await call('POST', 'sys/mounts/ssh', { type: 'ssh' });
    await call('POST', 'ssh/config/ca', { key_type: 'ssh-ed25519' });
    await call('POST', 'ssh/roles/web', ROLE);
    return client;
  });

  test('any of them answers what needs nothing that is in one place', async () => {
    const { everywhere, running } = await shared();
    const [made] = await everywhere.ask('POST', 'ssh/issue/web', ED25519);
    const signed: string = JSON.parse(made?.body ?? '{}').data.signed_key;
    assert.match(signed, /^ssh-ed25519-cert/);
    const [line] = await everywhere.ask('GET', 'ssh/public_key', undefined, '');
    const handed = watchHandedOn(running.app);
    const cases: [method: string, path: string, body?: object, handedOn?: string][] = [
      ['POST', 'ssh/issue/web', ED25519],
      ['POST', 'ssh/sign/web', { public_key: line?.body ?? '' }],
      ['GET', 'ssh/config/ca'],
      ['GET', 'ssh/public_key'],
      ['GET', 'ssh/roles?list=true'],
      ['GET', 'ssh/roles/web'],
      ['POST', 'ssh/roles/other', ROLE, 'ssh-write-role'],
    ];
    await assertWhoAnswers(everywhere, handed, cases);
  });

  test('a role that is changed or removed, and an authority that is another one, are so on all of them', async () => {
    const { everywhere, call } = await shared();
    const issue = (role: string, more: object = {}) =>
      everywhere.statuses('POST', `ssh/issue/${role}`, { ...ED25519, ...more });
    for (let round = 0; round < 3; round += 1) {
      await call('POST', 'ssh/roles/now', { ...ROLE, allowed_users: 'ann' });
      assert.deepEqual(await issue('now', { valid_principals: 'ann' }), [200]);
      assert.deepEqual(await issue('now', { valid_principals: 'anna' }), [400]);
      await call('POST', 'ssh/roles/now', { ...ROLE, allowed_users: 'anna' });
      assert.deepEqual(await issue('now', { valid_principals: 'anna' }), [200]);
      await call('DELETE', 'ssh/roles/now');
      assert.deepEqual(await issue('now'), [400]);
      assert.deepEqual(await issue('web'), [200]);
    }
    const keys = async () => {
      const answers = await everywhere.ask('GET', 'ssh/public_key', undefined, '');
      return [...new Set(answers.map(({ body }) => body))];
    };
    const before = await keys();
    assert.equal(before.length, 1);
    await call('DELETE', 'ssh/config/ca');
    assert.deepEqual(await issue('web'), [400]);
    assert.deepEqual(await everywhere.statuses('GET', 'ssh/public_key', undefined, ''), [404]);
    await call('POST', 'ssh/config/ca', { key_type: 'ssh-ed25519' });
    assert.deepEqual(await issue('web'), [200]);
    const after = await keys();
    assert.equal(after.length, 1);
    assert.notDeepEqual(after, before);
  });
});
