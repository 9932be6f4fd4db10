/** `?help=1`, as `path-help` of the command lines sends it: says what may be asked for, and does nothing of it. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { AnyRoute } from '../../src/app/route.ts';
import { listRecordsAfter } from '../../src/audit/store.ts';
import { Failure } from '../../src/core/failure.ts';
import { parsePem } from '../../src/core/pem.ts';
import { startTrace } from '../../src/http/request-record.ts';
import { sealWithoutDatabase } from '../../src/http/vault/emergency.ts';
import { declaredRoutes } from '../../src/start/routes.ts';
import { parseCrl } from '../support/crl.ts';
import { startTestServer } from '../support/server.ts';
import { writeRecords } from '../support/threads.ts';

const client = await startTestServer({ after });
const { call, url } = client;

/** Where each engine is mounted. */
const PLACES: Record<string, string> = {
  pki: 'pki',
  ssh: 'ssh',
  identity: 'identity',
  cubbyhole: 'cubbyhole',
  token: 'auth/token',
  userpass: 'auth/userpass',
  approle: 'auth/approle',
};

before(async () => {
  for (const type of ['pki', 'ssh']) await call('POST', `sys/mounts/${type}`, { type });
  for (const type of ['userpass', 'approle']) await call('POST', `sys/auth/${type}`, { type });
  await call('POST', 'pki/root/generate/internal', { common_name: 'R', key_type: 'ec' });
});

async function tokenOf(policy: string): Promise<string> {
  await call('PUT', 'sys/policies/acl/some', { policy });
  const body = { policies: ['some'], no_default_policy: true };
  return (await call('POST', 'auth/token/create', body)).textAt('auth.client_token');
}

/** Every route, the engine that it is of, and a path that leads to it. */
const everywhere: [path: string, route: AnyRoute][] = [
  ...declaredRoutes.system.map((route): [string, AnyRoute] => [route.path.slice(4), route]),
  ...[declaredRoutes.secret, declaredRoutes.auth].flatMap((engines) =>
    Object.entries(engines).flatMap(([type, routes]) =>
      routes.map((route): [string, AnyRoute] => {
        const prefix = /^\/v1\/(?:auth\/)?\{mount\}/.exec(route.path)?.[0] ?? '/v1';
        const place = PLACES[type] ?? assert.fail(`${type} is mounted nowhere`);
        return [`${place}${route.path.slice(prefix.length)}`, route];
      }),
    ),
  ),
];

const VERBS = ['GET', 'LIST', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD'];

test('every path that is declared is described, whatever the verb, and nothing of it is run', async (t) => {
  const ran: string[] = [];
  for (const [, route] of everywhere) {
    t.mock.method(route, 'run', async () => {
      ran.push(route.id);
      return { data: { success: true } };
    });
  }
  assert.ok(everywhere.length > 200, `${everywhere.length}`);
  for (const [template, route] of everywhere) {
    const path = template
      .replaceAll('{serial}', '17:ab')
      .replaceAll('{crl_shard}', '0-of-4')
      .replaceAll(/\{\w+\+?\}/g, 'x');
    for (const verb of VERBS) {
      const reply = await call(verb, `${path}?help=1`);
      assert.equal(reply.status, 200, `${verb} ${path}: ${reply.text}`);
      if (verb !== 'GET') continue;
      const help = reply.textAt('help');
      const isMount = Object.values(PLACES).includes(path.replace(/\/$/, ''));
      const told = isMount ? route.summary : `${route.method}: ${route.summary}`;
      assert.ok(help.includes(told), `${path}: ${help}`);
      assert.deepEqual(reply.field('see_also'), []);
      assert.equal(Object.keys(Object(reply.field('openapi.paths'))).length > 0, true, path);
    }
  }
  assert.deepEqual(ran, []);
  // That these would have been noticed.
  await call('GET', 'pki/crl/rotate');
  await call('GET', 'pki/crl/rotate?help=');
  assert.deepEqual(ran, ['pki-rotate-crl', 'pki-rotate-crl']);
});

test('a list is rotated by its path, and not by a question about that', async () => {
  const number = async (): Promise<string> => {
    const pem = await call('GET', 'pki/crl/pem');
    return String(parseCrl(parsePem(pem.text)[0]?.der ?? new Uint8Array()).crlNumber);
  };
  const first = await number();
  for (const query of ['help=1', 'help=0', '%68elp=true', 'x=y&help=1', 'help=&help=1']) {
    const reply = await call('GET', `pki/crl/rotate?${query}`);
    assert.match(reply.textAt('help'), /Matching Route: crl\/rotate/);
    assert.equal(await number(), first, query);
  }
  const rotated = await call('GET', 'pki/crl/rotate?helps=1');
  assert.equal(rotated.field('data.success'), true);
  assert.notEqual(await number(), first);
});

describe('what it says', () => {
  test('of a path: what was asked, its fields, its operations, a document of it alone', async () => {
    const reply = await call('GET', 'pki/roles/web?help=1');
    const help = reply.textAt('help');
    assert.match(help, /^Request: {8}roles\/web\nMatching Route: roles\/\{name\}\n/);
    assert.match(help, /\n {4}allow_any_name \(boolean\)\n\n {8}Permit every name/);
    assert.match(help, /\n {4}DELETE: Delete a role \(delete\)\n/);
    const paths = Object(reply.field('openapi.paths'));
    assert.deepEqual(Object.keys(paths), ['/roles/{name}']);
    assert.equal(reply.headers.get('content-type'), 'application/json');
    assert.equal(reply.field('data'), undefined, 'without an envelope');
  });

  test('that no token or sudo is needed where that is so', async () => {
    const seal = (await call('GET', 'sys/seal?help=1')).textAt('help');
    assert.match(seal, /\(update and sudo\)/);
    const crl = (await call('GET', 'pki/crl?help=1')).textAt('help');
    assert.match(crl, /\(without a token\)/);
  });

  for (const place of ['sys', ...Object.values(PLACES)]) {
    test(`of the mount ${place}: all its paths`, async () => {
      const [plain, slash] = await Promise.all([
        call('GET', `${place}?help=1`),
        call('GET', `${place}/?help=1`),
      ]);
      assert.equal(plain.status, 200, plain.text);
      assert.equal(plain.text, slash.text);
      assert.match(plain.textAt('help'), new RegExp(`mounted at "${place}/"`));
      const declared = everywhere.flatMap(([path]) =>
        path.startsWith(`${place}/`) ? path.slice(place.length).replace('+}', '}') : [],
      );
      const described = Object.keys(Object(plain.field('openapi.paths'))).map((path) =>
        path.replace(/(?<=.)\/$/, ''),
      );
      assert.deepEqual(new Set(described), new Set(declared));
    });
  }
});

describe('who is told', () => {
  const nobody = { token: '' };

  test('without a token of what needs none, and of nothing else', async () => {
    for (const path of ['pki/crl', 'pki/ca/pem', 'sys/health', 'sys/init', 'sys/unseal']) {
      assert.equal((await call('GET', `${path}?help=1`, undefined, nobody)).status, 200, path);
    }
    for (const path of ['pki/crl/rotate', 'pki', 'sys', 'sys/mounts', 'none', 'pki/none']) {
      for (const token of ['', 'hvs.unknown']) {
        const refused = await call('GET', `${path}?help=1`, undefined, { token });
        assert.equal(refused.status, 403, path);
        assert.match(refused.text, /permission denied/);
      }
    }
  });

  test('whoever has a token, of what every server has and of mounts that they may see', async () => {
    const token = await tokenOf('path "pki/roles/web" { capabilities = ["read"] }');
    const status = async (path: string): Promise<number> =>
      (await call('GET', `${path}?help=1`, undefined, { token })).status;
    for (const path of ['sys', 'sys/seal', 'identity/entity', 'pki', 'pki/crl/rotate']) {
      assert.equal(await status(path), 200, path);
    }
    for (const path of ['auth/userpass', 'auth/userpass/users/ann', 'demo/roles/x', 'none/x']) {
      assert.equal(await status(path), 403, path);
    }
    assert.equal(await status('auth/userpass/login/ann'), 200, 'open to anybody');
  });

  test('that there is nothing, in the words of any other request', async () => {
    for (const path of ['none', 'none/x', 'pki/none', 'auth', 'sys/none']) {
      const [asked, done] = await Promise.all([call('GET', `${path}?help=1`), call('GET', path)]);
      assert.deepEqual([asked.status, asked.text], [done.status, done.text], path);
    }
  });

  test('its record has the declared path, and no name that was sent', async () => {
    const { app } = client.running;
    await call('GET', 'auth/userpass/login/hunter2?help=1');
    await call('GET', 'auth/userpass/users/hunter2?help=1');
    await writeRecords(client.running);
    const rows = await listRecordsAfter(app.db, { node: 'local', seq: 0, limit: 10_000 });
    const records = rows.map(({ record }) => JSON.parse(record));
    const { request, response, auth } = records.findLast(
      (record) => record.request?.path === 'auth/userpass/users/{username}',
    );
    assert.deepEqual([request.route, request.operation], ['help', 'read']);
    assert.deepEqual(response, { status: 'done' });
    assert.equal(auth.display_name, 'root');
    assert.doesNotMatch(rows.map(({ record }) => record).join(''), /hunter2/);
  });
});

test('a question about sealing seals nothing, also while the database is away', async () => {
  const { app } = client.running;
  assert.equal((await call('PUT', 'sys/seal?help=1', { x: 'y'.repeat(5000) })).status, 200);
  const ask = (target: string) =>
    sealWithoutDatabase(
      app,
      { method: 'PUT', url: target, text: 'root' },
      startTrace('id', '127.0.0.1'),
      new Failure('unavailable', 'the database is away'),
    );
  assert.equal(await ask('/v1/sys/seal?help=1'), undefined);
  assert.equal(app.barrier.sealed, false);
  assert.notEqual(await ask('/v1/sys/seal'), undefined);
  assert.equal(app.barrier.sealed, true);
  const sealed = await fetch(`${url}/v1/sys/health?help=1`);
  assert.equal(sealed.status, 503);
  assert.match(await sealed.text(), /Vault is sealed/);
});
