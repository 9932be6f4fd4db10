import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { type ClientRequest, request as requestHttp } from 'node:http';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { connect as connectTls, createSecureContext } from 'node:tls';
import { judgeReach } from '../../config/reach-rules.ts';
import { CLIENT_TLS, withoutIssuers } from '../../core/tls.client.ts';
import { DeliveryFault, faultOfCode, type WebhookOrder } from './order.ts';

/** Bytes of an answer's head; of its body nothing is read. */
const MOST_HEAD = 16 << 10;

/**
 * Posts a warning. Nothing is sent before the receiver has shown a certificate that is trusted, and no redirect is followed.
 *
 * @throws DeliveryFault for everything but an answer of status 2xx
 */
export async function post(order: WebhookOrder): Promise<void> {
  const url = new URL(order.url);
  refuseLiteral(order, url);
  let socket: Socket | undefined;
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new DeliveryFault('it did not answer in time')),
    order.timeout_ms,
  );
  try {
    socket = open(order, url);
    const exchanged = exchange(order, url, socket);
    // Whoever comes second is not waited for.
    exchanged.catch(() => {});
    const status = await Promise.race([exchanged, late.promise]);
    if (status < 200 || status > 299) throw new DeliveryFault(`it answered status ${status}`);
  } catch (error) {
    throw error instanceof DeliveryFault ? error : faultOfCode(Object(error).code);
  } finally {
    clearTimeout(timer);
    socket?.destroy();
  }
}

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1');

function open(order: WebhookOrder, url: URL): Socket {
  const host = hostOf(url);
  const isSecured = url.protocol === 'https:';
  const port = url.port === '' ? (isSecured ? 443 : 80) : Number(url.port);
  const where = { host, port, lookup: lookupWithin(order) };
  if (!isSecured) return connect(where);
  return withoutIssuers(
    connectTls({
      ...where,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      secureContext: createSecureContext({
        ...CLIENT_TLS,
        ...(order.ca === '' ? {} : { ca: order.ca }),
      }),
      rejectUnauthorized: true,
      ALPNProtocols: ['http/1.1'],
    }),
  );
}

/** @returns the status of the answer */
function exchange(order: WebhookOrder, url: URL, socket: Socket): Promise<number> {
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.on('close', () => reject(new DeliveryFault('it closed the connection')));
    const begin = (): void => {
      const sent: ClientRequest = requestHttp({
        method: 'POST',
        host: hostOf(url),
        path: `${url.pathname}${url.search}`,
        maxHeaderSize: MOST_HEAD,
        createConnection: () => socket,
        headers: {
          host: url.host,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(order.body),
          connection: 'close',
          ...order.headers,
        },
      });
      sent.on('error', reject);
      sent.on('upgrade', () => reject(new DeliveryFault('it changes the protocol')));
      sent.on('response', ({ statusCode = 0 }) => resolve(statusCode));
      sent.end(order.body);
    };
    socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', begin);
  });
}

/** @throws DeliveryFault for an address, which nobody looks up, that is not to be reached */
function refuseLiteral(order: WebhookOrder, url: URL): void {
  const address = hostOf(url);
  if (isIP(address) === 0) return;
  const fault = faultOfAddress(order, address);
  if (fault) throw fault;
}

/** What was judged is what is connected to, whatever the name resolves to a moment later. */
function lookupWithin(order: WebhookOrder): LookupFunction {
  return (hostname, options, done) => {
    const judge = (found: readonly LookupAddress[]): void => {
      const [first] = found;
      // A name of which one address leads inwards is not tried at the others.
      const fault = found
        .map(({ address }) => faultOfAddress(order, address))
        .find((one) => one !== undefined);
      if (fault || !first) done(fault ?? new DeliveryFault('it has no address'), '');
      else if (options.all) done(null, [...found]);
      else done(null, first.address, first.family);
    };
    lookup(hostname, { ...options, all: true }).then(judge, (error) => done(error, ''));
  };
}

function faultOfAddress(order: WebhookOrder, address: string): DeliveryFault | undefined {
  const interfaces = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
  const own = [...interfaces.map((one) => one.address), ...order.listening];
  const verdict = judgeReach(address, order.reach, own);
  return verdict.allowed ? undefined : new DeliveryFault(verdict.because);
}
