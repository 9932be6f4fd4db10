import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp } from '../../../test/support/app.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import { heapUsed } from '../../../test/support/heap.ts';
import { bumpPermissionVersion } from '../../store/permission-version.ts';
import { insertAlias, listAliases } from './aliases/store.ts';
import type { Entity } from './entity.ts';
import type { Group } from './group.ts';
import { replaceMembers } from './memberships/store.ts';
import {
  findPerson,
  listEntityPolicies,
  readGroupTree,
  readPermissions,
  requireFewPolicies,
} from './operations.ts';
import { insertEntity, insertGroup, readGroupsById } from './store.ts';

const GROUPS = 300;

const groupOf = (at: number): Group => ({
  id: `group-${at}`,
  name: `group ${at}`,
  type: 'internal',
  version: 1,
  created_at_ms: 0,
  updated_at_ms: 0,
  metadata: { text: `${at}`.padEnd(60_000, 'm') },
  policies: Array.from({ length: 60 }, (_, name) => `p${at}-${name}-`.padEnd(1000, 'p')),
});

eachEngine('groups that are kept', (open) => {
  test('of all groups it is kept which there are, not what they are', async () => {
    const { app } = await openTestApp(await open());
    for (let at = 0; at < GROUPS; at++) await app.store.commit([insertGroup(groupOf(at))]);
    const before = heapUsed();
    const { ids } = await readGroupTree(app);
    // Together they are 34 MiB.
    const grown = heapUsed() - before;
    assert.ok(grown < 10 << 20, `${grown >> 20} MiB more`);
    assert.equal(ids.size, GROUPS);
  });

  test('groups are read in the order that is asked for, without those that are not there', async () => {
    const { app } = await openTestApp(await open());
    for (let at = 0; at < 40; at++) await app.store.commit([insertGroup(groupOf(at))]);
    const ids = Array.from({ length: 42 }, (_, at) => `group-${41 - at}`);
    const groups = await Array.fromAsync(readGroupsById(app.db, ids));
    assert.deepEqual(
      groups.map(({ id }) => id),
      ids.slice(2),
    );
    assert.deepEqual(groups[0], groupOf(39));
    assert.deepEqual(await Array.fromAsync(readGroupsById(app.db, [])), []);
  });

  test('somebody in more groups than are read holds none of them, and is permitted nothing', async () => {
    const { app } = await openTestApp(await open());
    const entity: Entity = {
      id: 'entity',
      name: 'entity',
      version: 1,
      created_at_ms: 0,
      updated_at_ms: 0,
      metadata: {},
      policies: ['own'],
      disabled: false,
    };
    const few = 15;
    const groups = Array.from({ length: 30 }, (_, at) => ({ ...groupOf(at), policies: ['p'] }));
    await app.store.commit([insertEntity(entity)]);
    for (const [at, group] of groups.entries()) {
      const joined = at < few ? replaceMembers(group.id, 'entity', [entity.id]) : [];
      await app.store.commit([insertGroup(group), ...joined, ...bumpPermissionVersion()]);
    }
    assert.deepEqual(await listEntityPolicies(app, entity.id), ['own', 'p']);
    for (const group of groups.slice(few)) {
      await app.store.commit([
        ...replaceMembers(group.id, 'entity', [entity.id]),
        ...bumpPermissionVersion(),
      ]);
    }
    await app.store.refreshConfig();
    const person = await findPerson(app, entity.id);
    assert.deepEqual(person?.facts.groups, []);
    await assert.rejects(listEntityPolicies(app, entity.id), { kind: 'forbidden' });
    const token = { entity_id: entity.id, restricted: false, policies: ['own'], bounds: undefined };
    await assert.rejects(readPermissions(app, { ...token, alias: undefined }), {
      kind: 'forbidden',
    });
    await assert.rejects(
      requireFewPolicies(
        app,
        entity,
        groups.map(({ id }) => id),
      ),
      {
        kind: 'invalid',
      },
    );
  });

  test('aliases of an entity are read in their order, each once, however long they are', async () => {
    const { app } = await openTestApp(await open());
    const base = { entity_id: 'e', moves: 0, created_at_ms: 0, updated_at_ms: 0 };
    const entity = { id: 'e', name: 'e', version: 1, created_at_ms: 0, updated_at_ms: 0 };
    await app.store.commit([
      insertEntity({ ...entity, metadata: {}, policies: [], disabled: false }),
    ]);
    const custom_metadata = { text: 'm'.repeat(1_000_000) };
    const mounts = Array.from({ length: 7 }, (_, at) => `auth_${at}`);
    for (const mount_accessor of mounts) {
      const alias = { ...base, id: `of ${mount_accessor}`, mount_accessor, name: 'n' };
      await app.store.commit([insertAlias({ ...alias, custom_metadata })]);
    }
    const found = await listAliases(app.db, 'e');
    assert.deepEqual(
      found.map((alias) => alias.mount_accessor),
      mounts,
    );
  });
});
