import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { csrOf, keyOf, newPrime } from '../support/rsa-numbers.ts';
import { startTestServer } from '../support/server.ts';

/** Ends of certificates beyond the maximum TTL: granted with a word, or refused where the role says so. */

const { call } = await startTestServer({ after });
const inHours = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString();
const csr = csrOf(keyOf([newPrime(1024), newPrime(1024)]), 'a.test');

const PATHS: [path: (role: string) => string, body: object][] = [
  [(role) => `pki/issue/${role}`, { common_name: 'a.test', key_type: 'ec' }],
  [(role) => `pki/sign/${role}`, { csr }],
  [(role) => `pki/issuer/default/issue/${role}`, { common_name: 'a.test', key_type: 'ec' }],
  [(role) => `pki/issuer/default/sign/${role}`, { csr }],
];

before(async () => {
  await call('POST', 'sys/mounts/pki', { type: 'pki', config: { max_lease_ttl: '1000h' } });
  await call('POST', 'pki/root/generate/internal', {
    common_name: 'R',
    key_type: 'ec',
    ttl: '1000h',
  });
  const role = { allow_any_name: true, key_type: 'any', ttl: '1h', max_ttl: '2h' };
  for (const not_after_bound of ['permit', 'ttl-limited', 'forbid', '2020-01-01T00:00:00Z']) {
    const name = not_after_bound.slice(0, 3);
    const written = await call('POST', `pki/roles/${name}`, { ...role, not_after_bound });
    assert.equal(written.textAt('data.not_after_bound'), not_after_bound);
  }
});

test('a not_after beyond max_ttl is granted with a warning on every path, one within without', async () => {
  for (const [path, body] of PATHS) {
    const beyond = await call('POST', path('per'), {
      ...body,
      not_after: inHours(3),
    });
    assert.equal(beyond.status, 200, beyond.text);
    assert.match(
      JSON.stringify(beyond.field('warnings')),
      /longer than permitted maxTTL \\"2h0m0s\\"/,
    );
    const within = await call('POST', path('per'), {
      ...body,
      not_after: inHours(1),
    });
    assert.equal(within.field('warnings'), null);
  }
});

test('not_after_bound refuses on every path what it names, and nothing else', async () => {
  for (const [path, body] of PATHS) {
    for (const [role, wanted, status] of [
      ['ttl', { not_after: inHours(1.5) }, 400],
      ['ttl', { not_after: inHours(0.5) }, 200],
      ['for', { not_after: inHours(0.5) }, 400],
      ['for', { ttl: '30m' }, 200],
      ['202', { ttl: '30m' }, 400],
    ] as const) {
      const answer = await call('POST', path(role), { ...body, ...wanted });
      assert.equal(answer.status, status, `${path(role)} ${answer.text}`);
      if (status === 400) assert.match(answer.text, /not_after_bound is set to/);
    }
  }
});

test('a bound that is none is refused, and a role without one permits', async () => {
  const refused = await call('POST', 'pki/roles/x', { not_after_bound: 'ttl' });
  assert.equal(refused.status, 400);
  assert.match(refused.text, /not_after_bound .* is none of/);
  const empty = await call('POST', 'pki/roles/x', { not_after_bound: '' });
  assert.equal(empty.textAt('data.not_after_bound'), 'permit');
  const patched = await call('PATCH', 'pki/roles/x', { not_after_bound: 'forbid' });
  assert.equal(patched.textAt('data.not_after_bound'), 'forbid');
});

test('a root beyond the maximum of its mount is made with a warning', async () => {
  const root = { common_name: 'R2', key_type: 'ec', not_after: inHours(1001) };
  const answer = await call('POST', 'pki/root/generate/internal', root);
  assert.match(
    JSON.stringify(answer.field('warnings')),
    /longer than permitted maxTTL \\"1000h0m0s\\"/,
  );
});
