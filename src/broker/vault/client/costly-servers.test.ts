import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { holdBounds } from '../../../../test/support/machine.ts';
import { makeCostlyChain } from '../../../../test/support/made-chains.ts';
import { longestTurn } from '../../../../test/support/turns.ts';
import { startFakeVault } from '../../../../test/support/vault.ts';
import { DEV_DEFAULTS, devConfig } from '../../../config/config.ts';
import { type VaultConnection, VaultFault } from './answer.ts';
import { askVault, threadOf } from './client.ts';
import { SHORT } from './coming.ts';
import { talk } from './talk.client.ts';

// As many as are looked at.
const chain = makeCostlyChain('vault.test', 60);
const vault = await startFakeVault(chain);
const locks: (() => void)[] = [];
const closers: (() => Promise<void> | void)[] = [];
const app = {
  config: devConfig(DEV_DEFAULTS),
  log: { warn() {} },
  barrier: { sealed: false, onSeal: (listener: () => void) => void locks.push(listener) },
  onClose: (close: () => Promise<void> | void) => void closers.push(close),
};
after(async () => {
  await vault.stop();
  for (const close of closers) await close();
});

const connection: VaultConnection = {
  address: vault.url,
  namespace: '',
  ca_cert: chain.root,
  tls_server_name: 'vault.test',
  tls_skip_verify: false,
  client_certificate: '',
  client_certificate_key: '',
  token: 'good',
};
const lookup = { method: 'GET', path: 'auth/token/lookup-self' } as const;

test('certificates that take long to verify hold up nobody but those who ask Vault servers', async () => {
  const here = await longestTurn(async () => {
    const { credential_stores: reach } = app.config;
    const url = `${vault.url}/v1/${lookup.path}`;
    const said = await talk({
      connection,
      method: 'GET',
      url,
      body: undefined,
      reach,
      listening: [],
      party: '',
      site: '',
      bounds: SHORT,
    });
    assert.equal(said.status, 200);
  });
  await askVault(app, connection, lookup);
  const there = () =>
    longestTurn(async () => {
      for (let at = 0; at < 3; at++) await askVault(app, connection, lookup);
    });
  // Sending so many certificates is this process's, too: it is the server.
  await holdBounds({ there: here / 4 }, async () => ({ there: await there() }));
});

for (const [why, end] of [
  ['sealed', () => locks.map((lock) => lock())],
  ['closed', () => Promise.all(closers.map((close) => close()))],
] as const) {
  test(`who waits for a Vault server when this one is ${why} has its answer, and then its thread ends`, async () => {
    const reached = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    vault.pause = () => {
      reached.resolve();
      return held.promise;
    };
    const asked = askVault(app, connection, lookup);
    await reached.promise;
    const thread = threadOf(app);
    const ended = end();
    assert.ok(thread.isRunning);
    assert.notEqual(threadOf(app), thread);
    assert.ok(!threadOf(app).isRunning);
    vault.pause = async () => {};
    await askVault(app, connection, lookup);
    assert.ok(threadOf(app).isRunning, 'the next one is asked on a new thread');
    assert.ok(thread.isRunning);
    held.resolve();
    await asked;
    await ended;
    assert.ok(!thread.isRunning);
  });
}

test('what is asked while this server is sealed has its thread to itself', async () => {
  const sealed = { ...app, barrier: { ...app.barrier, sealed: true } };
  await askVault(sealed, connection, lookup);
  assert.ok(!threadOf(sealed).isRunning);
});

test('a thread that is stuck is ended some time after its answers are due', async (t) => {
  const reached = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  vault.pause = () => {
    reached.resolve();
    return held.promise;
  };
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const asked = askVault(app, connection, lookup);
  const ended = asked.then(
    () => 'answered',
    (error) => (error instanceof VaultFault ? error.kind : String(error)),
  );
  await reached.promise;
  t.mock.timers.tick(14_999);
  assert.ok(threadOf(app).isRunning);
  t.mock.timers.tick(1);
  assert.equal(await ended, 'unreachable');
  assert.ok(!threadOf(app).isRunning);
  t.mock.timers.reset();
  vault.pause = async () => {};
  held.resolve();
  await askVault(app, connection, lookup);
  assert.ok(threadOf(app).isRunning);
});
