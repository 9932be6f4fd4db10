/** What present `bao` command lines ask for: older operations at other paths, in an envelope. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Config } from '../../src/config/config.ts';
import { type Client, type Reply, startTestServer } from '../support/server.ts';

interface Opened extends Client {
  /** Shares of the key that rekeying replaces. */
  keys: string[];
  root: string;
  ask(method: string, path: string, body?: unknown, token?: string): Promise<Reply>;
}

async function open(t: TestContext, kind: 'shamir' | 'keyfile'): Promise<Opened> {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, 'seal.key');
  writeFileSync(path, new Uint8Array(32).fill(7), { mode: 0o600 });
  const seal: Config['seal'] = kind === 'shamir' ? { type: kind } : { type: kind, path };
  const config = { mode: 'server' as const, dev_root_token: undefined, seal };
  const client = await startTestServer(t, { config });
  const ask: Opened['ask'] = (method, path, body, token = '') =>
    client.call(method, path, body, { token });
  const field = kind === 'shamir' ? 'keys_base64' : 'recovery_keys_base64';
  const made = await ask(
    'PUT',
    'sys/init',
    kind === 'shamir'
      ? { secret_shares: 3, secret_threshold: 2 }
      : { recovery_shares: 3, recovery_threshold: 2 },
  );
  assert.equal(made.status, 200, made.text);
  const keys = JSON.parse(made.text)[field];
  if (kind === 'shamir') {
    for (const key of keys.slice(0, 2)) await ask('PUT', 'sys/unseal', { key });
  }
  return { ...client, ask, keys, root: made.textAt('root_token') };
}

/** Gives shares one by one; the last answer. */
async function give({ ask }: Opened, path: string, keys: string[], nonce: string): Promise<Reply> {
  let last: Reply | undefined;
  for (const key of keys) last = await ask('PUT', path, { key, nonce });
  assert.ok(last);
  return last;
}

function decode(encoded: string, otp: string): string {
  const bytes = Buffer.from(encoded, 'base64');
  const pad = Buffer.from(otp);
  return Buffer.from(bytes.map((byte, at) => byte ^ (pad[at] ?? 0))).toString();
}

const ATTEMPT = 'sys/generate-root-token/attempt';

test('sys/generate-root-token makes a root token, as sys/generate-root does, and each sees the other', async (t) => {
  const opened = await open(t, 'shamir');
  const { ask, keys } = opened;
  const begun = await ask('PUT', ATTEMPT, { otp: '', pgp_key: '' });
  assert.equal(begun.status, 200, begun.text);
  assert.deepEqual(
    ['started', 'progress', 'required', 'complete', 'otp_length'].map((name) =>
      begun.field(`data.${name}`),
    ),
    [true, 0, 2, false, begun.textAt('data.otp').length],
  );
  assert.equal(begun.field('started'), undefined);
  const nonce = begun.textAt('data.nonce');
  assert.equal((await ask('GET', 'sys/generate-root/attempt')).field('nonce'), nonce);
  assert.equal((await ask('GET', ATTEMPT)).field('data.otp'), '');
  const first = await give(opened, 'sys/generate-root/update', keys.slice(0, 1), nonce);
  assert.equal(first.field('progress'), 1);
  const done = await give(opened, 'sys/generate-root-token/update', keys.slice(1, 2), nonce);
  assert.equal(done.field('data.complete'), true, done.text);
  const token = decode(done.textAt('data.encoded_token'), begun.textAt('data.otp'));
  const own = await ask('GET', 'auth/token/lookup-self', undefined, token);
  assert.deepEqual(own.field('data.policies'), ['root']);
  assert.equal((await ask('GET', ATTEMPT)).field('data.started'), false);
});

test('sys/generate-root-token refuses what sys/generate-root does', async (t) => {
  const opened = await open(t, 'shamir');
  const { ask, keys, root } = opened;
  const update = 'sys/generate-root-token/update';
  assert.equal((await ask('PUT', update, { key: keys[0], nonce: 'x' })).status, 400);
  const begun = await ask('PUT', 'sys/generate-root/attempt', {});
  const twice = await ask('PUT', ATTEMPT, {});
  assert.equal(twice.status, 400);
  assert.match(twice.text, /already in progress/);
  const nonce = begun.textAt('nonce');
  const wrong = Buffer.alloc(33, 9).toString('base64');
  assert.equal((await ask('PUT', update, { key: wrong, nonce })).status, 400);
  assert.equal((await ask('GET', ATTEMPT)).field('data.progress'), 0);
  for (const token of ['', 'hvs.x']) {
    assert.equal((await ask('DELETE', ATTEMPT, undefined, token)).status, 403);
  }
  assert.equal((await ask('DELETE', ATTEMPT, undefined, root)).status, 204);
  assert.equal((await ask('GET', ATTEMPT)).field('data.started'), false);
});

const ROTATIONS = [
  ['shamir', 'sys/rotate/root', 'sys/rekey', 'sys/rotate/recovery'],
  ['keyfile', 'sys/rotate/recovery', 'sys/rekey-recovery-key', 'sys/rotate/root'],
] as const;
const COUNTS = { secret_shares: 1, secret_threshold: 1 };

for (const [kind, path, old, other] of ROTATIONS) {
  test(`${path} replaces the shares, as ${old} does, and each sees the other`, async (t) => {
    const opened = await open(t, kind);
    const { ask, keys } = opened;
    const before = await ask('GET', `${path}/init`);
    assert.deepEqual([before.status, before.field('data.started')], [200, false]);
    const begun = await ask('POST', `${path}/init`, { ...COUNTS, require_verification: true });
    assert.deepEqual(
      ['started', 't', 'n', 'progress', 'required', 'verification_required'].map((name) =>
        begun.field(`data.${name}`),
      ),
      [true, 1, 1, 0, 2, true],
    );
    const nonce = begun.textAt('data.nonce');
    assert.equal((await ask('GET', `${old}/init`)).field('nonce'), nonce);
    await give(opened, `${old}/update`, keys.slice(0, 1), nonce);
    const made = await give(opened, `${path}/update`, keys.slice(1, 2), nonce);
    assert.equal(made.field('data.complete'), true, made.text);
    assert.equal(made.field('keys'), undefined);
    const [fresh] = JSON.parse(made.text).data.keys_base64;
    const verification = made.textAt('data.verification_nonce');
    assert.equal((await ask('GET', `${path}/verify`)).field('data.nonce'), verification);
    const shown = await give(opened, `${path}/verify`, [fresh], verification);
    assert.equal(shown.field('data.complete'), true, shown.text);
    const next = await ask('POST', `${old}/init`, COUNTS);
    const stale = await ask('PUT', `${path}/update`, { key: keys[0], nonce: next.field('nonce') });
    assert.equal(stale.status, 400, 'the former shares are none any more');
    const again = await give(opened, `${path}/update`, [fresh], next.textAt('nonce'));
    assert.equal(again.field('data.complete'), true, again.text);
  });

  test(`${path} is cancelled by a token that may cancel ${old}, and ${other} has nothing to replace`, async (t) => {
    const { ask, root } = await open(t, kind);
    const none = await ask('POST', `${other}/init`, COUNTS);
    assert.equal(none.status, 400, none.text);
    assert.match(none.text, /rekeying/);
    assert.equal((await ask('POST', `${path}/init`, COUNTS)).status, 200);
    for (const end of ['init', 'verify']) {
      assert.equal((await ask('DELETE', `${path}/${end}`)).status, 403);
    }
    const policy = (denied: string): string =>
      `path "sys/rotate/*" { capabilities = ["delete", "sudo"] }\npath "${denied}" { capabilities = ["deny"] }`;
    const tokenOf = async (name: string, denied: string): Promise<string> => {
      await ask('PUT', `sys/policies/acl/${name}`, { policy: policy(denied) }, root);
      const made = await ask('POST', 'auth/token/create', { policies: [name] }, root);
      return made.textAt('auth.client_token');
    };
    const barred = await tokenOf('barred', `${old}/init`);
    assert.equal((await ask('DELETE', `${path}/init`, undefined, barred)).status, 403);
    assert.equal((await ask('GET', `${path}/init`)).field('data.started'), true);
    const free = await tokenOf('free', `${old}/verify`);
    assert.equal((await ask('DELETE', `${path}/init`, undefined, free)).status, 204);
    assert.equal((await ask('GET', `${path}/init`)).field('data.started'), false);
    assert.equal((await ask('GET', `${path}/backup`, undefined, root)).status, 404);
    assert.equal((await ask('DELETE', `${path}/backup`, undefined, root)).status, 204);
  });
}
