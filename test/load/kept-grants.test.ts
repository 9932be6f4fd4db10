/** What is kept, and held meanwhile, of what users of the broker are allowed. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listRecordsAfter } from '../../src/audit/store.ts';
import { loadGrantSet } from '../../src/broker/iam/grants/operations.ts';
import { changeResource } from '../../src/broker/resource/store.ts';
import { bumpConfigVersion } from '../../src/store/config-version.ts';
import { makeProject, type Person, type Project, repair } from '../support/broker.ts';
import { heapUsed } from '../support/heap.ts';
import { headOf, openTalk } from '../support/raw-talk.ts';
import { type Client, startTestServer } from '../support/server.ts';
import { writeRecords } from '../support/threads.ts';

/** As long as the grants of a role may be: ids of single targets, of which there need be none. */
const longGrants = (nth = 0): string[] =>
  Array.from({ length: 32 }, (_, at) => {
    const ids = Array.from(
      { length: 480 },
      (_, place) => `ttcp_${nth}${String(at * 480 + place).padStart(9, '0')}`,
    );
    return `ids=${ids.join(',')};actions=read,authorize-session`;
  });

/** Sets grants of a role that has been changed once, as they could be set when ids counted for less. */
function storeGrants(server: Client, role: string, grant_strings: readonly string[]) {
  const body = { grant_strings, grant_scope_ids: ['this'] };
  return server.running.app.store.commit([changeResource(role, 2, { body }), bumpConfigVersion()]);
}

test('one role with long grants that everybody has takes no more memory than there is for grants', async (t) => {
  const server = await startTestServer(t);
  const scope_id = (await makeProject(server)).id;
  const role = (await repair(server, 'roles', { scope_id })).textAt('id');
  const principals = { version: 1, principal_ids: ['u_auth'] };
  await repair(server, `roles/${role}:add-principals`, principals);
  await storeGrants(server, role, longGrants());
  await repair(server, `roles/${role}:set-grant-scopes`, { version: 3, grant_scope_ids: ['this'] });

  const { app } = server.running;
  const place = { type: 'target', scope_id, parent_scope_id: '' } as const;
  const before = heapUsed();
  for (let user = 0; user < 60; user++) {
    const grants = await loadGrantSet(app, { user_id: `u_${user}`, account_id: '' });
    const seen = grants.describeVisibility(place, ['authorize-session']).ids;
    assert.ok(seen.reduce((sum, { size }) => sum + size, 0) >= 32 * 480);
    grants.fingerprint('target');
  }
  // Each of them takes some 4 MiB.
  const grown = heapUsed() - before;
  assert.ok(grown < 100 << 20, `${grown >> 20} MiB more`);
});

/** People who are allowed sixty thousand single things, all of them the same. */
async function addPeople(server: Client, project: Project, count: number): Promise<Person[]> {
  const people: Person[] = [];
  for (let nth = 0; nth < count; nth++) {
    const grants = ['ids=*;type=host-catalog;actions=create'];
    people.push(await project.addPerson(`person-${nth}`, grants));
  }
  const principal_ids = people.map(({ user_id }) => user_id);
  const roles: string[] = [];
  for (let nth = 0; nth < 4; nth++) {
    const role = (await repair(server, 'roles', { scope_id: project.id })).textAt('id');
    await repair(server, `roles/${role}:add-principals`, { version: 1, principal_ids });
    roles.push(role);
  }
  // They are more than there is room for now: nothing is made after them.
  for (const [nth, role] of roles.entries()) await storeGrants(server, role, longGrants(nth));
  return people;
}

/** A request that makes a host catalog, but for all of its body after the first byte. */
function beginningOf(server: Client, { token }: Person, body: string): string {
  const fields = [`Authorization: Bearer ${token}`, `Content-Length: ${body.length}`];
  return headOf(server, 'POST /v1/host-catalogs', fields) + body.slice(0, 1);
}

test('grants of many users that name thousands of things are not held while bodies are awaited', async (t) => {
  const server = await startTestServer(t);
  const project = await makeProject(server);
  const people = await addPeople(server, project, 20);
  const body = JSON.stringify({ scope_id: project.id, type: 'static' });
  const talks = await Promise.all(people.map(() => openTalk(server, '127.0.0.1')));
  try {
    const before = heapUsed();
    for (const [at, person] of people.entries()) {
      const lists = `targets?scope_id=${project.id}`;
      assert.equal((await person.call('GET', lists)).status, 200);
      talks[at]?.socket.write(beginningOf(server, person, body));
      // Later than that.
      assert.equal((await person.call('GET', lists)).status, 200);
    }
    // With those of all of them it is 90 MiB.
    const grown = heapUsed() - before;
    assert.ok(grown < 40 << 20, `${grown >> 20} MiB more`);
    for (const { socket, answers, text } of talks) {
      socket.write(body.slice(1));
      await answers(1);
      assert.match(text(), /^HTTP\/1.1 200/);
    }
  } finally {
    for (const { socket } of talks) socket.destroy();
  }
});

test('who logs out while a body of theirs is awaited is refused, and the record tells who it was', async (t) => {
  const server = await startTestServer(t);
  const project = await makeProject(server);
  // As much as is still filed for each who has it.
  const ids = Array.from({ length: 400 }, (_, at) => `ttcp_${String(at).padStart(10, '0')}`);
  const grants = ['ids=*;type=host-catalog;actions=create', `ids=${ids.join(',')};actions=read`];
  const person = await project.addPerson('person-0', grants);
  const body = JSON.stringify({ scope_id: project.id, type: 'static', name: 'awaited' });
  const { socket, answers, text } = await openTalk(server, '127.0.0.1');
  socket.write(beginningOf(server, person, body));
  assert.equal((await person.call('GET', `targets?scope_id=${project.id}`)).status, 200);
  const ended = await server.call('DELETE', `auth-tokens/${person.auth_token_id}`);
  assert.equal(ended.status, 204, ended.text);
  socket.write(body.slice(1));
  await answers(1);
  assert.match(text(), /^HTTP\/1.1 401/);
  socket.destroy();
  await writeRecords(server.running);
  const { db } = server.running.app;
  const records = await listRecordsAfter(db, { node: 'local', seq: 0, limit: 10_000 });
  const told = records.map(({ record }) => JSON.parse(record));
  const refused = told.find(({ request }) => request.path === 'host-catalogs');
  assert.equal(refused?.response.status, 'refused');
  assert.equal(refused?.auth?.display_name, 'person-0');
});
