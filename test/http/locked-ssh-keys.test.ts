/** Private keys of stored credentials that are opened by their passphrases. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashWithinLimit } from '../../src/access/concurrency/operations.ts';
import { recordFrom } from '../support/caller-record.ts';
import { LOCKED } from '../support/locked-ssh-key.ts';
import { startTestServer } from '../support/server.ts';

test('keys are opened in turns of their own: log-ins do not wait for them, nor they for log-ins', async (t) => {
  const { call, running } = await startTestServer(t);
  const make = async (path: string, body: object): Promise<string> => {
    const answer = await call('POST', path, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.textAt('id');
  };
  const org = await make('scopes', { scope_id: 'global' });
  const scope_id = await make('scopes', { scope_id: org });
  const store = await make('credential-stores', { scope_id, type: 'static' });
  await call('POST', 'sys/auth/userpass', { type: 'userpass' });
  // Both places of passwords are taken.
  const over = Promise.withResolvers<void>();
  const caller = { record: recordFrom('192.0.2.1'), token: undefined };
  const hashes = [1, 2].map(() => hashWithinLimit(running.app, caller, () => over.promise));
  let isSet = false;
  const waits = call('POST', 'auth/userpass/users/ann', { password: 'a right password' }).then(
    (answer) => {
      isSet = true;
      return answer;
    },
  );
  const attributes = { username: 'u', private_key: LOCKED, private_key_passphrase: 'secret' };
  await make('credentials', { credential_store_id: store, type: 'ssh_private_key', attributes });
  assert.equal(isSet, false, 'a password waits');
  over.resolve();
  await Promise.all(hashes);
  assert.equal((await waits).status, 204);
});
