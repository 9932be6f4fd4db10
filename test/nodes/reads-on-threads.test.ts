// Reads of the server, of identities and of what is one's own, and wrapped answers, by any of several threads; what one
// of them has changed is what all of them say.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { eachPlace } from '../support/engines.ts';
import {
  assertWhoAnswers,
  CONNECTIONS,
  startThreads,
  watchHandedOn,
} from '../support/everywhere.ts';
import { newDirectory } from '../support/node-process.ts';
import { sharedStart } from '../support/shared-start.ts';

type Ask = [method: string, path: string, body?: object | undefined];

const dataOf = ({ body }: { body: string }) => JSON.parse(body).data;

eachPlace('what is read on several threads', (newPlace) => {
  const shared = sharedStart(newPlace, startThreads);
  const newToken = async (body: object = {}): Promise<string> => {
    const { call } = await shared();
    return (await call('POST', 'auth/token/create', { ttl: '1h', ...body })).textAt(
      'auth.client_token',
    );
  };

  test('any of them answers what needs nothing that is in one place', async (t) => {
    const { everywhere, running, call } = await shared();
    const role = { allow_any_name: true, key_type: 'ec', generate_lease: true };
    await call('POST', 'pki/roles/leased', role);
    const leased = await call('POST', 'pki/issue/leased', { common_name: 'a.test', ttl: '1h' });
    const lease_id = leased.textAt('lease_id');
    assert.notEqual(lease_id, '');
    const entity = await call('POST', 'identity/entity', { name: 'ann' });
    const id = entity.textAt('data.id');
    const group = await call('POST', 'identity/group', { name: 'team', member_entity_ids: [id] });
    const group_id = group.textAt('data.id');
    await call('POST', 'cubbyhole/kept', { is: 'mine' });
    const file_path = join(newDirectory(t), 'records');
    await call('POST', 'sys/audit/file', { type: 'file', options: { file_path } });
    const auth = (await call('GET', 'sys/auth')).textAt('data.token/.accessor');
    const alias = { name: 'ann', mount_accessor: auth, canonical_id: id };
    const alias_id = (await call('POST', 'identity/entity-alias', alias)).textAt('data.id');
    const handed = watchHandedOn(running.app);
    const cases: [...Ask, handedOn?: string][] = [
      ['GET', 'sys/mounts'],
      ['GET', 'sys/auth'],
      ['GET', 'sys/internal/ui/mounts'],
      ['GET', 'sys/internal/ui/mounts/pki'],
      ['GET', 'sys/internal/ui/resultant-acl'],
      ['GET', 'sys/version-history?list=true'],
      ['GET', 'sys/plugins/catalog'],
      ['GET', 'sys/rotate/config'],
      ['GET', 'sys/key-status'],
      ['GET', 'sys/audit'],
      ['POST', 'sys/audit-hash/file', { input: 'text' }],
      ['GET', 'sys/config/auditing/request-headers'],
      ['GET', 'sys/locked-users'],
      ['POST', 'sys/leases/lookup', { lease_id }],
      ['GET', 'sys/leases/lookup?list=true'],
      ['GET', 'sys/leases/lookup/pki?list=true'],
      ['GET', 'sys/leases/count'],
      ['GET', 'identity/entity/id?list=true'],
      ['GET', `identity/entity/id/${id}`],
      ['GET', 'identity/entity/name?list=true'],
      ['GET', 'identity/entity/name/ann'],
      ['POST', 'identity/lookup/entity', { alias_name: 'ann', alias_mount_accessor: auth }],
      ['GET', 'identity/entity-alias/id?list=true'],
      ['GET', `identity/entity-alias/id/${alias_id}`],
      ['GET', 'identity/group/id?list=true'],
      ['GET', `identity/group/id/${group_id}`],
      ['GET', 'identity/group/name?list=true'],
      ['GET', 'identity/group/name/team'],
      ['POST', 'identity/lookup/group', { name: 'team' }],
      ['GET', 'cubbyhole/kept'],
      ['GET', 'cubbyhole?list=true'],
      ['POST', 'cubbyhole/others', { is: 'mine' }],
      ['DELETE', 'cubbyhole/others'],
      // What only one does, or has.
      ['POST', 'identity/entity', { name: 'ann' }, 'entity-create'],
      ['GET', 'sys/metrics', undefined, 'metrics'],
    ];
    t.after(() => call('DELETE', 'sys/audit/file'));
    await assertWhoAnswers(everywhere, handed, cases);
  });

  test('a mount that is made, moved or removed is so on all of them, and the one beside stays', async () => {
    const { everywhere, call } = await shared();
    const listed = async (): Promise<string[]> => {
      const answers = await everywhere.ask('GET', 'sys/mounts');
      const seen = new Set(answers.map((one) => Object.keys(dataOf(one)).sort().join()));
      assert.equal(seen.size, 1);
      return [...seen].join().split(',');
    };
    const before = await listed();
    for (let round = 0; round < 3; round += 1) {
      await call('POST', 'sys/mounts/new', { type: 'pki' });
      assert.deepEqual(await listed(), [...before, 'new/'].sort());
      await call('POST', 'sys/remount', { from: 'new', to: 'newer' });
      assert.deepEqual(await listed(), [...before, 'newer/'].sort());
      await call('DELETE', 'sys/mounts/newer');
      assert.deepEqual(await listed(), before);
    }
    await call('POST', 'sys/auth/near', { type: 'approle' });
    for (const answer of await everywhere.ask('GET', 'sys/auth')) {
      assert.ok('near/' in dataOf(answer));
    }
    assert.deepEqual(await listed(), before);
  });

  test('an entity and its groups are by now on all of them what one was told', async () => {
    const { everywhere, call } = await shared();
    const made = await call('POST', 'identity/entity', { name: 'bob' });
    const id = made.textAt('data.id');
    const near = (await call('POST', 'identity/entity', { name: 'bobby' })).textAt('data.id');
    for (let round = 0; round < 3; round += 1) {
      const policies = [`round-${round}`];
      await call('POST', `identity/entity/id/${id}`, { policies });
      for (const answer of await everywhere.ask('GET', 'identity/entity/name/bob')) {
        assert.deepEqual(dataOf(answer).policies, policies);
      }
      const group = `group-${round}`;
      const joined = await call('POST', 'identity/group', { name: group, member_entity_ids: [id] });
      const group_id = joined.textAt('data.id');
      for (const answer of await everywhere.ask('GET', `identity/entity/id/${id}`)) {
        assert.ok(dataOf(answer).group_ids.includes(group_id));
      }
      for (const answer of await everywhere.ask('POST', 'identity/lookup/entity', { id: near })) {
        assert.deepEqual(dataOf(answer).group_ids, []);
      }
      await call('DELETE', `identity/group/name/${group}`);
      assert.deepEqual(await everywhere.statuses('GET', `identity/group/id/${group_id}`), [404]);
      for (const answer of await everywhere.ask('GET', `identity/entity/id/${id}`)) {
        assert.deepEqual(dataOf(answer).group_ids, []);
      }
    }
    await call('DELETE', `identity/entity/id/${id}`);
    assert.deepEqual(await everywhere.statuses('GET', 'identity/entity/name/bob'), [404]);
    assert.deepEqual(await everywhere.statuses('GET', 'identity/entity/name/bobby'), [200]);
  });

  test('a lease that has ended is none on any of them, and the one beside it is one', async () => {
    const { everywhere, call } = await shared();
    const role = { allow_any_name: true, key_type: 'ec', generate_lease: true };
    await call('POST', 'pki/roles/short', role);
    const issue = async (): Promise<string> =>
      (await call('POST', 'pki/issue/short', { common_name: 'a.test', ttl: '1h' })).textAt(
        'lease_id',
      );
    const near = await issue();
    for (let round = 0; round < 3; round += 1) {
      const lease_id = await issue();
      const lookUp = (id: string) =>
        everywhere.statuses('POST', 'sys/leases/lookup', { lease_id: id });
      assert.deepEqual(await lookUp(lease_id), [200]);
      assert.equal((await call('POST', 'sys/leases/revoke', { lease_id })).status, 204);
      assert.deepEqual(await lookUp(lease_id), [400]);
      assert.deepEqual(await lookUp(near), [200]);
      const counts = await everywhere.ask('GET', 'sys/leases/count');
      assert.equal(new Set(counts.map((one) => dataOf(one).counts['pki/'])).size, 1);
    }
  });

  test("what a token keeps is there by each of them, and is nobody else's", async () => {
    const { everywhere } = await shared();
    const [mine, other] = [await newToken(), await newToken()];
    for (let round = 0; round < 3; round += 1) {
      const written = await everywhere.ask('POST', 'cubbyhole/note', { round }, mine);
      assert.deepEqual([...new Set(written.map(({ status }) => status))], [204]);
      for (const answer of await everywhere.ask('GET', 'cubbyhole/note', undefined, mine)) {
        assert.deepEqual(dataOf(answer), { round });
      }
      assert.deepEqual(await everywhere.statuses('GET', 'cubbyhole/note', undefined, other), [404]);
      await everywhere.askOne(round, 'DELETE', 'cubbyhole/note');
      assert.deepEqual(await everywhere.statuses('GET', 'cubbyhole/note', undefined, mine), [200]);
      assert.deepEqual(
        await everywhere.statuses('DELETE', 'cubbyhole/note', undefined, mine),
        [204],
      );
      assert.deepEqual(await everywhere.statuses('GET', 'cubbyhole/note', undefined, mine), [404]);
    }
  });

  test('a token keeps no more than it may, however many threads write for it', async () => {
    const { everywhere } = await shared();
    const token = await newToken();
    // Sixteen MiB in all: of forty of half a MiB no more than that go in.
    const half = { text: 'x'.repeat(512 << 10) };
    const paths = Array.from({ length: CONNECTIONS }, (_, number) => `cubbyhole/${number}`);
    const answers = await Promise.all(
      paths.map((path, number) => everywhere.askOne(number, 'POST', path, half, token)),
    );
    const kept = answers.filter(({ status }) => status === 204).length;
    assert.ok(kept > 0 && kept <= 31, `${kept}`);
    const [listed] = await everywhere.ask('GET', 'cubbyhole?list=true', undefined, token);
    assert.equal(dataOf(listed ?? { body: '{}' }).keys.length, kept);
  });

  test('of all who take a wrapped answer by whatever thread one gets it', async () => {
    const { everywhere, call } = await shared();
    const headers = { 'x-vault-wrap-ttl': '60s' };
    for (let round = 0; round < 3; round += 1) {
      const wrapped = await call('POST', 'sys/wrapping/wrap', { round }, { headers });
      const token = wrapped.textAt('wrap_info.token');
      const near = await call('POST', 'sys/wrapping/wrap', { near: round }, { headers });
      const looked = await everywhere.ask('POST', 'sys/wrapping/lookup', { token });
      for (const answer of looked) {
        assert.equal(dataOf(answer).creation_path, 'sys/wrapping/wrap');
      }
      const taken = await everywhere.ask('POST', 'sys/wrapping/unwrap', { token });
      const got = taken.filter(({ status }) => status === 200);
      assert.equal(got.length, 1);
      assert.deepEqual(dataOf(got[0] ?? { body: '{}' }), { round });
      assert.deepEqual(await everywhere.statuses('POST', 'sys/wrapping/lookup', { token }), [400]);
      const other = { token: near.textAt('wrap_info.token') };
      assert.deepEqual(await everywhere.statuses('POST', 'sys/wrapping/lookup', other), [200]);
    }
  });
});
