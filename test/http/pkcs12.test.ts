/** Keys under a password, opened by OpenSSL. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { listRecordsAfter } from '../../src/audit/store.ts';
import { makeCsr } from '../support/leaves.ts';
import { withOpenssl } from '../support/openssl.ts';
import { startTestServer } from '../support/server.ts';
import { writeRecords } from '../support/threads.ts';

const { call, running } = await startTestServer({ after });
before(async () => {
  await call('POST', 'sys/mounts/pki', { type: 'pki' });
  await call('POST', 'pki/root/generate/internal', { common_name: 'R', key_type: 'ec' });
  const role = { key_type: 'any', allow_any_name: true, ttl: '1h' };
  await call('POST', 'pki/roles/web', role);
});

const PASSWORDS = ['correct horse', 'Grüße €', `a${'b'.repeat(200)}`, '😀 key'];
for (const key_type of ['ec', 'rsa', 'ed25519']) {
  test(`a file of PKCS #12 has the key and its certificates, for ${key_type}`, async () => {
    for (const password of key_type === 'ec' ? PASSWORDS : ['correct horse']) {
      const asked = { common_name: 'a.test', key_type, format: 'pkcs12', password };
      const answer = await call('POST', 'pki/issue/web', asked);
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.field('data.private_key'), undefined);
      assert.equal(answer.field('data.private_key_type'), key_type);
      withOpenssl(({ must, run, write, read }) => {
        write('k.p12', Buffer.from(answer.textAt('data.pkcs12'), 'base64'));
        write('pass', `${password}\n`);
        const shown = must('pkcs12', '-in', 'k.p12', '-info', '-noout', '-passin', 'file:pass');
        assert.match(shown, /MAC: sha256, Iteration 100000\b/);
        assert.match(shown, /PBES2, PBKDF2, AES-256-CBC, Iteration 100000, PRF hmacWithSHA256/);
        must('pkcs12', '-in', 'k.p12', '-nocerts', '-nodes', '-passin', 'file:pass', '-out', 'k');
        must('pkcs12', '-in', 'k.p12', '-clcerts', '-nokeys', '-passin', 'file:pass', '-out', 'c');
        must('pkcs12', '-in', 'k.p12', '-cacerts', '-nokeys', '-passin', 'file:pass', '-out', 'ca');
        assert.equal(
          must('pkey', '-in', 'k', '-pubout'),
          must('x509', '-in', 'c', '-noout', '-pubkey'),
        );
        assert.ok(Buffer.from(read('c')).toString().includes(answer.textAt('data.certificate')));
        must('verify', '-CAfile', 'ca', 'c');
        assert.notEqual(run('pkcs12', '-in', 'k.p12', '-noout', '-passin', 'pass:wrong').status, 0);
      });
    }
  });
}

test('a file of PKCS #12 needs a password, and a key that is made', async () => {
  const asked = { common_name: 'a.test', key_type: 'ec', format: 'pkcs12' };
  for (const password of [undefined, '', 'x'.repeat(1025)]) {
    const refused = await call('POST', 'pki/issue/web', { ...asked, password });
    assert.equal(refused.status, 400);
    assert.match(refused.text, /needs a password/);
  }
  const csr = makeCsr({ subject: { common_name: 'a.test' } });
  for (const path of ['sign/web', 'sign-verbatim']) {
    const refused = await call('POST', `pki/${path}`, { csr, format: 'pkcs12', password: 'x' });
    assert.equal(refused.status, 400);
    assert.match(refused.text, /path parameter must be/);
  }
});

test('the password of a file is in no record', async () => {
  const password = 'never-to-be-recorded-1';
  for (const format of ['pkcs12', 'pem', 'zip']) {
    await call('POST', 'pki/issue/web', {
      common_name: 'a.test',
      key_type: 'ec',
      format,
      password,
    });
  }
  await writeRecords(running);
  const records = await listRecordsAfter(running.app.db, { node: 'local', seq: 0, limit: 10_000 });
  assert.ok(records.length > 3);
  assert.ok(records.every(({ record }) => !record.includes(password)));
});
