import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parseConfig } from '../src/config/config.ts';
import { Failure } from '../src/core/failure.ts';

/** The sections of the file; each says its keys when it meets one it does not know. */
const SECTIONS: [path: string, given: (unknown: object) => object][] = [
  ['', (section) => section],
  ['listener', (listener) => ({ listener })],
  ['proxy_listener', (proxy_listener) => ({ proxy_listener, listener: { tls_disable: true } })],
  ['worker_listener', (worker_listener) => ({ worker_listener, listener: { tls_disable: true } })],
  ['rate_limits.list', (list) => whole({ rate_limits: { list } })],
  ['rate_limits', (rate_limits) => whole({ rate_limits })],
  ['session_limits', (session_limits) => whole({ session_limits })],
  ['storage', (storage) => whole({ storage })],
  ['seal', (seal) => whole({ seal })],
  ['audit', (audit) => whole({ audit })],
  ['audit.sinks[]', (sink) => whole({ audit: { sinks: [sink] } })],
  ['former_seal', (former_seal) => whole({ former_seal })],
  ['kms_library[]', (library) => whole({ kms_library: [library] })],
  ['user_lockout', (user_lockout) => whole({ user_lockout })],
  ['cors', (cors) => whole({ cors })],
  ['telemetry', (telemetry) => whole({ telemetry })],
];
function whole(more: object): object {
  return { listener: { tls_disable: true }, storage: { type: 'sqlite', path: 'x' }, ...more };
}

/** All that may be there, where it comes in another form than text, numbers and flags. */
const EVERYTHING = {
  listener: { tls_cert_file: 'c', tls_key_file: 'k', trusted_proxies: ['10.0.0.0/8', '::1/128'] },
  public_listener: { address: '127.0.0.1:1', trusted_proxies: ['10.0.0.0/8'] },
  worker_listener: { address: '127.0.0.1:2', public_address: 'a.test:2' },
  storage: { type: 'postgres', url: 'postgres://a@b/c', node_name: 'n' },
  seal: { type: 'pkcs11', library: 'l', slot: '1', pin: '1234', key_label: 'k' },
  former_seal: { type: 'transit', address: 'http://a.test', token: 't', key_name: 'k' },
  kms_library: [{ name: 'l', library: '/l.so' }],
  recovery_key: Buffer.alloc(32).toString('base64'),
  audit: { sinks: [{ type: 'syslog', address: 'udp://a.test:514' }, { type: 'stdout' }] },
  allowed_hosts: ['a.test'],
  policy_services: { allowed_networks: ['10.0.0.0/8'], denied_networks: ['10.1.0.0/16'] },
  storage_buckets: { local_folders: ['/a'] },
  smtp: { address: 'a.test:25', from: 'a@a.test' },
  cors: { allowed_origins: ['*'], allowed_headers: ['x-a'] },
};

test('whatever a configuration says can be handed to the threads that answer', () => {
  const config = parseConfig(JSON.stringify(EVERYTHING));
  const recovery_key = Uint8Array.from(config.recovery_key ?? []);
  assert.deepEqual(structuredClone(config), { ...config, recovery_key });
});

test('every key is in the reference of the configuration', () => {
  const reference = readFileSync('docs/guides/configuration.md', 'utf8');
  for (const [path, given] of SECTIONS) {
    let known: string[] = [];
    try {
      parseConfig(JSON.stringify(given({ '?': 1 })));
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      known = (/known are (.*)$/.exec(error.message)?.[1] ?? '').split(', ');
    }
    assert.ok(known[0], `${path} takes anything`);
    for (const key of known.map((name) => name.replace('[0]', '[]'))) {
      const found = reference.includes(`\`${key}\``) || reference.includes(`\`${key}.`);
      assert.ok(found || reference.includes(`\`${key}[]`), `${key} is not described`);
    }
  }
});
