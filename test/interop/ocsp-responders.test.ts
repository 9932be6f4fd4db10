/** Answers of OCSP, asked and verified by OpenSSL, by every kind of authority and of responder. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { startTestServer } from '../support/server.ts';

const { call, url } = await startTestServer({ after });
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-ocsp-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Runs beside the server, which answers from this process. */
function ask(...args: string[]): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const child = spawn('openssl', ['ocsp', '-sha256', ...args], { cwd: folder });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (piece: Buffer) => {
      text += piece.toString('utf8');
    });
  }
  child.on('error', reject).on('close', () => resolve(text));
  return promise;
}

const AUTHORITIES: [name: string, root: object, issuer?: object][] = [
  ['rsa', { key_type: 'rsa' }],
  ['rsa-pss', { key_type: 'rsa' }, { revocation_signature_algorithm: 'SHA256WithRSAPSS' }],
  ['p256', { key_type: 'ec' }],
  ['p384', { key_type: 'ec', key_bits: 384 }],
  ['ed25519', { key_type: 'ed25519' }],
];
for (const [name, root, issuer] of AUTHORITIES) {
  for (const ocsp_delegated_responder of [false, true]) {
    const who = ocsp_delegated_responder ? 'its responder' : 'the issuer';
    test(`OpenSSL takes what ${who} answers of an authority ${name}`, async () => {
      const mount = `${name}-${ocsp_delegated_responder}`;
      await call('POST', `sys/mounts/${mount}`, { type: 'pki' });
      const made = await call('POST', `${mount}/root/generate/internal`, {
        common_name: mount,
        ...root,
      });
      if (issuer) await call('PATCH', `${mount}/issuer/default`, issuer);
      await call('POST', `${mount}/config/crl`, {
        ocsp_delegated_responder,
        ocsp_unissued_status: 'unknown',
      });
      await call('POST', `${mount}/roles/any`, {
        allow_any_name: true,
        key_type: 'ec',
        ttl: '1h',
      });
      const ca = join(folder, `${mount}.pem`);
      writeFileSync(ca, made.textAt('data.certificate'));
      const askAbout = (serial: string): Promise<string> =>
        ask(
          ...['-issuer', ca, '-serial', `0x${serial.replaceAll(':', '')}`],
          ...['-url', `${url}/v1/${mount}/ocsp`, '-CAfile', ca],
        );
      const issued = await call('POST', `${mount}/issue/any`, { common_name: 'a.example' });
      const serial_number = issued.textAt('data.serial_number');
      const good = await askAbout(serial_number);
      assert.match(good, /Response verify OK/);
      assert.match(good, /: good/);
      await call('POST', `${mount}/revoke`, { serial_number });
      const revoked = await askAbout(serial_number);
      assert.match(revoked, /Response verify OK/);
      assert.match(revoked, /: revoked/);
      const unknown = await askAbout('01:02:03');
      assert.match(unknown, /Response verify OK/);
      assert.match(unknown, /: unknown/);
    });
  }
}
