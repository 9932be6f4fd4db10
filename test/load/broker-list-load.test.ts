import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { planScopeRoles } from '../../src/broker/iam/scopes/scope.ts';
import { insertLink } from '../../src/broker/resource/links/store.ts';
import type { Resource } from '../../src/broker/resource/resource.ts';
import { insertResource } from '../../src/broker/resource/store.ts';
import { bumpConfigVersion } from '../../src/store/config-version.ts';
import type { Effect } from '../../src/store/write.ts';
import { makeProject, type Person, type Project } from '../support/broker.ts';
import { makeResource } from '../support/resources.ts';
import { type Reply, startTestServer } from '../support/server.ts';
import { holdsNobodyUp } from '../support/turns.ts';

/** Long lists, of which every item tells what the caller may do with it, hold nobody up. */

const server = await startTestServer({ after });
const { store } = server.running.app;

const COUNT = 1_000;

const all = Array.from({ length: COUNT }, (_, at) => at);
const idOf = (prefix: string, at: number): string => `${prefix}_${String(at).padStart(10, '0')}`;

let place: Project;
let plain: Person;
let named: Person;

const placed = (id: string, scope_id: string, body: object = {}): Resource =>
  makeResource(id, { scope_id, container_id: scope_id, body });

function makeRole(role: Resource, principal_id: string): Effect[] {
  const link = { from_id: role.id, kind: 'role-principal', to_id: principal_id } as const;
  return [insertResource(role), insertLink(link)];
}

/** A project as somebody makes it, with the roles that come with it. */
function makeScope(at: number): Effect[] {
  const id = idOf('p', at);
  const { org_id, admin } = place;
  const roles = planScopeRoles(
    { id, type: 'project' },
    { user_id: admin.user_id, skip_admin: false, skip_default: false },
  );
  const scope = placed(id, org_id, { primary_auth_method_id: '' });
  return [
    insertResource({ ...scope, type: 'scope', subtype: 'project', name: `project ${at}` }),
    ...roles.flatMap(({ principal_id, grant_strings }, n) =>
      makeRole(
        placed(idOf('r', at * 2 + n), id, { grant_strings, grant_scope_ids: ['this'] }),
        principal_id,
      ),
    ),
  ];
}

const THINGS: ((at: number) => Resource)[] = [
  (at) => placed(idOf('ttcp', at), place.id, { address: '', default_port: 22 }),
  (at) => placed(idOf('u', at), 'global', { entity_id: '', policies: [] }),
  (at) => placed(idOf('g', at), 'global'),
  (at) => placed(idOf('hcst', at), place.id),
  (at) => placed(idOf('csst', at), place.id),
  (at) => placed(idOf('ampw', at), 'global', { min_login_name_length: 3 }),
];

const change = (): Promise<unknown> => store.commit([bumpConfigVersion()]);

before(async () => {
  place = await makeProject(server);
  plain = await place.addPerson('plain', ['ids=*;type=*;actions=list,no-op']);
  named = await place.addPerson('named', [
    'ids=*;type=*;actions=list',
    ...all.slice(0, 900).map((at) => `ids=${idOf('hcst', at)};actions=read`),
  ]);
  for (let at = 0; at < COUNT; at += 100) {
    await store.commit(all.slice(at, at + 100).flatMap(makeScope));
  }
  for (const make of THINGS) await store.commit(all.map((at) => insertResource(make(at))));
  await change();
});

const LISTS: [list: string, items: number][] = [
  ['scopes', 1000],
  ['roles', 1000],
  ['users', 1000],
  ['groups', 1000],
  ['auth-methods', 1000],
  ['targets', 1000],
  ['host-catalogs', 1000],
  ['credential-stores', 1000],
  ['sessions', 0],
];

/** The answer, of which getting it holds nobody up; what the client makes of it is not counted. */
async function getList(
  person: Person,
  list: string,
  prepare: () => Promise<unknown> = async () => {},
): Promise<Reply> {
  let reply: Reply | undefined;
  await holdsNobodyUp(
    async () => {
      reply = await person.call('GET', `${list}?scope_id=global&recursive=true`);
    },
    { prepare },
  );
  assert.ok(reply);
  return reply;
}

function assertListed(reply: Reply, items: number): void {
  assert.equal(reply.status, 200, reply.text.slice(0, 300));
  assert.equal((JSON.parse(reply.text).items ?? []).length, items);
}

describe('with 1,000 projects and the roles that come with them', () => {
  for (const [list, items] of LISTS) {
    test(`nobody is held up by a list of ${list}, after a change and again`, async () => {
      for (const person of [place.admin, plain]) {
        assertListed(await getList(person, list, change), items);
        assertListed(await getList(person, list), items);
      }
    });
  }

  test('nor by a list of what 900 grants name one by one', async () => {
    assertListed(await getList(named, 'host-catalogs', change), 900);
    assertListed(await getList(named, 'host-catalogs'), 900);
  });
});

describe('with 15 roles of 1,000 grants for everybody who has logged in', () => {
  const ids = (role: number, at: number): string =>
    `ids=${idOf('ttcp', role * COUNT + at)},${idOf('tssh', role * COUNT + at)};actions=read`;

  before(async () => {
    for (let role = 0; role < 15; role++) {
      const grant_strings = all.map((at) =>
        at % 2 ? `ids=${idOf('u', at)};actions=read` : ids(role, at),
      );
      const body = { grant_strings, grant_scope_ids: ['this', 'descendants'] };
      await store.commit(makeRole(placed(idOf('r', 5000 + role), 'global', body), 'u_auth'));
    }
  });

  for (const list of ['scopes', 'roles', 'targets', 'users']) {
    test(`nobody is held up by a list of ${list}, after a change and again`, async () => {
      assertListed(await getList(place.admin, list, change), COUNT);
      for (const person of [plain, place.admin]) {
        assertListed(await getList(person, list), COUNT);
      }
    });
  }

  test('nor by the first request after one of them was written', async () => {
    let version = 0;
    const write = async (): Promise<void> => {
      version += 1;
      await server.call('POST', `roles/${idOf('r', 5000)}:add-grants`, {
        version,
        grant_strings: [`ids=*;type=host;actions=${version === 1 ? 'read' : 'list'}`],
      });
    };
    assertListed(await getList(plain, 'groups', write), COUNT);
  });
});
