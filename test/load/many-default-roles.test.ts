/** Each project brings a role for everybody: as many as there may be are in nobody's way. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { loadGrantSet, readEverybody } from '../../src/broker/iam/grants/operations.ts';
import { MOST_SCOPES } from '../../src/broker/iam/scopes/room.ts';
import { insertLink } from '../../src/broker/resource/links/store.ts';
import { insertResource } from '../../src/broker/resource/store.ts';
import { bumpConfigVersion } from '../../src/store/config-version.ts';
import { eachPlace } from '../support/engines.ts';
import { copyRow, numbered } from '../support/many-rows.ts';
import { makeResource } from '../support/resources.ts';
import { type Broker, startBroker } from '../support/seeded-broker.ts';
import { holdsNobodyUp } from '../support/turns.ts';

/** As long as what a project brings, and of something that nobody else is granted. */
const ROLE = {
  grant_strings: [
    'ids=*;type=session;actions=list,read:self,cancel:self',
    'ids=*;type=host-catalog;actions=read',
  ],
  grant_scope_ids: ['this'],
};

eachPlace('what as many projects as there may be grant everybody', (newPlace) => {
  let broker: Broker;
  const stops: (() => unknown)[] = [];
  after(async () => {
    for (const stop of stops.reverse()) await stop();
  });

  before(async () => {
    const test = { after: (stop: () => Promise<void>) => stops.push(stop) };
    broker = await startBroker(test, { place: await newPlace() });
    const { store } = broker.client.running.app;
    const role = makeResource('r_default000', { scope_id: 'p_1', container_id: 'p_1', body: ROLE });
    const link = { from_id: role.id, kind: 'role-principal', to_id: 'u_auth' } as const;
    await store.commit([insertResource(role), insertLink(link), bumpConfigVersion()]);
    const copies = MOST_SCOPES - 1;
    const changes = { id: numbered('id'), scope_id: numbered('scope_id') };
    await copyRow(store, 'resource', { of: { id: role.id }, copies, changes });
    const from_id = numbered('from_id');
    await copyRow(store, 'resource_link', { of: link, copies, changes: { from_id } });
  });

  async function ask(user_id: string): Promise<void> {
    const { app } = broker.client.running;
    const grants = await loadGrantSet(app, { user_id, account_id: '' });
    const place = {
      type: 'host-catalog',
      id: 'hcst_1234567890',
      scope_id: '1000007-p_1',
      parent_scope_id: 'o_1',
    } as const;
    assert.ok(grants.judge({ ...place, action: 'read' }).authorized);
    assert.ok(!grants.judge({ ...place, action: 'update' }).authorized);
    const elsewhere = { ...place, scope_id: 'p_none' };
    assert.ok(!grants.judge({ ...elsewhere, action: 'read' }).authorized);
    await grants.fingerprint('host-catalog');
  }

  test('holds nobody up when one more comes', async () => {
    const { org, make } = broker;
    await holdsNobodyUp(() => ask('u_one'), { prepare: () => make('scopes', { scope_id: org }) });
  });

  test("is kept as one for all, until a role of everybody's changes", async () => {
    const { org, make } = broker;
    const { app } = broker.client.running;
    const everybody = await readEverybody(app);
    assert.ok(everybody, 'there is room for it');
    assert.ok(everybody.shared.size >= MOST_SCOPES);
    await make('users', { scope_id: 'global' });
    await ask('u_another');
    assert.equal(await readEverybody(app), everybody, 'nothing was granted meanwhile');
    await make('scopes', { scope_id: org });
    const next = await readEverybody(app);
    assert.equal(next?.shared.size, everybody.shared.size + 1);
    const [id = '', role] = [...everybody.shared][0] ?? [];
    assert.ok(role);
    assert.equal(next?.shared.get(id), role, 'what did not change is not read again');
  });
});
