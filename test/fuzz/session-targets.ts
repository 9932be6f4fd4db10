/** Readers of what anybody says to the listener that carries sessions. */

import assert from 'node:assert/strict';
import { invalid } from '../../src/core/failure.ts';
import { BinaryFrames } from '../../src/worker/wire/frames.ts';
import {
  decodeClientHandshake,
  decodeHandshakeResult,
  encodeClientHandshake,
  encodeHandshakeResult,
} from '../../src/worker/wire/handshake.ts';
import { readHelloNames, sessionOf } from '../../src/worker/wire/hello-names.ts';
import { workerOf } from '../../src/worker/wire/hop.ts';
import { readHello } from '../support/client-hellos.ts';
import { frameOf } from '../support/session-client.ts';
import type { FuzzTarget } from './run.ts';

const HELLOS = (['node', 'openssl', 'openssl-without-names', 'go'] as const).map(readHello);
const HANDSHAKES = [false, true].map((cancels) =>
  encodeClientHandshake({ tofu_token: 'abcdefghij0123456789', cancels }),
);
const RESULT = encodeHandshakeResult({
  expires_ms: 1_790_000_000_123,
  connection_limit: -1,
  connections_left: 7,
});

const FRAMES = [
  Buffer.concat([frameOf(2, Buffer.from('one')), frameOf(9, Buffer.alloc(3))]),
  Buffer.concat([frameOf(2, Buffer.alloc(200)), frameOf(8, Buffer.from([3, 232]))]),
];

/** All bytes of the payload, and all of what is passed on. */
function sumFrames(bytes: Uint8Array, size: number): number[] {
  const sums = [0, 0, 0];
  const frames = new BinaryFrames({
    piece(piece) {
      for (const byte of piece) sums[0] = (sums[0] ?? 0) + byte;
      sums[1] = (sums[1] ?? 0) + piece.length;
    },
    other(other) {
      sums[2] = (sums[2] ?? 0) + other.length;
    },
  });
  for (let at = 0; at < bytes.length; at += size) {
    frames.add(Buffer.from(bytes.subarray(at, at + size)));
  }
  return sums;
}

export const sessionTargets: readonly FuzzTarget[] = [
  {
    name: "the names of a TLS client's first message",
    corpus: HELLOS,
    read(bytes) {
      const names = readHelloNames(bytes);
      const session = names && sessionOf(names);
      if (session !== undefined) assert.match(session, /^s_[0-9A-Za-z]+$/);
    },
  },
  {
    name: 'the first messages of a session’s client and its worker',
    corpus: [...HANDSHAKES, RESULT],
    read(bytes) {
      const told = decodeClientHandshake(bytes);
      if (told) assert.deepEqual(decodeClientHandshake(encodeClientHandshake(told)), told);
      const result = decodeHandshakeResult(bytes);
      // A time that no clock has is not kept to the millisecond.
      if (result && Number.isSafeInteger(result.expires_ms) && result.expires_ms >= 0) {
        assert.deepEqual(decodeHandshakeResult(encodeHandshakeResult(result)), result);
      }
    },
  },
  {
    name: 'the worker that a certificate is of',
    corpus: ['DNS:w_1234567890', 'DNS:gatehouse-server'].map((name) => Buffer.from(name)),
    words: ['DNS:', ', ', '\n'],
    read(bytes) {
      const name = workerOf(Buffer.from(bytes).toString('latin1'));
      if (name === undefined) throw invalid('no worker');
      assert.match(name, /^(?:w_[0-9A-Za-z]+|gatehouse-server)$/);
    },
  },
  {
    name: "the frames of a session's client",
    corpus: FRAMES,
    read(bytes) {
      const whole = sumFrames(bytes, bytes.length || 1);
      // Faults are passed on as far as they have come, which depends on how they are cut.
      for (const size of bytes.length < 4096 ? [1, 3] : [1000]) {
        assert.deepEqual(sumFrames(bytes, size).slice(0, 2), whole.slice(0, 2));
      }
    },
  },
];
