/** Extensions by role, as OpenSSL reads them. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { makeCsr } from '../support/leaves.ts';
import { withOpenssl } from '../support/openssl.ts';
import { type Reply, startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });
const FREE = '1.3.6.1.4.1.99999.1';
const SID = 'S-1-5-21-1-2-3-1000';
before(async () => {
  await call('POST', 'sys/mounts/pki', { type: 'pki' });
  await call('POST', 'pki/root/generate/internal', { common_name: 'R', key_type: 'ec' });
  const role = { key_type: 'ec', allow_any_name: true, ttl: '1h' };
  const free = { must_staple: true, allowed_sids: 'S-1-5-21-1-2-3-*', allowed_extensions: FREE };
  await call('POST', 'pki/roles/free', { ...role, ...free });
  await call('POST', 'pki/roles/plain', role);
});

function textOf(answer: Reply): string {
  assert.equal(answer.status, 200, answer.text);
  let text = '';
  withOpenssl(({ must, write }) => {
    write('c.pem', answer.textAt('data.certificate'));
    text = must('x509', '-in', 'c.pem', '-noout', '-text');
    must('asn1parse', '-in', 'c.pem');
  });
  return text;
}

const csr = makeCsr({ subject: { common_name: 'a.test' } });
const ways: [path: string, body: object][] = [
  ['issue', { common_name: 'a.test' }],
  ['sign', { csr }],
];

test('a role has its extensions in certificates, and those that it lets requests fill in', async () => {
  for (const [path, body] of ways) {
    const asked = { ...body, sid: SID, extensions: [`${FREE};UTF8:hello, dear`] };
    const text = textOf(await call('POST', `pki/${path}/free`, asked));
    assert.match(text, /TLS Feature:\s*\n\s*status_request/);
    assert.match(text, new RegExp(SID));
    assert.match(text, /1\.3\.6\.1\.4\.1\.99999\.1:\s*\n.*hello, dear/);
    const plain = textOf(await call('POST', `pki/${path}/plain`, body));
    assert.doesNotMatch(plain, /TLS Feature|99999|S-1-5/);
  }
});

test('what a role does not let in is refused, and an extension with fields of its own is let in by none', async () => {
  for (const [path, body] of ways) {
    for (const asked of [{ sid: SID }, { extensions: [`${FREE};UTF8:a`] }]) {
      const refused = await call('POST', `pki/${path}/plain`, { ...body, ...asked });
      assert.equal(refused.status, 400);
      assert.match(refused.text, /not allowed by this role/);
    }
  }
  for (const allowed_extensions of [
    '2.5.29.17',
    '1.3.6.1.5.5.7.1.1',
    '1.3.6.1.4.1.311.25.2',
    'x',
  ]) {
    const refused = await call('POST', 'pki/roles/x', { allowed_extensions });
    assert.equal(refused.status, 400, allowed_extensions);
  }
});
