import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, requireTestMount, testCaller } from '../../../test/support/app.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import { judgedAccess } from '../../../test/support/judged.ts';
import { bumpPermissionVersion } from '../../store/permission-version.ts';
import type { Write } from '../../store/write.ts';
import { readPermissions } from '../permissions/operations.ts';
import { writePolicy } from '../policies/operations.ts';
import { insertAlias, listAliases } from './aliases.store.ts';
import { insertEntity } from './entities.store.ts';
import type { Entity } from './entity.ts';
import type { Group } from './group.ts';
import { insertGroup, readGivingGroups, readGroupsById, updateGroup } from './groups.store.ts';
import { requireFewPolicies } from './memberships.operations.ts';
import { replaceMembers } from './memberships.store.ts';
import { findPerson } from './persons.operations.ts';

const ENTITY: Entity = {
  id: 'entity',
  name: 'ann',
  version: 1,
  created_at_ms: 0,
  updated_at_ms: 0,
  metadata: {},
  policies: [],
  disabled: false,
};

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

  test('of some groups those that have policies are read, in the order of their ids', async () => {
    const { app } = await openTestApp(await open());
    // What a group says of itself is not taken for what it gives.
    const metadata = { policies: '[]', text: '"policies":[]}' };
    const bodies: [id: string, policies: string[]][] = [
      ['c', ['p']],
      ['b', []],
      ['a', ['"policies":[]}']],
      ['d', ['q']],
    ];
    for (const [id, policies] of bodies) {
      await app.store.commit([insertGroup({ ...groupOf(0), id, name: id, metadata, policies })]);
    }
    const groups = await Array.fromAsync(readGivingGroups(app.db, ['c', 'nobody', 'b', 'a']));
    assert.deepEqual(
      groups.map(({ id, policies }) => [id, policies]),
      [
        ['a', ['"policies":[]}']],
        ['c', ['p']],
      ],
    );
    const [d] = await Array.fromAsync(readGroupsById(app.db, ['d']));
    assert.ok(d);
    await app.store.commit([updateGroup({ ...d, policies: [] })]);
    assert.deepEqual(await Array.fromAsync(readGivingGroups(app.db, ['d'])), []);
  });

  test('whoever is put into groups without policies, however many and long, may do what they could before', async () => {
    const { app } = await openTestApp(await open());
    const caller = testCaller(await requireTestMount(app, 'auth/token/'));
    const rules = [
      'path "a/{{identity.entity.name}}" { capabilities = ["read"] }',
      'path "b/*" { capabilities = ["read"] }',
      'path "b/{{identity.groups.names.named.metadata.text}}" { capabilities = ["deny"] }',
    ];
    await writePolicy(app, caller, { name: 'own', text: rules.join('\n') });
    const named = { ...groupOf(0), id: 'named', name: 'named', policies: ['given'] };
    await app.store.commit([
      insertEntity(ENTITY),
      insertGroup({ ...named, metadata: { text: 'no' } }),
      ...replaceMembers('named', 'entity', [ENTITY.id]),
      ...bumpPermissionVersion(),
    ]);
    const token = { entity_id: ENTITY.id, restricted: false, policies: ['own'], bounds: undefined };
    const may = async () => {
      await app.store.refreshConfig();
      const permissions = await readPermissions(app, { ...token, alias: undefined });
      assert.ok(permissions);
      const { acl, identity, identity_policies } = permissions;
      const look = (path: string) =>
        judgedAccess(acl, { path, operation: 'read', sudoRequired: false }).allowed;
      const allowed = ['a/ann', 'a/bob', 'b/yes', 'b/no'].filter(look);
      return { allowed, groups: identity?.groups, identity_policies };
    };
    const before = await may();
    assert.deepEqual(before, {
      allowed: ['a/ann', 'b/yes'],
      groups: [],
      identity_policies: ['given'],
    });
    const writes: Write[] = [];
    for (let at = 1; at < 1_100; at++) {
      const metadata = { text: 'm'.repeat(at < 40 ? 60_000 : 1) };
      const group = { ...groupOf(at), policies: [], metadata };
      // Of every second one they are a member by another.
      const [kind, member] =
        at % 2 ? (['entity', ENTITY.id] as const) : (['group', 'named'] as const);
      writes.push(insertGroup(group), ...replaceMembers(group.id, kind, [member]));
    }
    await app.store.commit([...writes, ...bumpPermissionVersion()]);
    assert.deepEqual(await may(), before);
    const person = await findPerson(app, ENTITY.id);
    assert.ok(JSON.stringify(person).length < 2_000);
    await requireFewPolicies(app, ENTITY, 'entity');
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
