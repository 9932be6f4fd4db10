import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeBase58 } from '../../core/base58.ts';
import {
  decodeAuthorizationToken,
  encodeAuthorization,
  encodeAuthorizationToken,
  type SessionAuthorization,
} from './authorization-token.ts';

const whole: SessionAuthorization = {
  session_id: 's_1',
  target_id: 'ttcp_1',
  scope: { id: 'p_1', type: 'project', name: 'n', description: 'd', parent_scope_id: 'o_1' },
  created_ms: 1_600_000_000_500,
  type: 'tcp',
  connection_limit: -1,
  endpoint_port: 300,
  expires_ms: 1_600_000_060_000,
  certificate: Uint8Array.of(1, 2),
  private_key: Uint8Array.of(3),
  host_id: 'hst_1',
  endpoint: 'tcp://h:300',
  worker_addresses: ['a:1', 'b:2'],
  default_client_port: 127,
};

const text = (value: string): string => Buffer.from(value).toString('hex');

// By hand: tag = number × 8 + kind as a varint, kind 0 a number, kind 2 a length and bytes.
const BYTES = [
  `52 03 ${text('s_1')}`, // 10
  `a201 06 ${text('ttcp_1')}`, // 20
  // 30, of 3+2 + 7+2 + 1+2 + 1+2 + 3+2 bytes
  `f201 19 0a03${text('p_1')} 1207${text('project')} 1a01${text('n')} 2201${text('d')} 2a03${text('o_1')}`,
  'c202 0c 0880a0f8fa05 1080cab5ee01', // 40: 1600000000 s and 500000000 ns
  `8205 03 ${text('tcp')}`, // 80
  'd005 ffffffffffffffffff01', // 90: −1 takes ten bytes
  'b006 ac02', // 102: 300
  'ca06 06 08bca0f8fa05', // 105: 1600000060 s, no ns
  'c207 02 0102', // 120
  '9208 01 03', // 130
  `e208 05 ${text('hst_1')}`, // 140
  `ea08 0b ${text('tcp://h:300')}`, // 141
  `b209 05 5203${text('a:1')}`, // 150
  `b209 05 5203${text('b:2')}`,
  '800a 7f', // 160
]
  .join('')
  .replaceAll(' ', '');

test('an authorization is written as the message with these field numbers', () => {
  assert.equal(Buffer.from(encodeAuthorization(whole)).toString('hex'), BYTES);
});

test('a token is read back as it was written', () => {
  assert.deepEqual(decodeAuthorizationToken(encodeAuthorizationToken(whole)), whole);
});

test('what is empty or zero is not written at all, a negative limit and the times are', () => {
  const bare = {
    ...whole,
    host_id: '',
    default_client_port: 0,
    worker_addresses: [],
    scope: { ...whole.scope, description: '' },
  };
  const bytes = Buffer.from(encodeAuthorization(bare)).toString('hex');
  assert.ok(!bytes.includes('e208') && !bytes.includes('b209') && !bytes.includes('800a'));
  const read = decodeAuthorizationToken(encodeAuthorizationToken(bare));
  assert.deepEqual([read?.host_id, read?.default_client_port, read?.connection_limit], ['', 0, -1]);
  assert.deepEqual(read?.worker_addresses, []);
});

test('a later field that this program does not know is passed over', () => {
  const more = Buffer.concat([encodeAuthorization(whole), Buffer.from('c03e01', 'hex')]);
  assert.equal(decodeAuthorizationToken(encodeBase58(more))?.session_id, 's_1');
});

for (const [bytes, why] of [
  ['5203735f', 'a field that is longer than the message'],
  ['d0ffffffffffffffffff', 'a number that does not end'],
  ['53', 'a group, which is used by nobody any more'],
  ['5001', 'a number where a text belongs'],
  ['00', 'field number 0'],
] as const) {
  test(`no token: ${why}`, () => {
    assert.equal(decodeAuthorizationToken(encodeBase58(Buffer.from(bytes, 'hex'))), undefined);
  });
}

test('no token: a blank within the text', () => {
  const token = encodeAuthorizationToken(whole);
  assert.equal(decodeAuthorizationToken(`${token.slice(0, 9)} ${token.slice(9)}`), undefined);
});
