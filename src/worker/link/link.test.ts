import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import WebSocket, { WebSocketServer } from 'ws';
import { makeProject } from '../../../test/support/broker.ts';
import { startTestServer } from '../../../test/support/server.ts';
import { insertConnection, listConnectionsById } from '../../broker/sessions/connections/store.ts';
import { ownWorker } from '../../broker/workers/embedded.operations.ts';
import { enrolWorker, keyHash } from '../../broker/workers/enrolment.operations.ts';
import { parseActivationToken, workerProof } from '../../broker/workers/proof.ts';
import { sendersOf } from '../hops/senders.ts';
import { upstreamOf } from '../serving.operations.ts';
import { LINK_OPTIONS, Link } from './link.ts';
import { base64, type FromServer } from './messages.ts';

let later = 0;
const server = await startTestServer({ after }, { jobs: [], now: () => Date.now() + later });
const { app } = server.running;

const newPublicKey = (): Buffer =>
  generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'der' });

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A worker that is enrolled. */
async function enrol(fields: object = {}): Promise<{ worker_id: string; key_sha256: string }> {
  const made = await server.call('POST', 'workers:create:controller-led', {
    scope_id: 'global',
    ...fields,
  });
  const token = parseActivationToken(made.textAt('controller_generated_activation_token'));
  assert.ok(token, made.text);
  const public_key = newPublicKey();
  const server_certificate = new Uint8Array(300);
  const { nonce, secret } = token;
  const proof = workerProof({ secret, public_key, server_certificate });
  await enrolWorker(app, { public_key, nonce, proof, server_certificate });
  return { worker_id: made.textAt('id'), key_sha256: keyHash(public_key) };
}

/** Both ends of a worker's connection. */
async function startLink(
  t: TestContext,
  who: { worker_id: string; key_sha256: string },
): Promise<{ link: Link; ws: WebSocket; own: WebSocket; heard: FromServer[] }> {
  const listener = new WebSocketServer({ ...LINK_OPTIONS, port: 0, host: '127.0.0.1' });
  await once(listener, 'listening');
  const linked = new Promise<{ link: Link; own: WebSocket }>((resolve) => {
    listener.once('connection', (own) => resolve({ link: new Link(app, own, who), own }));
  });
  const ws = new WebSocket(`ws://127.0.0.1:${(listener.address() as AddressInfo).port}`);
  const heard: FromServer[] = [];
  ws.on('message', (data) => void heard.push(JSON.parse(String(data))));
  t.after(() => {
    ws.terminate();
    for (const client of listener.clients) client.terminate();
    listener.close();
  });
  await once(ws, 'open');
  return { ...(await linked), ws, heard };
}

const MANAGED = 'boundary.cloud.hashicorp.com:managed';

const HELLO = {
  type: 'hello',
  name: '',
  description: '',
  address: '',
  release_version: 'Gatehouse v0',
  tags: {},
};

const say = (ws: WebSocket, message: object): void => ws.send(JSON.stringify(message));

async function closeOf(ws: WebSocket): Promise<string> {
  const signal = AbortSignal.timeout(20_000);
  const [, reason] = (await once(ws, 'close', { signal })) as [number, Buffer];
  return reason.toString();
}

test('a worker is told why it is not let in, however many bytes its name has', async (t) => {
  const { ws } = await startLink(t, await enrol({ name: '工'.repeat(100) }));
  say(ws, { ...HELLO, name: 'another' });
  assert.match(await closeOf(ws), /^name: the worker was created as "工+/);
});

const REFUSED: [what: string, fields: object, because: RegExp][] = [
  ['an address that is none', { address: '192.0.2.7' }, /^listener\.public_address: must be HOST/],
  // Every session's certificate would have it, and there would be none.
  [
    'a name that no certificate has',
    { address: 'höst.example:1' },
    /^listener\.public_address: must/,
  ],
  ['tags without a key', { tags: { '': ['x'] } }, /^tags: Tag keys must be non-empty/],
  ['tags of somebody else', { tags: { a: [MANAGED] } }, /^tags: Tag values cannot be the managed/],
];
for (const [what, fields, because] of REFUSED) {
  test(`a worker is not let in with ${what}`, async (t) => {
    const { ws } = await startLink(t, await enrol());
    say(ws, { ...HELLO, ...fields });
    assert.match(await closeOf(ws), because);
  });
}

test('a worker says its hello once', async (t) => {
  const { ws, heard } = await startLink(t, await enrol());
  say(ws, HELLO);
  await once(ws, 'message');
  assert.equal(heard[0]?.type, 'welcome');
  say(ws, HELLO);
  assert.equal(await closeOf(ws), 'a worker says its hello once');
});

test('a worker is sent somewhere from its welcome until it leaves: before, its answer would be none', async (t) => {
  const who = await enrol();
  const { ws, heard } = await startLink(t, who);
  const isSent = (): boolean => sendersOf(app).has(who.worker_id);
  assert.equal(isSent(), false);
  say(ws, HELLO);
  await once(ws, 'message');
  assert.equal(heard[0]?.type, 'welcome');
  assert.equal(isSent(), true);
  ws.close();
  while (isSent()) await turn();
});

test('a worker renews its certificate, and not again at once', async (t) => {
  const { ws, heard } = await startLink(t, await enrol());
  say(ws, HELLO);
  await once(ws, 'message');
  const renew = (): void => say(ws, { type: 'renew', public_key: base64(newPublicKey()) });
  renew();
  await once(ws, 'message');
  assert.equal(heard.at(-1)?.type, 'renewed');
  renew();
  assert.equal(await closeOf(ws), 'a certificate is renewed once a minute at most');
});

test('nobody who is being sent away is listened to any more', async (t) => {
  const who = await enrol();
  const { ws, link } = await startLink(t, who);
  const asked = t.mock.method(app.store, 'commit');
  link.close('the key is not known any more');
  const before = asked.mock.callCount();
  say(ws, HELLO);
  say(ws, { type: 'report', report_id: 1, state: 'active', open: [] });
  await closeOf(ws);
  assert.equal(asked.mock.callCount(), before);
});

test('no worker is sent anywhere whose connection is being closed', async (t) => {
  const { link } = await startLink(t, await enrol());
  link.close('it is over');
  const errand = { endpoint: 'tcp://127.0.0.1:1', address: '', worker_id: 'w_1', ticket: '' };
  await assert.rejects(link.bring(errand), /the worker does not answer/);
});

const UNREAD: [what: string, send: (ws: WebSocket) => void][] = [
  ['answers', (ws) => say(ws, { type: 'call', id: 1, name: 'lookUp', request: {} })],
  ['pongs', (ws) => ws.ping(Buffer.alloc(125))],
];
for (const [what, send] of UNREAD) {
  test(`${what} are not kept without end for a worker that reads none of them`, async (t) => {
    const { ws, own } = await startLink(t, await enrol());
    say(ws, HELLO);
    await once(ws, 'message');
    ws.pause();
    let most = 0;
    for (let round = 0; round < 400 && own.readyState === WebSocket.OPEN; round += 1) {
      for (let n = 0; n < 1_000; n += 1) send(ws);
      while (ws.bufferedAmount > 1 << 20 && own.readyState === WebSocket.OPEN) await turn();
      most = Math.max(most, own.bufferedAmount);
    }
    assert.ok(most < 9 << 20, `${most} bytes`);
  });
}

test('what was made while a report waited is not taken to be lost', async (t) => {
  const who = await enrol();
  const { ws, heard } = await startLink(t, who);
  say(ws, HELLO);
  await once(ws, 'message');
  const stuck = Promise.withResolvers<void>();
  const { commit } = app.store;
  const commits = t.mock.method(
    app.store,
    'commit',
    async (...given: Parameters<typeof commit>) => {
      await stuck.promise;
      return commit.apply(app.store, given);
    },
  );
  say(ws, { type: 'report', report_id: 1, state: 'active', open: [] });
  while (commits.mock.callCount() === 0) await turn();
  const made = { id: 'sc_1', session_id: 's_1', worker_id: who.worker_id };
  // The connection alone: closing it would fail, and end the link.
  await commit.call(app.store, insertConnection(made, app.now()).slice(1));
  later += 12_000;
  stuck.resolve();
  while (heard.at(-1)?.type !== 'heard') await turn();
  // The next one is taken in when all of the first is.
  say(ws, { type: 'report', report_id: 2, state: 'active', open: [] });
  while (heard.filter(({ type }) => type === 'heard').length < 2) await turn();
  const [connection] = await listConnectionsById(app.db, ['sc_1']);
  assert.equal(connection?.status, 'authorized');
});

test('a worker is told which of the connections that it has brought to others are over', async (t) => {
  const who = await enrol();
  const { ws, heard } = await startLink(t, who);
  say(ws, HELLO);
  await once(ws, 'message');
  const made = { id: 'sc_begun', session_id: 's_1', worker_id: 'w_front' };
  await app.store.commit(insertConnection(made, app.now()).slice(1));
  const brought = ['sc_begun', 'sc_none'];
  say(ws, { type: 'report', report_id: 1, state: 'active', open: [], brought });
  while (heard.at(-1)?.type !== 'cut') await turn();
  assert.deepEqual(heard.at(-1), { type: 'cut', cuts: [], connection_ids: ['sc_none'] });
});

test('no more is read of a worker than is being worked on, and all of it in the end', async (t) => {
  const { ws, heard } = await startLink(t, await enrol());
  say(ws, HELLO);
  await once(ws, 'message');
  const stuck = Promise.withResolvers<void>();
  const { commit } = app.store;
  t.mock.method(app.store, 'commit', async (...given: Parameters<typeof commit>) => {
    await stuck.promise;
    return commit.apply(app.store, given);
  });
  const open = Array.from({ length: 10_000 }, (_, n) => ({
    connection_id: `sc_${String(n).padStart(50, '0')}`,
    bytes_up: 0,
    bytes_down: 0,
  }));
  for (let report_id = 0; report_id < 60; report_id += 1) {
    say(ws, { type: 'report', report_id, state: 'active', open });
  }
  let before = Number.NaN;
  while (ws.bufferedAmount !== before) {
    before = ws.bufferedAmount;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  assert.ok(ws.bufferedAmount > 5 << 20, `${ws.bufferedAmount} bytes wait with the worker`);
  stuck.resolve();
  while (heard.filter(({ type }) => type === 'heard').length < 60) await turn();
});

test('a worker that a session’s filter does not admit does nothing about it', async (t) => {
  const project = await makeProject(server);
  const ask = async (path: string, body: object) => {
    const reply = await project.admin.call('POST', path, body);
    assert.equal(reply.status, 200, reply.text);
    return reply;
  };
  const target = await ask('targets', {
    scope_id: project.id,
    type: 'tcp',
    name: 'filtered',
    address: '127.0.0.1',
    egress_worker_filter: '"dev" in "/tags/type"',
    attributes: { default_port: 22 },
  });
  const session = await ask(`targets/${target.textAt('id')}:authorize-session`, {});
  const session_id = session.textAt('session_id');
  const { ws, heard } = await startLink(t, await enrol());
  say(ws, HELLO);
  await once(ws, 'message');
  const tofu_token = 'abcdefghij0123456789';
  for (const [name, request] of [
    ['lookUp', { session_id }],
    ['activate', { session_id, tofu_token, version: 1 }],
    ['authorize', { session_id }],
    ['cancel', { session_id }],
  ] as const) {
    say(ws, { type: 'call', id: 1, name, request });
    await once(ws, 'message');
    const answer = heard.at(-1);
    assert.equal(answer?.type === 'refused' && answer.kind, 'precondition', name);
  }
  const read = await project.admin.call('GET', `sessions/${session_id}`);
  assert.equal(read.textAt('status'), 'pending');
  const own = upstreamOf(app, ownWorker(app)?.id ?? '');
  assert.deepEqual(await own.cancel({ session_id }), { status: 'canceling' });
});
