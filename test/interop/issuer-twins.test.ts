/** OpenSSL judges CRLs and answers of CAs with the same name, the same key, or both. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { withOpenssl } from '../support/openssl.ts';
import { startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });

interface Made {
  id: string;
  ca: string;
  leaf: string;
  serial: string;
  /** A second leaf, which nobody revokes. */
  good: string;
}

/** A: subject R, key 1. Twin: the same reissued. Other: subject R, key 2. Renamed: subject S, key 1. */
const made = new Map<string, Made>();
const NAMES = ['first', 'twin', 'other', 'renamed'];

function take(name: string): Made {
  const known = made.get(name);
  assert.ok(known);
  return known;
}

async function root(way: string, fields: object) {
  const answer = await call('POST', `pki/root/generate/${way}`, { ttl: '700h', ...fields });
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

before(async () => {
  await call('POST', 'sys/mounts/pki', { type: 'pki' });
  const first = await root('internal', { common_name: 'R', key_type: 'ec', issuer_name: 'first' });
  const key_ref = first.textAt('data.key_id');
  await root('existing', { common_name: 'R', key_ref, issuer_name: 'twin' });
  await root('internal', { common_name: 'R', key_type: 'rsa', issuer_name: 'other' });
  await root('existing', { common_name: 'S', key_ref, issuer_name: 'renamed' });
  await call('POST', 'pki/roles/any', { allow_any_name: true, key_type: 'ec', ttl: '1h' });
  for (const name of NAMES) {
    const issuer = await call('GET', `pki/issuer/${name}`);
    const issued = await call('POST', `pki/issuer/${name}/issue/any`, { common_name: 'a.test' });
    const good = await call('POST', `pki/issuer/${name}/issue/any`, { common_name: 'g.test' });
    made.set(name, {
      id: issuer.textAt('data.issuer_id'),
      ca: issuer.textAt('data.certificate'),
      leaf: issued.textAt('data.certificate'),
      serial: issued.textAt('data.serial_number'),
      good: good.textAt('data.certificate'),
    });
    await call('POST', 'pki/revoke', { serial_number: issued.textAt('data.serial_number') });
  }
});

async function readCrl(ref: string): Promise<Uint8Array> {
  const crl = await call('GET', `pki/issuer/${ref}/crl/der`);
  assert.equal(crl.status, 200, crl.text);
  return crl.bytes;
}

function serialsOf(crl: Uint8Array): string[] {
  let text = '';
  withOpenssl((openssl) => {
    openssl.write('list.der', crl);
    text = openssl.must('crl', '-in', 'list.der', '-inform', 'DER', '-noout', '-text');
  });
  return [...text.matchAll(/Serial Number: ([0-9A-F]+)/g)].map(([, serial]) => serial ?? '').sort();
}

const upper = (...names: string[]): string[] =>
  names.map((name) => take(name).serial.replaceAll(':', '').toUpperCase()).sort();

test('issuers with one subject and key have one CRL, others their own', async () => {
  assert.deepEqual(await readCrl('first'), await readCrl('twin'));
  assert.deepEqual(serialsOf(await readCrl('first')), upper('first', 'twin'));
  assert.deepEqual(serialsOf(await readCrl('other')), upper('other'));
  assert.deepEqual(serialsOf(await readCrl('renamed')), upper('renamed'));
});

test('OpenSSL finds revoked what was revoked, and nothing else, with all CRLs before it', async () => {
  const all = await Promise.all(NAMES.map(readCrl));
  for (const name of NAMES) {
    withOpenssl((openssl) => {
      const crls = all.flatMap((crl, at) => {
        openssl.write(`${at}.der`, crl);
        openssl.must('crl', '-in', `${at}.der`, '-inform', 'DER', '-out', `${at}.pem`);
        return ['-CRLfile', `${at}.pem`];
      });
      openssl.write('ca.pem', take(name).ca);
      for (const [file, pem, expected] of [
        ['leaf.pem', take(name).leaf, /certificate revoked/],
        ['good.pem', take(name).good, /good\.pem: OK/],
      ] as const) {
        openssl.write(file, `${pem}\n`);
        const { text } = openssl.run('verify', '-crl_check', '-CAfile', 'ca.pem', ...crls, file);
        assert.match(text, expected, `${name} ${text}`);
      }
    });
  }
});

/** What OpenSSL reads in the answer about a certificate, asked under an issuer. */
async function ask(issuer: string, pem: string, hash: string): Promise<string> {
  let request: Uint8Array = new Uint8Array();
  const files = (write: (name: string, content: string | Uint8Array) => void): void => {
    write('ca.pem', take(issuer).ca);
    write('leaf.pem', `${pem}\n`);
  };
  const about = [`-${hash}`, '-issuer', 'ca.pem', '-cert', 'leaf.pem', '-no_nonce'];
  withOpenssl((openssl) => {
    files(openssl.write);
    openssl.must('ocsp', ...about, '-reqout', 'request.der');
    request = openssl.read('request.der');
  });
  const answer = await call('POST', 'pki/ocsp', request, {
    token: '',
    headers: { 'content-type': 'application/ocsp-request' },
  });
  let said = '';
  withOpenssl((openssl) => {
    files(openssl.write);
    openssl.write('answer.der', answer.bytes);
    said = openssl.run('ocsp', ...about, '-respin', 'answer.der', '-CAfile', 'ca.pem').text;
  });
  return said;
}

const ASKED: [issuer: string, of: string, verdict: RegExp, why: string][] = [
  ['first', 'first', /leaf\.pem: revoked[\s\S]*Response verify OK/, 'its own'],
  ['twin', 'first', /leaf\.pem: revoked[\s\S]*Response verify OK/, 'what its twin issued'],
  ['first', 'twin', /leaf\.pem: revoked[\s\S]*Response verify OK/, 'the other way round'],
  ['other', 'other', /leaf\.pem: revoked[\s\S]*Response verify OK/, 'its own, of another key'],
  ['renamed', 'renamed', /leaf\.pem: revoked[\s\S]*Response verify OK/, 'its own, of another name'],
  ['other', 'first', /leaf\.pem: unknown/, 'that of an issuer with another key'],
];
for (const [issuer, of, verdict, why] of ASKED) {
  test(`OCSP about a revoked certificate, asked under ${issuer}: ${why}`, async () => {
    for (const hash of ['sha1', 'sha256', 'sha384', 'sha512']) {
      assert.match(await ask(issuer, take(of).leaf, hash), verdict, hash);
    }
  });
}

test('OCSP about a good certificate is good under its issuer and its twin', async () => {
  for (const issuer of ['first', 'twin']) {
    const said = await ask(issuer, take('first').good, 'sha256');
    assert.match(said, /leaf\.pem: good[\s\S]*Response verify OK/);
  }
});

test('another mount knows nothing of a CA with the same name', async () => {
  await call('POST', 'sys/mounts/pki2', { type: 'pki' });
  await call('POST', 'pki2/root/generate/internal', { common_name: 'R', key_type: 'ec' });
  const crl = await call('GET', 'pki2/crl');
  assert.deepEqual(serialsOf(crl.bytes), []);
});

test('what a removed issuer revoked stays with its twin, and goes to nobody else', async () => {
  // The default takes what has no issuer, and is neither of the two.
  await call('POST', 'pki/config/issuers', { default: 'other' });
  const late = await call('POST', 'pki/issuer/first/issue/any', { common_name: 'late.test' });
  assert.equal((await call('DELETE', 'pki/issuer/first')).status, 200);
  assert.deepEqual(serialsOf(await readCrl('twin')), upper('first', 'twin'));
  assert.deepEqual(serialsOf(await readCrl('other')), upper('other'));
  assert.match(await ask('twin', take('first').leaf, 'sha256'), /leaf\.pem: revoked/);
  assert.match(await ask('other', take('first').leaf, 'sha256'), /leaf\.pem: unknown/);

  // What it issued can be revoked still, and is on the same list.
  const serial_number = late.textAt('data.serial_number');
  await call('POST', 'pki/revoke', { serial_number });
  const expected = [...upper('first', 'twin'), serial_number.replaceAll(':', '').toUpperCase()];
  assert.deepEqual(serialsOf(await readCrl('twin')), expected.sort());
  assert.deepEqual(serialsOf(await readCrl('other')), upper('other'));
});

test('when the last of them is gone the default takes it over, until there is one again', async () => {
  const { id } = take('twin');
  const key_ref = (await call('GET', `pki/issuer/${id}`)).textAt('data.key_id');
  const count = serialsOf(await readCrl('twin')).length;
  await call('DELETE', `pki/issuer/${id}`);
  assert.equal(serialsOf(await readCrl('other')).length, count + 1);
  await root('existing', { common_name: 'R', key_ref, issuer_name: 'again' });
  assert.equal(serialsOf(await readCrl('again')).length, count);
  assert.deepEqual(serialsOf(await readCrl('other')), upper('other'));
});
