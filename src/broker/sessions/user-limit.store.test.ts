import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachPlace } from '../../../test/support/engines.ts';
import { makeWorld } from '../../../test/support/session-world.ts';
import { insertSession } from './new-session.store.ts';
import { countLiveSessions, holdFewer } from './user-limit.store.ts';

eachPlace('the limit of a user’s sessions', (newPlace, engine) => {
  test('of many write sets at once exactly as many are durable as the limit allows, also of two nodes', async () => {
    const place = await newPlace();
    const { app } = await makeWorld(() => place.open('a'));
    const stores = engine === 'sqlite' ? [app.store] : [app.store, await place.open('b')];
    const set = (id: string, most: number) => [
      ...holdFewer('u_1', most, 1),
      ...insertSession({
        id,
        scope_id: 'p_1',
        user_id: 'u_1',
        type: 'tcp',
        target: { id: 'ttcp_1', version: 1 },
        holder: { auth_token_id: 'at_1', token_id: '', alias_id: '', auth_mount_id: '' },
        host_set_id: '',
        host_id: '',
        endpoint: 'tcp://10.0.0.5:22',
        connection_limit: -1,
        created_ms: 1,
        expires_ms: 1_000,
        worker_filter: '',
        injects: false,
        certificate: new Uint8Array(),
        private_key_sealed: new Uint8Array(),
      }),
    ];
    // Each node has a batch of its own under way, and there is room for one: two would each see none.
    for (let most = 1; most <= 30; most++) {
      const all = await Promise.allSettled(
        stores.flatMap((store, node) =>
          [1, 2].map((n) => store.commit(set(`s_${most}_${node}_${n}`, most))),
        ),
      );
      assert.equal(all.filter(({ status }) => status === 'fulfilled').length, 1);
      assert.equal(await countLiveSessions(app.db, 'u_1', 1), most);
    }
    assert.equal(await countLiveSessions(app.db, 'u_1', 1_000), 0, 'their time is over');
    assert.equal(await countLiveSessions(app.db, 'u_2', 1), 0);
  });
});
