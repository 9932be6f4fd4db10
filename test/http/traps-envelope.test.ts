/** How a client may ask, and how every answer is encoded. */

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { startTestServer } from '../support/server.ts';

const { call, url } = await startTestServer({ after });
before(async () => {
  await call('POST', 'sys/mounts/ca', { type: 'pki', config: { max_lease_ttl: '87600h' } });
  await call('POST', 'ca/root/generate/internal', { common_name: 'R', key_type: 'ec' });
});

/** Sends a request as it is written, for what fetch would not send. */
async function sendRaw(head: string, body = ''): Promise<{ status: number; body: string }> {
  const { hostname, port } = new URL(url);
  const text = await new Promise<string>((resolve, reject) => {
    let received = '';
    const socket = connect(Number(port), hostname, () => {
      const length = body === '' ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`;
      socket.write(
        `${head}\r\nHost: localhost\r\nX-Vault-Token: root\r\n${length}Connection: close\r\n\r\n${body}`,
      );
    });
    socket.setEncoding('utf8');
    socket.on('data', (part: string) => {
      received += part;
    });
    socket.on('end', () => resolve(received));
    socket.on('error', reject);
  });
  const [headers = '', ...rest] = text.split('\r\n\r\n');
  return { status: Number(headers.split(' ')[1]), body: rest.join('\r\n\r\n') };
}

const withoutId = (text: string): string => text.replace(/"request_id":"[^"]*"/, '');

test('the verb LIST, list=true in its spellings and a slash at the end give one answer', async () => {
  const verb = await sendRaw('LIST /v1/ca/certs HTTP/1.1');
  assert.equal(verb.status, 200);
  assert.match(verb.body, /"keys":\["/);
  for (const path of ['certs?list=true', 'certs/?list=1', 'certs?list=T', 'certs?list=TRUE']) {
    const answer = await call('GET', `ca/${path}`);
    assert.equal(withoutId(answer.text), withoutId(verb.body), path);
  }
  const slash = await sendRaw('LIST /v1/ca/certs/ HTTP/1.1');
  assert.equal(withoutId(slash.body), withoutId(verb.body));
  const read = await call('GET', 'ca/certs?list=false');
  assert.equal(read.status, 405, 'list=false is a read');
});

test('a name in the body of a role is no mistake, the path counts and the role is saved', async () => {
  const answer = await call('POST', 'ca/roles/e6', { name: 'e6', ttl: '1h' });
  assert.equal(answer.status, 200, answer.text);
  assert.match(
    answer.textAt('warnings'),
    /Endpoint replaced the value of these parameters with the values captured from the endpoint's path: \[name\]/,
  );
  assert.equal((await call('GET', 'ca/roles/e6')).field('data.ttl'), 3600);
});

test('a PATCH is a merge patch, and says so in its content type', async () => {
  await call('POST', 'ca/roles/e8', {});
  const wrong = await call(
    'PATCH',
    'ca/roles/e8',
    { ttl: '2h' },
    {
      headers: { 'content-type': 'application/json' },
    },
  );
  assert.equal(wrong.status, 415, wrong.text);
  assert.equal((await call('GET', 'ca/roles/e8')).field('data.ttl'), 0);
  const right = await call(
    'PATCH',
    'ca/roles/e8',
    { ttl: '2h' },
    {
      headers: { 'content-type': 'application/merge-patch+json; charset=utf-8' },
    },
  );
  assert.equal(right.field('data.ttl'), 7200, right.text);
});

test('PUT is POST, for every kind of write', async () => {
  const writes: [path: string, body: unknown, status: number][] = [
    ['sys/mounts/e9', { type: 'pki' }, 204],
    ['sys/policies/acl/e9', { policy: 'path "x" { capabilities = ["read"] }' }, 204],
    ['e9/root/generate/internal', { common_name: 'R', key_type: 'ec' }, 200],
    ['e9/roles/x', { allow_any_name: true, key_type: 'ec', ttl: '1h' }, 200],
    ['e9/issue/x', { common_name: 'a.test' }, 200],
    ['e9/config/urls', { ocsp_servers: 'http://o.test' }, 200],
    ['auth/token/create', {}, 200],
  ];
  for (const [path, body, status] of writes) {
    const answer = await call('PUT', path, body);
    assert.equal(answer.status, status, `${path}: ${answer.text}`);
  }
});

test('a body is JSON whatever its content type says, except a form that looks like one', async () => {
  const bodies: [why: string, type: string, body: string, status: number, ttl?: number][] = [
    ['a form called JSON', 'application/json', 'ttl=1h', 400],
    ['JSON called a form', 'application/x-www-form-urlencoded', '{"ttl":"2h"}', 200, 7200],
    ['a form', 'application/x-www-form-urlencoded', 'ttl=3h', 200, 10_800],
    ['JSON called text', 'text/plain', '{"ttl":"4h"}', 200, 14_400],
    ['no object', 'application/json', '["ttl"]', 400],
    ['no body', 'application/json', '', 200, 0],
    ['null, as command lines send for nothing', 'application/json', 'null\n', 200, 0],
    ['null and more', 'application/json', 'null,{}', 400],
  ];
  for (const [why, type, body, status, ttl] of bodies) {
    const answer = await call('POST', 'ca/roles/e10', new TextEncoder().encode(body), {
      headers: { 'content-type': type },
    });
    assert.equal(answer.status, status, `${why}: ${answer.text}`);
    if (ttl !== undefined) assert.equal(answer.field('data.ttl'), ttl, why);
  }
});

test('a value of another type is refused by the name of its field', async () => {
  const answer = await call('POST', 'ca/roles/e12', { allow_any_name: 'maybe' });
  assert.equal(answer.status, 400);
  assert.match(answer.text, /allow_any_name/);
  assert.equal((await call('GET', 'ca/roles/e12')).status, 404);
});

test('a list is an array, a text with commas, or a text that holds an array', async () => {
  for (const allowed_domains of ['a.com, b.com', ['a.com', 'b.com'], '["a.com","b.com"]']) {
    const answer = await call('POST', 'ca/roles/e13', { allowed_domains });
    assert.deepEqual(answer.field('data.allowed_domains'), ['a.com', 'b.com']);
  }
});

test('a verb that a path does not have is not the absence of the path', async () => {
  const verb = await call('DELETE', 'ca/revoke');
  assert.equal(verb.status, 405, verb.text);
  assert.match(verb.text, /unsupported operation/);
  const path = await call('DELETE', 'ca/revoked');
  assert.equal(path.status, 404);
});

test('a revoked token opens nothing, and what is public stays open with it', async () => {
  const made = await call('POST', 'auth/token/create', { policies: ['root'] });
  const token = made.textAt('auth.client_token');
  assert.equal((await call('GET', 'ca/issuer/default', undefined, { token })).status, 200);
  await call('POST', 'auth/token/revoke', { token });
  const gone = await call('GET', 'ca/issuer/default', undefined, { token });
  assert.equal(gone.status, 403);
  assert.match(gone.text, /permission denied/);
  const open = await call('GET', 'ca/issuer/default/pem', undefined, { token });
  assert.equal(open.status, 200);
});

test('every answer forbids to be kept, and names its type', async () => {
  for (const [path, type] of [
    ['ca/roles/none', 'application/json'],
    ['ca/issuer/default', 'application/json'],
    ['ca/ca', 'application/pkix-cert'],
    ['ca/ca/pem', 'application/pem-certificate-chain'],
    ['ca/crl/pem', 'application/x-pem-file'],
    ['ca/issuer/default/der', 'application/pkix-cert'],
    ['ca/issuer/default/crl/der', 'application/pkix-crl'],
  ] as const) {
    const answer = await call('GET', path);
    assert.equal(answer.headers.get('cache-control'), 'no-store', path);
    assert.equal(answer.headers.get('content-type'), type, path);
    assert.equal(
      answer.headers.get('strict-transport-security'),
      'max-age=31536000; includeSubDomains',
      path,
    );
  }
});

test('an answer has the members of its envelope, in their order', async () => {
  const answer = await call('GET', 'ca/config/issuers');
  assert.deepEqual(Object.keys(JSON.parse(answer.text)), [
    'request_id',
    'lease_id',
    'renewable',
    'lease_duration',
    'data',
    'wrap_info',
    'warnings',
    'auth',
    'mount_type',
  ]);
  assert.match(answer.textAt('request_id'), /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  for (const nothing of ['wrap_info', 'warnings', 'auth']) {
    assert.equal(answer.field(nothing), null, nothing);
  }
  assert.equal(answer.field('mount_type'), 'pki');
  assert.ok(answer.text.endsWith('}\n'));
  const refused = await call('POST', 'ca/roles/e20', { key_type: 'dsa' });
  assert.deepEqual(Object.keys(JSON.parse(refused.text)), ['errors']);
});
