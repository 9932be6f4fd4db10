// Sealing while the database takes nothing, or is gone.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Config } from '../../src/config/config.ts';
import { Failure } from '../../src/core/failure.ts';
import type { Store } from '../../src/store/store.ts';
import { startCutProxy } from '../support/cut-proxy.ts';
import { eachPlace, sqlitePlace, urlOf } from '../support/engines.ts';
import { inReverse, type Scope } from '../support/node-process.ts';
import { must } from '../support/racing.ts';
import { type Client, type Reply, startTestServer } from '../support/server.ts';

const COUNTS = { secret_shares: 1, secret_threshold: 1 };
const MAY_SEAL = 'path "sys/seal" { capabilities = ["update", "sudo"] }';
const MAY_NOT = 'path "sys/seal" { capabilities = ["update"] }';

/** An unsealed server whose commits, or whose database as a whole, can be taken away. */
interface Installation {
  client: Client;
  root: string;
  share: string;
  ask(method: string, path: string, token: string, body?: unknown): Promise<Reply>;
  /** A token with this policy that the server has seen lately. */
  tokenOf(policy: string): Promise<string>;
}

async function install(
  t: Scope,
  storage: Config['storage'],
  { store, threads = 1 }: { store?: (real: Store) => Store; threads?: number } = {},
): Promise<Installation> {
  const client = await startTestServer(t, {
    config: {
      mode: 'server',
      dev_root_token: undefined,
      storage,
      threads,
      seal: { type: 'shamir' },
    },
    ...(store ? { store } : {}),
  });
  const ask: Installation['ask'] = (method, path, token, body) =>
    client.call(method, path, body, { token });
  const made = await must(ask('PUT', 'sys/init', '', COUNTS));
  const [root, share] = [made.textAt('root_token'), made.textAt('keys.0')];
  await must(ask('PUT', 'sys/unseal', '', { key: share }));
  let count = 0;
  const tokenOf = async (policy: string): Promise<string> => {
    const name = `p${++count}`;
    await must(ask('PUT', `sys/policies/acl/${name}`, root, { policy }));
    const token = (await must(ask('POST', 'auth/token/create', root, { policies: [name] }))).textAt(
      'auth.client_token',
    );
    await must(ask('GET', 'auth/token/lookup-self', token));
    return token;
  };
  return { client, root, share, ask, tokenOf };
}

/** The records of sealings. */
async function sealings({ running }: Client): Promise<string[]> {
  const rows = await running.app.db.selectFrom('audit_entry').select('record').execute();
  return rows.map(({ record }) => record).filter((record) => record.includes('"route":"seal"'));
}

async function untilRecorded(client: Client, count: number): Promise<string[]> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const found = await sealings(client).catch(() => []);
    if (found.length >= count) return found;
    assert.ok(performance.now() < deadline, 'the record never came');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test('a server whose database takes nothing is sealed all the same, says so, and records it later', async (context) => {
  const t = inReverse(context);
  const place = sqlitePlace();
  t.after(() => place.remove());
  const options = place.options();
  assert.ok(options.engine === 'sqlite');
  let broken = false;
  const { client, root, share, ask, tokenOf } = await install(
    t,
    { type: 'sqlite', directory: options.directory },
    {
      store: (real) => ({
        ...real,
        commit: (effects) =>
          broken
            ? Promise.reject(new Failure('unavailable', 'the disk is full'))
            : real.commit(effects),
      }),
    },
  );
  const plain = await tokenOf(MAY_NOT);
  broken = true;
  for (const token of ['', 'hvs.nobody', plain]) {
    assert.notEqual((await ask('PUT', 'sys/seal', token)).status, 200);
    assert.equal((await ask('GET', 'sys/seal-status', '')).field('sealed'), false);
  }
  const sealed = await ask('PUT', 'sys/seal', root);
  assert.equal(sealed.status, 200, sealed.text);
  assert.match(sealed.text, /did not take the record/);
  assert.equal((await ask('GET', 'sys/seal-status', '')).field('sealed'), true);
  assert.equal(client.running.app.barrier.sealed, true);
  broken = false;
  const done = (await untilRecorded(client, 1)).filter((record) => record.includes('"done"'));
  assert.equal(done.length, 1);
  assert.match(done[0] ?? '', /"policies":\["root"\]/);
  await must(ask('PUT', 'sys/unseal', '', { key: share }));
  assert.equal((await ask('PUT', 'sys/seal', root)).status, 204);
});

eachPlace('a server whose database is gone', (newPlace, engine) => {
  if (engine !== 'postgres') return;

  test('is sealed by whoever was known to be permitted, and by nobody else', async (context) => {
    const t = inReverse(context);
    const proxy = await startCutProxy(urlOf(await newPlace()));
    t.after(() => proxy.close());
    const { client, root, share, ask, tokenOf } = await install(t, {
      type: 'postgres',
      url: proxy.url,
      node_name: 'a',
    });
    const [permitted, plain, revoked] = [
      await tokenOf(MAY_SEAL),
      await tokenOf(MAY_NOT),
      await tokenOf(MAY_SEAL),
    ];
    await must(ask('POST', 'auth/token/revoke', root, { token: revoked }));
    assert.equal((await ask('GET', 'auth/token/lookup-self', revoked)).status, 403);

    proxy.block(true);
    for (const token of ['', 'hvs.nobody', plain, revoked]) {
      const { status } = await ask('PUT', 'sys/seal', token);
      assert.equal(status, token === '' ? 403 : 503);
      assert.equal(client.running.app.barrier.sealed, false);
    }
    // Nothing else is done without the database.
    assert.equal((await ask('PUT', 'sys/seal/', permitted)).status, 503);
    assert.equal((await ask('PUT', 'sys/rotate', root)).status, 503);
    const sealed = await ask('PUT', 'sys/seal', permitted);
    assert.equal(sealed.status, 200, sealed.text);
    assert.match(sealed.text, /did not take the record/);
    assert.equal(client.running.app.barrier.sealed, true);

    proxy.block(false);
    const [record = ''] = (await untilRecorded(client, 1)).filter((one) => one.includes('"done"'));
    assert.match(record, /"operation":"update","path":"sys\/seal"/);
    assert.match(record, /"accessor":"\w+/);
    await must(ask('PUT', 'sys/unseal', '', { key: share }));
    await must(ask('GET', 'auth/token/lookup-self', permitted));
  });

  test('is sealed by whoever another thread knew to be permitted', async (context) => {
    const t = inReverse(context);
    const proxy = await startCutProxy(urlOf(await newPlace()));
    t.after(() => proxy.close());
    const storage = { type: 'postgres', url: proxy.url, node_name: 'a' } as const;
    const { client, root, ask } = await install(t, storage, { threads: 3 });
    await must(ask('POST', 'sys/mounts/pki', root, { type: 'pki' }));
    /** Seen by threads that answer, and not by the one that seals. */
    const newToken = async (name: string, policy: string): Promise<string> => {
      await must(ask('PUT', `sys/policies/acl/${name}`, root, { policy }));
      const made = await must(ask('POST', 'auth/token/create', root, { policies: [name] }));
      const token = made.textAt('auth.client_token');
      assert.equal((await ask('GET', 'pki/roles/web', token)).status, 403);
      return token;
    };
    const permitted = await newToken('may', MAY_SEAL);
    const plain = await newToken('may-not', MAY_NOT);
    const revoked = await newToken('may-too', MAY_SEAL);
    await must(ask('POST', 'auth/token/revoke', root, { token: revoked }));
    assert.equal((await ask('GET', 'pki/roles/web', revoked)).status, 403);

    proxy.block(true);
    for (const token of ['hvs.nobody', plain, revoked]) {
      assert.equal((await ask('PUT', 'sys/seal', token)).status, 503);
      assert.equal(client.running.app.barrier.sealed, false);
    }
    const sealed = await ask('PUT', 'sys/seal', permitted);
    assert.equal(sealed.status, 200, sealed.text);
    assert.equal(client.running.app.barrier.sealed, true);
    proxy.block(false);
    await untilRecorded(client, 1);
  });
});
