import { request } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { z } from 'zod';
import {
  ed25519Key,
  formatWorkerToken,
  isProof,
  parseActivationToken,
  serverProof,
  workerProof,
} from '../../broker/workers/proof.ts';
import { hasControl } from '../../core/control-characters.ts';
import { Failure } from '../../core/failure.ts';
import { base64, ENROL_PATH, type EnrolmentRequest } from '../link/messages.ts';
import type { Enrolled, Identity } from './identity.ts';

const PATIENCE_MS = 10_000;
const ANSWER_BYTES = 16 << 10;
/** Of a refusal. */
const MOST_WORDS = 300;

const answer = z.object({
  worker_id: z.string(),
  certificate: z.string(),
  roots: z.array(z.string()),
  proof: z.string(),
});
const refusal = z.object({ message: z.string() });

/** What a worker shows at its first visit: a token that it was given, or one of its own. */
export type FirstToken = { given: string } | { own: true };

/** What its operator gives to `workers create worker-led`. */
export function ownToken(identity: Identity): string {
  const public_key = ed25519Key(identity.public_key);
  if (!public_key) throw new TypeError('a worker’s key is of Ed25519');
  return formatWorkerToken({ public_key, secret: identity.secret });
}

/**
 * Has a server enrol this worker. Neither knows the other's key yet: each proves that it knows the
 * token's secret, over this very connection.
 *
 * @throws Failure `forbidden` for a token that is not taken, or a server that does not know it;
 *   `unavailable` when it cannot be reached
 */
export async function enrolAt(
  server: { host: string; port: number },
  identity: Identity,
  token: FirstToken,
): Promise<Enrolled> {
  const shown = 'given' in token ? parseActivationToken(token.given) : undefined;
  if ('given' in token && !shown) {
    throw new Failure('invalid', 'activation_token: this is no activation token of a worker');
  }
  const secret = shown?.secret ?? identity.secret;
  const nonce = shown?.nonce ?? new Uint8Array(0);
  const { public_key } = identity;
  const reply = await post(server, (server_certificate) => ({
    public_key: base64(public_key),
    nonce: base64(nonce),
    proof: base64(workerProof({ secret, public_key, server_certificate })),
  }));
  const { server_certificate } = reply;
  if (reply.status !== 200) throw refusalOf(reply.status, reply.text);
  const read = answer.safeParse(jsonOf(reply.text));
  if (!read.success) throw new Failure('forbidden', 'the server’s answer is none');
  const { certificate, roots, proof } = read.data;
  const told = [certificate, ...roots].map((one) => Buffer.from(one, 'base64'));
  const expected = serverProof({ secret, public_key, server_certificate }, told);
  if (!isProof(expected, Buffer.from(proof, 'base64'))) {
    throw new Failure('forbidden', 'the server does not know the token: it is not the right one');
  }
  return read.data;
}

function refusalOf(status: number, text: string): Failure {
  const read = refusal.safeParse(jsonOf(text));
  // Nobody has proved anything yet: what is said may be a stranger's, and goes to a terminal.
  const isPlain = read.success && !hasControl(read.data.message);
  const said = isPlain ? read.data.message.slice(0, MOST_WORDS) : `the server answered ${status}`;
  return new Failure(status === 403 ? 'forbidden' : 'unavailable', said);
}

interface Reply {
  status: number;
  text: string;
  /** Of this connection, DER. */
  server_certificate: Buffer;
}

function post(
  { host, port }: { host: string; port: number },
  bodyOf: (server_certificate: Buffer) => EnrolmentRequest,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown): void => {
      reject(new Failure('unavailable', `${host}:${port} cannot be reached`, { cause }));
    };
    const sending = request({
      host,
      port,
      path: ENROL_PATH,
      method: 'POST',
      // The proofs say who it is.
      rejectUnauthorized: false,
      minVersion: 'TLSv1.3',
      agent: false,
      timeout: PATIENCE_MS,
      headers: { 'content-type': 'application/json' },
    });
    sending.on('timeout', () => sending.destroy(new Error('no answer')));
    sending.on('error', fail);
    sending.on('socket', (socket) => {
      socket.once('secureConnect', () => {
        const server_certificate = (socket as TLSSocket).getPeerX509Certificate()?.raw;
        if (!server_certificate) {
          sending.destroy(new Error('the server shows no certificate'));
          return;
        }
        sending.once('response', (response) => {
          let text = '';
          response.setEncoding('utf8');
          response.on('data', (part: string) => {
            text += part;
            if (text.length > ANSWER_BYTES) response.destroy(new Error('a long answer'));
          });
          response.on('error', fail);
          response.on('end', () =>
            resolve({ status: response.statusCode ?? 0, text, server_certificate }),
          );
        });
        sending.end(JSON.stringify(bodyOf(server_certificate)));
      });
    });
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
