import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  decodeClientHandshake,
  decodeHandshakeResult,
  encodeClientHandshake,
  encodeHandshakeResult,
} from './handshake.ts';

const TOFU = 'abcdefghij0123456789';
/** Field 10, a text of 20 bytes. */
const TOKEN_FIELD = [0x52, 20, ...Buffer.from(TOFU)];

test('a client says its token, and its wish to cancel as field 20', () => {
  const plain = encodeClientHandshake({ tofu_token: TOFU, cancels: false });
  assert.deepEqual([...plain], TOKEN_FIELD);
  const canceling = encodeClientHandshake({ tofu_token: TOFU, cancels: true });
  assert.deepEqual([...canceling], [...TOKEN_FIELD, 0xa0, 1, 1]);
});

const messages: [why: string, number[], ReturnType<typeof decodeClientHandshake>][] = [
  ['a token alone', TOKEN_FIELD, { tofu_token: TOFU, cancels: false }],
  ['no command', [...TOKEN_FIELD, 0xa0, 1, 0], { tofu_token: TOFU, cancels: false }],
  ['cancel', [...TOKEN_FIELD, 0xa0, 1, 1], { tofu_token: TOFU, cancels: true }],
  ['a command that nobody knows', [...TOKEN_FIELD, 0xa0, 1, 2], undefined],
  ['nothing', [], { tofu_token: '', cancels: false }],
  ['a field that nobody knows', [...TOKEN_FIELD, 0xf8, 1, 1], { tofu_token: TOFU, cancels: false }],
  ['a token that is a number', [0x50, 1], undefined],
  ['a token that ends early', TOKEN_FIELD.slice(0, -1), undefined],
  ['a line of text', [...Buffer.from('hello')], undefined],
];

for (const [why, bytes, told] of messages) {
  test(`a client's message with ${why}`, () => {
    assert.deepEqual(decodeClientHandshake(Uint8Array.from(bytes)), told);
  });
}

for (const [connection_limit, connections_left] of [
  [-1, -1],
  [5, 4],
  [1, 0],
] as const) {
  test(`a result of ${connections_left} connections left of ${connection_limit} is read as written`, () => {
    const result = { expires_ms: 1_790_000_000_123, connection_limit, connections_left };
    assert.deepEqual(decodeHandshakeResult(encodeHandshakeResult(result)), result);
  });
}

test('a result is none where its expiration is no message', () => {
  assert.equal(decodeHandshakeResult(Uint8Array.of(0x50, 1)), undefined);
});
