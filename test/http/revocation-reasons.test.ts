/** Why certificates are revoked, and what follows from it, asked of a server. */

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { after, before, test } from 'node:test';
import { parsePem } from '../../src/core/pem.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { parseCrl } from '../support/crl.ts';
import { makeCsr } from '../support/leaves.ts';
import { encodeOcspRequest } from '../support/ocsp-request.ts';
import { withOpenssl } from '../support/openssl.ts';
import { type Reply, startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });
const must = async (reply: Promise<Reply>): Promise<Reply> => {
  const done = await reply;
  assert.ok(done.status < 300, done.text);
  return done;
};
before(async () => {
  for (const mount of ['pki', 'other']) {
    await must(call('POST', `sys/mounts/${mount}`, { type: 'pki' }));
    const root = { common_name: 'R', key_type: 'ec', issuer_name: 'root' };
    await must(call('POST', `${mount}/root/generate/internal`, root));
    const role = { key_type: 'any', allow_any_name: true, ttl: '1h' };
    await must(call('POST', `${mount}/roles/web`, role));
  }
});

const csr = makeCsr({ subject: { common_name: 'a.test' } });
const newSerial = async (body: object = {}): Promise<string> => {
  const asked = { common_name: 'a.test', key_type: 'ec', ...body };
  return (await must(call('POST', 'pki/issue/web', asked))).textAt('data.serial_number');
};
const revoke = (body: object) => call('POST', 'pki/revoke', body);

async function reasonOnCrl(serial: string): Promise<number | undefined> {
  const crl = parseCrl((await must(call('GET', 'pki/crl'))).bytes);
  for (const { serialNumber, reason } of crl.entries()) {
    if (Buffer.from(serialNumber).toString('hex') === serial.replaceAll(':', '')) return reason;
  }
  return assert.fail('it is not on the list');
}

test('the reason of a revocation is kept, and left out where it is unspecified', async () => {
  for (const [reason, code] of [
    ['superseded', 4],
    [5, 5],
    ['KeyCompromise', 1],
    ['unspecified', undefined],
    [undefined, undefined],
  ] as const) {
    const serial_number = await newSerial();
    await must(revoke({ serial_number, reason }));
    assert.equal(await reasonOnCrl(serial_number), code, String(reason));
  }
});

test('a reason that is none, or takes from the list, revokes nothing', async () => {
  const serial_number = await newSerial();
  for (const [reason, says] of [
    ['lost', /is none of RFC 5280/],
    [7, /is none of RFC 5280/],
    ['removeFromCRL', /no reason to revoke/],
  ] as const) {
    const refused = await revoke({ serial_number, reason });
    assert.equal(refused.status, 400);
    assert.match(refused.text, says);
  }
  const read = await must(call('GET', `pki/cert/${serial_number}`));
  assert.equal(read.field('data.revocation_time'), 0);
});

test('the reason stays with the first revocation', async () => {
  const serial_number = await newSerial();
  await must(revoke({ serial_number, reason: 'superseded' }));
  await must(revoke({ serial_number, reason: 'affiliationChanged' }));
  assert.equal(await reasonOnCrl(serial_number), 4);
});

test('OCSP answers tell the reason, but where it is unspecified', async () => {
  const pem = (await must(call('GET', 'pki/ca/pem'))).text;
  const [root] = parsePem(pem);
  assert.ok(root);
  const { subject: issuer, subjectPublicKeyInfo } = parseCertificate(root.der);
  for (const [reason, says] of [
    ['superseded', /Revocation Reason: superseded \(0x4\)/],
    ['unspecified', undefined],
  ] as const) {
    const serial_number = await newSerial();
    await must(revoke({ serial_number, reason }));
    const serialNumber = new Uint8Array(Buffer.from(serial_number.replaceAll(':', ''), 'hex'));
    const asked = encodeOcspRequest({ issuer, subjectPublicKeyInfo, serialNumber, hash: 'sha1' });
    const answer = await must(call('POST', 'pki/ocsp', asked, { token: '' }));
    withOpenssl(({ must: mustRun, write }) => {
      write('r', answer.bytes);
      const text = mustRun('ocsp', '-respin', 'r', '-noverify', '-resp_text');
      assert.match(text, /Cert Status: revoked/);
      if (says) assert.match(text, says);
      else assert.doesNotMatch(text, /Revocation Reason/);
    });
  }
});

test('whoever has the key may say why', async () => {
  const asked = { common_name: 'a.test', key_type: 'ec' };
  const made = await must(call('POST', 'pki/issue/web', asked));
  const serial_number = made.textAt('data.serial_number');
  const private_key = made.textAt('data.private_key');
  const proof = { serial_number, private_key, reason: 'cessationOfOperation' };
  await must(call('POST', 'pki/revoke-with-key', proof));
  assert.equal(await reasonOnCrl(serial_number), 5);
});

const PATHS = [
  'sign/web',
  'sign-verbatim',
  'sign-verbatim/web',
  'issuer/root/sign/web',
  'root/sign-intermediate',
];
test('after keyCompromise the key is certified on no path of its mount', async () => {
  for (const reasons of [['keyCompromise'], ['cACompromise'], ['superseded', 'keyCompromise']]) {
    const request = makeCsr({ subject: { common_name: 'a.test' } });
    const asked = { csr: request, common_name: 'a.test' };
    const made = await must(call('POST', 'pki/sign/web', { csr: request }));
    const serial_number = made.textAt('data.serial_number');
    for (const path of PATHS) await must(call('POST', `pki/${path}`, asked));
    for (const reason of reasons) await must(revoke({ serial_number, reason }));
    for (const path of PATHS) {
      const refused = await call('POST', `pki/${path}`, asked);
      assert.equal(refused.status, 400, path);
      assert.match(refused.text, /refusing to certify a blocked key/);
    }
    await must(call('POST', 'pki/sign/web', { csr }));
    await must(call('POST', 'other/sign/web', { csr: request }));
  }
});

test('after keyCompromise a key of the mount is in no new root either', async () => {
  const brought = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const pem_bundle = String(brought.export({ type: 'pkcs8', format: 'pem' }));
  const imported = await must(call('POST', 'pki/keys/import', { pem_bundle }));
  const asked = { common_name: 'R2', key_ref: imported.textAt('data.key_id') };
  const root = await must(call('POST', 'pki/root/generate/existing', asked));
  const request = await must(call('POST', 'pki/intermediate/generate/existing', asked));
  const made = await must(
    call('POST', 'pki/sign-verbatim', { csr: request.textAt('data.csr'), ttl: '1h' }),
  );
  const serial_number = made.textAt('data.serial_number');
  await must(revoke({ serial_number, reason: 'keyCompromise' }));
  for (const path of ['root/generate', 'issuers/generate/root', 'root/rotate']) {
    const refused = await call('POST', `pki/${path}/existing`, asked);
    assert.equal(refused.status, 400, path);
    assert.match(refused.text, /refusing to certify a blocked key/);
  }
  const certificate = root.textAt('data.certificate');
  const refused = await call('POST', 'pki/root/sign-self-issued', { certificate });
  assert.match(refused.text, /refusing to certify a blocked key/);
});

test('after another reason the key is certified as before', async () => {
  const request = makeCsr({ subject: { common_name: 'a.test' } });
  for (const reason of ['superseded', 'aACompromise']) {
    const made = await must(call('POST', 'pki/sign/web', { csr: request }));
    await must(revoke({ serial_number: made.textAt('data.serial_number'), reason }));
  }
  await must(call('POST', 'pki/sign/web', { csr: request }));
});
