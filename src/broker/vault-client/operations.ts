import { type KeyObject, X509Certificate } from 'node:crypto';
import { type LookupAddress, lookup } from 'node:dns';
import { request as requestHttp } from 'node:http';
import { type RequestOptions as HttpsOptions, request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';
import { type ConnectionOptions, createSecureContext } from 'node:tls';
import type { App } from '../../app.ts';
import { whoAsks } from '../../core/asking.ts';
import type { Asker } from '../../core/fair-turns.ts';
import { Gathering } from '../../core/gathering.ts';
import { siteOfParty } from '../../core/party.ts';
import { remembered } from '../../core/remembered.ts';
import { type Hold, SharedBytes } from '../../core/shared-bytes.ts';
import { exportPrivateKey } from '../../x509/private-keys.ts';
import {
  describeRefusal,
  faultOfCode,
  parseVaultAnswer,
  urlOf,
  type VaultAnswer,
  type VaultConnection,
  VaultFault,
} from './answer.ts';
import { Connections } from './connections.ts';
import { judgeReach } from './reach.ts';
import { findKey, SecureContexts } from './secure-contexts/operations.ts';

/** One request to a Vault server. */
export interface VaultRequest {
  method: 'GET' | 'POST' | 'PUT';
  /** After `/v1/`, with a query where there is one. */
  path: string;
  /** JSON text, sent as it is. */
  body?: string;
  /** Tells when nobody waits for it any more: then it is not begun. */
  onGone?: Asker['onGone'];
}

/** Milliseconds for a request and its answer together. */
const TIMEOUT = 10_000;
/** Bytes of an answer. */
const MOST_BODY = 1 << 20;

/** All answers that are coming, and those from one server: memory is the process's. */
const answers = new SharedBytes({ total: 32 << 20, each: 8 << 20 });

/** Bytes of an answer's head. */
const MOST_HEAD = 16 << 10;

// An answer takes ten seconds at most, and so does waiting for a place.
const connections = new Connections(
  {
    store: {
      at_once: 16,
      at_once_each: 8,
      waiting: 512,
      waiting_each: 256,
      longest_wait_ms: TIMEOUT,
    },
    all: {
      at_once: 128,
      at_once_each: 32,
      waiting: 1024,
      waiting_each: 256,
      longest_wait_ms: TIMEOUT,
    },
  },
  () =>
    new VaultFault('busy', 'too many credentials are being asked for, try again in some seconds'),
);

/** As whom somebody waits for a connection: the request that it is for, whoever makes it. */
function askerOf(onGone: Asker['onGone']): Asker {
  const { party } = whoAsks();
  return { party, site: siteOfParty(party), onGone };
}

type RequestOptions = HttpsOptions & Pick<ConnectionOptions, 'secureContext'>;

/** What of the app a request to a Vault server needs. */
export type VaultApp = Pick<App, 'config'> & { barrier: Pick<App['barrier'], 'onLock'> };

/**
 * Asks a Vault server. No redirect is followed: the token goes to the configured server alone.
 *
 * @throws VaultFault for everything but an answer of status 2xx
 */
export async function askVault(
  app: VaultApp,
  connection: VaultConnection,
  request: VaultRequest,
): Promise<VaultAnswer> {
  const url = urlOf(connection.address, request.path);
  refuseLiteral(app, url);
  const { status, text } = await connections.take(url.host, askerOf(request.onGone), () =>
    exchange(
      url,
      () => optionsFor(app, connection, request, url),
      request.body,
      (giveUp) => answers.hold(url.host, giveUp),
    ),
  );
  if (status >= 200 && status < 300) return parseVaultAnswer(text);
  const because = describeRefusal(text);
  const said = `the Vault server answered status ${status}${because === '' ? '' : `: ${because}`}`;
  throw new VaultFault(status === 403 ? 'refused' : 'status', said, status);
}

function optionsFor(
  app: VaultApp,
  connection: VaultConnection,
  { method, body }: VaultRequest,
  url: URL,
): RequestOptions {
  return {
    method,
    agent: false,
    maxHeaderSize: MOST_HEAD,
    lookup: lookupWithin(app),
    signal: AbortSignal.timeout(TIMEOUT),
    headers: {
      accept: 'application/json',
      'x-vault-request': 'true',
      'x-vault-token': connection.token,
      ...(connection.namespace === '' ? {} : { 'x-vault-namespace': connection.namespace }),
      ...(body === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    },
    ...(url.protocol === 'https:' ? tlsOptions(app, connection) : {}),
  };
}

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1');
/** @throws VaultFault `barred` for an address, which nobody looks up, that is not to be reached */
function refuseLiteral(app: Pick<App, 'config'>, url: URL): void {
  const address = hostOf(url);
  if (isIP(address) === 0) return;
  const fault = faultOfAddress(app, address, listOwnAddresses(app));
  if (fault) throw fault;
}

/**
 * Resolves a name for one connection, and judges what it resolves to right there: what was judged is
 * what is connected to, whatever the name resolves to a moment later.
 */
function lookupWithin(app: Pick<App, 'config'>): LookupFunction {
  return (hostname, options, done) => {
    lookup(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
      const [first] = found ?? [];
      if (error || !first) {
        done(error ?? new VaultFault('unreachable', 'the name has no address'), '');
        return;
      }
      // A name of which one address leads inwards is not tried at the others.
      const own = listOwnAddresses(app);
      const faults = found.map(({ address }) => faultOfAddress(app, address, own));
      const fault = faults.find((one) => one !== undefined);
      if (fault) done(fault, '');
      else if (options.all) done(null, found);
      else done(null, first.address, first.family);
    });
  };
}

function faultOfAddress(
  { config }: Pick<App, 'config'>,
  address: string,
  own: readonly string[],
): VaultFault | undefined {
  const verdict = judgeReach(address, config.credential_stores, own);
  return verdict.allowed ? undefined : new VaultFault('barred', verdict.because);
}

/** Read for each connection, since interfaces come and go; it takes some tens of microseconds. */
function listOwnAddresses({ config }: Pick<App, 'config'>): string[] {
  const { listen, proxy_listen } = config;
  const all = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
  return [...all.map(({ address }) => address), listen.host, proxy_listen.host];
}

function tlsOptions(app: VaultApp, connection: VaultConnection): RequestOptions {
  const { tls_server_name, tls_skip_verify } = connection;
  return {
    rejectUnauthorized: !tls_skip_verify,
    secureContext: contextsOf(app.barrier).get(connection),
    ...(tls_server_name === '' ? {} : { servername: tls_server_name }),
  };
}

/** Dropped when the server is sealed, as all that was opened. */
export const contextsOf = remembered((barrier: VaultApp['barrier']) => {
  const contexts = new SecureContexts();
  barrier.onLock(() => contexts.clear());
  return contexts;
});

function exchange(
  url: URL,
  makeOptions: () => RequestOptions,
  body: string | undefined,
  holdFor: (giveUp: () => void) => Hold,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error & { code?: unknown }): void =>
      reject(error instanceof VaultFault ? error : faultOfCode(String(error.code ?? '')));
    let sent: ReturnType<typeof requestHttp>;
    try {
      sent = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, makeOptions());
    } catch (error) {
      // Certificates and keys that cannot be read are found here.
      fail(error instanceof Error ? error : new Error('no request could be made'));
      return;
    }
    sent.on('error', fail);
    sent.on('response', (response) => {
      const giveUp = (): void => {
        sent.destroy(new VaultFault('malformed', 'the answer of the Vault server is too long'));
      };
      const hold = holdFor(giveUp);
      const gathering = new Gathering({ limit: MOST_BODY, hold });
      response.on('error', fail);
      response.on('close', () => hold.release());
      response.on('data', (part: Buffer) => {
        if (!sent.destroyed && gathering.add(part)) giveUp();
      });
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          text: Buffer.from(gathering.bytes()).toString('utf8'),
        }),
      );
    });
    sent.end(body);
  });
}

/**
 * Names the field of a connection's certificates that cannot be used.
 *
 * @returns undefined when all of them can
 */
export function findUnusableField(
  connection: VaultConnection,
): 'ca_cert' | 'client_certificate' | undefined {
  const { ca_cert, client_certificate, client_certificate_key } = connection;
  if (ca_cert !== '' && !canUse({ ca: ca_cert }, ca_cert)) return 'ca_cert';
  if (client_certificate === '' && client_certificate_key === '') return undefined;
  const key = findKey(client_certificate_key);
  if (!key || !isPair(client_certificate, key)) return 'client_certificate';
  const pair = { cert: client_certificate, key: exportPrivateKey(key, 'pkcs8', 'pem') };
  return canUse(pair, client_certificate) ? undefined : 'client_certificate';
}

function canUse(options: Parameters<typeof createSecureContext>[0], pem: string): boolean {
  try {
    createSecureContext(options);
    return pem.includes('-----BEGIN CERTIFICATE-----');
  } catch {
    return false;
  }
}

function isPair(certificate: string, key: KeyObject): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(key);
  } catch {
    return false;
  }
}
