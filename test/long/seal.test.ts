import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Config } from '../../src/config/config.ts';
import { combineShares } from '../../src/seal/shamir.ts';
import { type Client, startTestServer } from '../support/server.ts';

const shamir: Partial<Config> = {
  mode: 'server',
  seal: { type: 'shamir' },
  dev_root_token: undefined,
};

function newDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

const keyfile = (directory: string): Partial<Config> => ({
  mode: 'server',
  seal: { type: 'keyfile', path: join(directory, 'seal.key') },
  dev_root_token: undefined,
});

function writeKeyFile(directory: string, byte = 7): void {
  writeFileSync(join(directory, 'seal.key'), new Uint8Array(32).fill(byte), { mode: 0o600 });
}

interface Keys {
  keys: string[];
  root: string;
}

async function initialise(client: Client, shares = 5, threshold = 3): Promise<Keys> {
  const reply = await put(client, 'sys/init', {
    secret_shares: shares,
    secret_threshold: threshold,
  });
  assert.equal(reply.status, 200, reply.text);
  return { keys: [...reply.json.keys_base64], root: reply.json.root_token };
}

/** Every field that the answers below have, each in some of them. */
interface Body {
  [field: string]: unknown;
  errors: string[];
  data: { [field: string]: unknown };
  nonce: string;
  otp: string;
  encoded_token: string;
  verification_nonce: string;
  keys: string[];
  keys_base64: string[];
  recovery_keys: string[];
  recovery_keys_base64: string[];
  root_token: string;
}

interface Reply {
  status: number;
  text: string;
  json: Body;
}

async function ask(
  client: Client,
  method: string,
  path: string,
  body: unknown,
  token = '',
): Promise<Reply> {
  const { status, text } = await client.call(method, path, body, { token });
  return { status, text, json: JSON.parse(text === '' ? '{}' : text) };
}

const put = (client: Client, path: string, body: unknown, token = '') =>
  ask(client, 'PUT', path, body, token);
const get = (client: Client, path: string, token = '') =>
  ask(client, 'GET', path, undefined, token);
const remove = (client: Client, path: string, token: string) =>
  ask(client, 'DELETE', path, undefined, token);

/** Gives shares one by one; the last answer. */
async function give(client: Client, path: string, keys: string[], nonce?: string): Promise<Reply> {
  let reply: Reply | undefined;
  for (const key of keys) reply = await put(client, path, nonce ? { key, nonce } : { key });
  assert.ok(reply);
  return reply;
}

async function unsealed(t: TestContext): Promise<Client & Keys> {
  const client = await startTestServer(t, { config: shamir });
  const made = await initialise(client);
  const reply = await give(client, 'sys/unseal', made.keys.slice(0, 3));
  assert.equal(reply.json.sealed, false, reply.text);
  return { ...client, ...made };
}

function refused(reply: Reply, because: RegExp): void {
  assert.equal(reply.status, 400, reply.text);
  assert.match(reply.json.errors[0] ?? '', because);
}

test('a new server is uninitialised and sealed, and answers that much without a token', async (t) => {
  const client = await startTestServer(t, { config: shamir });
  assert.deepEqual((await get(client, 'sys/init')).json, { initialized: false });
  const health = await get(client, 'sys/health');
  assert.equal(health.status, 501);
  const head = await client.call('HEAD', 'sys/health', undefined, { token: '' });
  assert.deepEqual([head.status, head.text], [501, '']);
  assert.equal((await get(client, 'sys/health?uninitcode=204&sealedcode=204')).status, 204);
  assert.equal((await get(client, 'sys/health?uninitcode=x')).status, 400);
  assert.equal((await get(client, 'sys/health?uninitcode=99')).status, 400);
  const status = await get(client, 'sys/seal-status');
  assert.equal(status.json.type, 'shamir');
  assert.equal(status.json.initialized, false);
  assert.equal(status.json.version, '1.21.5');
  assert.equal((await get(client, 'sys/leader')).json.ha_enabled, false);
  assert.equal((await get(client, 'sys/mounts', 'hvs.x')).status, 503);
  refused(await put(client, 'sys/unseal', { key: 'AAAA' }), /not initialized/);
});

test('initialisation is refused with impossible counts, keys to encrypt to, or a second time', async (t) => {
  const client = await startTestServer(t, { config: shamir });
  refused(await put(client, 'sys/init', {}), /shares must be at least one/);
  refused(
    await put(client, 'sys/init', { secret_shares: 2, secret_threshold: 1 }),
    /greater than one for multiple shares/,
  );
  refused(
    await put(client, 'sys/init', { secret_shares: 1, secret_threshold: 1, pgp_keys: ['x'] }),
    /pgp_keys is not supported/,
  );
  refused(await put(client, 'sys/init', { secret_shares: 'many' }), /secret_shares/);
  await initialise(client, 1, 1);
  refused(
    await put(client, 'sys/init', { secret_shares: 1, secret_threshold: 1 }),
    /Vault is already initialized/,
  );
});

test('of two that initialise at once, one does', async (t) => {
  const client = await startTestServer(t, { config: shamir });
  const body = { secret_shares: 1, secret_threshold: 1 };
  const replies = await Promise.all([put(client, 'sys/init', body), put(client, 'sys/init', body)]);
  assert.deepEqual(replies.map((reply) => reply.status).sort(), [200, 400]);
});

test('three of five shares unseal the server; the root token works from then on', async (t) => {
  const client = await startTestServer(t, { config: shamir });
  const { keys, root } = await initialise(client);
  assert.match(root, /^hvs\.[0-9A-Za-z]{24}$/);
  assert.equal((await get(client, 'sys/health')).status, 503);
  const [a = '', b = '', c = ''] = keys;

  const first = await put(client, 'sys/unseal', { key: a });
  assert.deepEqual([first.json.sealed, first.json.progress, first.json.t], [true, 1, 3]);
  assert.notEqual(first.json.nonce, '');
  const twice = await put(client, 'sys/unseal', { key: a });
  assert.deepEqual([twice.json.progress, twice.json.nonce], [1, first.json.nonce]);
  const hex = Buffer.from(b, 'base64').toString('hex');
  assert.equal((await put(client, 'sys/unseal', { key: hex })).json.progress, 2);
  assert.equal((await get(client, 'sys/mounts', root)).status, 503);
  const last = await put(client, 'sys/unseal', { key: c });
  assert.deepEqual([last.json.sealed, last.json.progress, last.json.nonce], [false, 0, '']);

  assert.equal((await get(client, 'sys/health')).status, 200);
  assert.equal((await get(client, 'sys/mounts', root)).status, 200);
  assert.equal((await put(client, 'sys/unseal', { key: a })).json.sealed, false);
});

test('a wrong share is refused by itself, and those that were given before stay', async (t) => {
  const client = await startTestServer(t, { config: shamir });
  const { keys } = await initialise(client);
  const wrong = Buffer.from(keys[2] ?? '', 'base64');
  wrong[0] = (wrong[0] ?? 0) ^ 1;
  const bad = [keys[0] ?? '', keys[1] ?? '', wrong.toString('base64')];
  refused(await give(client, 'sys/unseal', bad), /invalid key.*those that were given before stay/);
  const status = await get(client, 'sys/seal-status');
  assert.deepEqual([status.json.sealed, status.json.progress], [true, 2]);
  assert.equal((await put(client, 'sys/unseal', { key: keys[2] })).json.sealed, false);
});

test('what is no share is refused and does not count; a reset by a holder of one forgets the others', async (t) => {
  const client = await startTestServer(t, { config: shamir });
  const { keys } = await initialise(client);
  refused(await put(client, 'sys/unseal', {}), /'key' must be specified .* or 'reset' set to true/);
  refused(await put(client, 'sys/unseal', { key: '!!' }), /valid hex or base64/);
  refused(await put(client, 'sys/unseal', { key: 'AAAA' }), /a share of 33 bytes/);
  refused(await put(client, 'sys/unseal', { key: keys[0], migrate: true }), /seal migration/);
  assert.equal((await give(client, 'sys/unseal', keys.slice(0, 2))).json.progress, 2);
  assert.equal((await put(client, 'sys/unseal', { reset: true, key: keys[4] })).json.progress, 0);
  assert.equal((await put(client, 'sys/unseal', { reset: true })).json.progress, 0);
  assert.equal((await put(client, 'sys/unseal', { key: keys[2] })).json.sealed, true);
});

test('sealing needs a token that may, and what was made is there after unsealing again', async (t) => {
  const client = await unsealed(t);
  await put(client, 'sys/mounts/ca', { type: 'pki' }, client.root);
  assert.equal((await put(client, 'sys/seal', undefined)).status, 403);
  const policy = 'path "sys/seal" { capabilities = ["update"] }';
  await put(client, 'sys/policies/acl/half', { policy }, client.root);
  const body = { policies: ['half'] };
  const made = await client.call('POST', 'auth/token/create', body, { token: client.root });
  const half = made.textAt('auth.client_token');
  assert.equal((await put(client, 'sys/seal', undefined, half)).status, 403, 'without sudo');
  assert.equal((await put(client, 'sys/seal', undefined, client.root)).status, 204);
  assert.equal((await get(client, 'sys/health')).status, 503);
  assert.equal((await get(client, 'sys/mounts', client.root)).status, 503);
  await give(client, 'sys/unseal', client.keys.slice(2));
  assert.ok('ca/' in (await get(client, 'sys/mounts', client.root)).json.data);
});

test('a restarted server is sealed until its shares are given again', async (t) => {
  const directory = newDirectory(t);
  const first = await startTestServer(t, { directory, config: shamir });
  const { keys, root } = await initialise(first);
  await give(first, 'sys/unseal', keys.slice(0, 3));
  await first.running.stop();
  const second = await startTestServer(t, { directory, config: shamir });
  assert.equal((await get(second, 'sys/health')).status, 503);
  await give(second, 'sys/unseal', keys.slice(1, 4));
  assert.equal((await get(second, 'auth/token/lookup-self', root)).status, 200);
});

test('rotating makes a new generation of keys, also after a restart', async (t) => {
  const client = await unsealed(t);
  assert.equal((await get(client, 'sys/key-status')).status, 403);
  const before = await get(client, 'sys/key-status', client.root);
  assert.equal(before.json.data.term, 1);
  assert.equal(before.json.term, 1);
  assert.equal((await put(client, 'sys/rotate', undefined, client.root)).status, 204);
  assert.equal((await get(client, 'sys/key-status', client.root)).json.data.term, 2);
  await put(client, 'sys/seal', undefined, client.root);
  await give(client, 'sys/unseal', client.keys.slice(0, 3));
  assert.equal((await get(client, 'sys/key-status', client.root)).json.data.term, 2);
  const { nodes } = (await get(client, 'sys/ha-status', client.root)).json;
  assert.ok(Array.isArray(nodes) && nodes.length === 1);
});

test('rekeying replaces the shares: the new ones unseal, the old ones do not', async (t) => {
  const client = await unsealed(t);
  const start = await put(client, 'sys/rekey/init', { secret_shares: 3, secret_threshold: 2 });
  const { nonce } = start.json;
  assert.deepEqual([start.json.started, start.json.t, start.json.required], [true, 2, 3]);
  refused(
    await put(client, 'sys/rekey/init', { secret_shares: 3, secret_threshold: 2 }),
    /rekey already in progress/,
  );
  refused(
    await put(client, 'sys/rekey/update', { key: client.keys[0], nonce: 'x' }),
    /incorrect nonce/,
  );
  const half = await give(client, 'sys/rekey/update', client.keys.slice(0, 2), nonce);
  assert.equal(half.json.progress, 2);
  const done = await put(client, 'sys/rekey/update', { key: client.keys[2], nonce });
  assert.equal(done.json.complete, true);
  assert.equal(done.json.keys.length, 3);
  assert.equal((await get(client, 'sys/rekey/init')).json.started, false);
  const status = await get(client, 'sys/seal-status');
  assert.deepEqual([status.json.t, status.json.n], [2, 3]);

  await put(client, 'sys/seal', undefined, client.root);
  refused(await give(client, 'sys/unseal', client.keys.slice(0, 2)), /invalid key/);
  const fresh = [...done.json.keys];
  assert.equal((await give(client, 'sys/unseal', fresh.slice(1))).json.sealed, false);
});

test('a wrong share rekeys nothing, and the right ones need not be given again', async (t) => {
  const client = await unsealed(t);
  const start = await put(client, 'sys/rekey/init', { secret_shares: 1, secret_threshold: 1 });
  const { nonce } = start.json;
  const wrong = Buffer.alloc(33, 9).toString('base64');
  const bad = [client.keys[0] ?? '', client.keys[1] ?? '', wrong];
  refused(await give(client, 'sys/rekey/update', bad, nonce), /invalid key/);
  const after = await get(client, 'sys/rekey/init');
  assert.deepEqual([after.json.progress, after.json.nonce], [2, nonce]);
  const done = await give(client, 'sys/rekey/update', client.keys.slice(2, 3), nonce);
  assert.equal(done.json.keys.length, 1);
  assert.equal(Buffer.from(done.json.keys_base64[0] ?? '', 'base64').length, 32);
});

test('a verified rekeying is in force only once the new shares were shown', async (t) => {
  const client = await unsealed(t);
  const start = await put(client, 'sys/rekey/init', {
    secret_shares: 3,
    secret_threshold: 2,
    require_verification: true,
  });
  const done = await give(client, 'sys/rekey/update', client.keys.slice(0, 3), start.json.nonce);
  const fresh = [...done.json.keys_base64];
  assert.deepEqual([done.json.complete, done.json.verification_required], [true, true]);
  assert.equal((await get(client, 'sys/seal-status')).json.n, 5);
  assert.equal(
    (await get(client, 'sys/rekey/init')).json.verification_nonce,
    done.json.verification_nonce,
  );

  const nonce = done.json.verification_nonce;
  const wrong = Buffer.alloc(33, 3).toString('base64');
  refused(await give(client, 'sys/rekey/verify', [fresh[0] ?? '', wrong], nonce), /invalid key/);
  refused(await put(client, 'sys/rekey/verify', { key: client.keys[1], nonce }), /invalid key/);
  const again = await get(client, 'sys/rekey/verify');
  assert.deepEqual([again.json.progress, again.json.t, again.json.n], [1, 2, 3]);
  assert.equal(again.json.nonce, nonce);
  const restarted = await remove(client, 'sys/rekey/verify', client.root);
  assert.equal(restarted.json.progress, 0);
  refused(await put(client, 'sys/rekey/verify', { key: fresh[0], nonce }), /incorrect nonce/);
  const verified = await give(client, 'sys/rekey/verify', fresh.slice(0, 2), restarted.json.nonce);
  assert.equal(verified.json.complete, true);
  assert.equal((await get(client, 'sys/seal-status')).json.n, 3);
  refused(await get(client, 'sys/rekey/verify'), /no rekey verification in progress/);
});

test('a rekeying that is cancelled, or that the sealing ended, changes nothing', async (t) => {
  const client = await unsealed(t);
  const body = { secret_shares: 1, secret_threshold: 1 };
  const { nonce } = (await put(client, 'sys/rekey/init', body)).json;
  await put(client, 'sys/rekey/update', { key: client.keys[0], nonce });
  assert.equal((await remove(client, 'sys/rekey/init', client.root)).status, 204);
  refused(
    await put(client, 'sys/rekey/update', { key: client.keys[1], nonce }),
    /no rekey in progress/,
  );
  await put(client, 'sys/rekey/init', body);
  await put(client, 'sys/seal', undefined, client.root);
  assert.equal((await get(client, 'sys/rekey/init')).status, 503);
  await give(client, 'sys/unseal', client.keys.slice(0, 3));
  assert.equal((await get(client, 'sys/rekey/init')).json.started, false);
});

test('no backup of shares is made, and there is none to read', async (t) => {
  const client = await unsealed(t);
  const body = { secret_shares: 1, secret_threshold: 1 };
  refused(
    await put(client, 'sys/rekey/init', { ...body, backup: true }),
    /backup is not supported/,
  );
  refused(await put(client, 'sys/rekey/init', { ...body, pgp_keys: ['x'] }), /pgp_keys/);
  assert.equal((await get(client, 'sys/rekey/backup')).status, 403);
  assert.equal((await get(client, 'sys/rekey/backup', client.root)).status, 404);
  refused(
    await put(client, 'sys/rekey-recovery-key/init', body),
    /recovery rekeying not supported/,
  );
});

function reveal(encoded: string, otp: string): string {
  const hidden = Buffer.from(encoded, 'base64');
  return Buffer.from(hidden.map((byte, at) => byte ^ (otp.charCodeAt(at) || 0))).toString('utf8');
}

test('enough shares make a root token, hidden in the one-time password', async (t) => {
  const client = await unsealed(t);
  const start = await put(client, 'sys/generate-root/attempt', {});
  const { nonce, otp } = start.json;
  assert.deepEqual([otp.length, start.json.otp_length, start.json.required], [28, 28, 3]);
  const status = await get(client, 'sys/generate-root/attempt');
  assert.deepEqual([status.json.started, status.json.otp], [true, '']);
  refused(await put(client, 'sys/generate-root/attempt', {}), /already in progress/);
  const wrong = Buffer.alloc(33, 3).toString('base64');
  const bad = [...client.keys.slice(0, 2), wrong];
  refused(await give(client, 'sys/generate-root/update', bad, nonce), /invalid key/);
  const done = await give(client, 'sys/generate-root/update', client.keys.slice(2, 3), nonce);
  assert.equal(done.json.complete, true);
  assert.doesNotMatch(done.json.encoded_token, /=/);
  const token = reveal(done.json.encoded_token, otp);
  assert.match(token, /^hvs\./);
  assert.notEqual(token, client.root);
  const self = await get(client, 'auth/token/lookup-self', token);
  assert.deepEqual(self.json.data.policies, ['root']);
  assert.equal((await get(client, 'sys/generate-root/attempt')).json.started, false);
});

test('a one-time password of the caller is used and not repeated; one of another length is refused', async (t) => {
  const client = await unsealed(t);
  refused(await put(client, 'sys/generate-root/attempt', { otp: 'short' }), /wrong length/);
  refused(await put(client, 'sys/generate-root/attempt', { pgp_key: 'x' }), /pgp_key/);
  const otp = 'BMjzW3wAsEzINXCM05Wbas3u9zSl';
  const start = await put(client, 'sys/generate-root/attempt', { otp });
  assert.equal(start.json.otp, '');
  assert.equal((await remove(client, 'sys/generate-root/attempt', client.root)).status, 204);
  const { nonce } = (await put(client, 'sys/generate-root/attempt', { otp })).json;
  refused(
    await put(client, 'sys/generate-root/update', { key: client.keys[0], nonce: start.json.nonce }),
    /incorrect nonce/,
  );
  const done = await give(client, 'sys/generate-root/update', client.keys.slice(2), nonce);
  const self = await get(client, 'auth/token/lookup-self', reveal(done.json.encoded_token, otp));
  assert.equal(self.status, 200);
});

test('a development server makes a key file for its owner alone, and opens with it', async (t) => {
  const directory = newDirectory(t);
  const first = await startTestServer(t, { directory });
  const path = join(directory, 'unseal.key');
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal((await get(first, 'sys/seal-status')).json.type, 'keyfile');
  refused(await get(first, 'sys/generate-root/attempt'), /there is no recovery key/);
  await first.running.stop();

  const key = readFileSync(path);
  writeFileSync(path, new Uint8Array(32).fill(1));
  await assert.rejects(startTestServer(t, { directory }), /is not the one of this data/);
  writeFileSync(path, key);
  chmodSync(path, 0o644);
  await assert.rejects(startTestServer(t, { directory }), /has mode 0644/);
  rmSync(path);
  await assert.rejects(startTestServer(t, { directory }), /is missing: put its copy back/);
  assert.equal(existsSync(path), false);
  writeFileSync(path, key, { mode: 0o600 });
  const second = await startTestServer(t, { directory });
  assert.equal((await get(second, 'auth/token/lookup-self', 'root')).status, 200);
});

test('data of one kind of seal is not opened by a server configured for the other', async (t) => {
  const directory = newDirectory(t);
  const first = await startTestServer(t, { directory, config: shamir });
  await initialise(first, 1, 1);
  await first.running.stop();
  await assert.rejects(
    startTestServer(t, { directory, config: keyfile(directory) }),
    /seal.type is "keyfile", but the data was initialised with "shamir"/,
  );
});

test('with a key file initialisation gives recovery shares, and the server is open', async (t) => {
  const directory = newDirectory(t);
  const client = await startTestServer(t, { directory, config: keyfile(directory) });
  const body = { recovery_shares: 3, recovery_threshold: 2 };
  const missing = await put(client, 'sys/init', body);
  assert.equal(missing.status, 503);
  assert.match(missing.text, /key file .* is missing: make one/);
  writeKeyFile(directory);
  refused(
    await put(client, 'sys/init', { secret_shares: 1, secret_threshold: 1 }),
    /not applicable/,
  );
  const made = await put(client, 'sys/init', body);
  assert.deepEqual([made.json.keys, made.json.recovery_keys.length], [[], 3]);
  const status = await get(client, 'sys/seal-status');
  assert.deepEqual(
    [status.json.sealed, status.json.recovery_seal, status.json.t, status.json.n],
    [false, true, 2, 3],
  );
});

test('recovery shares authorise a root token, can be rekeyed, and never open the data', async (t) => {
  const directory = newDirectory(t);
  writeKeyFile(directory);
  const client = await startTestServer(t, { directory, config: keyfile(directory) });
  const made = await put(client, 'sys/init', { recovery_shares: 3, recovery_threshold: 2 });
  const old = [...made.json.recovery_keys_base64];
  refused(
    await put(client, 'sys/rekey/init', { secret_shares: 1, secret_threshold: 1 }),
    /not supported for seal type keyfile/,
  );
  const body = { secret_shares: 1, secret_threshold: 1 };
  const start = await put(client, 'sys/rekey-recovery-key/init', body);
  const done = await give(client, 'sys/rekey-recovery-key/update', old.slice(1), start.json.nonce);
  assert.equal(done.json.complete, true, done.text);

  const { nonce, otp } = (await put(client, 'sys/generate-root/attempt', {})).json;
  refused(
    await put(client, 'sys/generate-root/update', { key: old[0], nonce }),
    /share of 32 bytes/,
  );
  const combined = combineShares(old.slice(0, 2).map((share) => Buffer.from(share, 'base64')));
  assert.ok('secret' in combined);
  const former = Buffer.from(combined.secret).toString('hex');
  refused(await put(client, 'sys/generate-root/update', { key: former, nonce }), /invalid key/);
  const root = await give(client, 'sys/generate-root/update', [...done.json.keys], nonce);
  const token = reveal(root.json.encoded_token, otp);
  assert.equal((await get(client, 'auth/token/lookup-self', token)).status, 200);

  assert.equal((await put(client, 'sys/seal', undefined, token)).status, 204);
  refused(await put(client, 'sys/unseal', { key: done.json.keys[0] }), /restart it/);
});

test('neither the keys nor a token are anywhere in the stored files', async (t) => {
  const directory = newDirectory(t);
  const client = await startTestServer(t, { directory, config: shamir });
  const { keys, root } = await initialise(client);
  await give(client, 'sys/unseal', keys.slice(0, 3));
  await put(client, 'sys/rotate', undefined, root);
  const combined = combineShares(keys.slice(0, 3).map((share) => Buffer.from(share, 'base64')));
  assert.ok('secret' in combined);
  const planted = [Buffer.from(combined.secret), Buffer.from(root)];
  for (const share of keys) planted.push(Buffer.from(share), Buffer.from(share, 'base64'));
  for (const name of ['gatehouse.db', 'gatehouse.db-wal']) {
    const stored = readFileSync(join(directory, name));
    for (const secret of planted) assert.equal(stored.indexOf(secret), -1, name);
  }
});
