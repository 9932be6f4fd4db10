// Requests of the broker that any of several threads answers, and those that are answered in one place; what is exact
// stays so.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Config } from '../../src/config/config.ts';
import { eachPlace, type Place } from '../support/engines.ts';
import { CONNECTIONS, Everywhere, watchHandedOn } from '../support/everywhere.ts';
import { PROJECT, startBroker } from '../support/seeded-broker.ts';
import { type Scope, sharedStart } from '../support/shared-start.ts';

async function start(scope: Scope, place: Place, config: Partial<Config> = {}) {
  const broker = await startBroker(scope, { place, config: { threads: 4, ...config }, jobs: [] });
  const addTarget = (name: string) =>
    broker.make('targets', {
      scope_id: PROJECT,
      type: 'tcp',
      name,
      address: '127.0.0.1',
      attributes: { default_port: 22 },
    });
  const everywhere = new Everywhere(scope, broker.client);
  const { admin_token } = broker;
  const ask = (method: string, path: string, body?: object) =>
    everywhere.ask(method, path, body, admin_token);
  const statuses = (method: string, path: string, body?: object) =>
    everywhere.statuses(method, path, body, admin_token);
  return { ...broker, everywhere, addTarget, ask, statuses };
}

const AUTHORIZE = 'authorize-session-target';

eachPlace('the broker on several threads', (newPlace) => {
  const shared = sharedStart(newPlace, (scope, place) => start(scope, place));

  test('any of them answers what needs nothing that is in one place', async () => {
    const broker = await shared();
    const { make, admin, client, project, addTarget } = broker;
    const plain = await addTarget('plain');
    const given = await addTarget('given');
    const store = await make('credential-stores', { scope_id: project, type: 'static' });
    const credential = await make('credentials', {
      credential_store_id: store,
      type: 'username_password',
      attributes: { username: 'root', password: 'correct horse' },
    });
    const adding = { version: 1, brokered_credential_source_ids: [credential] };
    assert.equal(
      (await admin('POST', `targets/${given}:add-credential-sources`, adding)).status,
      200,
    );
    for (const [value, destination_id] of [
      ['plain.example', plain],
      ['given.example', given],
    ]) {
      await make('aliases', { scope_id: 'global', type: 'target', value, destination_id });
    }
    const session = (await admin('POST', `targets/${plain}:authorize-session`, {})).textAt(
      'session_id',
    );
    const handed = watchHandedOn(client.running.app);
    const cases: [method: string, path: string, body: object | undefined, handedOn: string][] = [
      ['POST', `targets/${plain}:authorize-session`, {}, ''],
      // What is issued, and room for secrets, are in one place.
      ['POST', `targets/${given}:authorize-session`, {}, AUTHORIZE],
      ['POST', 'targets/plain.example:authorize-session', {}, ''],
      ['POST', 'targets/given.example:authorize-session', {}, AUTHORIZE],
      // In which project it is is not known by the path alone.
      ['POST', 'targets/plain:authorize-session', { name: 'plain', scope_id: PROJECT }, AUTHORIZE],
      ['GET', `sessions/${session}`, undefined, ''],
      ['GET', `sessions?scope_id=${PROJECT}`, undefined, ''],
      [
        'GET',
        `targets?scope_id=${PROJECT}&filter=%22%2Fitem%2Fname%22%20%3D%3D%20%22plain%22`,
        undefined,
        '',
      ],
      ['GET', 'scopes?scope_id=global&recursive=true', undefined, ''],
      ['GET', 'workers?scope_id=global', undefined, ''],
      ['GET', 'users/u_1234567890:list-resolvable-aliases', undefined, ''],
      ['GET', 'billing:monthly-active-users', undefined, ''],
      ['GET', 'workers:read-certificate-authority?scope_id=global', undefined, ''],
      ['POST', `sessions/${session}:cancel`, { version: 1 }, 'cancel-session'],
    ];
    for (const [method, path, body, route] of cases) {
      handed.length = 0;
      const answered = await broker.ask(method, path, body);
      const statuses = [...new Set(answered.map(({ status }) => status))];
      assert.ok(statuses.includes(200), `${path}: ${answered[0]?.body}`);
      assert.deepEqual([...new Set(handed)], route === '' ? [] : [route], path);
      assert.equal(handed.length, route === '' ? 0 : CONNECTIONS, path);
    }
  });

  test('a session is authorized by any of them, and there for all at once', async () => {
    const { addTarget, ask, statuses, admin, project } = await shared();
    const target = await addTarget('everywhere');
    const made = await ask('POST', `targets/${target}:authorize-session`, {});
    const ids = made.map(({ body }) => String(JSON.parse(body).session_id));
    assert.equal(new Set(ids).size, CONNECTIONS);
    for (const { body } of await ask('GET', `sessions?scope_id=${project}`)) {
      const listed = new Set(JSON.parse(body).items.map((item: { id: string }) => item.id));
      assert.deepEqual(
        ids.filter((made) => !listed.has(made)),
        [],
      );
    }
    const [id] = ids;
    await admin('POST', `sessions/${id}:cancel`, { version: 1 });
    for (const { body } of await ask('GET', `sessions/${id}`)) {
      assert.match(JSON.parse(body).status, /^(canceling|terminated)$/);
    }
    const changed = await admin('DELETE', `targets/${target}`);
    assert.equal(changed.status, 204);
    assert.deepEqual(await statuses('POST', `targets/${target}:authorize-session`, {}), [404]);
  });

  test('a target that is given credentials gives them to the next session of all threads', async () => {
    const { make, admin, project, addTarget, ask } = await shared();
    const target = await addTarget('given now and then');
    const store = await make('credential-stores', { scope_id: project, type: 'static' });
    const credential = await make('credentials', {
      credential_store_id: store,
      type: 'username_password',
      attributes: { username: 'root', password: 'correct horse' },
    });
    for (let version = 1; version < 6; version += 2) {
      for (const [verb, count] of [
        ['add', 1],
        ['remove', 0],
      ] as const) {
        const body = {
          version: version + 1 - count,
          brokered_credential_source_ids: [credential],
        };
        const path = `targets/${target}:${verb}-credential-sources`;
        assert.equal((await admin('POST', path, body)).status, 200);
        for (const { body } of await ask('POST', `targets/${target}:authorize-session`, {})) {
          assert.equal(JSON.parse(body).credentials?.length ?? 0, count, verb);
        }
      }
    }
  });

  test('an alias that leads elsewhere, or nowhere, does so for all of them, and the one beside it stays', async () => {
    const { make, admin, addTarget, ask, statuses } = await shared();
    const first = await addTarget('led to first');
    const second = await addTarget('led to then');
    const lead = (value: string, destination_id: string): Promise<string> =>
      make('aliases', { scope_id: 'global', type: 'target', value, destination_id });
    const moving = await lead('moving.example', first);
    await lead('staying.example', first);
    const targets = async (alias: string) => {
      const answers = await ask('POST', `targets/${alias}:authorize-session`, {});
      return [...new Set(answers.map(({ body }) => JSON.parse(body).target_id))];
    };
    assert.deepEqual(await targets('moving.example'), [first]);
    const body = { version: 1, destination_id: second };
    assert.equal((await admin('PATCH', `aliases/${moving}`, body)).status, 200);
    assert.deepEqual(await targets('moving.example'), [second]);
    assert.deepEqual(await targets('staying.example'), [first]);
    assert.equal((await admin('DELETE', `aliases/${moving}`)).status, 204);
    const nowhere = 'targets/moving.example:authorize-session';
    assert.deepEqual(await statuses('POST', nowhere, {}), [404]);
    assert.deepEqual(await targets('staying.example'), [first]);
  });

  test('of sessions that many threads authorize at once a user has exactly as many as the limit allows', async (t) => {
    const config = { session_limits: { max_per_user: 3 } };
    const { addTarget, ask } = await start(t, await newPlace(), config);
    const targets = await Promise.all(['a', 'b', 'c'].map((name) => addTarget(name)));
    const all = await Promise.all(
      targets.map((target) => ask('POST', `targets/${target}:authorize-session`, {})),
    );
    const made = all.flat().filter(({ status }) => status === 200);
    assert.equal(made.length, 3);
    for (const { status, body } of all.flat()) {
      if (status !== 200) assert.match(body, /has 3 sessions that have not ended/);
    }
  });

  test('a log-in that has ended authorizes nothing on any of them', async () => {
    const { addTarget, logIn, admin, everywhere } = await shared();
    const target = await addTarget('left');
    for (let round = 0; round < 3; round += 1) {
      const token = await logIn('admin');
      const authorize = () =>
        everywhere.statuses('POST', `targets/${target}:authorize-session`, {}, token);
      assert.deepEqual(await authorize(), [200]);
      const id = token.split('_').slice(0, 2).join('_');
      assert.equal((await admin('DELETE', `auth-tokens/${id}`)).status, 204);
      assert.deepEqual(await authorize(), [401]);
    }
  });

  test('a grant that is taken away is in force on all of them', async () => {
    const { addTarget, person, admin, everywhere } = await shared();
    const target = await addTarget('granted');
    const { token } = await person([]);
    const authorize = () =>
      everywhere.statuses('POST', `targets/${target}:authorize-session`, {}, token);
    assert.deepEqual(await authorize(), [200]);
    const roles = (await admin('GET', 'roles?scope_id=global')).field('items');
    const role = (roles as { id: string; name: string }[]).find(
      ({ name }) => name === 'Authenticated User Grants',
    );
    assert.equal((await admin('DELETE', `roles/${role?.id}`)).status, 204);
    assert.deepEqual(await authorize(), [403]);
  });
});
