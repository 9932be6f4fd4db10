import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext } from 'node:tls';
import { postJsonOn } from '../../config/post-json.client.ts';
import { hostOf, lookupWithin, refuseLiteral } from '../../config/reach.client.ts';
import { CLIENT_TLS, withoutIssuers } from '../../core/tls.client.ts';
import { DeliveryFault, faultOfCode, type WebhookOrder } from './order.ts';

/**
 * Posts a warning. Nothing is sent before the receiver has shown a certificate that is trusted, and no redirect is followed.
 *
 * @throws DeliveryFault for everything but an answer of status 2xx
 */
export async function post(order: WebhookOrder): Promise<void> {
  const url = new URL(order.url);
  refuseLiteral(order, url, refuse);
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

const refuse = (_kind: string, because: string): DeliveryFault => new DeliveryFault(because);

function open(order: WebhookOrder, url: URL): Socket {
  const host = hostOf(url);
  const isSecured = url.protocol === 'https:';
  const port = url.port === '' ? (isSecured ? 443 : 80) : Number(url.port);
  const where = { host, port, lookup: lookupWithin(order, refuse) };
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
      const sent = postJsonOn(socket, url, order.body, order.headers);
      sent.on('error', reject);
      sent.on('upgrade', () => reject(new DeliveryFault('it changes the protocol')));
      // Of its body nothing is read.
      sent.on('response', ({ statusCode = 0 }) => resolve(statusCode));
      sent.end(order.body);
    };
    socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', begin);
  });
}
