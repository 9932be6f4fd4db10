import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../support/server.ts';

test('requests are counted by route and status, certificates by mount', async (t) => {
  const { call } = await startTestServer(t);
  await call('POST', 'demo/root/generate/internal', { common_name: 'R', key_type: 'ec' });
  await call('POST', 'demo/roles/web', { allow_any_name: true, key_type: 'ec', ttl: '1h' });
  await call('POST', 'demo/issue/web', { common_name: 'a.test' });
  await call('POST', 'demo/issue/web', { common_name: 'b.test' });
  await call('POST', 'demo/issue/none', { common_name: 'c.test' });
  await call('GET', 'demo/ca/pem', undefined, { token: '' });
  await call('GET', 'nothing/here');

  const text = (await call('GET', 'sys/metrics?format=prometheus')).text;
  const value = (name: string): string | undefined =>
    text
      .split('\n')
      .find((line) => line.startsWith(`gatehouse_${name} `))
      ?.split(' ')[1];
  assert.equal(value('http_requests_total{route="pki-issue-with-role",status="200"}'), '2');
  assert.equal(value('http_requests_total{route="pki-issue-with-role",status="400"}'), '1');
  assert.equal(value('http_requests_total{route="none",status="404"}'), '1');
  assert.equal(
    value('http_request_duration_seconds_bucket{route="pki-issue-with-role",le="+Inf"}'),
    '3',
  );
  assert.equal(value('public_reads_total{route="pki-read-ca-pem"}'), '1');
  assert.equal(value('certificates_stored{mount="demo/"}'), '3');
  assert.equal(value('store_alive'), '1');

  const json = await call('GET', 'sys/metrics');
  assert.equal(json.headers.get('content-type'), 'application/json');
  assert.match(json.textAt('Timestamp'), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000 UTC$/);
  for (const list of ['Gauges', 'Points', 'Counters', 'Samples']) {
    assert.ok(Array.isArray(json.field(list)), list);
  }
  assert.equal((await call('GET', 'sys/metrics?format=xml')).status, 400);
});

test('metrics need a token that may read them, unless the server tells everybody', async (t) => {
  const { call } = await startTestServer(t);
  await call('PUT', 'sys/policies/acl/watch', {
    policy: 'path "sys/metrics" { capabilities = ["read"] }',
  });
  const tokenOf = async (policies: string[]): Promise<string> =>
    (await call('POST', 'auth/token/create', { policies })).textAt('auth.client_token');
  const read = async (token: string): Promise<number> =>
    (await call('GET', 'sys/metrics', undefined, { token })).status;
  assert.equal(await read(await tokenOf(['watch'])), 200);
  assert.equal(await read(await tokenOf(['default'])), 403);
  assert.equal(await read(''), 403);
  assert.equal(await read('nobody'), 403);
});

test('a server that is set to do so tells everybody', async (t) => {
  const telemetry = { unauthenticated_metrics_access: true };
  const { call } = await startTestServer(t, { config: { telemetry } });
  assert.equal((await call('GET', 'sys/metrics', undefined, { token: '' })).status, 200);
});

test('where no file can be opened any more, what is learnt from none is still told', async (t) => {
  const { call } = await startTestServer(t);
  const read = async (): Promise<string> =>
    (await call('GET', 'sys/metrics?format=prometheus')).text;
  assert.match(await read(), /^gatehouse_memory_resident_bytes \d+$/m);
  t.mock.method(process.memoryUsage, 'rss', () => {
    throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
  });
  const text = await read();
  assert.doesNotMatch(text, /^gatehouse_memory_resident_bytes/m);
  assert.match(text, /^gatehouse_memory_heap_used_bytes [1-9]\d*$/m);
});
