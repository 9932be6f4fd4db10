import type { LookupAddress } from 'node:dns';
import { request as requestHttp } from 'node:http';
import { type RequestOptions, request as requestHttps } from 'node:https';
import { isIP, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { hostOf, lookupWithin, type Reach, refuseLiteral } from '../../../config/reach.client.ts';
import { FairTurns } from '../../../core/fairness/fair-turns.ts';
import { partyOf } from '../../../core/fairness/party.ts';
import { type Hold, SharedBytes } from '../../../core/fairness/shared-bytes.ts';
import { withoutIssuers } from '../../../core/tls.client.ts';
import { defaultPort } from '../../workers/tunnels.ts';
import { faultOfCode, type VaultConnection, VaultFault } from './answer.ts';
import { type AnswerBounds, ComingAnswer, noRoom, type Said, SECRET, tooLong } from './coming.ts';
import { Gate } from './gate.client.ts';
import type { MadeLease } from './made.ts';
import { type NameAsker, NameTurns } from './name-turns.ts';
import { SecureContexts } from './secure-contexts.client.ts';
import { findHandshakeSecret, ServerFlight } from './server-flight.ts';
import { Shares } from './shares.ts';

/** One exchange with a Vault server, as a value that a thread can be given. */
export interface Order extends Reach {
  connection: VaultConnection;
  method: 'GET' | 'POST' | 'PUT';
  url: string;
  body: string | undefined;
  /** Of a socket of this machine that leads there; undefined: it is looked up and dialled. */
  through?: string | undefined;
  /** For whom. */
  party: string;
  /** What that lies in together with others that are likely one. */
  site: string;
  /** Milliseconds for the request and its answer together; {@link TIMEOUT} unless told. */
  timeout_ms?: number;
  /** Of its answer. */
  bounds: AnswerBounds;
}

/** Milliseconds for a request and its answer together. */
export const TIMEOUT = 10_000;
/** All answers that are coming or wait to be handed over, and those from one server: memory is the process's. */
const answers = new SharedBytes({ total: 32 << 20, each: 8 << 20 });

/** Answers that are handed over and not parsed yet: parsed, each takes up to three times what the longest text does. */
const handing = new FairTurns(
  { at_once: 4, at_once_site: 2, waiting: 512, waiting_each: 512, longest_patience_ms: 4_000 },
  noRoom,
);

/** Bytes of an answer's head. */
const MOST_HEAD = 16 << 10;
/** Bytes on the wire until a connection is secured: an honest chain of certificates is a quarter of it, and one made to be costly has fewer. */
const MOST_HANDSHAKE = 32 << 10;
/** Bytes on the wire after that: an answer in tiny parts is longer than itself. */
const MOST_WIRE = MOST_HEAD + SECRET.bytes + (256 << 10);

const nameTurns = new NameTurns<LookupAddress>(
  () => new VaultFault('busy', 'too many names are being looked up, try again in some seconds'),
);

const refuse = (kind: 'barred' | 'unreachable', because: string): VaultFault =>
  new VaultFault(kind, because);

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
 * @param hand gives the answer on when its turn comes, until it has been parsed there
 * @throws VaultFault
 */
export async function talk(
  order: Order,
  hand: (said: Said) => Promise<void> = async () => {},
): Promise<Said> {
  const url = new URL(order.url);
  refuseLiteral(order, url, refuse);
  let giveUp = (): void => {};
  const onGone = (listener: () => void): (() => void) => {
    giveUp = listener;
    return () => {};
  };
  const hold = answers.hold(url.host, () => giveUp());
  try {
    const { said, findMade } = await exchange(order, url, { hold, onGone });
    const { party, site } = order;
    const handOver = (): Promise<void> => {
      // Nobody takes it back from there: its place counts, instead of its bytes.
      hold.release();
      return hand(said);
    };
    await handing.take({ party, site, onGone }, handOver).catch((error: unknown) => {
      throw withMade(error, findMade());
    });
    return said;
  } finally {
    hold.release();
  }
}

/** A fault that tells of what was made nevertheless. */
function withMade(error: unknown, made: MadeLease | undefined): VaultFault {
  const fault = error instanceof VaultFault ? error : faultOfCode(String(Object(error).code ?? ''));
  return new VaultFault(fault.kind, fault.message, { made });
}

/** Whoever asks, where it goes, and what that is called: a crowd of each has one share. */
function openGate(order: Order, url: URL): Gate {
  const port = Number(url.port === '' ? defaultPort(url) : url.port);
  const host = hostOf(url);
  const raw = new Socket().setNoDelay(true);
  const onGone: NameAsker['onGone'] = (listener) => {
    raw.once('close', listener);
    return () => void raw.off('close', listener);
  };
  const { party, site } = order;
  const lookUp = lookupWithin(order, refuse, (find, name) =>
    nameTurns.take(name, { party, site, onGone }, find),
  );
  if (order.through === undefined) raw.connect({ host, port, lookup: lookUp });
  else raw.connect({ path: order.through });
  const asker = `asker ${order.site}`;
  const isSecured = url.protocol === 'https:';
  return new Gate(raw, {
    shares,
    accounts: () => [asker, `at ${partyOf(raw.remoteAddress ?? '')}`, `server ${url.host}`],
    most: isSecured ? MOST_HANDSHAKE : MOST_WIRE,
    tooLong: tooLong(),
    flight: isSecured ? new ServerFlight(MOST_HANDSHAKE) : undefined,
  });
}

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
  const secured = withoutIssuers(connectTls(options, () => gate.allow(MOST_WIRE)));
  return secured.on('keylog', (line) => {
    const secret = findHandshakeSecret(line, () => secured.getCipher().standardName);
    if (secret) gate.learn(secret);
  });
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

/** What came, and what it tells of what was made. */
interface Exchanged {
  said: Said;
  findMade(): MadeLease | undefined;
}

/** Where an answer counts, and how to hear that the room is needed for others. */
interface Keeping {
  hold: Hold;
  onGone(listener: () => void): void;
}

function exchange(order: Order, url: URL, keeping: Keeping): Promise<Exchanged> {
  return new Promise((resolve, reject) => {
    let findMade = (): MadeLease | undefined => undefined;
    const fail = (error: unknown): void => reject(withMade(error, findMade()));
    const gate = openGate(order, url);
    let sent: ReturnType<typeof requestHttp>;
    try {
      const options = optionsFor(order, url, gate);
      sent = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, options);
    } catch (error) {
      gate.destroy();
      // Certificates and keys that cannot be read are found here.
      fail(error);
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
    keeping.onGone(() => void sent.destroy(tooLong()));
    sent.on('response', (response) => {
      isAnswered = true;
      const answer = new ComingAnswer(response.statusCode ?? 0, order.bounds, keeping.hold);
      findMade = () => answer.findMade();
      const finish = (): void => resolve({ said: answer.finish(), findMade });
      const attempt = (step: () => void): void => {
        try {
          step();
        } catch (fault) {
          fail(fault);
          sent.destroy();
        }
      };
      response.on('error', fail);
      response.on('close', () => {
        fail(new VaultFault('malformed', 'the answer of the Vault server has no end'));
      });
      response.on('data', (part: Buffer) => {
        if (sent.destroyed) return;
        attempt(() => {
          if (!answer.add(part)) return;
          finish();
          sent.destroy();
        });
      });
      response.on('end', () => attempt(finish));
    });
    sent.end(order.body);
  });
}
