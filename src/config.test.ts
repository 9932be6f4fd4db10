import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAddress, parseConfig } from './config.ts';
import { Failure } from './core/failure.ts';

const whole = {
  listener: { address: '127.0.0.1:8200', tls_disable: true },
  storage: { type: 'sqlite', path: '/var/lib/gatehouse' },
};

test('a configuration file with only what is needed is enough', () => {
  const config = parseConfig(JSON.stringify(whole));
  assert.deepEqual(config.listen, { host: '127.0.0.1', port: 8200 });
  assert.deepEqual(config.seal, { type: 'shamir' });
  assert.equal(config.tls, undefined);
});

const refused: [change: object, says: RegExp, why: string][] = [
  [{ listenr: {} }, /unknown key "listenr"/, 'a key that is not known'],
  [{ storage: { ...whole.storage, file: 'x' } }, /unknown key "storage.file"/, 'the same, deeper'],
  [
    { storage: { type: 'mysql' } },
    /storage\.type must be one of sqlite, postgres/,
    'no such engine',
  ],
  [{ storage: undefined }, /storage\.type must be/, 'no storage'],
  [{ listener: { address: '127.0.0.1:8200' } }, /tls_cert_file/, 'TLS neither given nor disabled'],
  [{ listener: { address: '8200', tls_disable: true } }, /HOST:PORT/, 'an address without a host'],
  [{ seal: { type: 'keyfile' } }, /seal\.path/, 'a key file without a path'],
  [{ log_level: 'loud' }, /log_level must be one of/, 'no such level'],
  [{ audit: { sinks: [{ type: 'stdout' }] } }, /audit\.sinks is not available/, 'a sink'],
];
for (const [change, says, why] of refused) {
  test(`a configuration is refused by the name of what is wrong: ${why}`, () => {
    assert.throws(
      () => parseConfig(JSON.stringify({ ...whole, ...change })),
      (error) => error instanceof Failure && says.test(error.message),
    );
  });
}

test('an address may be IPv6, and a port may not be too large', () => {
  assert.deepEqual(parseAddress('listen', '[::1]:8200'), { host: '::1', port: 8200 });
  assert.throws(() => parseAddress('listen', '127.0.0.1:70000'), Failure);
});
