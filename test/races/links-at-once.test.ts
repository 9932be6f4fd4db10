// What is linked and goes while a change of the links is under way.

import assert from 'node:assert/strict';
import { make } from '../support/broker-places.ts';
import { type RaceCase, raceAll } from '../support/racing.ts';

const replaced = (plural: string, verb: string, field: string): RaceCase => ({
  name: `${verb} and one that is there`,
  refused: [],
  judge: (made) => assert.equal(made.status, 200, made.text),
  async setUp(bench) {
    const [leaves, comes] = [
      await make(bench, 'users', { scope_id: 'global' }),
      await make(bench, 'users', { scope_id: 'global' }),
    ];
    const id = await make(bench, plural, { scope_id: 'global' });
    const path = `${plural}/${id}:${verb}`;
    const set = (version: number, user: string) =>
      bench.maker.call('POST', path, { version, [field]: [user] });
    assert.equal((await set(1, leaves)).status, 200);
    return {
      path,
      make: () => set(2, comes),
      remove: () => bench.remover.call('DELETE', `users/${leaves}`),
    };
  },
});

raceAll('links that are replaced', [
  replaced('groups', 'set-members', 'member_ids'),
  replaced('roles', 'set-principals', 'principal_ids'),
]);
