import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MOST_CARRIED } from '../upstream.ts';
import { enrolment, fromWorker, requests } from './messages.ts';

const HELLO = {
  type: 'hello',
  name: 'edge-1',
  description: '',
  address: '192.0.2.7:9202',
  release_version: 'Gatehouse v0.1.0',
  tags: { type: ['edge'] },
};
const OPEN = { connection_id: 'sc_1', bytes_up: 1, bytes_down: 2 };
const REPORT = { type: 'report', report_id: 7, state: 'active', open: [OPEN] };
const CALL = { type: 'call', id: 1, name: 'lookUp', request: { session_id: 's_1' } };

const MESSAGES: [what: string, message: object, taken: boolean][] = [
  ['a hello', HELLO, true],
  ['one with what it does not know', { ...HELLO, more: 1 }, false],
  ['one of a long name', { ...HELLO, name: 'n'.repeat(513) }, false],
  ['one that changes what a terminal shows', { ...HELLO, description: '\u001b[2J' }, false],
  ['one of several lines', { ...HELLO, description: 'one\ntwo' }, true],
  ['one whose tags no database takes', { ...HELLO, tags: { type: ['\0'] } }, false],
  ['one whose tags are no lists', { ...HELLO, tags: { type: 'edge' } }, false],
  ['one of many values', { ...HELLO, tags: { type: Array(101).fill('x') } }, false],
  ['a report', REPORT, true],
  ['one of no connections', { ...REPORT, open: [] }, true],
  ['one of what it has brought', { ...REPORT, brought: ['sc_1'] }, true],
  ['one of too much', { ...REPORT, brought: Array(MOST_CARRIED + 1).fill('sc_1') }, false],
  ['one that has brought what no database takes', { ...REPORT, brought: ['\0'] }, false],
  ['one of too many', { ...REPORT, open: Array(MOST_CARRIED + 1).fill(OPEN) }, false],
  ['one of bytes below zero', { ...REPORT, open: [{ ...OPEN, bytes_up: -1 }] }, false],
  [
    'one of an id that no database takes',
    { ...REPORT, open: [{ ...OPEN, connection_id: '\0' }] },
    false,
  ],
  ['one of half a byte', { ...REPORT, open: [{ ...OPEN, bytes_up: 0.5 }] }, false],
  ['one of another state', { ...REPORT, state: 'idle' }, false],
  ['a call', CALL, true],
  ['one of what there is not', { ...CALL, name: 'toString' }, false],
  ['a renewal', { type: 'renew', public_key: 'AAAA' }, true],
  ['one whose key is no base64', { type: 'renew', public_key: '!' }, false],
  ['what is for the server to say', { type: 'heard', report_id: 1 }, false],
];
for (const [what, message, taken] of MESSAGES) {
  test(`${what} is ${taken ? 'a' : 'no'} message of a worker`, () => {
    assert.equal(fromWorker.safeParse(message).success, taken);
  });
}

test('a worker does not say which worker it is: its certificate does', () => {
  const asked = { session_id: 's_1' };
  assert.ok(requests.authorize.safeParse(asked).success);
  assert.ok(!requests.authorize.safeParse({ ...asked, worker_id: 'w_2' }).success);
});

test('an enrolment has a nonce or an empty one', () => {
  const whole = { public_key: 'AAAA', nonce: 'AAAA', proof: 'AAAA' };
  assert.ok(enrolment.safeParse(whole).success);
  assert.ok(enrolment.safeParse({ ...whole, nonce: '' }).success);
  assert.ok(!enrolment.safeParse({ ...whole, nonce: undefined }).success);
  assert.ok(!enrolment.safeParse({ ...whole, proof: 'A'.repeat(1_000) }).success);
});

for (const { port, isTaken } of [
  { port: 65_535, isTaken: true },
  { port: 65_536, isTaken: false },
]) {
  test(`port ${port} is ${isTaken ? 'one' : 'none'}`, () => {
    const request = {
      connection_id: 'sc_1',
      client_tcp_address: '192.0.2.7',
      client_tcp_port: port,
      endpoint_tcp_address: '192.0.2.8',
      endpoint_tcp_port: 22,
    };
    assert.equal(requests.connect.safeParse(request).success, isTaken);
  });
}

test('a client’s token may have any characters, and an endpoint’s words as well', () => {
  const tofu_token = '\u0001'.repeat(20);
  assert.ok(requests.activate.safeParse({ session_id: 's_1', tofu_token, version: 1 }).success);
  const end = { ...OPEN, reason: 'network error', because: '\u001b[2J' };
  assert.ok(requests.close.safeParse({ ends: [end] }).success);
});
