import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOpen, parseListenAddress } from './listen-address.ts';

const read: [text: string, host: string, port: number][] = [
  ['127.0.0.1:5432', '127.0.0.1', 5432],
  ['localhost:0', 'localhost', 0],
  ['[::1]:22', '::1', 22],
  [':5432', '127.0.0.1', 5432],
  ['5432', '127.0.0.1', 5432],
  ['0.0.0.0:65535', '0.0.0.0', 65535],
];
for (const [text, host, port] of read) {
  test(`-listen ${text} is read`, () => {
    assert.deepEqual(parseListenAddress(text), { host, port });
  });
}

for (const text of ['', 'localhost', '127.0.0.1:', '::1:22', '[::1]', ':65536', ':1e3', 'a:b:1']) {
  test(`-listen "${text}" is refused`, () => {
    assert.throws(() => parseListenAddress(text), { kind: 'invalid', message: /HOST:PORT/ });
  });
}

test('what others can reach is told from what only this machine can', () => {
  const hosts = ['127.0.0.1', '127.1.2.3', '::1', 'localhost', '0.0.0.0', '::', '10.0.0.1', '127x'];
  assert.deepEqual(hosts.filter(isOpen), ['0.0.0.0', '::', '10.0.0.1', '127x']);
});
