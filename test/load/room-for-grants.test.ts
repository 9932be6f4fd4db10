/** What the roles of one org may take of a server, and of its users' turns. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { loadGrantSet } from '../../src/broker/iam/grants/operations.ts';
import { sumGrants } from '../../src/broker/iam/roles/store.ts';
import type { GrantSet } from '../../src/broker/resource/grants/decision.ts';
import { insertLink } from '../../src/broker/resource/links/store.ts';
import {
  EACH_GRANT,
  EACH_ROLE,
  MOST_OF_SCOPE,
  sizeOfGrants,
} from '../../src/broker/resource/org-bounds/grant-room.ts';
import { insertResource } from '../../src/broker/resource/store.ts';
import { bumpConfigVersion } from '../../src/store/config-version.ts';
import { heapUsed } from '../support/heap.ts';
import { makeResource } from '../support/resources.ts';
import { ORG, refusedFields, startBroker } from '../support/seeded-broker.ts';
import { holdsNobodyUp } from '../support/turns.ts';

const broker = await startBroker({ after });
const { admin, make } = broker;
const { app } = broker.client.running;

/** Users of another scope than the orgs. */
const people: string[] = [];
for (let user = 0; user < 60; user++) people.push(await make('users', { scope_id: 'global' }));

const newOrg = async (name: string) => {
  const org = await make('scopes', { scope_id: 'global', type: 'org', name });
  return { org, project: await make('scopes', { scope_id: org, name: 'project' }) };
};

let made = 0;
const nextId = (prefix: string): string => `${prefix}_${String(++made).padStart(10, '0')}`;

/** Stores a role as it could be before there was a bound, with somebody who has it. */
async function store(scope_id: string, grants: readonly string[], to_id: string): Promise<string> {
  const id = nextId('r');
  const body = { grant_strings: grants, grant_scope_ids: ['this'] };
  await app.store.commit([
    insertResource(makeResource(id, { scope_id, container_id: scope_id, body })),
    insertLink({ from_id: id, kind: 'role-principal', to_id }),
    bumpConfigVersion(),
  ]);
  return id;
}

/** Grants of the ids of single targets, as long as they may be. */
const longGrants = (count: number): string[] =>
  Array.from({ length: count }, () => {
    const ids = Array.from({ length: 500 }, () => nextId('ttcp'));
    return `ids=${ids.join(',')};actions=read,authorize-session`;
  });
const shortGrants = (count: number): string[] =>
  Array.from({ length: count }, () => `ids=${nextId('ttcp')};actions=read,authorize-session`);

const LONG_ROLE = longGrants(31);

test('grants and scopes are refused where the roles of the scope have no room, in the field that is too much', async () => {
  const { project } = await newOrg('full');
  const other = await newOrg('beside');
  const [role, elsewhere] = [
    await make('roles', { scope_id: project }),
    await make('roles', { scope_id: other.project }),
  ];
  const set = (id: string, version: number, grant_strings: readonly string[]) =>
    admin('POST', `roles/${id}:set-grants`, { version, grant_strings });
  await store(project, LONG_ROLE.slice(0, 18), 'u_auth');
  const refused = await set(role, 1, LONG_ROLE.slice(0, 10));
  assert.equal(refused.status, 400);
  assert.equal(refused.textAt('kind'), 'InvalidArgument');
  const because = refusedFields(refused).grant_strings ?? '';
  assert.match(
    because,
    new RegExp(`a scope have at most ${MOST_OF_SCOPE} bytes .* ${EACH_GRANT} `),
  );
  assert.equal((await set(elsewhere, 1, LONG_ROLE.slice(0, 10))).status, 200, 'another org');
  assert.equal((await set(role, 1, ['ids=*;type=target;actions=read'])).status, 200, 'a few');
});

test('what was stored before takes as much as it did, can be read, and made less', async () => {
  const { org, project } = await newOrg('before');
  const id = await store(project, LONG_ROLE, 'u_auth');
  const read = await admin('GET', `roles/${id}`);
  assert.equal(read.status, 200);
  const change = (verb: string, version: number, body: object) =>
    admin('POST', `roles/${id}:${verb}`, { version, ...body });
  const [first = '', ...others] = LONG_ROLE;
  const more = await change('add-grants', 1, { grant_strings: ['ids=*;type=target;actions=list'] });
  assert.deepEqual(Object.keys(refusedFields(more)), ['grant_strings']);
  const less = await change('remove-grants', 1, { grant_strings: [first] });
  assert.equal(less.status, 200);
  const back = await change('set-grants', 2, { grant_strings: LONG_ROLE });
  assert.deepEqual(Object.keys(refusedFields(back)), ['grant_strings'], 'what was given up');
  assert.equal((await change('set-grants', 2, { grant_strings: others })).status, 200, 'the same');
  // Of scopes that are named, the same room.
  const orgRole = await make('roles', { scope_id: org });
  const name = { version: 1, grant_scope_ids: [project] };
  assert.equal((await admin('POST', `roles/${orgRole}:set-grant-scopes`, name)).status, 200);
});

/** Leaves a project no more room than some bytes. */
async function leaveRoom(org_id: string, project: string, left: number): Promise<void> {
  const { scope } = await sumGrants(app.db, { scope_id: project, org_id });
  const bodyOf = (grant: string) => ({ grant_strings: [grant], grant_scope_ids: ['this'] });
  const grant = 'x'.repeat(MOST_OF_SCOPE - left - scope - sizeOfGrants(bodyOf('')));
  await store(project, [grant], 'u_auth');
}

test('a role is made where there is room for one, though it grants nothing yet', async () => {
  const { org, project } = await newOrg('nothing');
  await leaveRoom(org, project, 2 * EACH_ROLE - 1);
  await make('roles', { scope_id: project });
  const refused = await admin('POST', 'roles', { scope_id: project });
  assert.equal(refused.status, 400);
  assert.match(refusedFields(refused).scope_id ?? '', /a scope have at most/);
});

test('a role that came with its scope takes no room until it is changed, whatever of it is', async () => {
  const { org, project } = await newOrg('brought');
  /** Of the two the one that grants several things. */
  const findBrought = async (scope_id: string): Promise<string> => {
    const listed = await admin('GET', `roles?scope_id=${scope_id}`);
    for (const at of [0, 1]) {
      const id = listed.textAt(`items.${at}.id`);
      const grants = (await admin('GET', `roles/${id}`)).field('grant_strings');
      if (Array.isArray(grants) && grants.length > 1) return id;
    }
    throw new Error('no role with several grants came with the scope');
  };
  const one = await findBrought(project);
  const sum = async () => (await sumGrants(app.db, { scope_id: project, org_id: org })).scope;
  assert.equal(await sum(), 0, 'both as they came');
  await leaveRoom(org, project, 100);
  const changes: [what: string, method: 'POST' | 'PATCH', path: string, body: object, field: string][] = [
    ['whom it is for', 'POST', ':add-principals', { principal_ids: [people[0]] }, 'principal_ids'],
    ['for another', 'POST', ':set-principals', { principal_ids: [people[1] ?? ''] }, 'principal_ids'],
    ['its name', 'PATCH', '', { name: 'another' }, 'name'],
    ['its grants', 'POST', ':add-grants', { grant_strings: ['ids=*;type=role;actions=read'] }, 'grant_strings'],
  ]; // biome-ignore format: one table
  for (const [what, method, path, body, field] of changes) {
    const refused = await admin(method, `roles/${one}${path}`, { version: 1, ...body });
    assert.equal(refused.status, 400, what);
    assert.deepEqual(Object.keys(refusedFields(refused)), [field], what);
  }
  // What is taken away is so also where others have used up the room.
  const grants = (await admin('GET', `roles/${one}`)).field('grant_strings');
  assert.ok(Array.isArray(grants));
  const fewer: [path: string, body: object][] = [
    [':set-principals', { principal_ids: [] }],
    [':remove-grants', { grant_strings: grants.slice(0, 1) }],
    [':set-grants', { grant_strings: [] }],
  ];
  for (const [at, [path, body]] of fewer.entries()) {
    const version = (await admin('GET', `roles/${one}`)).field('version');
    const taken = await admin('POST', `roles/${one}${path}`, { version, ...body });
    assert.equal(taken.status, 200, `${at} ${path} ${taken.text}`);
  }
  const { org: freeOrg, project: free } = await newOrg('with room');
  const role = await findBrought(free);
  const add = { version: 1, principal_ids: [people[0]] };
  assert.equal((await admin('POST', `roles/${role}:add-principals`, add)).status, 200);
  const { scope } = await sumGrants(app.db, { scope_id: free, org_id: freeOrg });
  assert.ok(scope > EACH_ROLE, 'counts from then on');
  const rename = { version: 2, name: 'another' };
  assert.equal((await admin('PATCH', `roles/${role}`, rename)).status, 200);
});

for (const [what, grantsOf] of [
  ['long', () => longGrants(31)],
  ['short', () => shortGrants(1000)],
] as const) {
  for (const whom of ['u_auth', 'one user'] as const) {
    test(`as many ${what} grants as an org may have hold nobody up when ${whom} has them`, async () => {
      const { org, project } = await newOrg(`${what} of ${whom}`);
      const projects = [project];
      while (projects.length < 3) {
        projects.push(await make('scopes', { scope_id: org, name: `${projects.length}` }));
      }
      const user = nextId('u');
      await app.store.commit([insertResource(makeResource(user, { scope_id: 'global' }))]);
      const holder = whom === 'u_auth' ? whom : user;
      const roles = what === 'long' ? 4 : 10;
      for (const scope_id of projects) {
        for (let at = 0; at < roles; at++) {
          await store(scope_id, grantsOf(), holder);
        }
      }
      // What is kept of all roles goes with each that is made.
      const prepare = () => make('roles', { scope_id: 'global' });
      await holdsNobodyUp(
        async () => {
          for (const user_id of [user, 'u_another', user]) {
            const grants = await loadGrantSet(app, { user_id, account_id: '' });
            for (const scope_id of projects) {
              await new Promise(setImmediate);
              const place = { type: 'target', scope_id, parent_scope_id: org } as const;
              grants.judge({ ...place, id: 'ttcp_none000000', action: 'read' });
              grants.describeVisibility(place, ['authorize-session']);
              grants.mayAllow('target', 'delete');
            }
            await new Promise(setImmediate);
            await grants.fingerprint('target');
          }
        },
        { prepare },
      );
      assert.equal((await admin('DELETE', `scopes/${org}`)).status, 204);
    });
  }
}

const ownGrants = (from: number): string[] =>
  Array.from(
    { length: 1_000 },
    (_, at) => `ids={{.User.Id}};actions=read;output_fields=f${from + at}`,
  );

test('grants of templates that an org gives everybody are there once, and cost nobody a turn', async () => {
  const { org, project } = await newOrg('for-all');
  for (let at = 0; at < 3; at++) await store(org, ownGrants(at * 1_000), 'u_auth');
  await store(project, ownGrants(3_000), 'u_auth');
  const ask = async (user_id: string): Promise<number> => {
    const grants = await loadGrantSet(app, { user_id, account_id: '' });
    const place = { type: 'user', scope_id: org, parent_scope_id: 'global' } as const;
    const verdict = grants.judge({ ...place, id: user_id, action: 'read' });
    assert.ok(verdict.authorized);
    assert.ok(!grants.judge({ ...place, id: 'u_other', action: 'read' }).authorized);
    return grants.bytes;
  };
  await ask('u_first');
  await holdsNobodyUp(async () => {
    for (let user = 0; user < 50; user++) assert.ok((await ask(`u_${user}`)) < 16 << 10);
  });
});

for (const [what, grants] of [
  ['templates', ownGrants],
  ['the ids of single things', () => longGrants(31)],
] as const) {
  test(`${what} that an org grants many one by one are filed once for all of them, and cost nobody a turn`, async () => {
    const { org } = await newOrg(`for-some-${made}`);
    for (let role = 0; role < 3; role++) {
      const id = await store(org, grants(role * 1_000), people[0] ?? '');
      const others = people
        .slice(1)
        .map((to_id) => insertLink({ from_id: id, kind: 'role-principal', to_id }));
      await app.store.commit([...others, bumpConfigVersion()]);
    }
    // Each gets a role of his own besides: no two have the same.
    for (const person of people) await store(org, [`ids=${person};actions=update`], person);
    const ask = async (user_id: string): Promise<number> => {
      const grants = await loadGrantSet(app, { user_id, account_id: '' });
      const place = { type: 'user', scope_id: org, parent_scope_id: 'global' } as const;
      assert.ok(grants.judge({ ...place, id: user_id, action: 'update' }).authorized);
      assert.ok(!grants.judge({ ...place, id: 'u_other', action: 'update' }).authorized);
      return grants.bytes;
    };
    await ask(people[0] ?? '');
    const before = heapUsed();
    await holdsNobodyUp(async () => {
      for (const person of people) assert.ok((await ask(person)) < 16 << 10);
    });
    const grown = heapUsed() - before;
    assert.ok(grown < 8 << 20, `${grown >> 20} MiB more`);
  });
}

test('of roles that name thousands of fields no more is held than there is room for', async () => {
  const { org } = await newOrg('fields');
  const [person = ''] = people;
  const place = { type: 'target', scope_id: org, parent_scope_id: 'global', id: 'ttcp_1' } as const;
  const before = heapUsed();
  for (let role = 0; role < 60; role++) {
    const fields = Array.from({ length: 1_900 }, (_, at) =>
      (role * 1_900 + at).toString(36).padStart(3, '0'),
    );
    const texts = Array.from(
      { length: 32 },
      (_, at) => `ids=*;type=*;actions=read;output_fields=g${at},${fields.join(',')}`,
    );
    const id = await store(org, texts, person);
    const grants = await loadGrantSet(app, { user_id: person, account_id: '' });
    assert.ok(grants.judge({ ...place, action: 'read' }).authorized);
    assert.equal((await admin('DELETE', `roles/${id}`)).status, 204);
  }
  // With all of them it is 120 MiB.
  const grown = heapUsed() - before;
  assert.ok(grown < 50 << 20, `${grown >> 20} MiB more`);
});

test('of what many roles say of the fields of thousands of things nothing is kept for each', async () => {
  const { org } = await newOrg('fields of things');
  const [person = ''] = people;
  const ids = Array.from({ length: 1_000 }, () => nextId('ttcp'));
  const named: string[] = [];
  for (let at = 0; at < ids.length; at += 60) {
    const some = ids.slice(at, at + 60).join(',');
    named.push(`ids=${some};actions=read;output_fields=id`);
    named.push(`ids=${some};actions=no-op,read;output_fields=name`);
  }
  const many = Array.from({ length: 130 }, (_, at) => `f${at}`).join(',');
  await store(org, named, person);
  await store(org, [`ids=*;type=target;actions=read;output_fields=${many}`], person);
  for (let at = 0; at < 126; at++) {
    await store(org, [`ids=*;type=target;actions=read;output_fields=g${at}`], person);
  }
  const grants = await loadGrantSet(app, { user_id: person, account_id: '' });
  const place = { type: 'target', scope_id: org, parent_scope_id: 'global' } as const;
  const before = heapUsed();
  for (const id of ids) {
    const { authorized, output_fields } = grants.judge({ ...place, id, action: 'read' });
    assert.ok(authorized);
    assert.ok(output_fields !== 'all');
    assert.deepEqual(output_fields.names, ['id', 'name']);
  }
  // With a set for each it is 600 MiB.
  const grown = heapUsed() - before;
  assert.ok(grown < 10 << 20, `${grown >> 20} MiB more`);
});

test('what many users were asked about in ten thousand scopes takes no more than its room', async () => {
  const scopes = Array.from({ length: 10_000 }, () => nextId('p'));
  const judge = (grants: GrantSet, scope_id: string) =>
    grants.judge({ type: 'target', scope_id, parent_scope_id: ORG, action: 'list' });
  const sets: GrantSet[] = [];
  const firsts: (boolean | undefined)[] = [];
  const before = heapUsed();
  for (const person of people) {
    const grants = await loadGrantSet(app, { user_id: person, account_id: '' });
    const verdicts = scopes.map((scope_id) => judge(grants, scope_id));
    sets.push(grants);
    firsts.push(verdicts[0]?.authorized);
  }
  // With all of them it is 30 MiB.
  const grown = heapUsed() - before;
  assert.ok(grown < 10 << 20, `${grown >> 20} MiB more`);
  const again = sets.map((one) => judge(one, scopes[0] ?? '').authorized);
  assert.deepEqual(again, firsts, 'what was forgotten is found again');
});
