import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Config } from '../../src/config/config.ts';
import type { SealSettings } from '../../src/config/seal-settings.ts';
import { FAKE_PIN, makeFakeToken } from '../support/fake-token.ts';
import { startFakeTransit } from '../support/fake-transit.ts';
import { inReverse, newDirectory } from '../support/node-process.ts';
import { type Client, startTestServer } from '../support/server.ts';

const KINDS = ['shamir', 'keyfile', 'pkcs11', 'transit'] as const;
type Kind = (typeof KINDS)[number];

interface Bench {
  start(config: Pick<Config, 'seal'> & Partial<Config>): Promise<Client>;
  stop(): Promise<void>;
  seals: Record<Kind, SealSettings>;
}

async function openBench(t: TestContext): Promise<Bench> {
  const scope = inReverse(t);
  const directory = newDirectory(scope);
  const path = join(directory, 'seal.key');
  writeFileSync(path, new Uint8Array(32).fill(9), { mode: 0o600 });
  const device = makeFakeToken(scope);
  const { settings } = await startFakeTransit(scope);
  let ends: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of ends) await end();
    ends = [];
  };
  scope.after(stop);
  const start = (config: Partial<Config>): Promise<Client> =>
    startTestServer(
      { after: (end) => void ends.push(end) },
      {
        directory,
        config: {
          ...{ mode: 'server', dev_root_token: undefined, kms_library: [device.library] },
          ...config,
        },
      },
    );
  const pkcs11: SealSettings = {
    ...{ type: 'pkcs11', library: 'fake', slot: undefined, token_label: 'a' },
    ...{ pin: FAKE_PIN, key_label: 'seal', generate_key: true },
  };
  const seals = {
    ...{ shamir: { type: 'shamir' }, keyfile: { type: 'keyfile', path } },
    ...{ pkcs11, transit: settings },
  } satisfies Record<Kind, SealSettings>;
  return { start, stop, seals };
}

async function initialise(client: Client, kind: Kind) {
  const counts =
    kind === 'shamir'
      ? { secret_shares: 3, secret_threshold: 2 }
      : { recovery_shares: 3, recovery_threshold: 2 };
  const made = await client.call('PUT', 'sys/init', counts);
  assert.equal(made.status, 200, made.text);
  const shares = made.field(kind === 'shamir' ? 'keys' : 'recovery_keys') as string[];
  return { shares, token: made.textAt('root_token') };
}

const give = (client: Client, key: string | undefined, migrate: boolean) =>
  client.call('PUT', 'sys/unseal', { key, migrate });

async function unsealBy(client: Client, shares: string[], migrate: boolean): Promise<void> {
  for (const share of shares.slice(0, 2)) {
    const answer = await give(client, share, migrate);
    assert.equal(answer.status, 200, answer.text);
  }
  assert.equal((await client.call('GET', 'sys/seal-status')).field('sealed'), false);
}

/** Moves the data from one seal to another, and shows that it opens as the other does. */
async function move(bench: Bench, from: Kind, to: Kind, shares: string[]): Promise<Client> {
  const { seals, start, stop } = bench;
  await stop();
  const moving = await start({ seal: seals[to], former_seal: seals[from] });
  const status = await moving.call('GET', 'sys/seal-status');
  assert.deepEqual(
    ['type', 'sealed', 'migration'].map((name) => status.field(name)),
    [from, true, true],
  );
  const silent = await give(moving, shares[0], false);
  assert.equal(silent.status, 400);
  assert.match(silent.text, /migrate option not provided/);
  const wrong = `${shares[0]?.slice(0, -2)}${shares[0]?.endsWith('00') ? '01' : '00'}`;
  assert.equal((await give(moving, wrong, true)).status, 400);
  await unsealBy(moving, shares, true);
  const after = await moving.call('GET', 'sys/seal-status');
  assert.deepEqual(
    ['type', 'migration', 'recovery_seal', 't', 'n'].map((name) => after.field(name)),
    [to, false, to !== 'shamir', 2, 3],
  );
  await stop();
  const moved = await start({ seal: seals[to] });
  if (to === 'shamir') await unsealBy(moved, shares.slice(1), false);
  return moved;
}

for (const [at, from] of KINDS.entries()) {
  for (const to of KINDS.slice(at + 1)) {
    test(`data moves from ${from} to ${to} and back, by the same shares`, async (t) => {
      const bench = await openBench(t);
      const first = await bench.start({ seal: bench.seals[from] });
      const { shares, token } = await initialise(first, from);
      if (from === 'shamir') await unsealBy(first, shares, false);
      await first.call('POST', 'sys/mounts/kept', { type: 'pki' }, { token });
      for (const [here, there] of [
        [from, to],
        [to, from],
      ] as const) {
        const moved = await move(bench, here, there, shares);
        const kept = await moved.call('GET', 'sys/mounts/kept', undefined, { token });
        assert.equal(kept.status, 200, `${here} to ${there}`);
      }
      await bench.stop();
      await assert.rejects(bench.start({ seal: bench.seals[to] }), { kind: 'unavailable' });
    });
  }
}

test('a move that cannot reach the new seal changes nothing, and can be made again', async (t) => {
  const bench = await openBench(t);
  const first = await bench.start({ seal: bench.seals.shamir });
  const { shares } = await initialise(first, 'shamir');
  await bench.stop();
  const nowhere: SealSettings = { ...bench.seals.transit, address: 'http://127.0.0.1:1' } as never;
  const moving = await bench.start({ seal: nowhere, former_seal: bench.seals.shamir });
  await give(moving, shares[0], true);
  assert.equal((await give(moving, shares[1], true)).status, 503);
  const status = await moving.call('GET', 'sys/seal-status');
  assert.deepEqual([status.field('type'), status.field('sealed')], ['shamir', true]);
  await bench.stop();
  const back = await bench.start({ seal: bench.seals.shamir });
  await unsealBy(back, shares, false);
});

test('without recovery shares a seal moves to one that opens by itself, and never to shares', async (t) => {
  const bench = await openBench(t);
  const first = await bench.start({ seal: bench.seals.keyfile });
  assert.equal((await first.call('PUT', 'sys/init', {})).status, 200);
  await bench.stop();
  const toShares = await bench.start({
    seal: bench.seals.shamir,
    former_seal: bench.seals.keyfile,
  });
  const refused = await toShares.call('PUT', 'sys/unseal', { migrate: true });
  assert.equal(refused.status, 400);
  assert.match(refused.text, /no recovery shares/);
  await bench.stop();
  const moving = await bench.start({ seal: bench.seals.pkcs11, former_seal: bench.seals.keyfile });
  const moved = await moving.call('PUT', 'sys/unseal', { migrate: true });
  assert.equal(moved.field('sealed'), false, moved.text);
});
