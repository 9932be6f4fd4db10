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
