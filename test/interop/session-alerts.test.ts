import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { startRefusingCarrier } from '../support/refusing-carrier.ts';

const { session, port } = await startRefusingCarrier();

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
