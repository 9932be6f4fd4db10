/** What somebody without a right token may do to the work of operators, and what is recorded of it. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { listRecordsAfter } from '../../src/audit/store.ts';
import type { Config } from '../../src/config/config.ts';
import { declaredRoutes } from '../../src/start/routes.ts';
import { build } from '../../src/store/database.ts';
import { write } from '../../src/store/write.ts';
import { type Client, type Reply, startTestServer } from '../support/server.ts';
import { writeRecords } from '../support/threads.ts';

const shamir: Partial<Config> = {
  mode: 'server',
  seal: { type: 'shamir' },
  dev_root_token: undefined,
};
const COUNTS = { secret_shares: 5, secret_threshold: 3 };
const GARBAGE = Buffer.alloc(33, 9).toString('base64');

interface Sealed extends Client {
  keys: string[];
  root: string;
  ask(method: string, path: string, body?: unknown, token?: string): Promise<Reply>;
}

async function initialised(t: TestContext, now?: () => number): Promise<Sealed> {
  const client = await startTestServer(t, { config: shamir, ...(now && { now }) });
  const ask: Sealed['ask'] = (method, path, body, token = '') =>
    client.call(method, path, body, { token });
  const made = await ask('PUT', 'sys/init', COUNTS);
  assert.equal(made.status, 200, made.text);
  const { keys_base64: keys, root_token: root } = JSON.parse(made.text);
  return { ...client, ask, keys, root };
}

async function unsealed(t: TestContext, now?: () => number): Promise<Sealed> {
  const client = await initialised(t, now);
  for (const key of client.keys.slice(0, 3)) await client.ask('PUT', 'sys/unseal', { key });
  return client;
}

interface Recorded {
  request: { id: string; route: string; path: string; operation: string };
  response: { status: string; error?: string };
}

/** The records so far, oldest first. */
async function recordsOf(client: Client): Promise<{ text: string; record: Recorded }[]> {
  const { app } = client.running;
  await writeRecords(client.running);
  const rows = await listRecordsAfter(app.db, { node: 'local', seq: 0, limit: 10_000 });
  return rows.map(({ record }) => ({ text: record, record: JSON.parse(record) }));
}

async function endsOf(client: Client, route: string): Promise<string[]> {
  const records = await recordsOf(client);
  return records
    .filter(({ record }) => record.request?.route === route)
    .map(({ record }) => record.response.status);
}

/** Work of operators that is half done, and the request that would undo it. */
interface Undoing {
  what: string;
  route: string;
  begin(client: Sealed): Promise<string>;
  undo(nonce: string): [method: string, path: string, body?: unknown];
  progress(client: Sealed): Promise<unknown>;
  /** What progress is after two shares, and after it was undone with the right to. */
  before: unknown;
  after: unknown;
}

async function beginRoot({ ask, keys }: Sealed): Promise<string> {
  const nonce = (await ask('PUT', 'sys/generate-root/attempt', {})).textAt('nonce');
  for (const key of keys.slice(0, 2)) await ask('PUT', 'sys/generate-root/update', { key, nonce });
  return nonce;
}

async function beginRekey({ ask, keys }: Sealed): Promise<string> {
  const nonce = (await ask('PUT', 'sys/rekey/init', COUNTS)).textAt('nonce');
  for (const key of keys.slice(0, 2)) await ask('PUT', 'sys/rekey/update', { key, nonce });
  return nonce;
}

async function beginVerification({ ask, keys }: Sealed): Promise<string> {
  const body = { ...COUNTS, require_verification: true };
  const nonce = (await ask('PUT', 'sys/rekey/init', body)).textAt('nonce');
  let made: Reply | undefined;
  for (const key of keys.slice(0, 3)) made = await ask('PUT', 'sys/rekey/update', { key, nonce });
  const { verification_nonce, keys: fresh } = JSON.parse(made?.text ?? '{}');
  for (const key of fresh.slice(0, 2)) {
    await ask('PUT', 'sys/rekey/verify', { key, nonce: verification_nonce });
  }
  return verification_nonce;
}

const progressAt =
  (path: string) =>
  async ({ ask }: Sealed): Promise<unknown> => {
    const { text } = await ask('GET', path);
    const { started, progress } = JSON.parse(text);
    return [started, progress];
  };

const UNDOINGS: Undoing[] = [
  ...(['sys/generate-root/attempt', 'sys/generate-root'] as const).map((path) => ({
    what: `DELETE ${path}`,
    route:
      path === 'sys/generate-root'
        ? 'root-token-generation-cancel-2'
        : 'root-token-generation-cancel',
    begin: beginRoot,
    undo: (nonce: string): [string, string] => ['DELETE', `${path}?nonce=${nonce}`],
    progress: progressAt('sys/generate-root/attempt'),
    before: [true, 2],
    after: [false, 0],
  })),
  {
    what: 'DELETE sys/rekey/init',
    route: 'rekey-attempt-cancel',
    begin: beginRekey,
    undo: () => ['DELETE', 'sys/rekey/init'],
    progress: progressAt('sys/rekey/init'),
    before: [true, 2],
    after: [false, 0],
  },
  {
    what: 'DELETE sys/rekey/init with the nonce that a read shows',
    route: 'rekey-attempt-cancel',
    begin: beginRekey,
    undo: (nonce) => ['DELETE', `sys/rekey/init?nonce=${nonce}`],
    progress: progressAt('sys/rekey/init'),
    before: [true, 2],
    after: [false, 0],
  },
  {
    what: 'DELETE sys/rekey/verify',
    route: 'rekey-verification-cancel',
    begin: beginVerification,
    undo: (nonce) => ['DELETE', `sys/rekey/verify?nonce=${nonce}`],
    progress: progressAt('sys/rekey/verify'),
    before: [true, 2],
    after: [true, 0],
  },
];

for (const { what, route, begin, undo, progress, before, after } of UNDOINGS) {
  test(`${what}: no token and a plain token are refused, root is not, and each is recorded`, async (t) => {
    const client = await unsealed(t);
    const plain = await client.ask(
      'PUT',
      'auth/token/create',
      { policies: ['default'] },
      client.root,
    );
    // All of it but `sudo`.
    const rules = 'path "sys/*" { capabilities = ["create", "read", "update", "delete", "list"] }';
    await client.ask('PUT', 'sys/policies/acl/most', { policy: rules }, client.root);
    const most = await client.ask('PUT', 'auth/token/create', { policies: ['most'] }, client.root);
    const nonce = await begin(client);
    const unprivileged = [
      '',
      'hvs.nobody',
      plain.textAt('auth.client_token'),
      most.textAt('auth.client_token'),
    ];
    for (const token of unprivileged) {
      assert.equal((await client.ask(...withToken(undo(nonce), token))).status, 403);
      assert.deepEqual(await progress(client), before);
    }
    const done = await client.ask(...withToken(undo(nonce), client.root));
    assert.ok(done.status < 300, done.text);
    assert.deepEqual(await progress(client), after);
    // Refusals become durable in groups, so their order is not that of the requests.
    const ends = (await endsOf(client, route)).sort();
    assert.deepEqual(ends, ['done', ...unprivileged.map(() => 'refused')]);
  });
}

function withToken(
  [method, path, body]: [string, string, unknown?],
  token: string,
): [string, string, unknown, string] {
  return [method, path, body, token];
}

test('a token that has delete and sudo on the path cancels', async (t) => {
  const client = await unsealed(t);
  const policy = 'path "sys/rekey/init" { capabilities = ["delete", "sudo"] }';
  await client.ask('PUT', 'sys/policies/acl/canceller', { policy }, client.root);
  const made = await client.ask(
    'PUT',
    'auth/token/create',
    { policies: ['canceller'] },
    client.root,
  );
  const token = made.textAt('auth.client_token');
  const nonce = await beginRekey(client);
  assert.equal(
    (await client.ask('DELETE', 'sys/rekey/init?nonce=x', undefined, token)).status,
    400,
  );
  assert.equal(
    (await client.ask('DELETE', `sys/rekey/init?nonce=${nonce}`, undefined, token)).status,
    204,
  );
  assert.equal(
    (await client.ask('DELETE', 'sys/generate-root/attempt', undefined, token)).status,
    403,
  );
});

/** Where shares are given, and how work is begun there that two right ones were given for. */
const GIVING: [
  path: string,
  route: string,
  begin: (client: Sealed) => Promise<string>,
  read: string,
][] = [
  [
    'sys/generate-root/update',
    'root-token-generation-update',
    beginRoot,
    'sys/generate-root/attempt',
  ],
  ['sys/rekey/update', 'rekey-attempt-update', beginRekey, 'sys/rekey/init'],
  ['sys/rekey/verify', 'rekey-verification-update', beginVerification, 'sys/rekey/verify'],
];
for (const [path, route, begin, read] of GIVING) {
  test(`${path}: any number of wrong shares with the public nonce discards no right one`, async (t) => {
    const client = await unsealed(t);
    const nonce = await begin(client);
    assert.equal(JSON.parse((await client.ask('GET', read)).text).nonce, nonce);
    const almost = Buffer.from(client.keys[2] ?? '', 'base64');
    almost[5] = (almost[5] ?? 0) ^ 1;
    const wrong = [GARBAGE, almost.toString('base64'), 'AAAA', '', '!!'];
    for (const key of wrong) {
      assert.equal((await client.ask('PUT', path, { key, nonce })).status, 400, key);
    }
    assert.deepEqual(await progressAt(read)(client), [true, 2]);
    const ends = await endsOf(client, route);
    assert.deepEqual(
      [ends.filter((end) => end === 'done').length, ends.includes('refused')],
      [2, true],
    );
  });
}

test('while sealed, wrong shares and a bare reset discard nothing, and each is recorded', async (t) => {
  const client = await initialised(t);
  for (const key of client.keys.slice(0, 2)) await client.ask('PUT', 'sys/unseal', { key });
  const bare = await client.ask('PUT', 'sys/unseal', { reset: true });
  assert.deepEqual([bare.status, bare.field('progress')], [200, 2]);
  assert.match(bare.text, /"warnings":\["shares .* not forgotten for a stranger/);
  assert.deepEqual((await endsOf(client, 'unseal')).sort(), ['done', 'done', 'refused']);
  for (let count = 0; count < 20; count += 1) {
    const key = Buffer.alloc(33, count + 1).toString('base64');
    assert.equal((await client.ask('PUT', 'sys/unseal', { key })).status, 400);
  }
  const byGarbage = await client.ask('PUT', 'sys/unseal', { reset: true, key: GARBAGE });
  assert.equal(byGarbage.status, 400);
  assert.equal((await client.ask('GET', 'sys/seal-status')).field('progress'), 2);
  const last = await client.ask('PUT', 'sys/unseal', { key: client.keys[2] });
  assert.equal(last.field('sealed'), false);
  const records = await recordsOf(client);
  const ends = records.filter(({ record }) => record.request?.route === 'unseal');
  // The last one twice: as a share, and as what opened the server.
  assert.equal(ends.filter(({ record }) => record.response.status === 'done').length, 4);
  assert.ok(ends.some(({ record }) => record.response.status === 'refused'));
  for (const { text } of records) {
    for (const share of [...client.keys, GARBAGE]) {
      assert.equal(text.includes(share), false);
      assert.equal(text.includes(Buffer.from(share, 'base64').toString('hex')), false);
    }
  }
});

test('a reset with nothing to forget is answered with the status, as clients know it', async (t) => {
  const client = await initialised(t);
  const reset = await client.ask('PUT', 'sys/unseal', { reset: true });
  assert.deepEqual([reset.status, reset.field('progress'), reset.field('sealed')], [200, 0, true]);
});

const STARTS: [path: string, body: object, read: string, update: string][] = [
  ['sys/generate-root/attempt', {}, 'sys/generate-root/attempt', 'sys/generate-root/update'],
  ['sys/rekey/init', COUNTS, 'sys/rekey/init', 'sys/rekey/update'],
];
for (const [path, body, read, update] of STARTS) {
  test(`${path}: whoever starts first without a share keeps the place neither from share holders nor for long`, async (t) => {
    let now = 1_800_000_000_000;
    const client = await unsealed(t, () => now);
    const [share = '', second = ''] = client.keys;
    const first = (await client.ask('PUT', path, body)).textAt('nonce');
    for (const key of ['', GARBAGE]) {
      assert.equal((await client.ask('PUT', path, { ...body, key })).status, 400);
    }
    const own = (await client.ask('PUT', path, { ...body, key: share })).textAt('nonce');
    assert.notEqual(own, first);
    assert.equal((await client.ask('GET', read)).field('progress'), 0);

    // With one share given, not even another holder puts it aside.
    await client.ask('PUT', update, { key: share, nonce: own });
    assert.equal((await client.ask('PUT', path, { ...body, key: second })).status, 400);
    now += 3_600_000;
    assert.equal((await client.ask('PUT', path, body)).status, 400);
    now += 24 * 3_600_000;
    assert.equal((await client.ask('PUT', path, body)).status, 200);
    now += 3_600_000 - 1;
    assert.equal((await client.ask('PUT', path, body)).status, 400);
    now += 1;
    assert.equal((await client.ask('PUT', path, body)).status, 200);
  });
}

/** Gives a server the seal that an older one had: without the hashes of its shares. */
async function forgetHashes({ running }: Client): Promise<void> {
  const forget = build.updateTable('seal').set({ share_hashes: null });
  await running.app.store.commit([write(forget, { rows: 1 })]);
}

const hashesOf = async ({ running }: Client): Promise<Uint8Array | null | undefined> =>
  (await running.app.db.selectFrom('seal').select('share_hashes').executeTakeFirst())?.share_hashes;

test('an older seal learns its shares when enough right ones have come', async (t) => {
  const client = await initialised(t);
  const hashes = await hashesOf(client);
  assert.equal(hashes?.length, 5 * 32);
  await forgetHashes(client);
  const bad = [client.keys[0], client.keys[1], GARBAGE];
  for (const key of bad) await client.ask('PUT', 'sys/unseal', { key });
  assert.equal((await client.ask('GET', 'sys/health')).status, 503);
  assert.equal(await hashesOf(client), null);
  for (const key of client.keys.slice(2)) await client.ask('PUT', 'sys/unseal', { key });
  assert.equal((await client.ask('GET', 'sys/health')).status, 200);
  assert.deepEqual(await hashesOf(client), hashes);
});

test('a change that cannot be recorded is not made', async (t) => {
  let broken = false;
  const client = await startTestServer(t, {
    config: shamir,
    store: (real) => ({
      ...real,
      commit: (effects) =>
        broken ? Promise.reject(new Error('the disk is full')) : real.commit(effects),
    }),
  });
  const ask: Sealed['ask'] = (method, path, body, token = '') =>
    client.call(method, path, body, { token });
  const { keys_base64: keys, root_token: root } = JSON.parse(
    (await ask('PUT', 'sys/init', COUNTS)).text,
  );
  broken = true;
  assert.equal((await ask('PUT', 'sys/unseal', { key: keys[0] })).status, 500);
  assert.equal((await ask('GET', 'sys/seal-status')).field('progress'), 0);
  broken = false;
  for (const key of keys.slice(0, 3)) await ask('PUT', 'sys/unseal', { key });
  const nonce = (await ask('PUT', 'sys/generate-root/attempt', {})).textAt('nonce');
  broken = true;
  assert.equal((await ask('PUT', 'sys/generate-root/update', { key: keys[0], nonce })).status, 500);
  assert.equal((await ask('PUT', 'sys/rekey/init', COUNTS)).status, 500);
  assert.notEqual((await ask('DELETE', 'sys/generate-root/attempt', undefined, root)).status, 204);
  broken = false;
  assert.deepEqual(await progressAt('sys/generate-root/attempt')({ ...client, ask, keys, root }), [
    true,
    0,
  ]);
  assert.deepEqual(await progressAt('sys/rekey/init')({ ...client, ask, keys, root }), [false, 0]);
});

/**
 * Every endpoint that asks for no token and may change something: what is answered without a token where there
 * is nothing to be had, and whether what they sent is recorded as done or as refused.
 */
const OPEN: Record<string, [path: string, body: object, status: number, end: 'done' | 'refused']> =
  {
    initialize: ['sys/init', COUNTS, 400, 'refused'],
    unseal: ['sys/unseal', { reset: true }, 200, 'done'],
    'rekey-attempt-initialize': ['sys/rekey/init', COUNTS, 200, 'done'],
    'rekey-attempt-update': ['sys/rekey/update', { key: GARBAGE }, 400, 'refused'],
    'rekey-verification-update': ['sys/rekey/verify', { key: GARBAGE }, 400, 'refused'],
    'rekey-recovery-key-attempt-initialize': [
      'sys/rekey-recovery-key/init',
      COUNTS,
      400,
      'refused',
    ],
    'rekey-recovery-key-attempt-update': ['sys/rekey-recovery-key/update', {}, 400, 'refused'],
    'rekey-recovery-key-verification-update': ['sys/rekey-recovery-key/verify', {}, 400, 'refused'],
    'root-token-generation-initialize': ['sys/generate-root/attempt', {}, 200, 'done'],
    'root-token-generation-initialize-2': ['sys/generate-root', {}, 400, 'refused'],
    'root-token-generation-update': ['sys/generate-root/update', {}, 400, 'refused'],
    'root-token-generation-initialize-3': ['sys/generate-root-token/attempt', {}, 400, 'refused'],
    'root-token-generation-update-2': ['sys/generate-root-token/update', {}, 400, 'refused'],
    'rotate-root-attempt-initialize': ['sys/rotate/root/init', COUNTS, 400, 'refused'],
    'rotate-root-attempt-update': ['sys/rotate/root/update', { key: GARBAGE }, 400, 'refused'],
    'rotate-root-verification-update': ['sys/rotate/root/verify', {}, 400, 'refused'],
    'rotate-recovery-attempt-initialize': ['sys/rotate/recovery/init', COUNTS, 400, 'refused'],
    'rotate-recovery-attempt-update': ['sys/rotate/recovery/update', {}, 400, 'refused'],
    'rotate-recovery-verification-update': ['sys/rotate/recovery/verify', {}, 400, 'refused'],
    unwrap: ['sys/wrapping/unwrap', { token: 'hvs.x' }, 400, 'refused'],
    rewrap: ['sys/wrapping/rewrap', { token: 'hvs.x' }, 400, 'refused'],
    'look-up-wrapping': ['sys/wrapping/lookup', { token: 'hvs.x' }, 400, 'refused'],
    'userpass-login': ['auth/people/login/x', { password: 'x' }, 400, 'refused'],
    'app-role-login': ['auth/machines/login', { role_id: 'x' }, 400, 'refused'],
  };

const openChanges = [
  ...declaredRoutes.system,
  ...Object.values(declaredRoutes.secret).flat(),
  ...Object.values(declaredRoutes.auth).flat(),
].filter(
  ({ access, method, body }) =>
    access === 'public' && method !== 'GET' && method !== 'LIST' && body !== 'bytes',
);

test('every endpoint without a token that may change something is in this table, and none of them deletes', () => {
  assert.deepEqual(openChanges.map(({ id }) => id).sort(), Object.keys(OPEN).sort());
  assert.deepEqual(
    openChanges.filter(({ method }) => method !== 'POST'),
    [],
  );
});

test('whatever is sent to those without a token is recorded, refused or not', async (t) => {
  let now = 1_800_000_000_000;
  const client = await unsealed(t, () => now);
  await client.ask('PUT', 'sys/auth/people', { type: 'userpass' }, client.root);
  await client.ask('PUT', 'sys/auth/machines', { type: 'approle' }, client.root);
  for (const [route, [path, body, status, end]] of Object.entries(OPEN)) {
    const before = (await endsOf(client, route)).length;
    const reply = await client.ask('PUT', path, body);
    assert.equal(reply.status, status, `${route}: ${reply.text}`);
    assert.deepEqual((await endsOf(client, route)).slice(before), [end], route);
    // Of the refusals of one address in one second only some have records of their own.
    now += 1000;
  }
});

// Of one address twenty a second have records of their own: as many as either kind of command line can make.
const SEALS: [whose: string, paths: RegExp, count: number][] = [
  ['', /^\/v1\/sys\/(init|seal|unseal|rekey|rekey-recovery-key|generate-root)(\/|$)/, 16],
  [' by present commands', /^\/v1\/sys\/(rotate\/root|rotate\/recovery|generate-root-token)\//, 15],
];

for (const [whose, paths, count] of SEALS) {
  test(`each attempt on the seal${whose} has a record of its own, whatever else was refused in that second`, async (t) => {
    const attempts = declaredRoutes.system.filter(
      ({ method, path }) => method !== 'GET' && paths.test(path),
    );
    assert.ok(attempts.length >= count, `${attempts.length}`);
    const at = Date.now();
    const client = await unsealed(t, () => at);
    for (let n = 0; n < 10; n++) {
      assert.equal((await client.ask('POST', 'auth/token/create', {})).status, 403);
      assert.equal((await client.ask('GET', 'sys/mounts', undefined, 'hvs.unknown')).status, 403);
    }
    for (const { method, path } of attempts) {
      const answer = await client.ask(method, path.slice('/v1/'.length), { key: GARBAGE });
      assert.ok(answer.status >= 400 || !answer.text.includes('"complete":true'), answer.text);
    }
    const records = await recordsOf(client);
    const seen = records.map(({ record }) => record.request?.route);
    for (const { id, path } of attempts) assert.ok(seen.includes(id), `${id} ${path}`);
    const others = records.filter(({ record }) =>
      ['auth/token/create', 'sys/mounts'].includes(record.request?.path),
    );
    assert.equal(others.length, 6, 'of all others three of each kind');
  });
}
