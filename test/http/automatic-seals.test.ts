import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import type { Config } from '../../src/config/config.ts';
import type { SealSettings } from '../../src/config/seal-settings.ts';
import { encryptByTransit } from '../../src/seal/transit.client.ts';
import { FAKE_PIN, makeFakeToken } from '../support/fake-token.ts';
import { startFakeTransit } from '../support/fake-transit.ts';
import { inReverse, newDirectory, type Scope } from '../support/node-process.ts';
import { type Client, startTestServer } from '../support/server.ts';

interface Guard {
  config: Partial<Config>;
  /** Makes what opens the seal unreachable, and reachable again. */
  lose(): void;
  comeBack(): void;
}

const server = (seal: SealSettings): Partial<Config> => ({
  ...{ mode: 'server', dev_root_token: undefined, seal },
});

const guards: Record<string, (scope: Scope) => Promise<Guard>> = {
  async pkcs11(scope) {
    const device = makeFakeToken(scope);
    const seal: SealSettings = {
      ...{ type: 'pkcs11', library: 'fake', slot: undefined, token_label: 'a' },
      ...{ pin: FAKE_PIN, key_label: 'seal', generate_key: true },
    };
    return {
      config: { ...server(seal), kms_library: [device.library] },
      lose: device.pull,
      comeBack: device.putBack,
    };
  },
  async transit(scope) {
    const fake = await startFakeTransit(scope);
    return {
      config: server(fake.settings),
      lose: () => {
        fake.instead = { status: 503, body: '{}' };
      },
      comeBack: () => {
        fake.instead = undefined;
      },
    };
  },
};

for (const [type, guard] of Object.entries(guards)) {
  test(`a seal of type ${type} opens by itself at each start, and only with what guards it`, async (t) => {
    const scope = inReverse(t);
    const { config, lose, comeBack } = await guard(scope);
    const directory = newDirectory(scope);
    let stop: (() => Promise<void>)[] = [];
    const start = () =>
      startTestServer({ after: (end) => void stop.push(end) }, { directory, config });
    const end = async (): Promise<void> => {
      for (const one of stop) await one();
      stop = [];
    };
    scope.after(end);
    const first = await start();
    const made = await first.call('PUT', 'sys/init', { recovery_shares: 3, recovery_threshold: 2 });
    assert.equal(made.status, 200, made.text);
    assert.deepEqual(made.field('keys'), []);
    const token = made.textAt('root_token');
    const status = await first.call('GET', 'sys/seal-status');
    assert.deepEqual(
      ['type', 'sealed', 'recovery_seal', 't', 'n'].map((name) => status.field(name)),
      [type, false, true, 2, 3],
    );
    await first.call('POST', 'sys/mounts/kept', { type: 'pki' }, { token });
    await end();
    const second = await start();
    assert.equal((await second.call('GET', 'sys/mounts/kept', undefined, { token })).status, 200);
    await end();
    lose();
    await assert.rejects(start(), { kind: 'unavailable' });
    comeBack();
    const third = await start();
    assert.equal((await third.call('GET', 'sys/seal-status')).field('sealed'), false);
    const sealed = await third.call('PUT', 'sys/seal', undefined, { token });
    assert.equal(sealed.status, 204);
    const key = String((made.field('recovery_keys') as string[])[0]);
    const refused = await third.call('PUT', 'sys/unseal', { key });
    assert.match(refused.text, /opens by itself when the server starts/);
  });
}

test('once the key of the transit engine was rotated and the server started, older versions may be given up', async (t) => {
  const scope = inReverse(t);
  const fake = await startFakeTransit(scope);
  const directory = newDirectory(scope);
  const startOnce = async (use: (client: Client) => Promise<unknown>): Promise<void> => {
    const ends: (() => Promise<void>)[] = [];
    const config = server(fake.settings);
    try {
      await use(
        await startTestServer({ after: (end) => void ends.push(end) }, { directory, config }),
      );
    } finally {
      for (const end of ends) await end();
    }
  };
  const isOpen = async ({ call }: Client) =>
    assert.equal((await call('GET', 'sys/seal-status')).field('sealed'), false);
  await startOnce(({ call }) => call('PUT', 'sys/init', {}));
  fake.keys.push(randomBytes(32));
  await startOnce(isOpen);
  fake.least = 2;
  await startOnce(isOpen);
  fake.keys.push(randomBytes(32));
  fake.least = 3;
  await assert.rejects(startOnce(isOpen), { kind: 'unavailable' }, 'too early');
  fake.least = 2;
  await startOnce(isOpen);
});

const answers: [what: string, status: number, body: string, phrase: RegExp][] = [
  ['a refusal', 403, '{"errors":["permission denied"]}', /answered 403/],
  ['a redirect', 307, '{}', /answered 307/],
  ['no JSON', 200, '<html>', /no JSON/],
  ['nothing', 200, '{}', /no ciphertext/],
  ['another form', 200, '{"data":{"ciphertext":7}}', /no ciphertext/],
  ['too much', 200, 'x'.repeat(70_000), /too long/],
];
for (const [what, status, body, phrase] of answers) {
  test(`a transit engine that answers ${what} is told apart, and no secret is`, async (t) => {
    const fake = await startFakeTransit(t);
    fake.instead = { status, body };
    await assert.rejects(encryptByTransit(fake.settings, randomBytes(32)), (error: Error) => {
      assert.match(error.message, phrase);
      assert.ok(!error.message.includes(fake.settings.token));
      return true;
    });
  });
}
