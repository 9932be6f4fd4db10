// What a Vault server does instead of answering, and what each endpoint that asks one makes of it: who asks hears what
// failed in a line, never the server's whole words nor a secret, and nothing that is in use is given up for it.

import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { askAwake, NotAsked } from '../../src/broker/vault/leases/asking.operations.ts';
import { SEED_DEFAULTS } from '../../src/config/seed.ts';
import { type Reply, startTestServer } from '../support/server.ts';
import { SSH_HOST_KEY } from '../support/ssh-host-key.ts';
import { writeRecords } from '../support/threads.ts';
import { GOOD_TOKEN, startFakeVault } from '../support/vault.ts';
import { connectionTo } from '../support/vault-connection.ts';

type Misbehave = (request: IncomingMessage, response: ServerResponse) => void;

let late = 0;
const { call, running } = await startTestServer(
  { after },
  { config: { seed: SEED_DEFAULTS }, now: () => Date.now() + late },
);
const vault = await startFakeVault();
after(() => vault.stop());
const TOKEN = 'good';
const PROJECT = 'p_1234567890';

/** What stands before the server: passes on, or does as it is told. */
let misbehave: Misbehave | undefined;
const front = createServer(async (request, response) => {
  if (misbehave) return misbehave(request, response);
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(Buffer.from(part));
  const body = Buffer.concat(parts);
  const { method = 'GET', url = '/' } = request;
  const headers = { 'x-vault-token': String(request.headers['x-vault-token']) };
  const sent = { method, headers, ...(body.length === 0 ? {} : { body }) };
  const answer = await fetch(`${vault.url}${url}`, sent);
  response.writeHead(answer.status, { 'content-type': 'application/json' });
  response.end(await answer.text());
});
await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
after(() => {
  front.closeAllConnections();
  front.close();
});
const { port } = front.address() as AddressInfo;
const address = `http://127.0.0.1:${port}`;

const attributes = { login_name: 'admin', password: 'password' };
const path = 'auth-methods/ampw_1234567890:authenticate';
const entered = await call('POST', path, { attributes }, { token: '' });
const token = entered.textAt('attributes.token');
const ask = (method: string, at: string, body?: object): Promise<Reply> =>
  call(method, at, body, { token });

async function must(method: string, at: string, body?: object): Promise<Reply> {
  const answer = await ask(method, at, body);
  assert.ok(answer.status < 300, answer.text);
  return answer;
}
const made = async (at: string, body: object): Promise<string> =>
  (await must('POST', at, body)).textAt('id');

const newStore = { scope_id: PROJECT, type: 'vault', attributes: { address, token: TOKEN } };
const store = await made('credential-stores', newStore);
const library = (type: string, of: object): Promise<string> =>
  made('credential-libraries', { credential_store_id: store, type, attributes: of });

async function targetOf(type: string, sources: object): Promise<string> {
  const id = await made('targets', {
    scope_id: PROJECT,
    type,
    name: `target ${Math.random()}`,
    address: '127.0.0.1',
    attributes: type === 'tcp' ? { default_port: 22 } : { host_keys: [SSH_HOST_KEY] },
  });
  await must('POST', `targets/${id}:set-credential-sources`, { version: 1, ...sources });
  return id;
}
const brokered = async (type: string, of: object): Promise<string> =>
  targetOf('tcp', { brokered_credential_source_ids: [await library(type, of)] });

const generic = await brokered('vault-generic', { path: 'database/creds/app' });
const posting = await brokered('vault-generic', {
  path: 'odd/creds',
  http_method: 'POST',
  http_request_body: '{}',
});
const ldap = await brokered('vault-ldap', { path: 'ldap/creds/app' });
const ssh = await targetOf('ssh', {
  injected_application_credential_source_ids: [
    await library('vault-ssh-certificate', { path: 'ssh/sign/app', username: 'u' }),
  ],
});

const say =
  (status: number, body: unknown): Misbehave =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
const write =
  (text: string): Misbehave =>
  ({ socket }) =>
    void socket.end(text);

const LONG = 'x'.repeat(500_000);
const MANY = '{"a":1},'.repeat(100_000);
const secret = (depth: number): string => `{"data":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}`;
const SWITCH = 'HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n';

/**
 * Each form, what a session hears, and what `words` every refusal has or must not have. `ended`: the server says that it
 * knows no such lease.
 */
const forms: [name: string, form: Misbehave, status: number, words: RegExp, ended?: true][] = [
  ['403', say(403, { errors: ['permission denied'] }), 500, /status 403: permission denied/],
  ['400', say(400, { errors: ['no'] }), 500, /status 400: no/],
  ['400 of a lease', say(400, { errors: ['invalid lease'] }), 500, /status 400/, true],
  [
    '400 of a lease that could not be written',
    say(400, { errors: ['failed to persist lease entry: context deadline exceeded'] }),
    500,
    /status 400: failed to persist lease entry/,
  ],
  ['404 in a page', say(404, '<html>'), 500, /status 404/],
  ['404 in words', say(404, { errors: ['no handler'] }), 500, /status 404: no handler/],
  ['429', say(429, { errors: ['slow down'] }), 500, /status 429: slow down/],
  ['500', say(500, { errors: [] }), 500, /status 500/],
  ['503', say(503, { errors: ['Vault is sealed'] }), 500, /status 503: Vault is sealed/],
  ['999', write('HTTP/1.1 999 X\r\ncontent-length: 2\r\n\r\n{}'), 500, /status 999/],
  ['a redirect', say(307, ''), 500, /status 307/],
  ['a refusal of many values', say(400, `{"errors":["no"],"x":[${MANY}0]}`), 500, /400: no; …/],
  [
    'a refusal without end',
    (_, response) => {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.write(`{"errors":["no","${LONG}`);
    },
    500,
    /status 400: no; …/,
  ],
  ['long words', say(500, { errors: [LONG] }), 500, /status 500: …/],
  ['many words', say(500, { errors: Array(50_000).fill('a b') }), 500, /status 500: a b; a b/],
  [
    'words for a terminal',
    say(500, { errors: ['a\u001b[31m\u0000b\u202ec\u009b'] }),
    500,
    /status 500: a …/,
  ],
  [
    'words with secrets',
    (request, response) =>
      say(500, {
        errors: [
          `dial pg://root:hunter2@db/x password=hunter2 for ${request.headers['x-vault-token']}`,
        ],
      })(request, response),
    500,
    /dial …/,
  ],
  ['no JSON', say(200, 'hello'), 500, /no JSON object/],
  ['a list', say(200, []), 500, /no JSON object/],
  ['too much', say(200, { data: { x: 'x'.repeat(2 << 20) } }), 500, /too long/],
  ['too deep', say(200, secret(100)), 500, /nested too deep/],
  ['a bomb of objects', say(200, secret(100_000)), 500, /too long|more than 10000 values/],
  ['too many values', say(200, { data: Array(10_001).fill(1) }), 500, /more than 10{3,4} values/],
  ['a lease that cannot be kept', say(200, { lease_id: 'a\u0000' }), 500, /cannot be kept/],
  ['nothing', ({ socket }) => void socket.destroy(), 503, /cannot be reached/],
  ['another protocol', write(`${SWITCH}{}`), 500, /gave no answer/],
  ['no HTTP', write('hello\r\n\r\n'), 503, /cannot be reached/],
  [
    'half an answer',
    (_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{', () => response.destroy());
    },
    503,
    /cannot be reached/,
  ],
];

/** An earlier session, with its lease. */
async function newSession(target = generic): Promise<{ id: string; lease: string }> {
  const id = (await must('POST', `targets/${target}:authorize-session`, {})).textAt('session_id');
  const at = `broker/sessions/${id}`;
  const [from] = (await call('LIST', `sys/leases/lookup/${at}`)).field('data.keys') as string[];
  const [name] = (await call('LIST', `sys/leases/lookup/${at}/${from}`)).field(
    'data.keys',
  ) as string[];
  return { id, lease: `${at}/${from}${name}` };
}

const isThere = async (lease_id: string): Promise<boolean> =>
  (await call('PUT', 'sys/leases/lookup', { lease_id })).status === 200;

for (const [name, form, status, words, ended] of forms) {
  test(`a Vault server that answers with ${name} is a refusal that says so`, async () => {
    const session = await newSession();
    const kept = await newSession();
    const version = (await must('GET', `credential-stores/${store}`)).field('version');
    const count = async (): Promise<unknown> =>
      (await must('GET', `sessions?scope_id=${PROJECT}&include_terminated=true`)).field(
        'est_item_count',
      );
    const before = await count();
    misbehave = form;
    try {
      const change = (of: object): Promise<Reply> =>
        ask('PATCH', `credential-stores/${store}`, { version, attributes: of });
      const authorize = (id: string): Promise<Reply> =>
        ask('POST', `targets/${id}:authorize-session`, {});
      const revoke = (): Promise<Reply> =>
        call('PUT', 'sys/leases/revoke', { lease_id: session.lease });
      const asked: [what: string, status: number, run: () => Promise<Reply>][] = [
        ['a new store', 400, () => ask('POST', 'credential-stores', newStore)],
        ['its token', 400, () => change({ token: TOKEN })],
        ['its address', 400, () => change({ address: `${address}/` })],
        ['a session', status, () => authorize(generic)],
        ['a session by POST', status, () => authorize(posting)],
        ['a session of LDAP', status, () => authorize(ldap)],
        ['a session of SSH', status, () => authorize(ssh)],
        ['an end of its lease', ended ? 204 : 503, revoke],
      ];
      for (const [what, wanted, run] of asked) {
        const answer = await run();
        assert.equal(answer.status, wanted, `${what}: ${answer.text.slice(0, 500)}`);
        if (wanted === 204) continue;
        assert.match(answer.text, new RegExp(words, 'i'), what);
        assert.ok(answer.text.length < 800, `${what}: ${answer.text.length} characters`);
        assert.doesNotMatch(answer.text, /hunter2|for good|\\u00|\u202e/, what);
      }
      assert.equal(await isThere(session.lease), ended !== true);
      assert.equal((await ask('POST', `sessions/${kept.id}:cancel`, { version: 1 })).status, 200);
    } finally {
      misbehave = undefined;
      // A server that did not answer is asked again about leases after half a minute.
      late += 31_000;
    }
    assert.equal(await count(), before, 'no session was made');
    assert.equal((await call('PUT', 'sys/leases/revoke', { lease_id: session.lease })).status, 204);
  });
}

test('a Vault server that changes the protocol leaves the requests of others alone', async () => {
  const slow = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  vault.pause = ({ path: at }) => {
    if (at !== 'database/creds/app') return Promise.resolve();
    asked.resolve();
    return slow.promise;
  };
  const waiting = ask('POST', `targets/${generic}:authorize-session`, {});
  await asked.promise;
  misbehave = write(SWITCH);
  const refused = await ask('POST', `targets/${posting}:authorize-session`, {});
  misbehave = undefined;
  slow.resolve();
  vault.pause = async () => {};
  assert.equal(refused.status, 500);
  assert.equal((await waiting).status, 200);
});

test('a server that does not answer one store about its leases is asked for another one', async () => {
  vault.tokens.set('other', { ...GOOD_TOKEN, accessor: 'other' });
  const of = { ...newStore, attributes: { address, token: 'other' } };
  const credential_store_id = await made('credential-stores', of);
  const library_id = await made('credential-libraries', {
    credential_store_id,
    type: 'vault-generic',
    attributes: { path: 'database/creds/app' },
  });
  const target = await targetOf('tcp', { brokered_credential_source_ids: [library_id] });
  const [mine, other] = [await newSession(), await newSession(target)];
  const revoke = (lease_id: string): Promise<Reply> =>
    call('PUT', 'sys/leases/revoke', { lease_id });
  misbehave = ({ socket }) => void socket.destroy();
  assert.equal((await revoke(mine.lease)).status, 503);
  misbehave = undefined;
  const again = await revoke(mine.lease);
  assert.match(again.text, /did not answer a moment ago/);
  assert.equal(again.headers.get('retry-after'), '10');
  assert.equal((await revoke(other.lease)).status, 204);
});

test('a server that does not answer about what is of one path is asked about another one of the store', async () => {
  const targets: string[] = [];
  for (const path of ['database/creds/away', 'database/creds/there']) {
    const data = { username: 'u', password: 'p' };
    const lease = { lease_duration: 60, renewable: true, data };
    vault.answers.set(`GET ${path}`, { body: { ...lease, lease_id: `${path}/1` } });
    vault.leases.set(`${path}/1`, 'good');
    targets.push(await brokered('vault-generic', { path }));
  }
  const [away, there] = [await newSession(targets[0]), await newSession(targets[1])];
  const revoke = (lease_id: string): Promise<Reply> =>
    call('PUT', 'sys/leases/revoke', { lease_id });
  misbehave = ({ socket }) => void socket.destroy();
  assert.equal((await revoke(away.lease)).status, 503);
  misbehave = undefined;
  assert.match((await revoke(away.lease)).text, /did not answer a moment ago/);
  assert.equal((await revoke(there.lease)).status, 204);
});

test('a server that does not answer to a revocation is asked to renew leases of the same path', async () => {
  const connection = connectionTo(address);
  const lease_id = 'database/creds/hanging/1';
  const asking = (what: string) =>
    askAwake(running.app, connection, { method: 'PUT', path: `sys/leases/${what}` }, { lease_id });
  const asked: string[] = [];
  misbehave = ({ url = '', socket }, response) => {
    asked.push(url);
    if (url.endsWith('revoke')) socket.destroy();
    else response.end('{}');
  };
  await assert.rejects(asking('revoke'));
  await assert.rejects(asking('revoke'), NotAsked);
  await asking('renew');
  misbehave = undefined;
  assert.deepEqual(asked, ['/v1/sys/leases/revoke', '/v1/sys/leases/renew']);
});

const SECRET = 'stapledonkeycharger';
const posts = (http_request_body: string) => ({
  path: 'odd/creds',
  http_method: 'POST',
  http_request_body,
});
/** What libraries send, what the server says to that, and what of it whoever asks for a session is told. */
const SENT: [what: string, of: object, words: string, told: string][] = [
  ['nothing of it', posts(`{"a1":"${SECRET}"}`), 'cannot be done now', 'cannot be done now'],
  ['its end', posts(`{"a1":"${SECRET}"}`), 'cannot take edonkeycharger', 'cannot take …'],
  ['its beginning', posts(`{"a1":"${SECRET}"}`), 'cannot take stapl... now', 'cannot take …'],
  ['a name', posts(`{"${SECRET}":"x1"}`), `unknown field ${SECRET} here`, 'unknown field …'],
  ['its path', { path: `kv/${SECRET}` }, `no value at ${SECRET} for you`, 'no value at …'],
  ['its namespace', { path: 'kv/y1' }, 'namespace teamsecret is locked', 'namespace …'],
  ['a key ID', { path: 'ssh/sign/r1', username: 'ann', key_id: SECRET }, `bad ${SECRET}`, 'bad …'],
  [
    'an option',
    { path: 'ssh/sign/r2', username: 'ann', critical_options: { 'force-command': SECRET } },
    'key_id and option donkeych are refused',
    'key_id and option …',
  ],
  [
    'the name of an option',
    { path: 'ssh/sign/r3', username: 'ann', critical_options: { [SECRET]: 'x1' } },
    `option ${SECRET} is refused`,
    'option …',
  ],
];
for (const [what, of, words, told] of SENT) {
  test(`of a refusal that repeats ${what} of what a library sends is told "${told}"`, async () => {
    const {
      path,
      username,
      http_method = 'GET',
    } = { username: '', http_method: undefined, path: '', ...of };
    const credential_store_id = await made('credential-stores', {
      ...newStore,
      attributes: { ...newStore.attributes, address: vault.url, namespace: 'teamsecret' },
    });
    const isSsh = username !== '';
    const id = await made('credential-libraries', {
      ...{ credential_store_id, attributes: of },
      type: isSsh ? 'vault-ssh-certificate' : 'vault-generic',
    });
    const target = isSsh
      ? await targetOf('ssh', { injected_application_credential_source_ids: [id] })
      : await targetOf('tcp', { brokered_credential_source_ids: [id] });
    const method = isSsh ? 'POST' : http_method;
    vault.answers.set(`${method} ${path}`, { status: 400, body: { errors: [words] } });
    const refused = await ask('POST', `targets/${target}:authorize-session`, {});
    assert.equal(refused.status, 500, refused.text);
    assert.ok(refused.text.includes(`answered status 400: ${told}"`), refused.text);
  });
}

test('what a library sends in its body is neither told nor recorded where its server repeats it', async () => {
  const http_request_body = '{"passphrase": "correcthorsebattery"}';
  const of = { path: 'odd/creds', http_method: 'POST', http_request_body };
  const target = await brokered('vault-generic', of);
  const words = 'cannot accept correcthorsebattery as passphrase';
  vault.answers.set('POST odd/creds', { status: 400, body: { errors: [words] } });
  const refused = await ask('POST', `targets/${target}:authorize-session`, {});
  assert.equal(refused.status, 500);
  assert.match(refused.text, /status 400: cannot accept …"/);
  await writeRecords(running);
  const rows = await running.app.db.selectFrom('audit_entry').select('record').execute();
  const found = rows.filter(({ record }) => record.includes('cannot accept …'));
  assert.equal(found.length, 1);
  assert.ok(rows.every(({ record }) => !record.includes('correcthorsebattery')));
});
