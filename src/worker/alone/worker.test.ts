import assert from 'node:assert/strict';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { pino } from 'pino';
import WebSocket, { WebSocketServer } from 'ws';
import { newDirectory } from '../../../test/support/node-process.ts';
import { startTestServer } from '../../../test/support/server.ts';
import { LEAF_RANDOMNESS, makeLeaf, SERVER_NAME } from '../../broker/workers/root/leaf.ts';
import { makeWorkerLeaf } from '../../broker/workers/root/operations.ts';
import { makeRoot, ROOT_RANDOMNESS } from '../../broker/workers/root/root.ts';
import { Failure } from '../../core/failure.ts';
import { encodePem } from '../../core/pem.ts';
import { WorkerListener } from '../link/listener.ts';
import { LINK_PROTOCOL } from '../link/messages.ts';
import { enrolAt } from './enrolling.client.ts';
import { Identity } from './identity.ts';
import { readWorkerSettings } from './settings.ts';
import { StandingWorker } from './worker.ts';

const server = await startTestServer({ after }, { jobs: [] });

/** A worker that is enrolled, and has not begun. @param before servers that it tries first */
async function enrol(t: TestContext, before: readonly { host: string; port: number }[] = []) {
  const listener = new WorkerListener(server.running.app);
  await listener.renew('one');
  const at = await listener.listen({ host: '127.0.0.1', port: 0 });
  const made = await server.call('POST', 'workers:create:controller-led', { scope_id: 'global' });
  const identity = Identity.open(newDirectory(t));
  const given = made.textAt('controller_generated_activation_token');
  identity.keep(await enrolAt(at, identity, { given }));
  const servers = [`127.0.0.1:${at.port}`];
  const settings = readWorkerSettings(JSON.stringify({ servers, state: '.', listener: null }));
  const log = pino({ level: 'silent' });
  const told: string[] = [];
  for (const level of ['info', 'warn', 'error'] as const) {
    t.mock.method(log, level, (_facts: object | string, text?: string) => {
      told.push(text ?? String(_facts));
    });
  }
  const token = { own: true } as const;
  const worker = new StandingWorker(identity, {
    settings,
    servers: [...before, at],
    token,
    log,
    showToken: () => {},
  });
  t.after(async () => {
    await worker.stop();
    await listener.close();
  });
  return { identity, worker, told };
}

/** A server that workers know, which takes their connections and says nothing. */
async function startSilentServer(t: TestContext) {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const info = publicKey.export({ type: 'spki', format: 'der' });
  const { certificate } = await makeWorkerLeaf(server.running.app, SERVER_NAME, info);
  const silent = createServer({
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    cert: encodePem('CERTIFICATE', certificate),
  });
  const links = new WebSocketServer({ server: silent, handleProtocols: () => LINK_PROTOCOL });
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.after(() => {
    for (const link of links.clients) link.terminate();
    silent.close();
  });
  return { links, at: { host: '127.0.0.1', port: (silent.address() as AddressInfo).port } };
}

test('a worker leaves a server that lets it in and does not say so', async (t) => {
  const { links, at } = await startSilentServer(t);
  const { worker, told } = await enrol(t, [at]);
  // However long the connection takes to be made.
  let now = performance.now();
  t.mock.method(performance, 'now', () => now);
  const come = once(links, 'connection');
  void worker.run();
  const [link] = (await come) as [WebSocket];
  await once(link, 'message');
  now += 8_000;
  // It is looked at every second.
  await wait(1_100);
  assert.equal(link.readyState, WebSocket.OPEN);
  now += 1;
  while (!told.includes('the worker is at work')) await wait(20);
});

test('a worker whose clock is ahead renews its certificate once, and stays', async (t) => {
  const { identity, worker, told } = await enrol(t);
  // Of any certificate.
  t.mock.getter(identity, 'half_ms', () => 0);
  const keep = t.mock.method(identity, 'keep');
  const first = identity.public_key;
  void worker.run();
  while (told.filter((text) => text === 'the worker is at work').length < 2) await wait(20);
  // It would be renewed, and come anew, several times a second.
  await wait(2_000);
  assert.equal(keep.mock.callCount(), 1);
  assert.notDeepEqual(identity.public_key, first);
  assert.equal(told.filter((text) => text === 'the worker is at work').length, 2);
});

test('a worker that cannot keep a new certificate goes on with the one that it has', async (t) => {
  const { identity, worker, told } = await enrol(t);
  t.mock.getter(identity, 'half_ms', () => 0);
  t.mock.method(identity, 'keep', () => {
    throw new Failure('invalid', 'state: the disk is full');
  });
  void worker.run();
  while (!told.includes('a new certificate cannot be kept')) await wait(20);
  await wait(500);
  assert.deepEqual(told, ['the worker is at work', 'a new certificate cannot be kept']);
});

for (const { said, shown } of [
  { said: 'no such worker is expected', shown: 'no such worker is expected' },
  { said: '\u001b]0;owned\u0007', shown: 'the server answered 403' },
  { said: 'x'.repeat(1_000), shown: 'x'.repeat(300) },
]) {
  test(`a stranger’s refusal is shown as ${shown.slice(0, 30)}`, async (t) => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const leaf = makeLeaf(makeRoot(randomBytes(ROOT_RANDOMNESS), Date.now()), {
      name: 'stranger',
      subjectPublicKeyInfo: publicKey.export({ type: 'spki', format: 'der' }),
      random: randomBytes(LEAF_RANDOMNESS),
      from_ms: Date.now(),
    });
    const stranger = createServer({
      key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
      cert: encodePem('CERTIFICATE', leaf.certificate),
    });
    stranger.on('request', (_request, response) => {
      response.writeHead(403, { connection: 'close' }).end(JSON.stringify({ message: said }));
    });
    stranger.listen(0, '127.0.0.1');
    await once(stranger, 'listening');
    t.after(() => stranger.close());
    const { port } = stranger.address() as AddressInfo;
    const identity = Identity.open(newDirectory(t));
    await assert.rejects(
      enrolAt({ host: '127.0.0.1', port }, identity, { own: true }),
      (error) => error instanceof Failure && error.message === shown,
    );
  });
}
