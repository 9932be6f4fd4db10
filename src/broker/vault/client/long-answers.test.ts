import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type HostileServer, startHostile } from '../../../../test/support/hostile-vault.ts';
import { holdsNobodyUp } from '../../../../test/support/turns.ts';
import { connectionTo } from '../../../../test/support/vault-connection.ts';
import { DEV_DEFAULTS, devConfig } from '../../../config/config.ts';
import { doFor } from '../../../core/fairness/asking.ts';
import { type VaultConnection, VaultFault } from './answer.ts';
import { askVault } from './client.ts';
import { SECRET } from './coming.ts';

const closers: (() => Promise<void> | void)[] = [];
const servers: HostileServer[] = [];
const app = {
  config: devConfig(DEV_DEFAULTS),
  log: { warn() {} },
  barrier: { sealed: false, onSeal: () => {} },
  onClose: (close: () => Promise<void> | void) => void closers.push(close),
};
after(async () => {
  for (const server of servers) await server.stop();
  for (const close of closers) await close();
});

/** A server that answers each request with the same. */
async function startSaying(status: number, text: string): Promise<VaultConnection> {
  const head = `HTTP/1.1 ${status} X\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n`;
  const answer = Buffer.from(`${head}${text}`);
  const server = await startHostile((socket) => {
    socket.once('data', () => void socket.end(answer));
  });
  servers.push(server);
  return connectionTo(`http://${server.at}`);
}

/** What came of asking. */
async function ask(connection: VaultConnection): Promise<string> {
  try {
    const request = { method: 'GET', path: 'secret/a', bounds: SECRET } as const;
    const { data } = await doFor('192.0.2.1', () => askVault(app, connection, request));
    return `${Object.keys(data ?? {}).length} members`;
  } catch (error) {
    if (error instanceof VaultFault) return `${error.kind} ${error.message}`;
    throw error;
  }
}

const list = (count: number, one: (at: string) => string): string =>
  Array.from({ length: count }, (_, at) => one(at.toString(36))).join();

/** What costs most for its length, in the length that it may have, and longer than that. */
const costly: [what: string, status: number, text: string, outcome: RegExp][] = [
  ['as many members as may be', 200, `{"data":{${list(9_999, (at) => `"${at}x":1`)}}}`, /^9999/],
  [
    'as many objects as may be',
    200,
    `{"data":{"x":[${list(4_998, (at) => `{"${at}x":1}`)}]}}`,
    /^1 members/,
  ],
  ['a text of a megabyte', 200, `{"data":{"x":"${'x'.repeat(1_048_000)}"}}`, /^1 members/],
  ['members for a megabyte', 200, `{"data":{${list(90_000, (at) => `"${at}x":1`)}}}`, /10000 val/],
  [
    'objects for a megabyte',
    200,
    `{"data":[${list(80_000, (at) => `{"${at}x":1}`)}]}`,
    /10000 val/,
  ],
  [
    'a refusal of a megabyte',
    400,
    `{"errors":[],"x":[${list(80_000, (at) => `{"${at}x":1}`)}]}`,
    /status 400/,
  ],
];
for (const [what, status, text, outcome] of costly) {
  test(`eight answers at once hold nobody up: ${what}`, async () => {
    const connection = await startSaying(status, text);
    assert.match(await ask(connection), outcome);
    await holdsNobodyUp(async () => {
      const came = await Promise.all(Array.from({ length: 8 }, () => ask(connection)));
      for (const one of came) assert.match(one, outcome);
    });
  });
}

test('what was parsed no longer counts: any number of long answers come one after another', async () => {
  const connection = await startSaying(200, `{"data":{${list(9_999, (at) => `"${at}x":1`)}}}`);
  for (let round = 0; round < 20; round++) {
    const came = await Promise.all(Array.from({ length: 2 }, () => ask(connection)));
    assert.deepEqual(came, ['9999 members', '9999 members']);
  }
});
