import { createServer as createHttp, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';

/** A Vault server of our own making: as much of its contract as a credential store asks for. */
export interface FakeVault {
  url: string;
  /** Everything asked, oldest first. */
  readonly requests: readonly SeenRequest[];
  readonly tokens: Map<string, FakeToken>;
  /** Leases that are alive, and the token that each was asked with. */
  readonly leases: Map<string, string>;
  /** Fixed answers by method and path, e.g. `GET secret/data/a`; undefined status: 200. */
  readonly answers: Map<string, Answer>;
  /** Answers nothing but 503 while it is true. */
  down: boolean;
  /** What is waited for before a request is answered. */
  pause: (seen: SeenRequest) => Promise<void>;
  /** Most requests that were unanswered at the same time. */
  most_at_once: number;
  stop(): Promise<void>;
}

export interface SeenRequest {
  method: string;
  path: string;
  token: string;
  namespace: string;
  body: Readonly<Record<string, unknown>>;
}

export interface FakeToken {
  orphan: boolean;
  /** Seconds; 0: not periodic. */
  period: number;
  renewable: boolean;
  accessor: string;
  /** Capabilities by path; absent: all that a store needs. */
  capabilities?: Record<string, readonly string[]>;
}

export const GOOD_TOKEN: FakeToken = {
  orphan: true,
  period: 3600,
  renewable: true,
  accessor: 'accessor',
};

interface Answer {
  status?: number;
  body?: object;
  /** Sent as it is, instead of a body. */
  text?: string;
  /** After which the connection is ended without the answer's end. */
  broken?: true;
  headers?: Record<string, string>;
}

/** @param tls certificate and key in PEM, for a server that speaks https */
export async function startFakeVault(tls?: { cert: string; key: string }): Promise<FakeVault> {
  const requests: SeenRequest[] = [];
  const tokens = new Map<string, FakeToken>([['good', GOOD_TOKEN]]);
  const leases = new Map<string, string>();
  const answers: FakeVault['answers'] = new Map();
  let made = 0;
  let unanswered = 0;

  function answer(seen: SeenRequest): Answer {
    const { method, path, token: text, body } = seen;
    const token = tokens.get(text);
    if (fake.down) return { status: 503, body: { errors: ['down'] } };
    if (!token) return { status: 403, body: { errors: ['permission denied'] } };
    const fixed = answers.get(`${method} ${path}`);
    if (fixed) return fixed;
    const lease_id = String(body.lease_id ?? '');
    switch (`${method} ${path}`) {
      case 'GET auth/token/lookup-self':
        return { body: { data: { ...token, ttl: token.period, id: text } } };
      case 'PUT auth/token/renew-self':
        return { body: { auth: { client_token: text, lease_duration: token.period } } };
      case 'PUT auth/token/revoke-self':
        tokens.delete(text);
        for (const [id, owner] of leases) if (owner === text) leases.delete(id);
        return { status: 204 };
      case 'POST sys/capabilities-self': {
        const paths = Array.isArray(body.paths) ? body.paths.map(String) : [];
        const known = token.capabilities;
        const data = Object.fromEntries(
          paths.map((one) => [one, known ? (known[one] ?? ['deny']) : ['read', 'update']]),
        );
        return { body: { ...data, data } };
      }
      case 'PUT sys/leases/renew':
        if (!leases.has(lease_id)) return { status: 400, body: { errors: ['invalid lease'] } };
        return { body: { lease_id, renewable: true, lease_duration: 120 } };
      case 'PUT sys/leases/revoke':
        if (!leases.delete(lease_id)) return { status: 400, body: { errors: ['invalid lease'] } };
        return { status: 204 };
      case 'GET database/creds/app': {
        made += 1;
        const id = `database/creds/app/${made}`;
        leases.set(id, text);
        const data = { username: `v-app-${made}`, password: `secret-${made}` };
        return { body: { lease_id: id, lease_duration: 60, renewable: true, data } };
      }
      default:
        return { status: 404, body: { errors: [`no handler for ${method} ${path}`] } };
    }
  }

  const listener: RequestListener = async (request, response) => {
    const seen = await readSeen(request);
    requests.push(seen);
    unanswered += 1;
    fake.most_at_once = Math.max(fake.most_at_once, unanswered);
    await fake.pause(seen);
    unanswered -= 1;
    const { status = 200, body, text, broken, headers = {} } = answer(seen);
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    const said = text ?? (body === undefined ? undefined : JSON.stringify(body));
    if (broken) response.write(said, () => response.destroy());
    else response.end(said);
  };
  const server = tls ? createHttps(tls, listener) : createHttp(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const fake: FakeVault = {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    requests,
    tokens,
    leases,
    answers,
    down: false,
    pause: async () => {},
    most_at_once: 0,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return fake;
}

async function readSeen(request: IncomingMessage): Promise<SeenRequest> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(Buffer.from(part));
  const text = Buffer.concat(parts).toString('utf8');
  const header = (name: string): string => String(request.headers[name] ?? '');
  return {
    method: request.method ?? '',
    path: (request.url ?? '').replace(/^\/v1\//, ''),
    token: header('x-vault-token'),
    namespace: header('x-vault-namespace'),
    body: text === '' ? {} : JSON.parse(text),
  };
}
