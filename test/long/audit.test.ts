import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { insertDevice } from '../../src/audit/devices/store.ts';
import { judgeSinkLine } from '../../src/audit/sink-line.ts';
import { listRecordsAfter } from '../../src/audit/store.ts';
import type { Config } from '../../src/config/config.ts';
import { USER_LOCKOUT_DEFAULTS } from '../../src/config/settings.ts';
import { Failure } from '../../src/core/failure.ts';
import type { ChainHead } from '../../src/core/record-chain.ts';
import type { Store } from '../../src/store/store.ts';
import { isAuditEntry } from '../../src/store/write.ts';
import { type Client, startTestServer } from '../support/server.ts';
import { writeRecords } from '../support/threads.ts';

const AUDIT: Config['audit'] = {
  wait_for_reads: true,
  record_public_reads: false,
  retention_days: 0,
  sinks: [],
};

function newDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-audit-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

async function recordsOf(client: Client): Promise<{ seq: number; text: string }[]> {
  const { app } = client.running;
  // What is written now comes after all that waited.
  await writeRecords(client.running);
  const rows = await listRecordsAfter(app.db, { node: 'local', seq: 0, limit: 1000 });
  return rows.map(({ seq, record }) => ({ seq, text: record }));
}

function verifyFile(path: string, heads = new Map<string, ChainHead>()): number {
  let lines = 0;
  for (const text of readFileSync(path, 'utf8').split('\n').slice(0, -1)) {
    const verdict = judgeSinkLine(heads, text);
    assert.equal(verdict.found, 'next', text);
    if (verdict.found === 'next') heads.set(verdict.line.node, verdict.line);
    lines += 1;
  }
  return lines;
}

test('a file sink holds every record, also after a rotation, and the chain goes on from file to file', async (t) => {
  const directory = newDirectory(t);
  const path = join(directory, 'audit.log');
  const audit = { ...AUDIT, sinks: [{ type: 'file' as const, path }] };
  const first = await startTestServer(t, {
    directory: join(directory, 'data'),
    config: { audit },
  });
  await first.call('GET', 'auth/token/lookup-self');
  await first.running.stop();
  renameSync(path, `${path}.1`);
  const second = await startTestServer(t, {
    directory: join(directory, 'data'),
    config: { audit },
  });
  await second.call('GET', 'auth/token/lookup-self');
  const records = await recordsOf(second);
  await second.running.stop();
  const heads = new Map<string, ChainHead>();
  const lines = verifyFile(`${path}.1`, heads) + verifyFile(path, heads);
  assert.ok(lines >= records.length);
  assert.equal(heads.get('local')?.seq, lines);
});

test('a device enabled over the API is listed, fed with the whole chain, and gone when disabled', async (t) => {
  const directory = newDirectory(t);
  const path = join(directory, 'device.log');
  const client = await startTestServer(t, { config: { audit: AUDIT } });
  const { call } = client;
  const body = { type: 'file', description: 'd', options: { file_path: path } };
  assert.equal((await call('PUT', 'sys/audit/file', body)).status, 204);
  const again = await call('PUT', 'sys/audit/file/', body);
  assert.equal(again.status, 400);
  assert.match(again.text, /path already in use/);
  const unknown = await call('PUT', 'sys/audit/x', { type: 'kafka' });
  assert.match(unknown.text, /unknown backend type/);
  assert.equal(
    (await call('PUT', 'sys/audit/x', { ...body, options: { file_path: '/dev/null' } })).status,
    400,
  );
  const list = await call('GET', 'sys/audit');
  const expected = {
    type: 'file',
    description: 'd',
    options: { file_path: path },
    local: false,
    path: 'file/',
  };
  assert.deepEqual(list.field('data'), { 'file/': expected });
  assert.deepEqual(list.field('file/'), expected);

  const { hash } = Object(
    (await call('POST', 'sys/audit-hash/file', { input: 'root' })).field('data'),
  );
  assert.match(hash, /^hmac-sha256:[0-9a-f]{64}$/);
  assert.equal((await call('POST', 'sys/audit-hash/none', { input: 'root' })).status, 400);

  await call('POST', 'sys/policies/acl/auditor', {
    policy: 'path "sys/audit*" { capabilities = ["read", "update", "delete"] }',
  });
  const made = await call('POST', 'auth/token/create', { policies: ['auditor'] });
  const token = made.textAt('auth.client_token');
  for (const [method, at] of [
    ['GET', 'sys/audit'],
    ['PUT', 'sys/audit/y'],
    ['DELETE', 'sys/audit/file'],
  ] as const) {
    assert.equal(
      (await call(method, at, method === 'PUT' ? body : undefined, { token })).status,
      403,
      at,
    );
  }
  assert.equal((await call('DELETE', 'sys/audit/file')).status, 204);
  assert.equal((await call('DELETE', 'sys/audit/file')).status, 204);
  assert.deepEqual((await call('GET', 'sys/audit')).field('data'), {});

  const records = await recordsOf(client);
  assert.ok(
    records.some(({ text }) => text.includes(hash)),
    'the hash is what records show',
  );
  assert.ok(!records.some(({ text }) => text.includes(token)));
});

test('a device of an unknown type is listed, holds its path, and can be disabled', async (t) => {
  const { call, running } = await startTestServer(t, { config: { audit: AUDIT } });
  const device = { path: 'new/', type: 'kafka', description: '', options: {}, local: false };
  await running.app.store.commit([insertDevice({ ...device, id: '1' })]);
  assert.deepEqual((await call('GET', 'sys/audit')).field('data'), { 'new/': device });
  const other = { type: 'file', options: { file_path: join(newDirectory(t), 'a.log') } };
  assert.match((await call('PUT', 'sys/audit/new', other)).text, /path already in use/);
  assert.equal((await call('PUT', 'sys/audit/file', other)).status, 204);
  assert.equal((await call('DELETE', 'sys/audit/new')).status, 204);
  const left = Object.keys(Object((await call('GET', 'sys/audit')).field('data')));
  assert.deepEqual(left, ['file/']);
});

test('failed log-ins, bad tokens and refused paths are recorded, and a flood of them is counted', async (t) => {
  const client = await startTestServer(t, {
    config: { audit: AUDIT },
    now: () => 1_900_000_000_000,
  });
  const { call } = client;
  await call('POST', 'sys/auth/userpass', { type: 'userpass' });
  await call('POST', 'auth/userpass/users/ann', { password: 'correct horse' });
  await call('POST', 'auth/userpass/login/ann', { password: 'not-the-password' }, { token: '' });
  for (let n = 0; n < 50; n++) await call('GET', 'sys/mounts', undefined, { token: '' });
  // The flood does not hide it.
  await call('GET', 'sys/mounts', undefined, { token: 'hvs.not-a-token' });
  const records = (await recordsOf(client)).map(({ text }) => text);
  const unauthenticated = records.filter((text) => text.includes('"status":"refused"'));
  assert.equal(unauthenticated.length, 4);
  assert.match(
    unauthenticated[0] ?? '',
    /userpass-login.*"username":"ann".*invalid username or password/,
  );
  assert.match(unauthenticated[3] ?? '', /"unknown_token":"hmac-sha256:[0-9a-f]{64}"/);
  assert.equal(records.filter((text) => text.includes('"requests":48')).length, 1);
  for (const text of records) assert.doesNotMatch(text, /not-the-password|not-a-token/);
});

test('what a known caller sends is recorded although it cannot be read', async (t) => {
  const client = await startTestServer(t, { config: { audit: AUDIT } });
  const before = (await recordsOf(client)).length;
  await client.call('GET', 'sys/nowhere/secret-in-path');
  await client.call('POST', 'sys/policies/acl/x', Buffer.from('{"policy":'));
  await client.call('POST', 'auth/token/create', { num_uses: 'secret-in-field' });
  const records = (await recordsOf(client)).slice(before).map(({ text }) => text);
  assert.equal(records.length, 3);
  for (const text of records) {
    assert.match(text, /"status":"refused"/);
    assert.match(text, /"display_name":"root"/);
    assert.doesNotMatch(text, /secret-in/);
  }
});

test('a locked user is refused in the same words as one that does not exist', async (t) => {
  const user_lockout = { ...USER_LOCKOUT_DEFAULTS, lockout_threshold: 2 };
  const { call } = await startTestServer(t, { config: { user_lockout } });
  await call('POST', 'sys/auth/userpass', { type: 'userpass' });
  await call('POST', 'auth/userpass/users/ann', { password: 'right' });
  const logIn = async (name: string, password: string) =>
    call('POST', `auth/userpass/login/${name}`, { password }, { token: '' });
  const texts = new Set<string>();
  for (let n = 0; n < 3; n++) {
    texts.add((await logIn('ann', 'wrong')).text);
    texts.add((await logIn('bob', 'wrong')).text);
  }
  const locked = await logIn('ann', 'right');
  assert.equal(locked.status, 400);
  texts.add(locked.text);
  assert.equal(texts.size, 1);
  const mounts = await call('GET', 'sys/auth');
  const accessor = String(Object(mounts.field('data'))['userpass/'].accessor);
  const unlocked = await call('POST', `sys/locked-users/${accessor}/unlock/ann`);
  assert.equal(unlocked.status, 204, unlocked.text);
  assert.equal((await logIn('ann', 'right')).status, 200);
});

for (const record_public_reads of [false, true]) {
  test(`public reads are ${record_public_reads ? 'recorded where asked for' : 'counted'}`, async (t) => {
    const client = await startTestServer(t, {
      config: { audit: { ...AUDIT, record_public_reads } },
    });
    const before = (await recordsOf(client)).length;
    await client.call('GET', 'demo/crl', undefined, { token: '' });
    await client.call('GET', 'demo/ca', undefined, { token: '' });
    const records = (await recordsOf(client)).slice(before);
    assert.equal(records.length, record_public_reads ? 2 : 0);
    const { text } = await client.call('GET', 'sys/metrics?format=prometheus');
    const counted = [...text.matchAll(/^gatehouse_public_reads_total\{[^}]*\} (\d+)$/gm)];
    const sum = counted.reduce((total, [, count]) => total + Number(count), 0);
    assert.equal(sum, record_public_reads ? 0 : 2, text);
  });
}

test('nothing is signed, and all is refused with 503, while no audit record can be written', async (t) => {
  let broken = false;
  const faulty = (real: Store): Store => ({
    ...real,
    commit: async (effects) => {
      if (broken && effects.some(isAuditEntry)) {
        throw new Failure('unavailable', 'the database did not take the write');
      }
      await real.commit(effects);
    },
  });
  const client = await startTestServer(t, { config: { audit: AUDIT }, store: faulty });
  const { call } = client;
  await call('POST', 'demo/root/generate/internal', { common_name: 'R', key_type: 'ec' });
  await call('POST', 'demo/roles/web', { allow_any_name: true, key_type: 'ec' });
  const before = await call('LIST', 'demo/certs');
  broken = true;
  for (const [method, path, body] of [
    ['POST', 'demo/issue/web', { common_name: 'a.test' }],
    ['POST', 'demo/root/generate/exported', { common_name: 'S', key_type: 'ec' }],
    ['POST', 'auth/token/create', {}],
    ['GET', 'demo/roles/web', undefined],
  ] as const) {
    const refused = await call(method, path, body);
    assert.equal(refused.status, 503, `${path}: ${refused.text}`);
    assert.doesNotMatch(refused.text, /BEGIN|client_token|allow_any_name/);
  }
  broken = false;
  // What waited is written first.
  await writeRecords(client.running);
  const after = await call('LIST', 'demo/certs');
  assert.deepEqual(after.field('data.keys'), before.field('data.keys'));
});

test('a device is refused where it could harm, and leaves nothing there', async (t) => {
  const directory = newDirectory(t);
  const data = join(directory, 'data');
  const client = await startTestServer(t, { directory: data, config: { audit: AUDIT } });
  const keys = join(directory, 'authorized_keys');
  writeFileSync(keys, 'ssh-ed25519 AAAA me\n');
  symlinkSync(keys, join(directory, 'link'));
  symlinkSync(data, join(directory, 'way'));
  const refused: [path: string, because: RegExp][] = [
    [join(data, 'audit.log'), /data folder/],
    [join(data, 'gatehouse.db'), /data folder/],
    [join(data, 'unseal.key'), /data folder/],
    [join(directory, 'way/audit.log'), /data folder/],
    [join(directory, 'link'), /symbolic link/],
    [keys, /something else than audit records/],
    [`${directory}/data/../x.log`, /must be written without/],
    ['audit.log', /absolute path/],
    ['/proc/self/comm', /folder of the system/],
    ['/dev/stdout', /folder of the system/],
    [join(directory, 'none/x.log'), /there is no/],
    [`/${'n'.repeat(5000)}`, /at most 4095 bytes/],
  ];
  for (const [file_path, because] of refused) {
    const reply = await client.call('PUT', 'sys/audit/x', { type: 'file', options: { file_path } });
    assert.equal(reply.status, 400, file_path);
    assert.match(reply.text, because);
    assert.ok(reply.text.length < 1000);
  }
  assert.deepEqual((await client.call('GET', 'sys/audit')).field('data'), {});
  assert.deepEqual(readdirSync(directory).sort(), ['authorized_keys', 'data', 'link', 'way']);
  assert.equal(existsSync(join(data, 'audit.log')), false);
  assert.equal(readFileSync(keys, 'utf8'), 'ssh-ed25519 AAAA me\n');
});

test('a copy of a server adds nothing to the files of the one that it is a copy of', async (t) => {
  const directory = newDirectory(t);
  const path = join(directory, 'audit.log');
  const audit = { ...AUDIT, sinks: [{ type: 'file' as const, path }] };
  const data = join(directory, 'data');
  const first = await startTestServer(t, { directory: data, config: { audit } });
  await first.call('GET', 'sys/mounts');
  await first.running.stop();
  cpSync(data, join(directory, 'copy'), { recursive: true });

  const again = await startTestServer(t, { directory: data, config: { audit } });
  await again.call('GET', 'sys/policies/acl');
  await again.running.stop();
  const before = readFileSync(path, 'utf8');
  const lines = verifyFile(path);

  const copy = await startTestServer(t, {
    directory: join(directory, 'copy'),
    config: { audit: { ...AUDIT, sinks: [] } },
  });
  const refused = await copy.call('PUT', 'sys/audit/file', {
    type: 'file',
    options: { file_path: path },
  });
  assert.equal(refused.status, 400, refused.text);
  assert.match(refused.text, /none of this server's/);
  await copy.running.stop();
  const fed = await startTestServer(t, { directory: join(directory, 'copy'), config: { audit } });
  assert.equal((await fed.call('GET', 'sys/mounts')).status, 200);
  await fed.running.stop();
  assert.equal(readFileSync(path, 'utf8'), before);

  // The server itself goes on with its file.
  const last = await startTestServer(t, { directory: data, config: { audit } });
  await last.call('GET', 'sys/mounts');
  await last.running.stop();
  assert.ok(verifyFile(path) > lines);
});
