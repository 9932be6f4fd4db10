/** Sessions and log-ins that a user made one by one hold nobody up, neither their lists nor the jobs. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { deleteTree } from '../../src/access/tokens/ending.store.ts';
import { tokenId } from '../../src/access/tokens/minting.operations.ts';
import type { Job } from '../../src/app/job.ts';
import { authTokenJobs } from '../../src/broker/iam/auth-tokens/jobs.ts';
import { sessionJobs } from '../../src/broker/sessions/jobs.ts';
import type { Effect } from '../../src/store/write.ts';
import { copyRow, numbered } from '../support/many-rows.ts';
import { startBroker, tokenIdOf } from '../support/seeded-broker.ts';
import { holdsNobodyUp } from '../support/turns.ts';

const broker = await startBroker({ after });
const { app } = broker.client.running;
const user = await broker.person([
  'ids=*;type=target;actions=authorize-session',
  'ids=*;type=session;actions=list,read:self',
  'ids=*;type=auth-token;actions=list,read:self',
]);

const COUNT = 20_000;

before(async () => {
  const fields = { type: 'tcp', address: '10.0.0.5', attributes: { default_port: 22 } };
  const target = await broker.make('targets', { scope_id: broker.project, name: 't', ...fields });
  const made = await user.call('POST', `targets/${target}:authorize-session`, {});
  assert.equal(made.status, 200, made.text);
  const changes = { id: numbered('id'), unique_key: numbered('unique_key') };
  const session = { of: { id: made.textAt('session_id') }, copies: COUNT };
  await copyRow(app.store, 'resource', { ...session, changes });
  await copyRow(app.store, 'session', { ...session, changes: { id: numbered('id') } });
  const log_in = { of: { id: tokenIdOf(user.token) }, copies: COUNT };
  await copyRow(app.store, 'resource', { ...log_in, changes });
});

const noItem = encodeURIComponent('"/item/id" == "none"');
const LISTS: [path: string, items: number][] = [
  ['sessions?page_size=1', 1],
  ['sessions?page_size=1000', 1000],
  ['sessions?recursive=true&page_size=1', 1],
  [`sessions?filter=${noItem}`, 0],
];

for (const [path, items] of LISTS) {
  test(`nobody is held up by ${path} of somebody with many`, async () => {
    const [name, query] = path.split('?');
    await holdsNobodyUp(async () => {
      const list = await user.call('GET', `${name}?scope_id=${broker.project}&${query}`);
      assert.equal(list.status, 200, list.text.slice(0, 300));
      const found = list.field('items') ?? [];
      assert.equal(Array.isArray(found) && found.length, items);
    });
  });
}

test('nobody is held up by the list of the log-ins of somebody with many', async () => {
  await holdsNobodyUp(async () => {
    const list = await user.call('GET', 'auth-tokens?scope_id=global&page_size=1');
    assert.equal(list.status, 200, list.text);
    assert.equal(list.field('response_type'), 'delta');
  });
});

const NAMES = ['broker/auth-tokens', 'broker/session-grounds'];
const jobs = [...authTokenJobs, ...sessionJobs].filter(({ name }) => NAMES.includes(name));

/** @returns how many write sets it took */
async function run(job: Job): Promise<number> {
  let commits = 0;
  const turn = {
    stopping: false,
    fence: () => assert.fail('nothing is to be done'),
    commit(effects: readonly Effect[]) {
      commits += 1;
      return app.store.commit(effects);
    },
  };
  await job.run(app, turn);
  return commits;
}

for (const job of jobs) {
  test(`nobody is held up by the job ${job.name} where there are many`, async () => {
    await holdsNobodyUp(async () => {
      assert.equal(await run(job), 0);
      assert.equal(await run(job), 0);
    });
  });
}

test('a log-in whose token is gone is found in one of the next runs, however many there are', async () => {
  const person = await broker.person([]);
  const id = tokenIdOf(person.token);
  // As a program did that knew nothing of log-ins.
  await app.store.commit([deleteTree(tokenId(app, person.token))]);
  const isThere = async (): Promise<boolean> =>
    (await app.db.selectFrom('resource').select('id').where('id', '=', id).execute()).length > 0;
  assert.ok(await isThere());
  const [job] = jobs;
  assert.ok(job);
  let commits = 0;
  for (let runs = 0; runs < 3; runs += 1) commits += await run(job);
  assert.equal(commits, 1);
  assert.ok(!(await isThere()));
});
