import { readFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { z } from 'zod';
import type { TransitSeal } from '../config/seal-settings.ts';
import { Failure } from '../core/failure.ts';
import { CLIENT_TLS } from '../core/tls.client.ts';
import type { SealToken } from './seal-token.ts';

/** For all of one request, in milliseconds. */
const DEADLINE_MS = 10_000;
/** Of an answer, in bytes. */
const MOST_BYTES = 64 << 10;

const encrypted = z.object({ data: z.object({ ciphertext: z.string().min(1).max(4096) }) });
const lookedUp = z.object({
  data: z.object({
    ttl: z.int(),
    creation_ttl: z.int().default(0),
    period: z.int().default(0),
    renewable: z.boolean().default(false),
    expire_time: z.string().nullable().default(null),
  }),
});
const renewed = z.object({ auth: z.object({ lease_duration: z.int().min(0) }) });
const decrypted = z.object({ data: z.object({ plaintext: z.base64() }) });

/** Has the other server encrypt a key. @throws Failure `unavailable` */
export async function encryptByTransit(seal: TransitSeal, key: Uint8Array): Promise<Uint8Array> {
  const plaintext = Buffer.from(key).toString('base64');
  const answer = encrypted.safeParse(await ask(seal, 'encrypt', { plaintext }));
  if (answer.success) return Buffer.from(answer.data.data.ciphertext, 'utf8');
  throw refuse(seal, 'its answer has no ciphertext');
}

/** Has it decrypt what {@link encryptByTransit} gave. @throws Failure `unavailable` */
export async function decryptByTransit(seal: TransitSeal, key: Uint8Array): Promise<Uint8Array> {
  const ciphertext = Buffer.from(key).toString('utf8');
  return readPlaintext(seal, await ask(seal, 'decrypt', { ciphertext }));
}

function readPlaintext(seal: TransitSeal, answer: unknown): Uint8Array {
  const read = decrypted.safeParse(answer);
  if (!read.success) throw refuse(seal, 'its answer has no plaintext');
  const bytes = Buffer.from(read.data.data.plaintext, 'base64');
  const key = Uint8Array.from(bytes);
  bytes.fill(0);
  return key;
}

/**
 * Whether the other server still encrypts and decrypts for the token: shown with bytes that are no key.
 *
 * @throws Failure `unavailable` where it can be asked neither
 */
export async function doesItsWork(
  seal: TransitSeal,
  probe: Uint8Array,
  stopped?: AbortSignal,
): Promise<boolean> {
  const plaintext = Buffer.from(probe).toString('base64');
  const locked = await send(seal, keyOrder(seal, 'encrypt', { plaintext }), stopped);
  if (isRefusal(locked)) return false;
  const read = encrypted.safeParse(readJson(seal, locked));
  if (!read.success) throw refuse(seal, 'its answer has no ciphertext');
  const { ciphertext } = read.data.data;
  const opened = await send(seal, keyOrder(seal, 'decrypt', { ciphertext }), stopped);
  if (isRefusal(opened)) return false;
  return Buffer.from(readPlaintext(seal, readJson(seal, opened))).equals(probe);
}

/** Which version of its key the other server has encrypted with; undefined where it does not say. */
export function versionOfWrapped(wrapped: Uint8Array): number | undefined {
  const [, version] = /^[a-z]{1,16}:v(\d{1,9}):/.exec(Buffer.from(wrapped).toString('utf8')) ?? [];
  return version === undefined ? undefined : Number(version);
}

/**
 * How long the token lives that the other server is asked with.
 *
 * @returns undefined where that server does not take it, or does not tell it of itself
 * @throws Failure `unavailable`
 */
export async function lookUpToken(
  seal: TransitSeal,
  stopped?: AbortSignal,
): Promise<SealToken | undefined> {
  const answer = await send(seal, { path: 'auth/token/lookup-self', method: 'GET' }, stopped);
  if (isRefusal(answer)) return undefined;
  const read = lookedUp.safeParse(readJson(seal, answer));
  if (!read.success) throw refuse(seal, 'its answer does not describe a token');
  const { ttl, creation_ttl, period, renewable, expire_time } = read.data.data;
  const never = ttl <= 0 && expire_time === null;
  return { ttl: never ? undefined : Math.max(0, ttl), usual: period || creation_ttl, renewable };
}

/**
 * Has that token live longer. @throws Failure `unavailable`
 *
 * @returns seconds that it lives from now on; undefined where the server does not renew it
 */
export async function renewToken(
  seal: TransitSeal,
  stopped?: AbortSignal,
): Promise<number | undefined> {
  const path = 'auth/token/renew-self';
  const answer = await send(seal, { path, method: 'POST', body: '{}' }, stopped);
  if (isRefusal(answer)) return undefined;
  const read = renewed.safeParse(readJson(seal, answer));
  if (!read.success) throw refuse(seal, 'its answer has no lease');
  return read.data.auth.lease_duration;
}

const isRefusal = ({ status }: HttpAnswer): boolean => status === 400 || status === 403;

/** What comes of it goes to the log of whoever starts the server: it names the address, and nothing that was sent. */
const refuse = ({ address }: TransitSeal, why: string): Failure =>
  new Failure('unavailable', `the transit engine at ${address} did not do it: ${why}`);

async function ask(
  seal: TransitSeal,
  what: 'encrypt' | 'decrypt',
  body: Readonly<Record<string, string>>,
): Promise<unknown> {
  return readJson(seal, await send(seal, keyOrder(seal, what, body)));
}

const keyOrder = (
  { mount_path, key_name }: TransitSeal,
  what: 'encrypt' | 'decrypt',
  body: Readonly<Record<string, string>>,
): HttpOrder => ({
  path: `${mount_path}/${what}/${key_name}`,
  method: 'POST',
  body: JSON.stringify(body),
});

interface HttpOrder {
  path: string;
  method: 'GET' | 'POST';
  body?: string;
}

interface HttpAnswer {
  status: number;
  text: string;
}

function readJson(seal: TransitSeal, { status, text }: HttpAnswer): unknown {
  if (status !== 200) throw refuse(seal, `it answered ${status}`);
  try {
    return JSON.parse(text);
  } catch {
    throw refuse(seal, 'its answer is no JSON');
  }
}

function send(
  seal: TransitSeal,
  { path, method, body = '' }: HttpOrder,
  stopped?: AbortSignal,
): Promise<HttpAnswer> {
  const { address, token, namespace } = seal;
  const url = new URL(`/v1/${path}`, address);
  const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
  const late = AbortSignal.timeout(DEADLINE_MS);
  const fail = (why: string): void => reject(refuse(seal, why));
  const options = {
    method,
    signal: stopped ? AbortSignal.any([late, stopped]) : late,
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'x-vault-token': token,
      'x-vault-request': 'true',
      ...(namespace !== undefined && { 'x-vault-namespace': namespace }),
    },
    ...CLIENT_TLS,
    ...trustOf(seal),
  };
  // Redirects are not followed: what is sent is for this server alone.
  const open = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const request = open(url, options, (answer) => {
    gather(answer).then(
      (text) => resolve({ status: answer.statusCode ?? 0, text }),
      (error: unknown) => fail(reasonOf(error)),
    );
  });
  request.on('error', (error) => fail(reasonOf(error)));
  request.end(body);
  return promise;
}

function trustOf(seal: TransitSeal): { ca?: Buffer; servername?: string } {
  const { tls_ca_cert, tls_server_name } = seal;
  try {
    return {
      ...(tls_ca_cert !== undefined && { ca: readFileSync(tls_ca_cert) }),
      ...(tls_server_name !== undefined && { servername: tls_server_name }),
    };
  } catch (error) {
    throw refuse(seal, `seal.tls_ca_cert cannot be read: ${reasonOf(error)}`);
  }
}

async function gather(answer: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of answer) {
    const bytes = Buffer.from(piece);
    length += bytes.length;
    if (length > MOST_BYTES) throw new Error('its answer is too long');
    pieces.push(bytes);
  }
  return Buffer.concat(pieces).toString('utf8');
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError' || error.name === 'AbortError') return 'it takes too long';
  return 'code' in error ? String(error.code) : error.message;
}
