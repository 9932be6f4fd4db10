/** Readers of what anybody says to the listener that carries sessions. */

import assert from 'node:assert/strict';
import {
  decodeClientHandshake,
  decodeHandshakeResult,
  encodeClientHandshake,
  encodeHandshakeResult,
} from '../../src/worker/wire/handshake.ts';
import { readHelloNames, sessionOf } from '../../src/worker/wire/hello-names.ts';
import { readHello } from '../support/client-hellos.ts';
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
      decodeHandshakeResult(bytes);
    },
  },
];
