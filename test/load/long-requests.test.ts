import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestServer } from '../support/server.ts';

/** What one request may hold, and that the work on it stays within bounds. */

const { call } = await startTestServer({ after });

before(async () => {
  await call('POST', 'sys/mounts/pki', { type: 'pki' });
  await call('POST', 'pki/root/generate/internal', { common_name: 'R', key_type: 'ec' });
  await call('POST', 'pki/roles/any', { allow_any_name: true, key_type: 'ec', ttl: '1h' });
});

test('a body of more than 1 MiB is not read, one of just as much is', async () => {
  const bytes = (length: number) => {
    const rest = JSON.stringify({ common_name: 'a.test', alt_names: '' }).length;
    return { common_name: 'a.test', alt_names: 'a'.repeat(length - rest) };
  };
  assert.equal((await call('POST', 'pki/issue/any', bytes((1 << 20) + 1))).status, 413);
  assert.equal((await call('POST', 'pki/issue/any', bytes(1 << 20))).status, 400);
});

test('names and lists are refused by their length', async () => {
  for (const body of [
    { common_name: 'a.'.repeat(500_000) },
    { alt_names: 'a.'.repeat(500_000) },
    { alt_names: ','.repeat(1_000_000) },
    { ip_sans: 'a'.repeat(1_000_000) },
    { uri_sans: ','.repeat(1_000_000) },
    { other_sans: `1.2.3.4;UTF8:${'a'.repeat(1_000_000)}` },
    { user_ids: 'a,'.repeat(450_000) },
    { serial_number: '1'.repeat(1_000_000) },
  ]) {
    const answer = await call('POST', 'pki/issue/any', { common_name: 'a.test', ...body });
    assert.equal(answer.status, 400, Object.keys(body).join());
    assert.ok(answer.text.length < 2000);
  }
  for (const field of ['key_usage', 'policy_identifiers', 'allowed_domains']) {
    const role = await call('POST', 'pki/roles/b', { [field]: 'a,'.repeat(450_000) });
    assert.equal(role.status, 400, field);
    assert.match(role.text, /at most/);
  }
});

test('a CA whose certificate nobody could read is not made', async () => {
  const organization = Array.from({ length: 60 }, (_, i) => `${i}${'a'.repeat(8000)}`);
  const fields = { common_name: 'R2', key_type: 'ec', organization };
  const made = await call('POST', 'pki/root/generate/internal', fields);
  assert.equal(made.status, 400);
  assert.match(made.text, /bytes, at most \d+ are accepted/);
  assert.equal((await call('POST', 'pki/issue/any', { common_name: 'a.test' })).status, 200);
});
