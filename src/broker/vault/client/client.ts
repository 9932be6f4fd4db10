import { type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { App } from '../../../app/app.ts';
import { refuseLiteral } from '../../../config/reach.client.ts';
import type { ReachRules } from '../../../config/reach-rules.ts';
import { Failure } from '../../../core/failure.ts';
import type { Asker } from '../../../core/fairness/asker.ts';
import { whoAsks } from '../../../core/fairness/asking.ts';
import { nextBreath } from '../../../core/fairness/breath.ts';
import { Connections } from '../../../core/fairness/connections.ts';
import { siteOfParty } from '../../../core/fairness/party.ts';
import type { Whose } from '../../../core/fairness/piece.ts';
import { memoizeWeak } from '../../../core/memoize-weak.ts';
import { OnDemandThread } from '../../../core/on-demand.pool.ts';
import { exportPrivateKey } from '../../../x509/private-keys.ts';
import { mayBeSlowToRead } from '../../../x509/slow-certificates.ts';
import { openTunnelTo, reachOfWorkers, type Tunnel } from '../../workers/tunnels.ts';
import {
  parseVaultAnswer,
  urlOf,
  type VaultAnswer,
  type VaultConnection,
  VaultFault,
} from './answer.ts';
import { type AnswerBounds, type Said, SHORT } from './coming.ts';
import { piecesOf } from './repeated.ts';
import { findKey } from './secure-contexts.client.ts';
import { type Order, TIMEOUT } from './talk.client.ts';
import type { FromTalkThread, Parsed, ToTalkThread } from './thread.ts';
import { describeRefusal } from './words.ts';

/** One request to a Vault server. */
export interface VaultRequest {
  method: 'GET' | 'POST' | 'PUT';
  /** After `/v1/`, with a query where there is one. */
  path: string;
  /** JSON text, sent as it is. */
  body?: string;
  /** Of what asks for a secret: the texts of its path and body of which no part is told that a server repeats. */
  hides?: () => readonly string[];
  /** Tells when nobody waits for it any more: then it is not begun. */
  onGone?: Asker['onGone'];
  /** Of the server's own work: for whom it is done. */
  whose?: Pick<Whose, 'party' | 'site'>;
  /** Milliseconds for the request and its answer together; the usual unless told. */
  timeout_ms?: number;
  /** Of the answer; {@link SHORT} unless it is a secret. */
  bounds?: AnswerBounds;
}

// An answer takes ten seconds at most, and so does waiting for a place.
const WAITING = { waiting: 1024, waiting_each: 256, longest_wait_ms: TIMEOUT };

const connections = new Connections(
  {
    store: {
      at_once: 16,
      at_once_each: 8,
      at_once_site: 12,
      waiting: 512,
      waiting_each: 256,
      longest_wait_ms: TIMEOUT,
    },
    all: {
      fresh: { at_once: 24, at_once_site: 12, ...WAITING },
      quick: { at_once: 32, at_once_site: 8, ...WAITING },
      slow: { at_once: 32, at_once_site: 16, ...WAITING },
      overdue: 40,
      slow_ms: 2_000,
    },
  },
  () =>
    new VaultFault('busy', 'too many credentials are being asked for, try again in some seconds'),
);

/** As whom somebody waits for a connection: the request that it is for, whoever makes it. */
function askerOf({ onGone, whose }: VaultRequest): Asker & { site: string } {
  if (whose) return { ...whose, onGone };
  const { party } = whoAsks();
  return { party, site: siteOfParty(party), onGone };
}

/** What of the app a request to a Vault server needs. */
type VaultApp = Pick<App, 'config' | 'onClose'> & {
  log: Pick<App['log'], 'warn'>;
  barrier: Pick<App['barrier'], 'onSeal' | 'sealed'>;
};

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
  const { credential_stores, listen, proxy_listen } = app.config;
  const asker = askerOf(request);
  const order: Order = {
    connection,
    method: request.method,
    url: url.href,
    body: request.body,
    reach: credential_stores,
    listening: [listen.host, proxy_listen.host],
    party: asker.party,
    site: asker.site,
    bounds: request.bounds ?? SHORT,
    ...(request.timeout_ms === undefined ? {} : { timeout_ms: request.timeout_ms }),
  };
  const said = await connections.take(url.host, asker, () => talkThrough(app, order, url));
  try {
    // However many have come, few are parsed in one turn.
    await nextBreath();
    return readSaid(connection, request, said);
  } finally {
    said.tellParsed();
  }
}

/** Through a worker, where the connection says so. */
async function talkThrough(app: VaultApp, order: Order, url: URL): ReturnType<typeof talkOnThread> {
  const { worker_filter = '' } = order.connection;
  if (worker_filter === '') return talkOnThread(app, order);
  const reach = reachOfWorkers(order.reach);
  // Nobody dials what is not to be reached.
  refuseLiteral({ ...order, reach }, url, (kind, because) => new VaultFault(kind, because));
  const tunnel = await openTunnel(app, worker_filter, { url, reach: order.reach });
  try {
    if (!tunnel) return await talkOnThread(app, order);
    return await talkOnThread(app, { ...order, reach, through: tunnel.path });
  } finally {
    tunnel?.close();
  }
}

async function openTunnel(
  app: VaultApp,
  filter: string,
  to: { url: URL; reach: ReachRules },
): Promise<Tunnel | undefined> {
  try {
    return await openTunnelTo(app, filter, to);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw new VaultFault('unreachable', `the Vault server cannot be reached: ${error.message}`);
  }
}

/** @throws VaultFault for everything but an answer of status 2xx */
function readSaid(
  connection: VaultConnection,
  request: VaultRequest,
  { status, text, weight }: Said,
): VaultAnswer {
  if (status >= 200 && status < 300) return parseVaultAnswer(text, weight);
  const { token, namespace, client_certificate_key } = connection;
  const sent = request.hides && piecesOf([token, namespace, ...request.hides()]);
  const words = describeRefusal(text, [token, client_certificate_key], sent);
  const told = `the Vault server answered status ${status}${words === '' ? '' : `: ${words}`}`;
  throw new VaultFault(status === 403 ? 'refused' : 'status', told, { status, words });
}

/** With the number by which its thread knows it. */
type Handed = Said & { id: number };

type TalkThread = OnDemandThread<Omit<ToTalkThread, 'id'>, FromTalkThread, Handed>;

/** What a thread is given beyond the time that an exchange takes at most, until it counts as stuck. */
const GRACE = 5_000;

/** Ends a thread that is stuck: the next request gets a new one. */
async function talkOnThread(
  app: VaultApp,
  order: Order,
): Promise<Said & { tellParsed: () => void }> {
  const thread = threadOf(app);
  const timer = setTimeout(() => void thread.stop(), TIMEOUT + GRACE);
  try {
    const { id, ...said } = await thread.run({ order });
    const parsed: Parsed = { parsed: id };
    return { ...said, tellParsed: () => thread.tell(parsed) };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw new VaultFault('unreachable', error.message);
  } finally {
    clearTimeout(timer);
    // What is given back then needs the keys no longer than that.
    if (app.barrier.sealed) void thread.finish();
  }
}

/** The thread that requests are given from now on. */
export const threadOf = (app: VaultApp): TalkThread => threadsOf(app).current;

/**
 * Ended when the server is sealed: what connections are secured by, with private keys, goes with it. What was begun comes to
 * its end before: what a server makes then is known here, and is given back.
 */
const threadsOf = memoizeWeak((app: VaultApp) => {
  const threads = { current: newThread(app) };
  const finish = (): Promise<void> => {
    const former = threads.current;
    threads.current = newThread(app);
    return former.finish();
  };
  app.barrier.onSeal(() => void finish());
  app.onClose(finish);
  return threads;
});

function newThread({ log }: VaultApp): TalkThread {
  return new OnDemandThread({
    name: 'vault',
    beside: import.meta.url,
    log,
    undone: 'the Vault server gave no answer',
    deadline_ms: undefined,
    read: saidIn,
  });
}

function saidIn(answer: FromTalkThread): Handed {
  switch (answer.type) {
    case 'said':
      return { ...answer.said, id: answer.id };
    case 'fault':
      throw new VaultFault(answer.kind, answer.message, { made: answer.made });
    case 'failed':
      throw new Error(answer.message);
  }
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
  if (mayBeSlowToRead(pem)) return false;
  try {
    createSecureContext(options);
    return pem.includes('-----BEGIN CERTIFICATE-----');
  } catch {
    return false;
  }
}

function isPair(certificate: string, key: KeyObject): boolean {
  if (mayBeSlowToRead(certificate)) return false;
  try {
    return new X509Certificate(certificate).checkPrivateKey(key);
  } catch {
    return false;
  }
}
