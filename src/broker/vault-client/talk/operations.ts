import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { request as requestHttp } from 'node:http';
import { type RequestOptions, request as requestHttps } from 'node:https';
import { isIP, type LookupFunction, Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Duplex } from 'node:stream';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { Gathering } from '../../../core/gathering.ts';
import { partyOf } from '../../../core/party.ts';
import { type Hold, SharedBytes } from '../../../core/shared-bytes.ts';
import { faultOfCode, type VaultConnection, VaultFault } from '../answer.ts';
import { Gate } from '../gate/operations.ts';
import { BEGINNING, findMadeLease, type MadeLease } from '../made.ts';
import { type NameAsker, NameTurns } from '../name-turns.ts';
import { judgeReach, type ReachRules } from '../reach.ts';
import { SecureContexts } from '../secure-contexts/operations.ts';
import { Shares } from '../shares.ts';

/** One exchange with a Vault server, as a value that a thread can be given. */
export interface Order {
  connection: VaultConnection;
  method: 'GET' | 'POST' | 'PUT';
  url: string;
  body: string | undefined;
  reach: ReachRules;
  /** Where this server listens, besides its interfaces. */
  listening: readonly string[];
  /** For whom. */
  party: string;
  /** What that lies in together with others that are likely one. */
  site: string;
  /** Milliseconds for the request and its answer together; {@link TIMEOUT} unless told. */
  timeout_ms?: number;
}

export interface Said {
  status: number;
  text: string;
}

/** Milliseconds for a request and its answer together. */
export const TIMEOUT = 10_000;
/** Bytes of an answer. */
const MOST_BODY = 1 << 20;

/** All answers that are coming, and those from one server: memory is the process's. */
const answers = new SharedBytes({ total: 32 << 20, each: 8 << 20 });

/** Bytes of an answer's head. */
const MOST_HEAD = 16 << 10;
/** Bytes on the wire until a connection is secured: an honest chain of certificates is a quarter of it, and one made to be costly has fewer. */
const MOST_HANDSHAKE = 32 << 10;
/** Bytes on the wire after that: an answer in tiny parts is longer than itself. */
const MOST_WIRE = MOST_HEAD + MOST_BODY + (256 << 10);

const nameTurns = new NameTurns<LookupAddress>(
  () => new VaultFault('busy', 'too many names are being looked up, try again in some seconds'),
);

/** Of the thread that this runs on: what comes from all servers is read in pieces, and they share it out. */
const shares = new Shares({
  now: () => performance.now(),
  spent: () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  },
  next: (work) => void setImmediate(work),
});

/** Of the thread that this runs on; they end with it. */
const contexts = new SecureContexts();

/**
 * Sends a request and takes the answer, whatever its status.
 *
 * @throws VaultFault
 */
export async function talk(order: Order): Promise<Said> {
  const url = new URL(order.url);
  refuseLiteral(order, url);
  return exchange(
    url,
    () => openGate(order, url),
    (gate) => optionsFor(order, url, gate),
    order.body,
    (giveUp) => answers.hold(url.host, giveUp),
  );
}

/** Whoever asks, where it goes, and what that is called: a crowd of each has one share. */
function openGate(order: Order, url: URL): Gate {
  const port = Number(url.port === '' ? defaultPort(url) : url.port);
  const host = hostOf(url);
  const raw = new Socket().setNoDelay(true);
  const lookUp = lookupWithin(order, (listener) => {
    raw.once('close', listener);
    return () => void raw.off('close', listener);
  });
  raw.connect({ host, port, lookup: lookUp });
  const asker = `asker ${order.site}`;
  return new Gate(raw, {
    shares,
    accounts: () => [asker, `at ${partyOf(raw.remoteAddress ?? '')}`, `server ${url.host}`],
    most: url.protocol === 'https:' ? MOST_HANDSHAKE : MOST_WIRE,
    tooLong: new VaultFault('malformed', 'the answer of the Vault server is too long'),
  });
}

const defaultPort = ({ protocol }: URL): number => (protocol === 'https:' ? 443 : 80);

function secure(gate: Gate, { connection }: Order, url: URL): Duplex {
  const { tls_server_name, tls_skip_verify } = connection;
  const host = hostOf(url);
  const options: ConnectionOptions = {
    socket: gate,
    host,
    servername: tls_server_name === '' && isIP(host) === 0 ? host : tls_server_name,
    rejectUnauthorized: !tls_skip_verify,
    secureContext: contexts.get(connection),
    ALPNProtocols: ['http/1.1'],
  };
  return connectTls(options, () => gate.allow(MOST_WIRE));
}

function optionsFor(order: Order, url: URL, gate: Gate): RequestOptions {
  const { connection, method, body } = order;
  return {
    method,
    maxHeaderSize: MOST_HEAD,
    createConnection: () => (url.protocol === 'https:' ? secure(gate, order, url) : gate),
    signal: AbortSignal.timeout(order.timeout_ms ?? TIMEOUT),
    headers: {
      accept: 'application/json',
      'x-vault-request': 'true',
      'x-vault-token': connection.token,
      ...(connection.namespace === '' ? {} : { 'x-vault-namespace': connection.namespace }),
      ...(body === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    },
  };
}

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1');

/** @throws VaultFault `barred` for an address, which nobody looks up, that is not to be reached */
function refuseLiteral(order: Order, url: URL): void {
  const address = hostOf(url);
  if (isIP(address) === 0) return;
  const fault = faultOfAddress(order, address, listOwnAddresses(order));
  if (fault) throw fault;
}

/**
 * Resolves a name for one connection, and judges what it resolves to right there: what was judged is
 * what is connected to, whatever the name resolves to a moment later.
 */
function lookupWithin(order: Order, onGone: NameAsker['onGone']): LookupFunction {
  return (hostname, options, done) => {
    const asker = { party: order.party, site: order.site, onGone };
    const lookUp = () => lookup(hostname, { ...options, all: true });
    const judge = (found: readonly LookupAddress[]): void => {
      const [first] = found;
      if (!first) {
        done(new VaultFault('unreachable', 'the name has no address'), '');
        return;
      }
      // A name of which one address leads inwards is not tried at the others.
      const own = listOwnAddresses(order);
      const faults = found.map(({ address }) => faultOfAddress(order, address, own));
      const fault = faults.find((one) => one !== undefined);
      if (fault) done(fault, '');
      else if (options.all) done(null, [...found]);
      else done(null, first.address, first.family);
    };
    nameTurns.take(hostname, asker, lookUp).then(judge, (error) => done(error, ''));
  };
}

function faultOfAddress(
  { reach }: Order,
  address: string,
  own: readonly string[],
): VaultFault | undefined {
  const verdict = judgeReach(address, reach, own);
  return verdict.allowed ? undefined : new VaultFault('barred', verdict.because);
}

/** Read for each connection, since interfaces come and go; it takes some tens of microseconds. */
function listOwnAddresses({ listening }: Order): string[] {
  const all = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
  return [...all.map(({ address }) => address), ...listening];
}

function exchange(
  url: URL,
  open: () => Gate,
  makeOptions: (gate: Gate) => RequestOptions,
  body: string | undefined,
  holdFor: (giveUp: () => void) => Hold,
): Promise<Said> {
  return new Promise((resolve, reject) => {
    let findMade = (): MadeLease | undefined => undefined;
    const fail = (error: Error & { code?: unknown }): void => {
      const fault = error instanceof VaultFault ? error : faultOfCode(String(error.code ?? ''));
      reject(new VaultFault(fault.kind, fault.message, { made: findMade() }));
    };
    const gate = open();
    let sent: ReturnType<typeof requestHttp>;
    try {
      sent = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, makeOptions(gate));
    } catch (error) {
      gate.destroy();
      // Certificates and keys that cannot be read are found here.
      fail(error instanceof Error ? error : new Error('no request could be made'));
      return;
    }
    gate.on('error', (error) => void sent.destroy(error));
    sent.on('error', fail);
    let isAnswered = false;
    sent.on('close', () => {
      gate.destroy();
      // One that changes the protocol is let go of without an error.
      if (!isAnswered) fail(new VaultFault('malformed', 'the Vault server gave no answer'));
    });
    sent.on('response', (response) => {
      isAnswered = true;
      const giveUp = (): void => {
        sent.destroy(new VaultFault('malformed', 'the answer of the Vault server is too long'));
      };
      const hold = holdFor(giveUp);
      const gathering = new Gathering({ limit: MOST_BODY, hold });
      let refused: Uint8Array = new Uint8Array(0);
      const status = response.statusCode ?? 0;
      if (status >= 200 && status < 300) {
        findMade = () => findMadeLease(textOf(gathering.bytes(), refused));
      }
      response.on('error', fail);
      response.on('close', () => {
        hold.release();
        fail(new VaultFault('malformed', 'the answer of the Vault server has no end'));
      });
      response.on('data', (part: Buffer) => {
        if (sent.destroyed || !gathering.add(part)) return;
        refused = part;
        giveUp();
      });
      response.on('end', () => {
        findMade = () => undefined;
        resolve({ status, text: Buffer.from(gathering.bytes()).toString('utf8') });
      });
    });
    sent.end(body);
  });
}

/** The beginning of what came, with the piece that was no longer taken. */
const textOf = (...pieces: readonly Uint8Array[]): string =>
  Buffer.concat(pieces.map((piece) => piece.subarray(0, BEGINNING)))
    .subarray(0, BEGINNING)
    .toString('utf8');
