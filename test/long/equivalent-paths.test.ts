import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AnyRoute, Method } from '../../src/app/route.ts';
import { authEngines, secretEngines, systemRoutes } from '../../src/start/routes.ts';
import { startTestServer } from '../support/server.ts';

// What can be done at two paths needs the same at both.

const CAPABILITY: Readonly<Record<Method, string>> = {
  GET: 'read',
  LIST: 'list',
  POST: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** What an endpoint needs beyond the capability that its method stands for. */
function needsOf({ access, method, path }: AnyRoute): string {
  if (access === 'public') return 'nothing';
  // A search is a list, also for clients that can only GET.
  const stands_for = path.endsWith('/certs/search') ? 'list' : CAPABILITY[method];
  assert.equal(access.capability, stands_for);
  return access.sudo ? 'sudo' : 'no sudo';
}

/** Endpoints of one engine that do the same, said in the same words. */
function groupsOf(routes: readonly AnyRoute[]): [summary: string, routes: AnyRoute[]][] {
  const groups = Map.groupBy(routes, ({ summary }) => summary);
  return [...groups].filter(([, { length }]) => length > 1);
}

/** A mount is addressed under `sys/mounts`, and those to log in with under `sys/auth` and `sys/mounts/auth`. */
const isSecretMount = ({ path }: AnyRoute): boolean =>
  path.startsWith('/v1/sys/mounts') && !path.startsWith('/v1/sys/mounts/auth');

const engines: [name: string, routes: readonly AnyRoute[]][] = [
  ['sys', systemRoutes.filter((route) => !isSecretMount(route))],
  ...Object.entries(secretEngines),
  ...Object.entries(authEngines),
];
const groups = engines.flatMap(([engine, routes]) =>
  groupsOf(routes).map(([summary, group]) => ({ engine, summary, group })),
);

for (const { engine, summary, group } of groups) {
  test(`${engine}: "${summary}" needs the same at ${group.map(({ path }) => path).join(', ')}`, () => {
    assert.equal(new Set(group.map(needsOf)).size, 1);
  });
}

test('the paths of old and the other ways to address a mount are among them', () => {
  const paths = groups.flatMap(({ group }) => group.map(({ path }) => path));
  for (const path of [
    '/v1/sys/policy/{name}',
    '/v1/sys/revoke/{lease_id+}',
    '/v1/sys/revoke-prefix/{prefix+}',
    '/v1/sys/rotate/keyring',
    '/v1/sys/mounts/auth/{path+}',
    '/v1/sys/auth/{path+}',
  ]) {
    assert.ok((paths as string[]).includes(path), path);
  }
});

test('a way to log in is tuned with sudo at either path, and ended at one', async (t) => {
  const client = await startTestServer(t);
  const root = (method: string, path: string, body?: unknown) => client.call(method, path, body);
  await root('POST', 'sys/auth/up', { type: 'userpass' });
  const write = (name: string, more: string) =>
    root('POST', `sys/policies/acl/${name}`, {
      policy: ['sys/mounts*', 'sys/auth*', 'sys/remount']
        .map(
          (path) =>
            `path "${path}" { capabilities = ["create", "read", "update", "delete"${more}] }`,
        )
        .join('\n'),
    });
  await write('plain', '');
  await write('sudo', ', "sudo"');
  const tokenOf = async (policy: string): Promise<string> =>
    (await root('POST', 'auth/token/create', { policies: [policy], ttl: '1h' })).textAt(
      'auth.client_token',
    );
  const [plain, sudo] = [await tokenOf('plain'), await tokenOf('sudo')];
  const ask = (token: string, method: string, path: string, body?: object) =>
    client.call(method, path, body, { token }).then(({ status }) => status);
  const tuned = { description: 'tuned' };
  for (const base of ['sys/auth', 'sys/mounts/auth']) {
    assert.equal(await ask(plain, 'GET', `${base}/up/tune`), 200, 'reading needs none');
    assert.equal(await ask(plain, 'GET', `${base}/up`), 200);
    assert.equal(await ask(plain, 'POST', `${base}/up/tune`, tuned), 403, base);
    assert.equal(await ask(plain, 'DELETE', `${base}/up`), 403, base);
    assert.equal(await ask(plain, 'POST', `${base}/new`, { type: 'userpass' }), 403, base);
    assert.equal(await ask(sudo, 'POST', `${base}/up/tune`, tuned), 204, base);
  }
  assert.equal(await ask(plain, 'POST', 'sys/remount', { from: 'auth/up', to: 'auth/x' }), 403);
  assert.equal(await ask(sudo, 'DELETE', 'sys/mounts/auth/up'), 400);
  assert.equal(await ask(sudo, 'POST', 'sys/mounts/auth/new', { type: 'userpass' }), 400);
  assert.equal(await ask(sudo, 'GET', 'sys/auth/up'), 200, 'still there');
  assert.equal(await ask(sudo, 'DELETE', 'sys/auth/up'), 204);
  assert.equal(await ask(sudo, 'GET', 'sys/auth/up'), 400);
});
