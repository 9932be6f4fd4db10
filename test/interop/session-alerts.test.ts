import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, test } from 'node:test';
import { Failure } from '../../src/core/failure.ts';
import { Carrier } from '../../src/worker/carrying/carrier.ts';
import type { SessionGrant, Upstream } from '../../src/worker/upstream.ts';
import { makeSessionSecrets } from '../support/session-client.ts';

const session = makeSessionSecrets();
const grant: SessionGrant = {
  ...session,
  tofu_token: '',
  version: 1,
  status: 'pending',
  expires_ms: Date.now() + 600_000,
  connection_limit: -1,
  recording_id: '',
  injects: false,
  dials: true,
  endpoint: 'tcp://127.0.0.1:1',
};
const refuse = () => Promise.reject(new Failure('forbidden', 'no'));
const upstream: Upstream = {
  lookUp: async () => grant,
  activate: refuse,
  cancel: refuse,
  authorize: refuse,
  reach: refuse,
  connect: refuse,
  logIn: refuse,
  close: refuse,
  record: refuse,
};

const carrier = new Carrier(upstream);
after(() => carrier.close());
const { port } = await carrier.listen({ host: '127.0.0.1', port: 0 });

/** What OpenSSL's client says of a handshake without a certificate. */
function shakeHands(): Promise<string> {
  const args = ['-connect', `127.0.0.1:${port}`, '-servername', session.session_id];
  return new Promise((resolve) => {
    execFile(
      'openssl',
      ['s_client', ...args, '-tls1_3', '-alpn', 'http/1.1', '-quiet', '-ign_eof'],
      (_error, _out, err) => resolve(err),
    );
  });
}

test('a client in another process that has no certificate hears so, a hundred times out of a hundred', async () => {
  for (let nth = 0; nth < 100; nth++) {
    assert.match(await shakeHands(), /alert certificate required.*alert number 116/, `${nth}`);
  }
});
