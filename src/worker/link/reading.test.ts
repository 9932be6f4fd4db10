import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseMessage } from './reading.ts';

const HELLO = {
  type: 'hello',
  name: 'edge-1',
  description: '',
  address: '',
  release_version: '',
  tags: { type: ['a'] },
};
const CALL = { type: 'call', id: 1, name: 'activate' };
const RECORD = { ...CALL, name: 'record' };
const said = (message: object): string => JSON.stringify(message);
const unknown = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 1]));
const { type, ...rest } = HELLO;

const TEXTS: [what: string, text: string, isOne: boolean][] = [
  ['a hello', said(HELLO), true],
  ['a hello of 256 tags', said({ ...HELLO, tags: { type: Array(100).fill('é"\\') } }), true],
  ['one whose type comes last', said({ ...rest, type }), false],
  ['one that says that it is short', `{"type":"renew",${said(HELLO).slice(1)}`, false],
  [
    'a report of no connections',
    '{"type":"report","report_id":1,"state":"active","open":[]}',
    true,
  ],
  ['a renewal', said({ type: 'renew', public_key: 'AAAA' }), true],
  ['a long one', said({ type: 'renew', public_key: 'A'.repeat(4_096) }), false],
  [
    'what was brought',
    '{"type":"brought","id":1,"endpoint_tcp_address":"","endpoint_tcp_port":1}',
    true,
  ],
  ['words of control', said({ type: 'not brought', id: 1, why: '\u0001'.repeat(512) }), true],
  ['a call of control', said({ ...CALL, request: { tofu_token: '\u0001'.repeat(512) } }), true],
  ['a call of few fields', said({ ...CALL, request: unknown(20) }), true],
  ['a call of many', said({ ...CALL, request: unknown(40) }), false],
  ['a long call', said({ ...CALL, request: 'x'.repeat(20_000) }), false],
  ['a long step of a recording', said({ ...RECORD, request: 'x'.repeat(2 << 20) }), true],
  ['one of many fields', said({ ...RECORD, request: unknown(40) }), false],
  ['one of many levels', said({ ...RECORD, request: [[[[1]]]] }), false],
  [
    'a long call that says first that it is a step',
    `{"type":"call","id":1,"name":"record","request":"${'x'.repeat(20_000)}","name":"lookUp"}`,
    false,
  ],
  ['what there is not', '{"type":"toString"}', false],
  ['half a message', '{"type":"renew","public_key":"AAAA"', false],
  ['nothing', '', false],
];
for (const [what, text, isOne] of TEXTS) {
  test(`${what} is ${isOne ? 'a' : 'no'} message of a worker`, () => {
    assert.equal(parseMessage(text) !== undefined, isOne);
  });
}
