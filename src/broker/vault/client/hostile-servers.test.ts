import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, test } from 'node:test';
import {
  startApart,
  startHostile,
  startHostileTls,
} from '../../../../test/support/hostile-vault.ts';
import { makeCostlyChain, makeLoopedChain } from '../../../../test/support/made-chains.ts';
import { withOpenssl } from '../../../../test/support/openssl.ts';
import { holdsNobodyUp } from '../../../../test/support/turns.ts';
import { startFakeVault } from '../../../../test/support/vault.ts';
import { DEV_DEFAULTS, devConfig } from '../../../config/config.ts';
import { doFor } from '../../../core/fairness/asking.ts';
import { type VaultConnection, VaultFault } from './answer.ts';
import { askVault } from './client.ts';
import { SHORT } from './coming.ts';
import { talk } from './talk.client.ts';

const pair = makePair();

function makePair(): { cert: string; key: string } {
  const pair = { cert: '', key: '' };
  withOpenssl(({ must, read }) => {
    const key = ['-newkey', 'rsa:2048', '-nodes'];
    const subject = ['-subj', '/CN=vault.test', '-addext', 'subjectAltName=DNS:vault.test'];
    must('req', '-x509', ...key, ...subject, '-days', '2', '-keyout', 'k', '-out', 'c');
    pair.cert = Buffer.from(read('c')).toString('utf8');
    pair.key = Buffer.from(read('k')).toString('utf8');
  });
  return pair;
}

const closers: (() => Promise<void> | void)[] = [];
const started: { stop(): Promise<void> }[] = [];
const app = {
  config: devConfig(DEV_DEFAULTS),
  log: { warn() {} },
  barrier: { sealed: false, onSeal: () => {} },
  onClose: (close: () => Promise<void> | void) => void closers.push(close),
};
after(async () => {
  for (const server of started) await server.stop();
  for (const close of closers) await close();
});

async function keep<Server extends { stop(): Promise<void> }>(
  starting: Promise<Server>,
): Promise<Server> {
  const server = await starting;
  started.push(server);
  return server;
}

const connectionTo = (address: string, ca_cert: string): VaultConnection => ({
  address,
  namespace: '',
  ca_cert,
  tls_server_name: 'vault.test',
  tls_skip_verify: false,
  client_certificate: '',
  client_certificate_key: '',
  token: 'good',
});

/** What came of asking a server: its answer, or the kind of fault. */
async function ask(address: string, ca_cert: string, from: string): Promise<string> {
  const connection = connectionTo(address, ca_cert);
  try {
    await doFor(from, () =>
      askVault(app, connection, { method: 'GET', path: 'auth/token/lookup-self' }),
    );
    return 'answer';
  } catch (error) {
    if (error instanceof VaultFault) return error.kind;
    throw error;
  }
}

const [HERE, ELSEWHERE] = ['192.0.2.1', '198.51.100.1'] as const;
/** Ten milliseconds or more to verify. */
const chain = makeCostlyChain('vault.test', 60);
const healthy = await keep(startFakeVault(pair));
const askHealthy = (from: string): Promise<string> => ask(healthy.url, pair.cert, from);

/** Half of those that are asked; they all go first where nothing is shared out. */
const MOST_MEANWHILE = 12;

/**
 * Asks a server on this thread, and not on the one for it: the healthy server is here, too, and so in as many turns
 * of the loop as the client needs, however the machine shares its processors out.
 */
async function talkHere(address: string, ca_cert: string, party: string): Promise<number> {
  const connection = connectionTo(address, ca_cert);
  const { credential_stores: reach } = app.config;
  const url = `${address}/v1/auth/token/lookup-self`;
  const order = { connection, method: 'GET', url, body: undefined, reach, listening: [] } as const;
  return (await talk({ ...order, party, site: party, bounds: SHORT })).status;
}

for (const [why, from] of [
  ['from elsewhere', ELSEWHERE],
  ['from where they are asked', HERE],
] as const) {
  test(`a server asked ${why} answers before most of those that are costly, however many wait`, async () => {
    const costly = await keep(startApart(chain, 3));
    assert.equal(await talkHere(healthy.url, pair.cert, from), 200);
    let answered = 0;
    const first = Promise.withResolvers<void>();
    const all = costly.urls.flatMap((url) =>
      Array.from({ length: 8 }, async () => {
        // Or given up, where the machine is that slow.
        await talkHere(url, chain.root, HERE).catch((error) =>
          assert.equal(error.kind, 'unreachable'),
        );
        answered += 1;
        first.resolve();
      }),
    );
    await first.promise;
    const before = answered;
    assert.equal(await talkHere(healthy.url, pair.cert, from), 200);
    const meanwhile = answered - before;
    assert.ok(meanwhile <= MOST_MEANWHILE, `${meanwhile} of ${all.length}`);
    await Promise.all(all);
  });
}

test('beside many servers that are costly others answer', async () => {
  const costly = await keep(startApart(chain, 3));
  const asked = costly.urls.flatMap((url) =>
    Array.from({ length: 8 }, () => ask(url, chain.root, HERE)),
  );
  assert.equal(await askHealthy(ELSEWHERE), 'answer');
  assert.equal(await askHealthy(HERE), 'answer');
  await Promise.all(asked);
});

test('servers that never shake hands hold up nobody else', async () => {
  const silent = await keep(startHostile(() => {}));
  const asked = Array.from({ length: 16 }, () => ask(`https://${silent.at}`, pair.cert, HERE));
  assert.equal(await askHealthy(ELSEWHERE), 'answer');
  assert.equal(await askHealthy(HERE), 'answer');
  await silent.stop();
  assert.deepEqual(new Set(await Promise.all(asked)), new Set(['unreachable']));
});

test('those of one address that ask by name, one after another, are all answered', async () => {
  const plain = await keep(startFakeVault());
  const { port } = new URL(plain.url);
  const asked = Array.from({ length: 6 }, () => ask(`http://localhost:${port}`, '', HERE));
  assert.deepEqual(new Set(await Promise.all(asked)), new Set(['answer']));
});

test('a chain longer than an honest one is refused before it is verified', async () => {
  const long = makeCostlyChain('vault.test', 80);
  const costly = await keep(startFakeVault(long));
  assert.equal(await ask(costly.url, long.root, HERE), 'malformed');
});

test('whom a store trusts may have signed each other, and nobody follows them', async () => {
  const { ca, ...looped } = makeLoopedChain('vault.test');
  const server = await keep(startFakeVault(looped));
  for (let time = 0; time < 2; time += 1) {
    assert.equal(await ask(server.url, ca, HERE), 'answer');
  }
});

test('a server that asks for a key exchange of its own numbers is not spoken to', async () => {
  const options = { ...pair, maxVersion: 'TLSv1.2', dhparam: 'auto' } as const;
  const answer = (socket: { end(text: string): void }): void =>
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}');
  const ciphers = 'DHE-RSA-AES128-GCM-SHA256';
  const own = await keep(startHostileTls({ ...options, ciphers }, answer));
  assert.equal(await ask(`https://${own.at}`, pair.cert, HERE), 'unreachable');
  const curves = await keep(
    startHostileTls({ ...options, ciphers: 'ECDHE-RSA-AES128-GCM-SHA256' }, answer),
  );
  assert.equal(await ask(`https://${curves.at}`, pair.cert, HERE), 'answer');
});

test('a server that wants to shake hands again is refused that', async () => {
  const refused = Promise.withResolvers<Error | null>();
  const again = await keep(
    startHostileTls({ ...pair, maxVersion: 'TLSv1.2' }, (socket) => {
      socket.renegotiate({}, (error) => refused.resolve(error));
      socket.on('error', (error) => refused.resolve(error));
    }),
  );
  const asked = ask(`https://${again.at}`, pair.cert, HERE);
  assert.match(String(await refused.promise), /no renegotiation/i);
  await again.stop();
  assert.equal(await asked, 'unreachable');
});

for (const secured of [true, false]) {
  const how = secured ? 'secured' : 'plain';
  test(`an answer in a million parts is given up, and read on another thread: ${how}`, async () => {
    const parts = Buffer.from(
      `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\n \r\n'.repeat(1_000_000)}`,
    );
    const send = (socket: Socket): void => void socket.end(parts);
    const server = await keep(secured ? startHostileTls(pair, send) : startHostile(send));
    const address = `http${secured ? 's' : ''}://${server.at}`;
    await askHealthy(HERE);
    // Sending is this process's, too: it is the server.
    await holdsNobodyUp(async () => {
      assert.equal(await ask(address, pair.cert, HERE), 'malformed');
    });
  });
}
