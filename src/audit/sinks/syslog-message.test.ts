import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSyslogAddress } from '../../config/syslog.ts';
import { Failure } from '../../core/failure.ts';
import { encodeSyslogDatagram, encodeSyslogMessage, frameSyslogMessage } from './syslog-message.ts';

const header = { facility: 'local0', tag: 'gate house', hostname: '', pid: 42 };
const record = {
  node: 'a',
  seq: 1,
  time_ms: Date.UTC(2030, 0, 2, 3, 4, 5, 6),
  record: '{"n":"ü"}',
  prev_hash: new Uint8Array(32),
  hash: new Uint8Array(32),
};

test('a message has the header of RFC 5424 and the record as its text', () => {
  const [prefix, rest] = encodeSyslogMessage(header, record).split(' audit - ');
  assert.equal(prefix, '<134>1 2030-01-02T03:04:05.006Z - gate_house 42');
  assert.equal(JSON.parse(rest ?? '').record.n, 'ü');
});

test('a framed message says its length in bytes', () => {
  assert.equal(frameSyslogMessage('ü'), '2 ü');
});

test('a record that fits into a datagram is whole, one byte more and it is told of', () => {
  const whole = encodeSyslogMessage(header, record);
  const length = Buffer.byteLength(whole);
  assert.equal(encodeSyslogDatagram(header, record, length).toString(), whole);
  assert.match(
    encodeSyslogDatagram(header, record, length - 1).toString(),
    /"omitted_bytes":10\}$/,
  );
});

test('addresses', () => {
  const parse = (text: string) => parseSyslogAddress('address', text);
  assert.deepEqual(parse('unix:///dev/log'), { transport: 'unix', path: '/dev/log' });
  assert.deepEqual(parse('udp://log.test'), { transport: 'udp', host: 'log.test', port: 514 });
  assert.deepEqual(parse('tcp://[::1]:99'), { transport: 'tcp', host: '::1', port: 99 });
  for (const text of [
    '/dev/log',
    'unix://log',
    'http://x',
    'tcp://',
    'udp://x:0',
    'udp://x:65536',
  ]) {
    assert.throws(() => parse(text), Failure, text);
  }
});
