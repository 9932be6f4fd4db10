import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { heldSecrets } from '../../src/broker/credentials/of-sessions/operations.ts';
import { eachPlace } from '../support/engines.ts';
import { type Broker, startBroker } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';
import { type FakeVault, GOOD_TOKEN, startFakeVault } from '../support/vault.ts';

/** What sessions hold of the libraries of their targets while these issue. */

const LONG_BODY = JSON.stringify({ text: 'x'.repeat(16_000) });
const LONG_TOKEN = 't'.repeat(8_000);
const KiB = 1 << 10;

eachPlace('libraries of a session', (newPlace) => {
  let broker: Broker;
  let vault: FakeVault;
  const stores = { short: '', long: '' };
  const stops: (() => unknown)[] = [];
  after(async () => {
    for (const stop of stops.reverse()) await stop();
  });

  before(async () => {
    vault = await startFakeVault();
    stops.push(() => vault.stop());
    vault.tokens.set(LONG_TOKEN, GOOD_TOKEN);
    vault.answers.set('POST any/body', { body: { data: { password: 'p' } } });
    const test = { after: (stop: () => Promise<void>) => stops.push(stop) };
    broker = await startBroker(test, { place: await newPlace() });
    const storeWith = (token: string): Promise<string> =>
      broker.make('credential-stores', {
        scope_id: broker.project,
        type: 'vault',
        attributes: { address: vault.url, token },
      });
    stores.short = await storeWith('good');
    stores.long = await storeWith(LONG_TOKEN);
  });

  const SHORT = { path: 'database/creds/app' };
  const LONG = { path: 'any/body', http_method: 'POST', http_request_body: LONG_BODY };

  let targets = 0;
  /** A target with so many libraries, and their ids in the order in which they issue. */
  async function targetWith(
    count: number,
    attributes: object,
    credential_store_id: string,
  ): Promise<{ target: string; ids: string[] }> {
    const of = { credential_store_id, type: 'vault-generic', attributes };
    const ids: string[] = [];
    for (let at = 0; at < count; at++) ids.push(await broker.make('credential-libraries', of));
    const target = await broker.make('targets', {
      scope_id: broker.project,
      type: 'tcp',
      name: `libraries ${targets++}`,
      address: '10.0.0.5',
      attributes: { default_port: 22 },
    });
    const added = await broker.admin('POST', `targets/${target}:add-credential-sources`, {
      version: 1,
      brokered_credential_source_ids: ids,
    });
    assert.equal(added.status, 200, added.text);
    return { target, ids: ids.sort() };
  }

  const authorize = (target: string): Promise<Reply> =>
    broker.admin('POST', `targets/${target}:authorize-session`, {});

  /** Makes a session, and does something else while its first libraries wait for the server. */
  async function authorizeMeanwhile(
    target: string,
    at_once: number,
    meanwhile: () => unknown,
  ): Promise<Reply> {
    const asked = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    let count = 0;
    vault.pause = async ({ path }) => {
      if (path !== SHORT.path && path !== LONG.path) return;
      count += 1;
      if (count === at_once) asked.resolve();
      await answered.promise;
    };
    const authorizing = authorize(target);
    await asked.promise;
    try {
      await meanwhile();
    } finally {
      vault.pause = async () => {};
      answered.resolve();
    }
    return authorizing;
  }

  const one = 16_000;
  const held: [
    what: string,
    count: number,
    attributes: object,
    store: keyof typeof stores,
    bytes: [least: number, most: number],
  ][] = [
    ['a short one', 1, SHORT, 'short', [1, 4 * KiB]],
    ['64 short ones', 64, SHORT, 'short', [1, 128 * KiB]],
    ['a long one', 1, LONG, 'short', [4 * one, 4 * one + 8 * KiB]],
    ['four long ones', 4, LONG, 'short', [16 * one, 16 * one + 16 * KiB]],
    ['24 long ones, of which four issue at once', 24, LONG, 'short', [16 * one, 18 * one]],
    ['one of a long store', 1, SHORT, 'long', [16_000, 16_000 + 8 * KiB]],
    ['four of one long store', 4, SHORT, 'long', [16_000, 16_000 + 12 * KiB]],
  ];
  for (const [what, count, attributes, store, [least, most]] of held) {
    test(`count while they wait for a server: ${what}`, async () => {
      const { target } = await targetWith(count, attributes, stores[store]);
      const { app } = broker.client.running;
      let bytes = 0;
      const reply = await authorizeMeanwhile(target, Math.min(4, count), () => {
        bytes = heldSecrets(app);
      });
      assert.equal(reply.status, 200, reply.text.slice(0, 300));
      assert.ok(bytes >= least && bytes <= most, `${bytes} bytes`);
      assert.equal(heldSecrets(app), 0);
    });
  }

  test('of a crowd wait in turn where they are long, and all are given theirs', async () => {
    const { target } = await targetWith(4, LONG, stores.short);
    const { app } = broker.client.running;
    let most = 0;
    vault.pause = async () => {
      most = Math.max(most, heldSecrets(app));
    };
    const crowd = await Promise.all(Array.from({ length: 60 }, () => authorize(target)));
    vault.pause = async () => {};
    assert.deepEqual(new Set(crowd.map(({ status }) => status)), new Set([200]));
    assert.ok(most > 8 << 20 && most <= 32 << 20, `${most} bytes`);
    assert.equal(heldSecrets(app), 0);
  });

  const changes: [what: string, left: number, revoked: number, change: (id: string) => unknown][] =
    [
      ['stays', 6, 0, () => {}],
      [
        'changes',
        6,
        4,
        (id) => broker.admin('PATCH', `credential-libraries/${id}`, { version: 1, name: id }),
      ],
      ['goes', 5, 4, (id) => broker.admin('DELETE', `credential-libraries/${id}`)],
    ];
  for (const [what, left, revoked, change] of changes) {
    test(`are all as they were when a session was begun: one ${what} before its turn`, async () => {
      const { target, ids } = await targetWith(6, SHORT, stores.short);
      const revocations = (): number =>
        vault.requests.filter(({ path }) => path === 'sys/leases/revoke').length;
      const before = { leases: vault.leases.size, revocations: revocations() };
      const reply = await authorizeMeanwhile(target, 4, () => change(ids.at(-1) ?? ''));
      assert.equal(reply.status, 200, reply.text.slice(0, 300));
      const given = reply.field('credentials');
      assert.equal(Array.isArray(given) && given.length, left);
      assert.equal(vault.leases.size - before.leases, left);
      assert.ok(revocations() - before.revocations >= revoked);
      if (revoked === 0) assert.equal(revocations(), before.revocations);
    });
  }
});
