/** The transit engine of another server, as far as a seal asks it: keys are in memory, and it can be told to fail. */

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TransitSeal } from '../../src/config/seal-settings.ts';
import type { Scope } from './node-process.ts';

export interface FakeTransit {
  settings: TransitSeal;
  /** What it answers in place of what it was asked for; undefined: what it should. */
  instead: { status: number; body: string } | undefined;
  asked: number;
  /** What it tells of the token; null: it does not end. */
  token: { ttl: number | null; period: number; renewable: boolean };
  /** What the policies of the token have it do no more. */
  denied: Set<'encrypt' | 'decrypt' | 'lookup-self' | 'renew-self'>;
  renewals: number;
  /** Versions of its key; the last one encrypts. */
  keys: Buffer[];
  /** The least version that still decrypts. */
  least: number;
}

const TOKEN = 's.transit-token';

export async function startFakeTransit(test: Scope): Promise<FakeTransit> {
  const fake: FakeTransit = {
    settings: {
      ...{ type: 'transit', address: '', token: TOKEN, key_name: 'gatehouse' },
      ...{ mount_path: 'transit/unseal', namespace: undefined },
      ...{ tls_ca_cert: undefined, tls_server_name: undefined },
    },
    instead: undefined,
    asked: 0,
    token: { ttl: null, period: 0, renewable: false },
    denied: new Set(),
    renewals: 0,
    keys: [randomBytes(32)],
    least: 1,
  };
  const answer = (url: string, token: unknown, text: string): { status: number; body: string } => {
    fake.asked += 1;
    if (fake.instead) return fake.instead;
    const isDenied = url.split('/').some((part) => [...fake.denied].some((one) => one === part));
    if (token !== TOKEN || isDenied) {
      return { status: 403, body: '{"errors":["permission denied"]}' };
    }
    if (url.startsWith('/v1/auth/token/')) return answerOfToken(fake, url);
    const { plaintext, ciphertext } = JSON.parse(text);
    const [, what] = /^\/v1\/transit\/unseal\/(encrypt|decrypt)\/gatehouse$/.exec(url) ?? [];
    if (what === 'encrypt') {
      const iv = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', fake.keys.at(-1) ?? '', iv);
      const bytes = Buffer.from(plaintext, 'base64');
      const sealed = Buffer.concat([iv, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
      return told({ ciphertext: `vault:v${fake.keys.length}:${sealed.toString('base64')}` });
    }
    if (what !== 'decrypt') return { status: 404, body: '{"errors":[]}' };
    const [, version, base64 = ''] = /^vault:v(\d+):(.*)$/.exec(String(ciphertext)) ?? [];
    const key = fake.keys[Number(version) - 1];
    if (!key || Number(version) < fake.least) {
      return { status: 400, body: '{"errors":["ciphertext version is disallowed by policy"]}' };
    }
    const sealed = Buffer.from(base64, 'base64');
    const opening = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12));
    opening.setAuthTag(sealed.subarray(-16));
    const bytes = Buffer.concat([opening.update(sealed.subarray(12, -16)), opening.final()]);
    return told({ plaintext: bytes.toString('base64') });
  };
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request) text += piece;
    const { status, body } = answer(request.url ?? '', request.headers['x-vault-token'], text);
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  test.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  fake.settings = { ...fake.settings, address: `http://127.0.0.1:${port}` };
  return fake;
}

function answerOfToken(fake: FakeTransit, url: string): { status: number; body: string } {
  const { ttl, period, renewable } = fake.token;
  if (url.endsWith('/lookup-self')) {
    const expire_time = ttl === null ? null : new Date(Date.now() + ttl * 1000).toISOString();
    return told({ ttl: ttl ?? 0, creation_ttl: period, period, renewable, expire_time });
  }
  if (!renewable) return { status: 400, body: '{"errors":["lease is not renewable"]}' };
  fake.renewals += 1;
  const auth = { client_token: TOKEN, lease_duration: Math.min(period, ttl ?? period) };
  return { status: 200, body: JSON.stringify({ auth }) };
}

const told = (data: object): { status: number; body: string } => ({
  status: 200,
  body: JSON.stringify({ request_id: 'x', data }),
});
