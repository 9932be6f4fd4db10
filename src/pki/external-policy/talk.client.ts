import { isIP } from 'node:net';
import { connect as connectTls, createSecureContext, type TLSSocket } from 'node:tls';
import { postJsonOn } from '../../config/post-json.client.ts';
import { hostOf, lookupWithin, type Reach, refuseLiteral } from '../../config/reach.client.ts';
import { FairTurns } from '../../core/fairness/fair-turns.ts';
import { CLIENT_TLS, withoutIssuers } from '../../core/tls.client.ts';
import { LONGEST_ANSWER, type PolicyAnswer, PolicyFault, parsePolicyAnswer } from './answer.ts';

/** One request to a service, as a value that a thread can be given. */
export interface Order extends Reach {
  url: string;
  /** JSON text. */
  body: string;
  /** Milliseconds for all of it. */
  timeout_ms: number;
  /** PEM; empty for none. */
  trusted_ca: string;
  /** Base64 of DER of certificates of which it has to show one; none: any that is trusted. */
  trusted_leaves: readonly string[];
  /** PEM; empty for none. */
  client_certificates: string;
  client_key: string;
}

// The thread pool looks names up, and has one thread for all but Vault servers.
const nameTurns = new FairTurns(
  { at_once: 1, waiting: 64, waiting_each: 64, longest_wait_ms: 5_000 },
  () => new PolicyFault('busy', 'too many names are being looked up'),
);
const lookUpInTurn = <Found>(find: () => Promise<Found>, party: string): Promise<Found> =>
  nameTurns.take({ party }, find);

const refuse = (kind: 'barred' | 'unreachable', because: string): PolicyFault =>
  new PolicyFault(kind, because);

/**
 * Sends a request, and reads the answer of status 200. Nothing is sent before the service has shown what it is known by,
 * and no redirect is followed.
 *
 * @throws PolicyFault
 */
export async function ask(order: Order): Promise<PolicyAnswer> {
  const url = new URL(order.url);
  refuseLiteral(order, url, refuse);
  let secured: TLSSocket | undefined;
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new PolicyFault('late', 'it did not answer in time')),
    order.timeout_ms,
  );
  try {
    secured = openTls(order, url);
    const socket = secured;
    const talking = secure(order, socket).then(() => exchange(order, url, socket));
    // Whoever comes second is not waited for.
    talking.catch(() => {});
    return parsePolicyAnswer(await Promise.race([talking, late.promise]));
  } catch (error) {
    throw error instanceof PolicyFault ? error : faultOfCode(String(Object(error).code ?? ''));
  } finally {
    clearTimeout(timer);
    secured?.destroy();
  }
}

function openTls(order: Order, url: URL): TLSSocket {
  const { trusted_ca, client_certificates, client_key } = order;
  const host = hostOf(url);
  const secureContext = createSecureContext({
    ...CLIENT_TLS,
    ...(trusted_ca === '' ? {} : { ca: trusted_ca }),
    ...(client_key === '' ? {} : { cert: client_certificates, key: client_key }),
  });
  const secured = connectTls({
    host,
    port: url.port === '' ? 443 : Number(url.port),
    ...(isIP(host) === 0 ? { servername: host } : {}),
    lookup: lookupWithin(order, refuse, lookUpInTurn),
    secureContext,
    // One that is known by itself needs nobody above it.
    rejectUnauthorized: trusted_ca !== '',
    ALPNProtocols: ['http/1.1'],
  });
  return withoutIssuers(secured);
}

/** Waits until the service has shown what it is known by. */
function secure({ trusted_leaves }: Order, socket: TLSSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.on('close', () => reject(new PolicyFault('unreachable', 'it closed the connection')));
    socket.on('secureConnect', () => {
      const fault = trusted_leaves.length > 0 ? judgeLeaf(trusted_leaves, socket) : undefined;
      if (fault) reject(fault);
      else resolve();
    });
  });
}

function judgeLeaf(trusted: readonly string[], socket: TLSSocket): PolicyFault | undefined {
  const shown = socket.getPeerX509Certificate();
  if (!shown || !trusted.includes(shown.raw.toString('base64'))) {
    return new PolicyFault('untrusted', 'its certificate is none of the trusted ones');
  }
  const now = Date.now();
  const isValid = Date.parse(shown.validFrom) <= now && now <= Date.parse(shown.validTo);
  return isValid ? undefined : new PolicyFault('untrusted', 'its certificate has expired');
}

function exchange({ body }: Order, url: URL, socket: TLSSocket): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = postJsonOn(socket, url, body, { accept: 'application/json' });
    sent.on('error', reject);
    sent.on('upgrade', () => reject(new PolicyFault('malformed', 'it changes the protocol')));
    sent.on('close', () => reject(new PolicyFault('malformed', 'its answer has no end')));
    sent.on('response', (response) => {
      if (response.statusCode !== 200) {
        reject(new PolicyFault('status', `it answered status ${response.statusCode}, not 200`));
        return;
      }
      const parts: Buffer[] = [];
      let bytes = 0;
      response.on('error', reject);
      response.on('data', (part: Buffer) => {
        bytes += part.length;
        if (bytes > LONGEST_ANSWER) {
          const most = `more than ${LONGEST_ANSWER} bytes`;
          reject(new PolicyFault('malformed', `its answer has ${most}`));
          sent.destroy();
        } else parts.push(part);
      });
      response.on('end', () => {
        if (response.complete) resolve(Buffer.concat(parts).toString('utf8'));
      });
    });
    sent.end(body);
  });
}

/** What went wrong beneath HTTP, by the code of the runtime's error. */
function faultOfCode(code: string): PolicyFault {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return new PolicyFault('untrusted', 'its certificate has another name');
  }
  if (/CERT|VERIFY|SIGNED|UNTRUSTED|ISSUER|CRL|PURPOSE|CHAIN/.test(code)) {
    return new PolicyFault('untrusted', `its certificate, or the one shown to it, fails: ${code}`);
  }
  if (code.startsWith('HPE_'))
    return new PolicyFault('malformed', `its answer is no HTTP: ${code}`);
  return new PolicyFault('unreachable', code === '' ? 'the connection failed' : code);
}
