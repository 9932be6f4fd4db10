import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Config } from '../../src/config/config.ts';
import { eachPlace, type Place, urlOf } from '../support/engines.ts';
import { type Client, startTestServer } from '../support/server.ts';

function startNode(
  t: TestContext,
  place: Place,
  node_name: string,
  seal: Config['seal'],
): Promise<Client> {
  const storage = { type: 'postgres' as const, url: urlOf(place), node_name };
  return startTestServer(t, {
    config: { mode: 'server', dev_root_token: undefined, storage, seal },
  });
}

async function put(node: Client, path: string, body: unknown, token = '') {
  const reply = await node.call('PUT', path, body, { token });
  assert.ok(reply.status < 300, `${path}: ${reply.text}`);
  return JSON.parse(reply.text === '' ? '{}' : reply.text);
}

/** Asks until the answer is there; a notice from another node takes a moment. */
async function until(ask: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await ask())) assert.ok(performance.now() < deadline, 'it never came');
}

eachPlace('nodes over one database', (newPlace, engine) => {
  if (engine !== 'postgres') return;

  test('with a key file, a node opens when another has initialised, and follows its rotations', async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'gatehouse-'));
    t.after(() => rmSync(directory, { recursive: true, force: true }));
    const path = join(directory, 'seal.key');
    writeFileSync(path, new Uint8Array(32).fill(7), { mode: 0o600 });
    const place = await newPlace();
    const a = await startNode(t, place, 'a', { type: 'keyfile', path });
    const b = await startNode(t, place, 'b', { type: 'keyfile', path });
    const { root_token } = await put(a, 'sys/init', {});
    await until(async () => (await b.call('GET', 'sys/health')).status === 200);

    await put(a, 'sys/rotate', undefined, root_token);
    const termOfB = async () =>
      (await b.call('GET', 'sys/key-status', undefined, { token: root_token })).field('data.term');
    await until(async () => (await termOfB()) === 2);

    // Sealed by request, it stays sealed, whatever the others do.
    await put(b, 'sys/seal', undefined, root_token);
    await put(a, 'sys/rotate', undefined, root_token);
    assert.equal((await b.call('GET', 'sys/health')).status, 503);
    assert.equal((await a.call('GET', 'sys/health')).status, 200);
  });

  test('shares that a node has gathered are of no use after a rekeying on another, and new ones count', async (t) => {
    const place = await newPlace();
    const a = await startNode(t, place, 'a', { type: 'shamir' });
    const b = await startNode(t, place, 'b', { type: 'shamir' });
    const counts = { secret_shares: 3, secret_threshold: 2 };
    const made = await put(a, 'sys/init', counts);
    for (const key of made.keys.slice(0, 2)) await put(a, 'sys/unseal', { key });
    assert.equal((await put(b, 'sys/unseal', { key: made.keys[0] })).progress, 1);
    const { nonce } = await put(a, 'sys/rekey/init', counts);
    await put(a, 'sys/rekey/update', { key: made.keys[0], nonce });
    const rekeyed = await put(a, 'sys/rekey/update', { key: made.keys[1], nonce });
    assert.equal((await b.call('PUT', 'sys/unseal', { key: made.keys[1] })).status, 400);
    assert.equal((await put(b, 'sys/unseal', { key: rekeyed.keys[0] })).progress, 1);
    assert.equal((await put(b, 'sys/unseal', { key: rekeyed.keys[1] })).sealed, false);

    const attempt = await put(b, 'sys/generate-root/attempt', {});
    const share = { key: rekeyed.keys[0], nonce: attempt.nonce };
    assert.equal((await put(b, 'sys/generate-root/update', share)).progress, 1);
    const second = await put(a, 'sys/rekey/init', counts);
    for (const key of rekeyed.keys.slice(0, 2)) {
      await put(a, 'sys/rekey/update', { key, nonce: second.nonce });
    }
    const late = await b.call('PUT', 'sys/generate-root/update', {
      key: rekeyed.keys[1],
      nonce: attempt.nonce,
    });
    assert.equal(late.status, 400);
    assert.match(late.text, /start over/);
  });

  test('each node is unsealed by itself, and takes the shares of a rekeying elsewhere', async (t) => {
    const place = await newPlace();
    const a = await startNode(t, place, 'a', { type: 'shamir' });
    const b = await startNode(t, place, 'b', { type: 'shamir' });
    const made = await put(a, 'sys/init', { secret_shares: 1, secret_threshold: 1 });
    assert.equal((await put(a, 'sys/unseal', { key: made.keys[0] })).sealed, false);
    assert.equal((await b.call('GET', 'sys/health')).status, 503);

    const { nonce } = await put(a, 'sys/rekey/init', { secret_shares: 1, secret_threshold: 1 });
    const rekeyed = await put(a, 'sys/rekey/update', { key: made.keys[0], nonce });
    const old = await b.call('PUT', 'sys/unseal', { key: made.keys[0] });
    assert.equal(old.status, 400);
    assert.equal((await put(b, 'sys/unseal', { key: rekeyed.keys[0] })).sealed, false);

    await put(b, 'sys/rotate', undefined, made.root_token);
    const sealing = await b.call(
      'POST',
      'sys/mounts/ca',
      { type: 'pki' },
      { token: made.root_token },
    );
    assert.equal(sealing.status, 204);
  });
});
