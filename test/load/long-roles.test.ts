import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });

test('a PKI role is refused what would make it longer, in the words of its fields, and is there as before', async () => {
  await call('POST', 'sys/mounts/pki', { type: 'pki' });
  const patch = (fields: object) => call('PATCH', 'pki/roles/r', fields);
  const long = Array.from({ length: 90 }, () => 'x'.repeat(8000));
  assert.equal((await call('POST', 'pki/roles/r', {})).status, 200);
  assert.equal((await patch({ ou: long })).status, 200);
  const refused = await patch({ locality: long });
  assert.equal(refused.status, 400);
  assert.match(
    refused.text,
    /the role would have \d+ bytes .* its longest fields are ou, locality"/,
  );
  assert.equal((await patch({ ou: [] })).status, 200);
  assert.equal((await patch({ locality: long })).status, 200);
  assert.equal((await call('DELETE', 'pki/roles/r')).status, 204);
});
