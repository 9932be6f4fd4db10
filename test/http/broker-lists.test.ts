import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import {
  type Broker,
  brokerOver,
  type Call,
  listedIds,
  refusedFields,
  startBroker,
} from '../support/seeded-broker.ts';
import { type Reply, startTestServer } from '../support/server.ts';

/** Moves on by a millisecond with every look, and by hours when a test says so. */
const clock = { ahead: 0, last: 0 };
const now = (): number => {
  clock.last = Math.max(Date.now() + clock.ahead, clock.last + 1);
  return clock.last;
};
const LOOK_BACK_MS = 31_000;
const DAY_MS = 24 * 3600 * 1000;

const broker = await startBroker({ after }, { now });
const { make, org } = broker;

let names = 0;
/** Without the roles that people get in new scopes: who may do what is up to each test. */
const BARE = 'scopes?skip_admin_role_creation=true&skip_default_role_creation=true';
const newProject = (scope_id = org): Promise<string> =>
  make(BARE, { scope_id, type: 'project', name: `project-${names++}` });
const newTarget = (scope_id: string, name = `target-${names++}`): Promise<string> =>
  make('targets', { scope_id, type: 'tcp', name, attributes: { default_port: 22 } });

async function newTargets(scope_id: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let at = 0; at < count; at++) ids.push(await newTarget(scope_id));
  return ids.reverse();
}

/** As the clients of this API do: with the token of each page until the list is complete. */
async function readAll(
  call: Call,
  path: string,
  options: { token?: string; page_size?: number } = {},
): Promise<{ pages: Reply[]; ids: string[]; removed: string[]; token: string }> {
  const pages: Reply[] = [];
  let token = options.token ?? '';
  do {
    const size = options.page_size ? `&page_size=${options.page_size}` : '';
    const page = await call('GET', `${path}${size}${token && `&list_token=${token}`}`);
    assert.equal(page.status, 200, page.text);
    pages.push(page);
    token = page.textAt('list_token');
  } while (pages.at(-1)?.field('response_type') === 'delta');
  const removed = pages.flatMap(
    (page) => (page.field('removed_ids') as string[] | undefined) ?? [],
  );
  return { pages, ids: pages.flatMap(listedIds), removed, token };
}

// The administrator loses nothing by its roles: people in these tests have one role, in `global`.
const viewer = await broker.person(['ids=*;type=*;actions=list,read,no-op']);

const isInvalidToken = (answer: Reply, message: RegExp): void => {
  assert.equal(answer.status, 400, answer.text);
  assert.equal(answer.textAt('kind'), 'invalid list token');
  assert.equal(answer.textAt('op'), 'listtoken.Validate');
  assert.match(answer.textAt('message'), message);
};

test('a project lists its own targets, an org and the global scope only all that is beneath', async () => {
  const [one, other] = [await newProject(), await newProject()];
  const [first, second] = [await newTarget(one), await newTarget(other)];
  assert.deepEqual((await readAll(viewer.call, `targets?scope_id=${one}`)).ids, [first]);
  for (const place of [org, 'global', '']) {
    const refused = await viewer.call('GET', `targets?scope_id=${place}`);
    assert.equal(refused.status, 400);
    assert.deepEqual(refusedFields(refused), {
      scope_id:
        'This field must be a valid project scope ID or the list operation must be recursive.',
    });
    if (place === '') continue;
    const { ids } = await readAll(viewer.call, `targets?scope_id=${place}&recursive=true`);
    assert.ok(ids.includes(first) && ids.includes(second));
  }
  const beneath = await readAll(viewer.call, `targets?scope_id=${one}&recursive=true`);
  assert.deepEqual(beneath.ids, [first]);
  const unknown = await viewer.call('GET', 'targets?scope_id=p_unknown');
  assert.equal(unknown.status, 404);
});

test('what may be listed in some places is listed there alone', async () => {
  const [one, other] = [await newProject(), await newProject()];
  const [first, second] = [await newTarget(one), await newTarget(one)];
  await newTarget(other);
  const everywhere = 'targets?scope_id=global&recursive=true';
  await withoutDefaultTargetGrants(async () => {
    const inOne = await broker.person(['ids=*;type=target;actions=list,read'], {
      grant_scope_ids: [one],
    });
    assert.deepEqual((await readAll(inOne.call, everywhere)).ids, [second, first]);
    assert.equal((await inOne.call('GET', `targets?scope_id=${other}`)).status, 403);
    const ofOne = await broker.person([`ids=${first};actions=read`, 'type=target;actions=list']);
    assert.deepEqual((await readAll(ofOne.call, everywhere)).ids, [first]);
    assert.deepEqual((await readAll(ofOne.call, `targets?scope_id=${other}`)).ids, []);
    const listOnly = await broker.person(['type=target;actions=list']);
    const none = await listOnly.call('GET', everywhere);
    assert.equal(none.status, 200);
    assert.equal(none.field('items'), undefined);
    assert.equal(none.field('list_token'), undefined);
    assert.equal(none.field('response_type'), 'complete');
    const readOnly = await broker.person(['ids=*;type=target;actions=read']);
    assert.equal((await readOnly.call('GET', everywhere)).status, 403);
    assert.equal((await broker.nobody('GET', everywhere)).status, 403);
    assert.equal((await broker.nobody('GET', `targets?scope_id=${one}`)).status, 401);
  });
});

/** Everybody may list targets in a development server; some tests are about who may not. */
async function withoutDefaultTargetGrants(work: () => Promise<void>): Promise<void> {
  const roles = await broker.admin('GET', 'roles?scope_id=global');
  const items = roles.field('items') as { id: string; name: string }[];
  const role = items.find(({ name }) => name === 'Authenticated User Grants');
  const path = `roles/${role?.id}`;
  const set = async (grant_strings: unknown): Promise<void> => {
    const version = (await broker.admin('GET', path)).field('version');
    const answer = await broker.admin('POST', `${path}:set-grants`, { version, grant_strings });
    assert.equal(answer.status, 200, answer.text);
  };
  const before = (await broker.admin('GET', path)).field('grant_strings') as string[];
  await set(before.filter((grant) => !grant.includes('type=target')));
  try {
    await work();
  } finally {
    await set(before);
  }
}

test('a right to list in global counts for every scope beneath, where something may be done', async () => {
  const project = await newProject();
  const target = await newTarget(project);
  await withoutDefaultTargetGrants(async () => {
    const person = await broker.person(['type=target;actions=list'], { grant_scope_ids: ['this'] });
    const role = await make('roles', { scope_id: project });
    for (const [at, [verb, body]] of [
      ['set-grants', { grant_strings: ['ids=*;type=target;actions=read'] }] as const,
      ['set-principals', { principal_ids: [person.user_id] }] as const,
    ].entries()) {
      await broker.admin('POST', `roles/${role}:${verb}`, { version: at + 1, ...body });
    }
    const list = await readAll(person.call, 'targets?scope_id=global&recursive=true');
    assert.deepEqual(list.ids, [target]);
    // Asked of the project alone, its own grants count alone.
    assert.equal((await person.call('GET', `targets?scope_id=${project}`)).status, 403);
  });
});

test('pages are newest first, with the count of all, until the list is complete', async () => {
  const project = await newProject();
  const ids = await newTargets(project, 20);
  const path = `targets?scope_id=${project}`;
  const { pages, ids: listed } = await readAll(viewer.call, path, { page_size: 2 });
  assert.deepEqual(listed, ids);
  assert.deepEqual(
    pages.map((page) => page.field('response_type')),
    [...Array(9).fill('delta'), 'complete'],
  );
  for (const page of pages) {
    assert.equal(page.field('est_item_count'), 20);
    assert.equal(page.field('sort_by'), 'created_time');
    assert.equal(page.field('sort_dir'), 'desc');
    assert.equal(page.field('removed_ids'), undefined);
  }
  const first = await viewer.call('GET', `${path}&page_size=3`);
  const rest = await viewer.call(
    'GET',
    `${path}&page_size=100&list_token=${first.textAt('list_token')}`,
  );
  assert.deepEqual([...listedIds(first), ...listedIds(rest)], ids);
  assert.equal(rest.field('response_type'), 'complete');
  const exact = await viewer.call('GET', `${path}&page_size=20`);
  assert.equal(exact.field('response_type'), 'complete');
});

const sizes: [size: string, status: number][] = [
  ['', 200],
  ['0', 200],
  ['1000', 200],
  ['1001', 400],
  ['-1', 400],
  ['abc', 400],
  ['1e2', 400],
  ['1.5', 400],
  ['0x10', 400],
  ['%2010', 400],
  ['99999999999999999999', 400],
];

for (const [size, status] of sizes) {
  test(`page_size "${size}" is answered with ${status}`, async () => {
    const answer = await viewer.call('GET', `targets?scope_id=${broker.project}&page_size=${size}`);
    assert.equal(answer.status, status);
    assert.deepEqual(Object.keys(refusedFields(answer)), status === 200 ? [] : ['page_size']);
  });
}

test('a filter sees what is shown, and fills its pages by passing over what does not match', async () => {
  const project = await newProject();
  await newTarget(project, 'web');
  const wanted: string[] = [];
  for (let at = 0; at < 30; at++) {
    if (at % 7 === 0) wanted.unshift(await newTarget(project, `wanted ${at}`));
    else await newTarget(project);
  }
  const path = `targets?scope_id=${project}`;
  const filtered = (filter: string): string => `${path}&filter=${encodeURIComponent(filter)}`;
  const byName = await readAll(viewer.call, filtered('"/item/name"=="web"'));
  assert.equal(byName.ids.length, 1);
  const paged = await readAll(viewer.call, filtered('"/item/name" matches "^wanted"'), {
    page_size: 2,
  });
  assert.deepEqual(paged.ids, wanted);
  assert.deepEqual(
    paged.pages.map((page) => listedIds(page).length),
    [2, 2, 1],
  );
  const port = await readAll(viewer.call, filtered('"/item/attributes/default_port" == 22'));
  assert.equal(port.ids.length, 31);
  const missing = await viewer.call('GET', filtered('"/item/nothing" == "x"'));
  assert.equal(missing.status, 200);
  assert.equal(missing.field('items'), undefined);
  const bad = await viewer.call('GET', filtered('"//id/"=="bad"'));
  assert.equal(bad.status, 400);
  assert.equal(bad.textAt('message'), 'Improperly formatted identifier.');
  assert.match(refusedFields(bad).filter ?? '', /^This field could not be parsed\. /);
  await withoutDefaultTargetGrants(async () => {
    const blind = await broker.person([
      'ids=*;type=target;actions=list,read;output_fields=id,authorized_actions',
    ]);
    assert.deepEqual((await readAll(blind.call, filtered('"/item/name"=="web"'))).ids, []);
    const seen = await blind.call('GET', path);
    const items = seen.field('items') as object[];
    assert.deepEqual(Object.keys(items[0] ?? {}).sort(), ['authorized_actions', 'id']);
  });
});

test('after a complete list its token asks what is new, and what is gone is named once', async () => {
  const project = await newProject();
  const [kept, changed, removed, removedLater] = await newTargets(project, 4);
  const elsewhere = await newTarget(broker.project);
  const path = `targets?scope_id=${project}`;
  clock.ahead += LOOK_BACK_MS;
  const first = await readAll(viewer.call, path, { page_size: 3 });
  const nothing = await readAll(viewer.call, path, { token: first.token });
  assert.deepEqual([nothing.ids, nothing.removed], [[], []]);
  assert.equal(nothing.pages[0]?.field('sort_by'), 'updated_time');
  assert.equal(nothing.pages[0]?.field('response_type'), 'complete');

  await broker.admin('DELETE', `targets/${removed}`);
  await broker.admin('DELETE', `targets/${elsewhere}`);
  await broker.admin('PATCH', `targets/${changed}`, { version: 1, description: 'new' });
  const added = await newTarget(project);
  const second = await readAll(viewer.call, path, { token: nothing.token, page_size: 1 });
  assert.deepEqual(second.ids, [added, changed]);
  assert.deepEqual(second.removed, [removed], 'once, and only of the listed scope');
  assert.equal(second.pages.length, 2);

  const third = await readAll(viewer.call, path, { token: second.token });
  assert.deepEqual(third.removed, [], 'not again');
  // A token may be used again, and says the same.
  const again = await readAll(viewer.call, path, { token: nothing.token });
  assert.deepEqual(again.removed, [removed]);
  assert.ok(!again.ids.includes(kept ?? ''));
  await broker.admin('DELETE', `targets/${removedLater}`);
  const fourth = await readAll(viewer.call, path, { token: third.token });
  assert.deepEqual(fourth.removed, [removedLater]);
});

test('what went with its project, or with its org, is named in the list of what was above', async () => {
  const other = await make(BARE, { scope_id: 'global', type: 'org', name: `org-${names++}` });
  const [inOrg, alsoInOrg, inOther] = [
    await newProject(),
    await newProject(),
    await newProject(other),
  ];
  const targets = [await newTarget(inOrg), await newTarget(inOther), await newTarget(inOther)];
  const stays = await newTarget(alsoInOrg);
  const everywhere = 'targets?scope_id=global&recursive=true';
  const ofOrg = `targets?scope_id=${org}&recursive=true`;
  clock.ahead += LOOK_BACK_MS;
  const [all, some] = [await readAll(viewer.call, everywhere), await readAll(viewer.call, ofOrg)];
  assert.ok([...targets, stays].every((id) => all.ids.includes(id)));
  await broker.admin('DELETE', `scopes/${inOrg}`);
  await broker.admin('DELETE', `scopes/${other}`);
  const gone = await readAll(viewer.call, everywhere, { token: all.token });
  assert.deepEqual(gone.removed.sort(), [...targets].sort());
  const goneOfOrg = await readAll(viewer.call, ofOrg, { token: some.token });
  assert.deepEqual(goneOfOrg.removed, [targets[0]]);
  assert.ok(!gone.ids.includes(stays));
});

test('a token is for the type, the place and the grants that it was given for', async () => {
  const project = await newProject();
  await newTargets(project, 3);
  const path = `targets?scope_id=${project}`;
  const person = await broker.person(['ids=*;type=target;actions=list,read']);
  const other = await broker.person(['ids=*;type=target;actions=list,read']);
  const token = (await person.call('GET', `${path}&page_size=2`)).textAt('list_token');
  const use = (call: Call, at: string): Promise<Reply> => call('GET', `${at}&list_token=${token}`);
  assert.equal((await use(person.call, path)).status, 200);
  isInvalidToken(
    await use(person.call, `sessions?scope_id=${project}`),
    /resource type does not match/,
  );
  isInvalidToken(await use(person.call, `${path}&recursive=true`), /another scope/);
  isInvalidToken(await use(person.call, `targets?scope_id=${broker.project}`), /another scope/);
  isInvalidToken(await use(other.call, path), /grants have changed/);

  const role = `roles/${person.role_id}`;
  const unrelated = { version: 4, grant_strings: ['ids=*;type=group;actions=list'] };
  assert.equal((await broker.admin('POST', `${role}:add-grants`, unrelated)).status, 200);
  assert.equal((await use(person.call, path)).status, 200, 'grants on other types do not count');
  const related = { version: 5, grant_strings: ['ids=*;type=target;actions=update'] };
  assert.equal((await broker.admin('POST', `${role}:add-grants`, related)).status, 200);
  isInvalidToken(await use(person.call, path), /grants have changed/);
});

test('a token that was not made here, or was changed, is refused as one to start over from', async () => {
  const project = await newProject();
  await newTargets(project, 3);
  const path = `targets?scope_id=${project}`;
  const token = (await viewer.call('GET', `${path}&page_size=2`)).textAt('list_token');
  const [payload = '', mac = ''] = token.split('.');
  const state = JSON.parse(Buffer.from(payload, 'base64url').toString());
  const forged = Buffer.from(JSON.stringify({ ...state, created_ms: 1e15 })).toString('base64url');
  for (const bad of [
    'x',
    '.',
    `${payload}.`,
    `.${mac}`,
    `${forged}.${mac}`,
    `${token}.x`,
    `${payload}.${mac.slice(2)}`,
    '2Nw9',
    '%00',
  ]) {
    isInvalidToken(
      await viewer.call('GET', `${path}&list_token=${bad}`),
      /not one that this server/,
    );
  }
  assert.ok(!payload.includes(project), 'it is text in another form');
});

test('a list goes on where it was after a restart', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  after(() => rmSync(directory, { recursive: true, force: true }));
  const stopped: { stop: () => Promise<void> }[] = [];
  const first = await startBroker({ after: (stop) => stopped.push({ stop }) }, { directory });
  const path = `targets?scope_id=${first.project}&page_size=1`;
  const page = await first.admin('GET', path);
  assert.equal(page.field('response_type'), 'delta');
  for (const { stop } of stopped) await stop();
  const client = await startTestServer({ after }, { directory });
  const second: Broker = await brokerOver(client);
  const next = await second.as(first.admin_token)(
    'GET',
    `${path}&list_token=${page.textAt('list_token')}`,
  );
  assert.equal(next.status, 200, next.text);
  assert.notDeepEqual(listedIds(next), listedIds(page));
  // Somebody else, by the same name or not, starts over.
  assert.equal(
    (await second.admin('GET', `${path}&list_token=${page.textAt('list_token')}`)).status,
    200,
  );
});

const places: [path: string, status: number, field: string | undefined, why: string][] = [
  ['users?scope_id=p_1234567890', 400, 'scope_id', 'users lie in no project'],
  ['users?scope_id=bogus', 400, 'scope_id', 'no id'],
  ['users?scope_id=o_unknown', 404, undefined, 'an unknown org'],
  ['groups?scope_id=ttcp_1', 400, 'scope_id', 'an id of another type'],
  ['groups?scope_id=p_1234567890', 200, undefined, 'groups lie anywhere'],
  ['roles', 400, 'scope_id', 'nowhere'],
  ['scopes', 200, undefined, 'but scopes, which lie in global then'],
  ['scopes?scope_id=p_1234567890', 400, 'scope_id', 'nothing lies in a project'],
  ['auth-tokens?scope_id=p_1234567890', 400, 'scope_id', 'tokens lie in no project'],
  ['aliases?scope_id=o_1234567890', 400, 'scope_id', 'aliases lie in global'],
  ['accounts?auth_method_id=bogus', 400, 'auth_method_id', 'no id'],
  ['accounts?auth_method_id=ampw_unknown', 404, undefined, 'an unknown auth method'],
  ['hosts?host_catalog_id=p_1234567890', 400, 'host_catalog_id', 'an id of another type'],
  ['host-sets?host_catalog_id=hcst_1234567890', 200, undefined, 'of a catalog'],
  ['targets?scope_id=p_1234567890&recursive=maybe', 400, 'recursive', 'neither yes nor no'],
];

for (const [path, status, field, why] of places) {
  test(`GET ${path} is ${status}: ${why}`, async () => {
    const answer = await broker.admin('GET', path);
    assert.equal(answer.status, status, answer.text);
    assert.deepEqual(Object.keys(refusedFields(answer)), field ? [field] : []);
  });
}

// The last one: time does not go back.
test('a token ends after thirty days without use', async () => {
  const project = await newProject();
  await newTargets(project, 3);
  const path = `targets?scope_id=${project}`;
  const token = (await viewer.call('GET', `${path}&page_size=2`)).textAt('list_token');
  clock.ahead += 31 * DAY_MS;
  const call = broker.as(await broker.logIn(viewer.login_name));
  isInvalidToken(await call('GET', `${path}&list_token=${token}`), /^list token was expired$/);
});
