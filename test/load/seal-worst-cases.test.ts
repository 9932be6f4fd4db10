import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Config } from '../../src/config/config.ts';
import { type Client, startTestServer } from '../support/server.ts';
import { holdsNobodyUp } from '../support/turns.ts';
import { textShapes } from '../worst-cases/shapes.ts';

/** Shares, keys and one-time texts without a token, against a seal that reads them. */

const shamir: Partial<Config> = {
  mode: 'server',
  seal: { type: 'shamir' },
  dev_root_token: undefined,
};
const COUNTS = { secret_shares: 5, secret_threshold: 3 };

interface Field {
  path: string;
  field: string;
  /** What goes along with it. */
  more?: object;
  list?: boolean;
}

/** Nearly as much as a body may have. */
const ROOM = (1 << 20) - 4096;
/** Every so many of the shapes, another one for each field. */
const EACH = 17;

async function tryFields(client: Client, fields: readonly Field[], token: string): Promise<void> {
  const shapes = textShapes('some');
  for (const [at, { path, field, more, list }] of fields.entries()) {
    for (let which = at; which < shapes.length; which += EACH) {
      const shape = shapes[which];
      if (!shape) continue;
      for (const room of [200, ROOM]) {
        const text = shape.make(room);
        const body = { ...more, [field]: list ? [text] : text };
        const name: string = `${path} ${field}: ${shape.name} in ${room} bytes`;
        let status = 0;
        // Only what is long again and again is slow: the client works on this thread, too.
        await holdsNobodyUp(
          async () => {
            ({ status } = await client.call('PUT', path, body, { token }));
          },
          { what: name },
        );
        assert.ok(status >= 400 && status < 504, `${name}: ${status}`);
      }
    }
  }
}

test('no text sent without a token holds a sealed server up, whatever of its seal it is for', async (t) => {
  const client = await startTestServer(t, { config: shamir });
  const body = { ...COUNTS, secret_shares: 5 };
  await tryFields(client, [{ path: 'sys/init', field: 'pgp_keys', more: body, list: true }], '');
  const made = await client.call('PUT', 'sys/init', COUNTS, { token: '' });
  assert.equal(made.status, 200, made.text);
  await tryFields(client, [{ path: 'sys/unseal', field: 'key' }], '');
  const [share] = JSON.parse(made.text).keys_base64;
  const given = await client.call('PUT', 'sys/unseal', { key: share }, { token: '' });
  assert.equal(given.field('progress'), 1);
});

test('no text holds a server with shares up while a root token or a new seal is being made', async (t) => {
  const client = await startTestServer(t, { config: shamir });
  const made = await client.call('PUT', 'sys/init', COUNTS, { token: '' });
  const { keys_base64: keys, root_token: token } = JSON.parse(made.text);
  for (const key of keys.slice(0, 3)) {
    await client.call('PUT', 'sys/unseal', { key }, { token: '' });
  }
  await tryFields(
    client,
    [
      { path: 'sys/generate-root/attempt', field: 'otp' },
      { path: 'sys/generate-root/attempt', field: 'pgp_key' },
      { path: 'sys/rekey/init', field: 'pgp_keys', more: COUNTS, list: true },
    ],
    token,
  );
  const attempt = await client.call('PUT', 'sys/generate-root/attempt', {}, { token });
  const rekey = await client.call('PUT', 'sys/rekey/init', COUNTS, { token });
  assert.deepEqual([attempt.status, rekey.status], [200, 200]);
  await tryFields(
    client,
    [
      {
        path: 'sys/generate-root/update',
        field: 'key',
        more: { nonce: attempt.textAt('nonce') },
      },
      { path: 'sys/generate-root/update', field: 'nonce', more: { key: keys[0] } },
      { path: 'sys/rekey/update', field: 'key', more: { nonce: rekey.textAt('nonce') } },
      { path: 'sys/rekey/update', field: 'nonce', more: { key: keys[0] } },
      { path: 'sys/decode-token', field: 'encoded_token', more: { otp: 'a'.repeat(28) } },
      { path: 'sys/decode-token', field: 'otp', more: { encoded_token: 'a'.repeat(38) } },
      { path: 'auth/token/renew', field: 'token' },
      { path: 'auth/token/revoke-accessor', field: 'accessor' },
    ],
    token,
  );
  const share = { key: keys[0], nonce: rekey.textAt('nonce') };
  const given = await client.call('PUT', 'sys/rekey/update', share, { token });
  assert.equal(given.field('progress'), 1);
});
