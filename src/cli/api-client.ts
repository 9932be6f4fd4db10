import { readFileSync } from 'node:fs';
import { type IncomingMessage, request as requestPlain } from 'node:http';
import { request as requestTls } from 'node:https';
import { withoutTrailing } from '../core/edges.ts';
import { Failure, invalid } from '../core/failure.ts';
import { Gathering } from '../core/fairness/gathering.ts';
import type { Arguments, FlagTable } from './arguments.ts';

/** Flags of every command that talks to a running server. */
export const CLIENT_FLAGS: FlagTable = {
  address: { value: 'URL', help: 'the server (GATEHOUSE_ADDR or VAULT_ADDR, else this machine)' },
  'ca-cert': { value: 'FILE', help: 'PEM of the authority to trust (GATEHOUSE_CACERT)' },
  'token-file': { value: 'FILE', help: 'holds the token (else GATEHOUSE_TOKEN or VAULT_TOKEN)' },
  format: { value: 'json|table', help: 'how the answer is written (table)' },
};

export type Environment = Readonly<Record<string, string | undefined>>;

/** A request may take as long as making an RSA key or a long list does. */
const TIMEOUT_MS = 60_000;
/** Bytes of an answer: no command asks for more than a screen or a file can show. */
const MOST_ANSWER = 64 << 20;

/** The API of a running server, as its commands use it. */
export interface ApiClient {
  /**
   * @param path below `/v1/`
   * @returns the JSON object that was answered; an empty one for an empty answer
   * @throws Failure with one line for the operator when there is no answer, or a refusal
   */
  call(method: 'GET' | 'PUT', path: string, body?: unknown): Promise<Record<string, unknown>>;
}

/** @throws Failure `invalid` for an address or file that cannot be */
export function createApiClient(flags: Arguments['flags'], env: Environment): ApiClient {
  const server = openServer(
    {
      address: flags.get('address') ?? env.GATEHOUSE_ADDR ?? env.VAULT_ADDR,
      ca_file: flags.get('ca-cert') ?? env.GATEHOUSE_CACERT ?? env.VAULT_CACERT,
      token: readTokenFile(flags) ?? env.GATEHOUSE_TOKEN ?? env.VAULT_TOKEN,
    },
    'x-vault-token',
  );
  return {
    async call(method, path, body) {
      const { status, answer } = await server.send(method, path, body);
      if (status >= 200 && status < 300) return answer;
      throw refusal(status, answer, server.hasToken);
    },
  };
}

/** The token in the file of `-token-file`, if that is given. */
export function readTokenFile(flags: Arguments['flags']): string | undefined {
  const file = flags.get('token-file');
  return file === undefined ? undefined : readText('-token-file', file);
}

/** A running server as requests reach it, whichever of its APIs they are for. */
export interface OpenServer {
  hasToken: boolean;
  /**
   * @param path below `/v1/`
   * @returns the JSON object that was answered; an empty one for an empty answer
   * @throws Failure `unavailable` when there is no answer
   */
  send(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; answer: Record<string, unknown> }>;
  /**
   * @param path below `/v1/`
   * @returns the bytes that are answered, as they come; or the refusal
   * @throws Failure `unavailable` when there is no answer, also while they come
   */
  stream(
    path: string,
  ): Promise<
    | { status: number; bytes: AsyncIterable<Uint8Array> }
    | { status: number; answer: Record<string, unknown> }
  >;
}

/** @throws Failure `invalid` for an address, a file or a token that cannot be */
export function openServer(
  given: { address: string | undefined; ca_file: string | undefined; token: string | undefined },
  header: 'x-vault-token' | 'authorization',
): OpenServer {
  const address = addressOf(given.address ?? 'http://127.0.0.1:8200');
  const ca = given.ca_file === undefined ? undefined : readText('-ca-cert', given.ca_file);
  const token = (given.token ?? '').trim();
  if (/[^\x21-\x7e]/.test(token)) throw invalid('the token has characters that no token has');
  const headers: Record<string, string> = { 'x-vault-request': 'true' };
  if (token !== '') headers[header] = header === 'authorization' ? `Bearer ${token}` : token;
  return {
    hasToken: token !== '',
    async send(method, path, body) {
      const { status, text } = await send(address, { method, path, body, ca, headers });
      return { status, answer: parseObject(text) };
    },
    async stream(path) {
      const call: Call = { method: 'GET', path, body: undefined, ca, headers };
      const response = await begin(address, call);
      const { statusCode: status = 0 } = response;
      if (status >= 200 && status < 300) return { status, bytes: bytesOf(response, address) };
      return { status, answer: parseObject(await gather(response, address)) };
    },
  };
}

/** @throws Failure `unavailable` where they break off */
async function* bytesOf(response: IncomingMessage, address: URL): AsyncGenerator<Uint8Array> {
  try {
    yield* response;
  } catch (error) {
    throw connectionFailure(error, address);
  }
}

function addressOf(text: string): URL {
  const address = URL.parse(text);
  if (!address || !/^https?:$/.test(address.protocol) || address.username !== '') {
    throw invalid('the address of the server must be a URL such as "https://ca.example.com:8200"');
  }
  return address;
}

function readText(flag: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw invalid(`the file of ${flag}, "${file}", cannot be read`, { cause });
  }
}

interface Call {
  method: string;
  path: string;
  body: unknown;
  ca: string | undefined;
  headers: Readonly<Record<string, string>>;
}

async function send(address: URL, call: Call): Promise<{ status: number; text: string }> {
  const response = await begin(address, call);
  return { status: response.statusCode ?? 0, text: await gather(response, address) };
}

/** Sends a request; what is answered is there to be read. */
function begin(
  address: URL,
  { method, path, body, ca, headers: own }: Call,
): Promise<IncomingMessage> {
  const url = new URL(`${withoutTrailing(address.pathname, '/')}/v1/${path}`, address);
  const payload = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    ...own,
    ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
  };
  const options = { method, headers, timeout: TIMEOUT_MS, agent: false };
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => reject(connectionFailure(error, address));
    try {
      const request =
        address.protocol === 'https:'
          ? requestTls(url, { ...options, ...(ca === undefined ? {} : { ca }) })
          : requestPlain(url, options);
      request.on('response', resolve);
      request.on('timeout', () =>
        request.destroy(Object.assign(new Error(), { code: 'ETIMEDOUT' })),
      );
      request.on('error', fail);
      request.end(payload);
    } catch (error) {
      fail(error);
    }
  });
}

async function gather(response: IncomingMessage, address: URL): Promise<string> {
  const gathering = new Gathering({ limit: MOST_ANSWER });
  try {
    for await (const chunk of response) {
      if (!gathering.add(chunk)) continue;
      throw Object.assign(new Error('the answer is too long'), { code: 'EMSGSIZE' });
    }
  } catch (error) {
    throw connectionFailure(error, address);
  }
  return Buffer.from(gathering.bytes()).toString('utf8');
}

/** What each error of a connection means for whoever typed the command. */
const MEANINGS: [code: RegExp, meaning: string][] = [
  [/^ECONNREFUSED$/, 'nothing listens there: is the server running, and is -address right?'],
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'its host name is not known'],
  [/^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/, 'it does not answer'],
  [/^CERT_HAS_EXPIRED$/, 'its TLS certificate has expired'],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, 'its TLS certificate is for another name'],
  [
    /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_)/,
    'its TLS certificate is not trusted: name the authority that issued it with -ca-cert',
  ],
  [
    /^(EPROTO|ERR_SSL_)/,
    'it does not speak TLS as this program does: should the address begin with http://?',
  ],
  [
    /^(HPE_|ECONNRESET$|EPIPE$)/,
    'it does not answer in HTTP: should the address begin with https://?',
  ],
  [/^ERR_OSSL_/, 'the file of -ca-cert holds no PEM certificate'],
];

function connectionFailure(cause: unknown, address: URL): Failure {
  const code = String((cause instanceof Error && Reflect.get(cause, 'code')) || '');
  const meaning = MEANINGS.find(([pattern]) => pattern.test(code))?.[1];
  const why = meaning ?? (cause instanceof Error ? cause.message : 'unknown error');
  return new Failure('unavailable', `no connection to ${address.origin}: ${why}`, { cause });
}

function refusal(status: number, answer: Record<string, unknown>, hasToken: boolean): Failure {
  if (status === 403) {
    return new Failure(
      'forbidden',
      hasToken
        ? 'permission denied: the token is not valid, or its policies do not allow this'
        : 'permission denied: give a token, in a file named by -token-file or in GATEHOUSE_TOKEN',
    );
  }
  const errors = Array.isArray(answer.errors) ? answer.errors.map(String).join('; ') : '';
  return invalid(`the server answered ${status}${errors && `: ${errors}`}`);
}

function parseObject(text: string): Record<string, unknown> {
  if (text === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(value));
  } catch {
    // Something else than this API answered.
  }
  throw new Failure('unavailable', 'what answers at the address is not this API');
}
