import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import { heldSecrets } from '../../src/broker/credentials/of-sessions/operations.ts';
import { insertLinks, type LinkKind } from '../../src/broker/resource/links/store.ts';
import { eachPlace } from '../support/engines.ts';
import { copyRow } from '../support/many-rows.ts';
import { type Broker, type Person, refusedFields, startBroker } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';
import { holdsNobodyUp } from '../support/turns.ts';
import { type FakeVault, startFakeVault } from '../support/vault.ts';

/** One session holds nobody up, however many sources of credentials and hosts its target has. */

const BROKERED = 'brokered_credential_source_ids';
const INJECTED = 'injected_application_credential_source_ids';

const copyId = (at: number, of: string): string => `${of}${1_000_000 + at}`;
const numbered = sql`${sql.ref('id')} || (1000000 + n.i)`;
const range = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);

/** Holds what is asked until as many are asked together, and some turns more, in which one too many would be, too. */
function heldUntil(count: number): () => Promise<void> {
  const { promise: complete, resolve } = Promise.withResolvers<void>();
  let held = 0;
  return async () => {
    held += 1;
    if (held === count) resolve();
    await complete;
    for (let turn = 0; turn < 20; turn++) await nextTurn();
  };
}

eachPlace('bounds of one session', (newPlace) => {
  let broker: Broker;
  let user: Person;
  let vault: FakeVault;
  let stored: string[] = [];
  /** Libraries of the own CA and of a Vault server, of which there are copies. */
  const source = { authority: '', vault: '' };
  let host_set = '';
  let host = '';
  const stops: (() => unknown)[] = [];
  after(async () => {
    for (const stop of stops.reverse()) await stop();
  });

  before(async () => {
    vault = await startFakeVault();
    stops.push(() => vault.stop());
    const test = { after: (stop: () => Promise<void>) => stops.push(stop) };
    broker = await startBroker(test, { place: await newPlace() });
    user = await broker.person(['ids=*;type=target;actions=authorize-session,read']);
    await makeSources();
    await makeHosts();
  });

  async function makeSources(): Promise<void> {
    const { make, project: scope_id, client } = broker;
    const root = { common_name: 'Root', key_type: 'ec', ttl: '768h' };
    assert.equal((await client.call('POST', 'demo/root/generate/internal', root)).status, 200);
    const role = { allow_any_name: true, key_type: 'ec', max_ttl: '72h' };
    assert.equal((await client.call('POST', 'demo/roles/web', role)).status, 200);
    const storeOf = (type: string, attributes: object): Promise<string> =>
      make('credential-stores', { scope_id, type, attributes });
    const libraryOf = (credential_store_id: string, type: string, attributes: object) =>
      make('credential-libraries', { credential_store_id, type, attributes });
    const authority = await storeOf('authority', { mount: 'demo' });
    const certificate = { role: 'web', common_name: 'a.test' };
    source.authority = await libraryOf(authority, 'authority-certificate', certificate);
    const outside = await storeOf('vault', { address: vault.url, token: 'good' });
    source.vault = await libraryOf(outside, 'vault-generic', { path: 'database/creds/app' });
    for (const one of [source.authority, source.vault]) await copy(one, 520);
    const credential_store_id = await make('credential-stores', { scope_id, type: 'static' });
    const attributes = { username: 'u', password: 'p' };
    const of = { credential_store_id, type: 'username_password', attributes };
    // Each is sealed for its own row.
    stored = await Promise.all(range(70).map(() => make('credentials', of)));
  }

  async function makeHosts(): Promise<void> {
    const { make, project: scope_id } = broker;
    const host_catalog_id = await make('host-catalogs', { scope_id, type: 'static' });
    const of = { host_catalog_id, type: 'static' };
    host = await make('hosts', { ...of, attributes: { address: '10.1.1.1' } });
    host_set = await make('host-sets', of);
    await copy(host, 2_000);
    await copy(host_set, 70);
    const hosts = range(2_000).map((at) => copyId(at, host));
    for (const at of range(64)) await link(copyId(at, host_set), 'host-set-host', hosts);
  }

  async function copy(id: string, copies: number): Promise<void> {
    const changes = { id: numbered };
    await copyRow(broker.client.running.app.store, 'resource', { of: { id }, copies, changes });
  }

  function link(from_id: string, kind: LinkKind, to_ids: string[]): Promise<void> {
    return broker.client.running.app.store.commit(insertLinks({ from_id, kind, to_ids }));
  }

  let targets = 0;
  const newTarget = (more: object = { address: '10.0.0.5' }): Promise<string> =>
    broker.make('targets', {
      scope_id: broker.project,
      type: 'tcp',
      name: `bounds ${targets++}`,
      attributes: { default_port: 22 },
      ...more,
    });

  const sourcesOf = (what: 'stored' | keyof typeof source, count: number): string[] =>
    what === 'stored' ? stored.slice(0, count) : range(count).map((at) => copyId(at, source[what]));

  /** A target with sources, however many. */
  async function targetWith(
    what: 'stored' | keyof typeof source,
    count: number,
    kind: LinkKind = 'target-brokered',
  ): Promise<string> {
    const target = await newTarget();
    await link(target, kind, sourcesOf(what, count));
    return target;
  }

  const authorize = (target: string): Promise<Reply> =>
    user.call('POST', `targets/${target}:authorize-session`, {});

  test('a target has 64 credential sources of both purposes and no more', async () => {
    const target = await newTarget({ type: 'ssh', address: '10.0.0.5' });
    await link(target, 'target-brokered', sourcesOf('stored', 60));
    const [a, b] = [stored.slice(60, 62), stored.slice(62, 64)];
    const change = (verb: string, version: number, lists: object): Promise<Reply> =>
      broker.admin('POST', `targets/${target}:${verb}-credential-sources`, { version, ...lists });
    assert.equal((await change('add', 1, { [BROKERED]: a, [INJECTED]: b })).status, 200);
    const more = stored.slice(64, 65);
    for (const field of [BROKERED, INJECTED]) {
      const refused = await change('add', 2, { [field]: more });
      const because = 'At most 64 can be there altogether; there would be 65.';
      assert.deepEqual(refusedFields(refused), { [field]: because });
    }
    assert.equal((await change('remove', 2, { [BROKERED]: a.slice(0, 1) })).status, 200);
    assert.equal((await change('add', 3, { [INJECTED]: more })).status, 200);
    assert.equal((await change('set', 4, { [BROKERED]: a })).status, 200);
  });

  test('with more sources, from before, some can be taken away and none added', async () => {
    const target = await targetWith('stored', 69);
    const [one = ''] = stored.slice(69);
    const change = (verb: string, version: number, ids: string[]): Promise<Reply> =>
      broker.admin('POST', `targets/${target}:${verb}-credential-sources`, {
        version,
        [BROKERED]: ids,
      });
    assert.equal((await change('add', 1, [one])).status, 400);
    assert.equal((await authorize(target)).status, 200, 'it works as it did');
    assert.equal((await change('set', 1, [one])).status, 200);
  });

  test('a target has 64 host sets and no more', async () => {
    const target = await newTarget({});
    const { make, project: scope_id } = broker;
    const host_catalog_id = await make('host-catalogs', { scope_id, type: 'static' });
    const one = (): Promise<string> => make('host-sets', { host_catalog_id, type: 'static' });
    const sets = await Promise.all(range(65).map(one));
    const change = (verb: string, version: number, host_source_ids: string[]): Promise<Reply> =>
      broker.admin('POST', `targets/${target}:${verb}-host-sources`, { version, host_source_ids });
    const because = 'At most 64 can be there altogether; there would be 65.';
    assert.deepEqual(refusedFields(await change('set', 1, sets)), { host_source_ids: because });
    assert.equal((await change('set', 1, sets.slice(0, 64))).status, 200);
    assert.deepEqual(refusedFields(await change('add', 2, sets.slice(64))), {
      host_source_ids: because,
    });
    assert.equal((await change('remove', 2, sets.slice(0, 1))).status, 200);
    assert.equal((await change('add', 3, sets.slice(64))).status, 200);
  });

  const crowds: [what: 'stored' | keyof typeof source, count: number, kind: LinkKind][] = [
    ['stored', 64, 'target-brokered'],
    ['authority', 64, 'target-brokered'],
    ['authority', 512, 'target-brokered'],
    ['authority', 512, 'target-injected'],
    ['vault', 64, 'target-brokered'],
    ['vault', 512, 'target-injected'],
  ];
  for (const [what, count, kind] of crowds) {
    test(`nobody is held up by a session with ${count} sources: ${what}, ${kind}`, async () => {
      const target = await targetWith(what, count, kind);
      await authorize(await targetWith(what, 2, kind));
      await holdsNobodyUp(async () => {
        const session = await authorize(target);
        assert.equal(session.status, 200, session.text);
        const given = session.field('credentials') ?? [];
        const shown = kind === 'target-brokered' ? count : 0;
        assert.equal(Array.isArray(given) && given.length, shown);
      });
    });
  }

  test('sessions with many sources at once hold nobody up together', async () => {
    const target = await targetWith('authority', 64);
    await holdsNobodyUp(async () => {
      const sessions = await Promise.all(range(16).map(() => authorize(target)));
      assert.ok(sessions.every(({ status }) => status === 200));
    });
  });

  test('more than 512 sources, from before, give nothing to a session, and it is said why', async () => {
    const refused = await authorize(await targetWith('authority', 513));
    assert.equal(refused.status, 400);
    assert.match(refused.text, /513 credential sources, a session is given at most 512/);
  });

  test('four sources of a session issue at the same time and no more', async () => {
    const target = await targetWith('vault', 64);
    vault.most_at_once = 0;
    vault.pause = heldUntil(4);
    const before = vault.leases.size;
    assert.equal((await authorize(target)).status, 200);
    vault.pause = async () => {};
    assert.equal(vault.leases.size - before, 64);
    assert.equal(vault.most_at_once, 4);
  });

  test('of many sessions a server is asked eight things at once', async () => {
    const target = await targetWith('vault', 8);
    vault.most_at_once = 0;
    vault.pause = heldUntil(8);
    const sessions = await Promise.all(range(6).map(() => authorize(target)));
    vault.pause = async () => {};
    assert.ok(sessions.every(({ status }) => status === 200));
    assert.equal(vault.most_at_once, 8);
  });

  test('for a client that has gone nothing more is issued, and what was is given back', async () => {
    const target = await targetWith('vault', 64);
    const before = new Set(vault.leases.keys());
    let open = (): void => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    let waiting = (): void => {};
    const held = new Promise<void>((resolve) => {
      waiting = resolve;
    });
    let asked = 0;
    vault.pause = async ({ path }) => {
      if (path !== 'database/creds/app') return;
      asked += 1;
      if (asked === 4) waiting();
      await opened;
    };
    const leaving = new AbortController();
    const gone = fetch(`${broker.client.url}/v1/targets/${target}:authorize-session`, {
      method: 'POST',
      body: '{}',
      headers: { authorization: `Bearer ${user.token}` },
      signal: leaving.signal,
    });
    await held;
    leaving.abort();
    await assert.rejects(gone);
    // Whatever comes after it is answered when the server has heard of that.
    for (let turn = 0; turn < 3; turn++) await user.call('GET', `targets/${target}`);
    open();
    const left = (): number => [...vault.leases.keys()].filter((id) => !before.has(id)).length;
    const given = (): number =>
      vault.requests.filter(({ path }) => path === 'sys/leases/revoke').length;
    const revoked = given();
    while (given() - revoked < 4 || left() > 0) await new Promise(setImmediate);
    vault.pause = async () => {};
    assert.equal(asked, 4);
  });

  const lengths: [bytes: number, count: number, status: number][] = [
    [500_000, 4, 200],
    [530_000, 4, 400],
    [1_000_000, 1, 200],
  ];
  for (const [bytes, count, status] of lengths) {
    test(`${count} secrets of ${bytes} bytes for one session: ${status}`, async () => {
      const target = await targetWith('vault', count);
      const data = { password: 'x'.repeat(bytes) };
      vault.answers.set('GET database/creds/app', { body: { data } });
      const answer = await authorize(target);
      vault.answers.clear();
      assert.equal(answer.status, status, answer.text.slice(0, 300));
      if (status === 400) assert.match(answer.text, /more than 2097152 bytes together/);
    });
  }

  async function makeLongStored(): Promise<string> {
    const { make, project: scope_id } = broker;
    const credential_store_id = await make('credential-stores', { scope_id, type: 'static' });
    const attributes = { object: { text: 'x'.repeat(65_000) } };
    const of = { credential_store_id, type: 'json', attributes };
    const ids = await Promise.all(range(21).map(() => make('credentials', of)));
    const target = await newTarget();
    await link(target, 'target-brokered', ids);
    return target;
  }

  const bursts: [what: string, make: () => Promise<string>][] = [
    ['stored', makeLongStored],
    ['of a Vault server', () => targetWith('vault', 2)],
  ];
  for (const [what, make] of bursts) {
    test(`a burst of sessions with long credentials waits in turn, and others with it: ${what}`, async () => {
      const target = await make();
      const data = { password: 'x'.repeat(700_000) };
      vault.answers.set('GET database/creds/app', { body: { data } });
      const crowd = range(16).map(() => authorize(target));
      const short = await newTarget();
      assert.equal((await authorize(short)).status, 200);
      const statuses = (await Promise.all(crowd)).map(({ status }) => status);
      vault.answers.clear();
      assert.deepEqual(new Set(statuses), new Set([200]));
      assert.equal(heldSecrets(broker.client.running.app), 0);
    });
  }

  const many: [values: number, status: number][] = [
    [9_990, 200],
    [10_001, 500],
    [480_000, 500],
  ];
  for (const [values, status] of many) {
    test(`nobody is held up by secrets of ${values} values: ${status}`, async () => {
      const target = await targetWith('vault', 2);
      const data = { list: new Array(values).fill(0) };
      vault.answers.set('GET database/creds/app', { body: { data } });
      await holdsNobodyUp(async () => {
        const answer = await authorize(target);
        assert.equal(answer.status, status, answer.text.slice(0, 300));
        if (status === 500) assert.match(answer.text, /more than 10000 values/);
      });
      vault.answers.clear();
    });
  }

  const membered: [count: number, status: number][] = [
    [3, 200],
    [4, 400],
  ];
  for (const [count, status] of membered) {
    test(`members of secrets count: ${count} secrets of 9,000 each for one session are ${status}`, async () => {
      const target = await targetWith('vault', count);
      const data = Object.fromEntries(range(9_000).map((at) => [at.toString(36), 1]));
      vault.answers.set('GET database/creds/app', { body: { data } });
      const answer = await authorize(target);
      vault.answers.clear();
      assert.equal(answer.status, status, answer.text.slice(0, 300));
      if (status === 400) assert.match(answer.text, /more than 2097152 bytes together/);
      assert.equal(heldSecrets(broker.client.running.app), 0);
    });
  }

  test('nobody is held up by a session of a target with 64 sets of 2,000 hosts', async () => {
    const target = await newTarget({});
    const sets = range(64).map((at) => copyId(at, host_set));
    await link(target, 'target-host-source', sets);
    const last = copyId(2_000, host);
    for (const wanted of [undefined, last]) {
      await holdsNobodyUp(async () => {
        const path = `targets/${target}:authorize-session`;
        const session = await user.call('POST', path, wanted ? { host_id: wanted } : {});
        assert.equal(session.status, 200, session.text);
        if (wanted) assert.equal(session.field('host_id'), wanted);
      });
    }
    const other = { host_id: host };
    const refused = await user.call('POST', `targets/${target}:authorize-session`, other);
    assert.equal(refused.status, 400, 'a host of no set');
  });

  test('holds none of its stored secrets while it waits for a server', async () => {
    const library = copyId(1, source.vault);
    const alone = await newTarget();
    await link(alone, 'target-brokered', [library]);
    const target = await newTarget();
    await link(target, 'target-brokered', [...stored.slice(0, 3), library]);
    assert.equal(await authorizeHeld(target, 4), await authorizeHeld(alone, 1));
  });

  /** What a session holds while its library is asked for. */
  async function authorizeHeld(target: string, count: number): Promise<number> {
    const { app } = broker.client.running;
    const asked = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    const { pause } = vault;
    vault.pause = () => {
      asked.resolve();
      return answered.promise;
    };
    const authorizing = authorize(target);
    await asked.promise;
    const held = heldSecrets(app);
    vault.pause = pause;
    answered.resolve();
    const reply = await authorizing;
    assert.equal(reply.status, 200, reply.text);
    const credentials = reply.field('credentials');
    assert.ok(Array.isArray(credentials) && credentials.length === count);
    assert.equal(heldSecrets(app), 0);
    return held;
  }
});
