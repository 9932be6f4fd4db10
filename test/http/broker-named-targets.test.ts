import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachPlace } from '../support/engines.ts';
import { CommitHolder } from '../support/held-commit.ts';
import { PROJECT, startBroker } from '../support/seeded-broker.ts';

eachPlace('a target that gets another name while a session on it is authorized', (newPlace) => {
  for (const by of ['name', 'id'] as const) {
    test(`by its ${by}: it is ${by === 'id' ? 'the same' : 'not there any more'}`, async (t) => {
      const holder = new CommitHolder();
      const { admin, make } = await startBroker(t, {
        place: await newPlace(),
        store: holder.over,
      });
      const name = 'database';
      const attributes = { default_port: 22 };
      const common = { scope_id: PROJECT, type: 'tcp', address: '127.0.0.1' };
      const id = await make('targets', { ...common, name, attributes });
      const path = `targets/${by === 'id' ? id : name}:authorize-session`;
      const body = by === 'id' ? {} : { name, scope_id: PROJECT };
      const held = holder.hold(path);
      const late = admin('POST', path, body);
      await held.reached;
      const renamed = await admin('PATCH', `targets/${id}`, {
        version: 1,
        name: 'another',
      }).finally(held.letGo);
      assert.equal(renamed.status, 200, renamed.text);
      const { status, text } = await late;
      assert.equal(status, by === 'id' ? 200 : 404, text);
    });
  }
});
