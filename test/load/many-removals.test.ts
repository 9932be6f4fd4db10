// Lists that are refreshed name what was removed of what they list, and only so much of it: what others
// removed costs them nothing, however much that is.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { MOST_NAMED } from '../../src/broker/resource/lists/removals.operations.ts';
import { copyRow, numbered } from '../support/many-rows.ts';
import { type Call, startBroker } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';
import { holdsNobodyUp } from '../support/turns.ts';

const MANY = 400_000;

const broker = await startBroker({ after });
const { make, admin, nobody, org, project } = broker;
const { store } = broker.client.running.app;

const BARE = 'scopes?skip_admin_role_creation=true&skip_default_role_creation=true';
const STATIC = { type: 'static' };
const newCatalog = (scope_id: string): Promise<string> =>
  make('host-catalogs', { scope_id, ...STATIC });
const newHost = (host_catalog_id: string): Promise<string> =>
  make('hosts', { host_catalog_id, ...STATIC, attributes: { address: '10.0.0.1' } });

async function ask(call: Call, path: string): Promise<Reply> {
  let reply: Reply | undefined;
  await holdsNobodyUp(
    async () => {
      reply = await call('GET', path);
    },
    { what: path },
  );
  assert.ok(reply);
  return reply;
}

/** A list, and the token with which it is refreshed. */
async function begin(call: Call, path: string): Promise<(call?: Call) => Promise<Reply>> {
  const list = await call('GET', path);
  assert.equal(list.field('response_type'), 'complete', list.text.slice(0, 300));
  const token = list.textAt('list_token');
  return (by = call) => ask(by, `${path}&list_token=${token}`);
}

const removedIds = (reply: Reply): string[] => {
  assert.equal(reply.status, 200, reply.text.slice(0, 300));
  return (reply.field('removed_ids') as string[] | undefined) ?? [];
};

function assertTooOld(reply: Reply): void {
  assert.equal(reply.status, 400, reply.text.slice(0, 300));
  assert.equal(reply.textAt('kind'), 'invalid list token');
  assert.match(reply.textAt('message'), new RegExp(`more than ${MOST_NAMED} things`));
}

const copies = (id: string, count: number): Promise<void> =>
  copyRow(store, 'resource_removed', {
    of: { id },
    copies: count,
    changes: { id: numbered('id') },
  });

let theirs = '';
before(async () => {
  const elsewhere = await make(BARE, { scope_id: org, name: 'elsewhere' });
  theirs = await newCatalog(elsewhere);
});

test('what others removed costs a refresh nothing, of one container and of many', async () => {
  const mine = await newCatalog(project);
  const [kept, gone] = [await newHost(mine), await newHost(mine)];
  const hosts = await begin(admin, `hosts?host_catalog_id=${mine}`);
  const catalogs = await begin(admin, `host-catalogs?scope_id=${project}`);
  const everywhere = await begin(admin, 'host-catalogs?scope_id=global&recursive=true');
  const removed = await newHost(theirs);
  for (const id of [gone, removed])
    assert.equal((await admin('DELETE', `hosts/${id}`)).status, 204);
  await copies(removed, MANY);
  assert.deepEqual(removedIds(await hosts()), [gone]);
  assert.deepEqual(removedIds(await catalogs()), []);
  assert.deepEqual(removedIds(await everywhere()), []);
  assert.equal((await admin('GET', `hosts/${kept}`)).status, 200);
});

test('as many as may be are named, and with one more the list begins anew', async () => {
  const mine = await newCatalog(project);
  await newHost(mine);
  const hosts = await begin(admin, `hosts?host_catalog_id=${mine}`);
  const gone = await newHost(mine);
  assert.equal((await admin('DELETE', `hosts/${gone}`)).status, 204);
  await copies(gone, MOST_NAMED - 1);
  const ids = removedIds(await hosts());
  assert.equal(new Set(ids).size, MOST_NAMED);
  const last = await newHost(mine);
  assert.equal((await admin('DELETE', `hosts/${last}`)).status, 204);
  assertTooOld(await hosts());
  await copies(last, MANY);
  assertTooOld(await hosts());
  const anew = await begin(admin, `hosts?host_catalog_id=${mine}`);
  assert.equal((await anew()).status, 200);
});

test('of scopes, too, to whoever may list them without a log-in', async () => {
  const scopes = await begin(nobody, 'scopes?scope_id=global&recursive=true');
  const targets = await begin(admin, 'host-catalogs?scope_id=global&recursive=true');
  const inOne = await begin(admin, `host-catalogs?scope_id=${project}`);
  const gone = await make(BARE, { scope_id: org, name: 'gone' });
  const catalog = await newCatalog(gone);
  assert.equal((await admin('DELETE', `scopes/${gone}`)).status, 204);
  assert.deepEqual(removedIds(await scopes()), [gone]);
  assert.deepEqual(removedIds(await targets()), [catalog], 'with its project');
  await copies(gone, MANY / 4);
  assertTooOld(await scopes());
  assertTooOld(await targets());
  assert.deepEqual(removedIds(await inOne()), []);
});
