import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { AnyRoute } from '../../src/app/route.ts';
import { authEngines, secretEngines, systemRoutes } from '../../src/start/routes.ts';
import { type Reply, startTestServer } from '../support/server.ts';

// A name that is read in more spellings than one is one name to policies. Which names these are
// is declared; every parameter of every path is tried, so that none is read so unnoticed.

const client = await startTestServer({ after });
const root = (method: string, path: string, body?: unknown) => client.call(method, path, body);
const ok = async (reply: Promise<Reply>): Promise<Reply> => {
  const done = await reply;
  assert.ok(done.status < 300, done.text);
  return done;
};

await ok(root('POST', 'sys/auth/up', { type: 'userpass' }));
await ok(root('POST', 'sys/auth/ar', { type: 'approle' }));
await ok(root('POST', 'sys/mounts/pki', { type: 'pki' }));
await ok(root('POST', 'auth/up/users/boss', { password: 'secret phrase' }));
await ok(root('POST', 'auth/ar/role/boss', {}));
await ok(root('POST', 'auth/token/roles/boss', {}));
await ok(root('POST', 'sys/policies/acl/boss', { policy: 'path "a" { capabilities = [] }' }));
const entity = (await ok(root('POST', 'identity/entity', { name: 'boss' }))).textAt('data.id');
const group = (await ok(root('POST', 'identity/group', { name: 'boss', type: 'external' }))).textAt(
  'data.id',
);
const mounts = (await root('GET', 'sys/auth')).field('data') as Record<
  string,
  { accessor: string }
>;
const accessor = mounts['up/']?.accessor ?? '';
const aliasOf = async (kind: 'entity' | 'group', canonical_id: string): Promise<string> =>
  (
    await ok(
      root('POST', `identity/${kind}-alias`, {
        name: 'boss',
        canonical_id,
        mount_accessor: accessor,
      }),
    )
  ).textAt('data.id');
const [entity_alias, group_alias] = [
  await aliasOf('entity', entity),
  await aliasOf('group', group),
];
await ok(
  root('POST', 'pki/root/generate/internal', {
    common_name: 'boss',
    issuer_name: 'boss',
    key_name: 'boss',
  }),
);
await ok(root('POST', 'pki/roles/boss', { allow_any_name: true }));
await ok(root('POST', 'cubbyhole/boss', { a: 'b' }));

/** A value that a parameter has in a path that leads to something. */
function sampleOf({ path }: AnyRoute, name: string): string {
  switch (name) {
    case 'id':
      if (path.includes('/entity-alias/')) return entity_alias;
      if (path.includes('/group-alias/')) return group_alias;
      return path.includes('/group/') ? group : entity;
    case 'mount_accessor':
      return accessor;
    case 'exported':
      return 'internal';
    case 'path':
      return path.startsWith('/v1/sys/mounts') ? 'pki' : path.includes('/auth/') ? 'up' : 'boss';
    case 'lease_id':
    case 'prefix':
      return 'pki/issue/boss';
    default:
      return 'boss';
  }
}

const MOUNTS: Readonly<Record<string, string>> = {
  token: 'token',
  userpass: 'up',
  approle: 'ar',
  pki: 'pki',
  identity: 'identity',
  cubbyhole: 'cubbyhole',
};

interface Place {
  route: AnyRoute;
  engine: string;
  parameter: string;
}

/** A path in which one parameter is spelt as given and all others lead to something. */
function pathOf({ route, engine, parameter }: Place, spelt: string): string {
  return route.path
    .slice('/v1/'.length)
    .replaceAll(/\{(\w+)\+?\}/g, (_whole, name: string) =>
      name === 'mount'
        ? (MOUNTS[engine] ?? '')
        : name === parameter
          ? spelt
          : sampleOf(route, name),
    );
}

const places: Place[] = [
  ...systemRoutes.map((route) => ({ route, engine: '' })),
  ...[...Object.entries(secretEngines), ...Object.entries(authEngines)].flatMap(
    ([engine, routes]) => routes.map((route) => ({ route, engine })),
  ),
].flatMap(({ route, engine }) =>
  route.access === 'public'
    ? []
    : [...route.path.matchAll(/\{(\w+)\+?\}/g)].flatMap(([, parameter = '']) =>
        parameter === 'mount' ? [] : [{ route, engine, parameter }],
      ),
);

let tokens = 0;
/** A token that may do everything but what its policy says in words of its own. */
async function tokenBut(path: string, rule: string): Promise<string> {
  const policy = `but-${tokens++}`;
  const all = 'capabilities = ["create", "read", "update", "patch", "delete", "list", "sudo"]';
  await ok(
    root('POST', `sys/policies/acl/${policy}`, {
      policy: `path "*" { ${all} }\npath "${path}" { ${rule} }`,
    }),
  );
  const made = await ok(root('POST', 'auth/token/create', { policies: [policy], ttl: '1h' }));
  return made.textAt('auth.client_token');
}

const BODIES: Readonly<Record<string, object>> = { POST: {}, PATCH: {} };
const ask = (place: Place, spelt: string, token: string): Promise<Reply> =>
  client.call(place.route.method, pathOf(place, spelt), BODIES[place.route.method], { token });

const DENY = 'capabilities = ["deny"]';

for (const place of places) {
  const { route, parameter } = place;
  const form = route.name_forms?.[parameter];
  const canonical = form === 'default_word' ? 'default' : sampleOf(route, parameter);
  const other = canonical.toUpperCase();
  test(`${route.id}: blanks and dots at the ends of {${parameter}} make another name, or none`, async () => {
    const unknown = await ask(place, spelling(canonical), 'root');
    for (const spelt of [`${canonical}%20`, `%20${canonical}`, `${canonical}.`, `.${canonical}`]) {
      const answer = await ask(place, spelt, 'root');
      assert.ok(answer.status >= 400 || answer.status === unknown.status, `"${spelt}"`);
    }
  });
  if (form) {
    test(`${route.id}: "${other}" is "${canonical}" to a policy, whichever of them it names`, async () => {
      for (const denied of [canonical, other]) {
        const token = await tokenBut(pathOf(place, denied), DENY);
        for (const spelt of [canonical, other]) {
          assert.equal((await ask(place, spelt, token)).status, 403, `${denied}, ${spelt}`);
        }
        assert.notEqual((await ask(place, 'another', token)).status, 403);
      }
    });
    continue;
  }
  test(`${route.id}: a {${parameter}} in other letters is another name`, async () => {
    const unknown = await ask(place, spelling(canonical), 'root');
    for (const spelt of [other, 'DEFAULT']) {
      if (spelt === canonical) continue;
      const answer = await ask(place, spelt, 'root');
      assert.equal(answer.status, unknown.status, spelt);
      const errors = (reply: Reply, name: string) =>
        JSON.stringify(reply.field('errors') ?? '').replaceAll(name, '…');
      assert.equal(errors(answer, spelt), errors(unknown, spelling(canonical)), spelt);
    }
  });
}

/** A name of the same kind that nothing has. */
function spelling(sample: string): string {
  return sample.length === 36 ? sample.replaceAll(/[0-9]/g, '7') : 'nobody-has-it';
}

test('every path that names something by a parameter is tried', () => {
  assert.ok(places.length > 60, String(places.length));
  assert.ok(places.filter(({ route, parameter }) => route.name_forms?.[parameter]).length > 30);
});

test('capabilities of a path are told of the name that it leads to', async () => {
  const token = await tokenBut('auth/up/users/Boss', DENY);
  const paths = ['auth/up/users/boss', '/auth/up/users/BOSS', 'auth/up/users/bosses'];
  const told = await client.call('POST', 'sys/capabilities-self', { paths }, { token });
  assert.deepEqual(
    paths.map((path) => (told.field('data') as Record<string, string[]>)[path]?.includes('deny')),
    [true, true, false],
  );
});

test('a narrower rule in capitals is the rule of what it names', async () => {
  const token = await tokenBut('auth/up/users/Bo*', 'capabilities = ["read"]');
  const call = (method: string, name: string) =>
    client.call(method, `auth/up/users/${name}`, { token_ttl: 60 }, { token });
  const read = (name: string) => client.call('GET', `auth/up/users/${name}`, undefined, { token });
  assert.equal((await read('boss')).status, 200);
  assert.equal((await read('BOSS')).status, 200);
  assert.equal((await call('POST', 'boss')).status, 403);
  assert.equal((await call('POST', 'BOSS')).status, 403);
});

test('a policy written under a name in capitals is the one in small letters, and says so', async () => {
  const body = { policy: 'path "x" { capabilities = ["read"] }' };
  const written = await root('POST', 'sys/policies/acl/Loud', body);
  assert.equal(written.status, 200);
  assert.deepEqual(written.field('warnings'), ['policy name was converted to "loud"']);
});

test('a deny of a beginning of "DEFAULT" denies the default issuer and key, in any spelling', async () => {
  for (const [kind, start] of [
    ['issuer', 'DEFAULT*'],
    ['issuer', 'Def*'],
    ['key', 'DEF*'],
  ]) {
    const token = await tokenBut(`pki/${kind}/${start}`, DENY);
    const read = (name: string) => client.call('GET', `pki/${kind}/${name}`, undefined, { token });
    for (const spelt of ['default', 'DEFAULT', 'Default']) {
      assert.equal((await read(spelt)).status, 403, `${kind} ${start} ${spelt}`);
    }
    assert.equal((await read('boss')).status, 200);
  }
});

test('a deny of a beginning holds for letters that are written otherwise at an end', async () => {
  await ok(root('POST', 'identity/entity', { name: 'ΑΣΑ' }));
  await ok(root('POST', 'identity/entity', { name: 'ΑΤΑ' }));
  const token = await tokenBut('identity/entity/name/ΑΣ*', DENY);
  const read = (name: string) =>
    client.call('GET', `identity/entity/name/${encodeURIComponent(name)}`, undefined, { token });
  assert.equal((await read('ΑΣΑ')).status, 403);
  assert.equal((await read('ασα')).status, 403);
  assert.equal((await read('ΑΤΑ')).status, 200);
});
