/** The service of the guide, as it stands there, and OpenSSL as the judge. */

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });
const PORT = 18_443 + (process.pid % 1_000);

function blockOf(language: string): string {
  const guide = readFileSync('docs/guides/external-policy.md', 'utf8');
  return new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(guide)?.[1] ?? '';
}

function isOpen(): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(PORT, '127.0.0.1', () => resolve(true));
    socket.on('error', () => resolve(false)).on('connect', () => socket.destroy());
  });
}

test('the service of the guide decides, and OpenSSL verifies what comes of it', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'gatehouse-policy-'));
  const made = spawnSync('sh', ['-ec', blockOf('sh')], { cwd, encoding: 'utf8' });
  assert.equal(made.status, 0, made.stderr);
  writeFileSync(join(cwd, 'service.mjs'), blockOf('js'));
  const env = { ...process.env, PORT: String(PORT) };
  const service = spawn(process.execPath, ['service.mjs'], { cwd, env, stdio: 'inherit' });
  try {
    for (let tries = 0; tries < 100 && !(await isOpen()); tries += 1) await wait(50);
    const file = (name: string): string => readFileSync(join(cwd, name), 'utf8');
    await call('POST', 'sys/mounts/pki', { type: 'pki' });
    const root = await call('POST', 'pki/root/generate/internal', {
      common_name: 'Root',
      key_type: 'ec',
      ttl: '100h',
    });
    const set = await call('POST', 'pki/config/external-policy', {
      enabled: true,
      external_service_url: `https://localhost:${PORT}/`,
      trusted_ca: file('ca.pem'),
      vault_client_cert_bundle: file('client-key.pem') + file('client.pem'),
      entity_jmespath: '{name: name, team: metadata.team}',
      group_jmespath: '[*].name',
    });
    assert.equal(set.status, 200, set.text);
    const wanted = { key_type: 'ec', common_name: 'a.example.com' };
    const issued = await call('POST', 'pki/external-policy/issue/web', wanted);
    assert.equal(issued.status, 200, issued.text);
    writeFileSync(join(cwd, 'root.pem'), root.textAt('data.certificate'));
    writeFileSync(join(cwd, 'leaf.pem'), issued.textAt('data.certificate'));
    const openssl = (...args: string[]) => spawnSync('openssl', args, { cwd, encoding: 'utf8' });
    const verified = openssl(
      ...['verify', '-x509_strict', '-CAfile', 'root.pem'],
      ...['-verify_hostname', 'a.example.com', 'leaf.pem'],
    );
    assert.match(verified.stdout, /leaf\.pem: OK/, verified.stderr);
    const refused = await call('POST', 'pki/external-policy/issue/web', {
      ...wanted,
      common_name: 'a.example.org',
    });
    assert.equal(refused.status, 400);
    assert.match(refused.text, /a\.example\.org is not given by web/);
  } finally {
    service.kill();
    rmSync(cwd, { recursive: true, force: true });
  }
});
