/** What the module of a device tells, and what workers say and show. */

import { generateKeyPairSync } from 'node:crypto';
import {
  formatActivationToken,
  formatWorkerToken,
  parseActivationToken,
  parseWorkerToken,
} from '../../src/broker/workers/proof.ts';
import { invalid } from '../../src/core/failure.ts';
import { type PublicAttributes, RefusedOrder } from '../../src/pkcs11/orders.ts';
import { publicKeyInfoOf } from '../../src/pkcs11/public-key.ts';
import { enrolment, requests } from '../../src/worker/link/messages.ts';
import { parseMessage } from '../../src/worker/link/reading.ts';
import { octetString, oid } from '../../src/x509/der.ts';
import { CURVE_OID } from '../../src/x509/oids.ts';
import type { FuzzTarget } from './run.ts';

const KINDS = ['rsa', 'ec', 'ed25519'] as const;

/** The kind, the length of the first part, and the two parts. */
const encode = (kind: number, first: Uint8Array, second: Uint8Array): Uint8Array =>
  Buffer.concat([Uint8Array.of(kind, first.length), first, second]);

function decode(bytes: Uint8Array): PublicAttributes {
  const key_type = KINDS[(bytes[0] ?? 0) % KINDS.length] ?? 'rsa';
  const end = 2 + (bytes[1] ?? 0);
  // Longer attributes are not read from a module.
  const [first, second] = [bytes.subarray(2, end), bytes.subarray(end, end + 4096)];
  return key_type === 'rsa'
    ? { key_type, exponent: first, modulus: second }
    : { key_type, ecParams: first, ecPoint: second };
}

const part = (text: string | undefined): Buffer => Buffer.from(text ?? '', 'base64url');
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
const ed = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
const point = Buffer.concat([Uint8Array.of(4), part(ec.x), part(ec.y)]);
const P256 = oid(CURVE_OID[256]);

const utf8 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');
const json = (value: object): Uint8Array => Buffer.from(JSON.stringify(value));
const half = new Uint8Array(32).fill(7);

const PIECE = { id: 'chr_1', at: 1, bytes: 'AAAA', bytes_up: 1, bytes_down: 2 };
const REQUESTS = {
  connect: {
    ...{ connection_id: 'sc_1', client_tcp_address: '::1', client_tcp_port: 1 },
    ...{ endpoint_tcp_address: '::1', endpoint_tcp_port: 22 },
  },
  close: {
    ends: [{ connection_id: 'sc_1', bytes_up: 0, bytes_down: 0, reason: 'closed by end-user' }],
  },
  record: { step: 'write', ...PIECE },
};

/** What a worker says over its connection, and at its first visit. */
function readMessage(bytes: Uint8Array): void {
  const text = utf8(bytes);
  const message = parseMessage(text);
  if (!message && !isEnrolment(text)) throw invalid('no message');
  if (message?.type !== 'call') return;
  const { success } = requests[message.name].safeParse(message.request);
  if (!success) throw invalid('no request');
}

function isEnrolment(text: string): boolean {
  try {
    return enrolment.safeParse(JSON.parse(text)).success;
  } catch {
    throw invalid('no JSON');
  }
}

export const tokenTargets: readonly FuzzTarget[] = [
  {
    name: 'worker-message',
    corpus: [
      json({ type: 'report', report_id: 1, state: 'active', open: [] }),
      json({ type: 'call', id: 1, name: 'lookUp', request: { session_id: 's_1234567890' } }),
      json({ type: 'renew', public_key: 'AAAA' }),
      json({
        ...{ type: 'hello', name: 'w', description: '', address: 'host:9202' },
        ...{ release_version: '1', tags: { type: ['a', 'b'] } },
      }),
      ...Object.entries(REQUESTS).map(([name, request]) =>
        json({ type: 'call', id: 1, name, request }),
      ),
      json({ type: 'brought', id: 1, endpoint_tcp_address: '::1', endpoint_tcp_port: 22 }),
      json({ type: 'not brought', id: 1, why: 'refused' }),
      json({ public_key: 'AAAA', nonce: '', proof: 'AAAA' }),
    ],
    read: readMessage,
  },
  {
    name: 'worker-token',
    corpus: [
      Buffer.from(formatActivationToken({ nonce: half, secret: half })),
      Buffer.from(formatWorkerToken({ public_key: half, secret: half })),
    ],
    read: (bytes) => {
      const text = utf8(bytes);
      if (!parseActivationToken(text) && !parseWorkerToken(text)) throw invalid('no token');
    },
  },
  {
    name: 'token-key',
    corpus: [
      encode(0, part(rsa.e), part(rsa.n)),
      encode(1, P256, point),
      encode(1, P256, octetString(point)),
      encode(2, P256, octetString(part(ed.x))),
    ],
    read: (bytes) => {
      try {
        publicKeyInfoOf(decode(bytes));
      } catch (error) {
        throw error instanceof RefusedOrder ? invalid(error.message) : error;
      }
    },
  },
];
