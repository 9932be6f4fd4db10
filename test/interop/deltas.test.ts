/** OpenSSL and GnuTLS judge delta CRLs of a real server. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type Openssl, WITH_DELTAS, withOpenssl } from '../support/openssl.ts';
import { startTestServer } from '../support/server.ts';
import { type Issued, issueOne, readCrlPem } from '../support/serving-mounts.ts';
import { findCommand } from '../support/tools.ts';

const { call } = await startTestServer({ after });

const issue = () => issueOne(call);

const revoke = (serial_number: string) => call('POST', 'pki/revoke', { serial_number });

const readPem = (path: string) => readCrlPem(call, path);

/** What a relying party says of a certificate that has the complete CRL and its delta. */
function judge(openssl: Openssl, { certificate }: Issued, ...options: string[]): string {
  openssl.write('leaf.pem', `${certificate}\n`);
  return openssl.run(
    ...['verify', '-crl_check', ...options, '-CAfile', 'ca.pem', '-CRLfile', 'crls.pem'],
    'leaf.pem',
  ).text;
}

for (const [key_type, key_bits] of [
  ['ec', 256],
  ['rsa', 2048],
  ['ed25519', 0],
] as const) {
  test(`OpenSSL finds what was revoked since the complete CRL on its delta alone: ${key_type}`, async (t) => {
    await call('POST', 'sys/mounts/pki', { type: 'pki' });
    t.after(() => call('DELETE', 'sys/mounts/pki'));
    const root = { common_name: 'R', key_type, key_bits };
    const made = await call('POST', 'pki/root/generate/internal', root);
    await call('POST', 'pki/config/urls', { delta_crl_distribution_points: 'http://a.example/d' });
    await call('POST', 'pki/config/crl', { auto_rebuild: true, enable_delta: true });
    await call('POST', 'pki/roles/any', { allow_any_name: true, key_type: 'ec', max_ttl: '1h' });
    const [early, late, never] = [await issue(), await issue(), await issue()];
    await revoke(early.serial);
    const complete = await readPem('crl');
    await revoke(late.serial);
    const delta = await readPem('crl/delta');
    withOpenssl((openssl) => {
      openssl.write('ca.pem', `${made.textAt('data.certificate')}\n`);
      openssl.write('crls.pem', complete + delta);
      const revoked = /certificate revoked/;
      assert.match(judge(openssl, early, ...WITH_DELTAS), revoked);
      assert.match(judge(openssl, late, ...WITH_DELTAS), revoked);
      assert.match(judge(openssl, never, ...WITH_DELTAS), /leaf.pem: OK/);
      openssl.write('crls.pem', complete);
      assert.match(judge(openssl, late), /leaf.pem: OK/);
      openssl.write('delta.pem', delta);
      const text = openssl.must(
        ...['crl', '-in', 'delta.pem', '-noout', '-text', '-verify', '-CAfile', 'ca.pem'],
      );
      assert.match(text, /verify OK/);
      assert.match(text, /Delta CRL Indicator: critical/);
    });
  });
}

test('GnuTLS verifies complete and delta CRLs', {
  skip: findCommand('certtool').skip,
}, async (t) => {
  await call('POST', 'sys/mounts/pki', { type: 'pki' });
  t.after(() => call('DELETE', 'sys/mounts/pki'));
  const root = { common_name: 'R', key_type: 'ec' };
  const made = await call('POST', 'pki/root/generate/internal', root);
  await call('POST', 'pki/config/crl', { auto_rebuild: true, enable_delta: true });
  await call('POST', 'pki/roles/any', { allow_any_name: true, key_type: 'ec', max_ttl: '1h' });
  await readPem('crl');
  await revoke((await issue()).serial);
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-certtool-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'ca.pem'), `${made.textAt('data.certificate')}\n`);
  for (const path of ['crl', 'crl/delta']) {
    writeFileSync(join(folder, 'crl.pem'), await readPem(path));
    const args = ['--verify-crl', '--load-ca-certificate', 'ca.pem', '--infile', 'crl.pem'];
    const { stdout, status } = spawnSync('certtool', args, { cwd: folder, encoding: 'utf8' });
    assert.equal(status, 0, stdout);
    assert.match(stdout, /Verification output: Verified/);
  }
});
