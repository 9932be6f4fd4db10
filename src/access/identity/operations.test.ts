import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, requireTestMount, testCaller } from '../../../test/support/app.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import { storePoliciesOfGroup } from '../../../test/support/older-group.ts';
import type { VaultResult } from '../../app/result.ts';
import { Failure, isConflict } from '../../core/failure.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import { deleteAliasesOfMount } from '../../system/mounts/purge.operations.ts';
import { readPermissions } from '../permissions/operations.ts';
import { writePolicy } from '../policies/operations.ts';
import { entityAliases } from './aliases.operations.ts';
import { findAlias, insertAlias } from './aliases.store.ts';
import { entities, writeEntityById } from './entities.operations.ts';
import { findEntityById, insertEntity, updateEntity } from './entities.store.ts';
import { groupAliases } from './group-aliases.operations.ts';
import { groups, writeGroup } from './groups.operations.ts';
import { insertGroup } from './groups.store.ts';
import { listMembers, replaceMembers } from './memberships.store.ts';
import { ensureEntityForAlias } from './operations.ts';
import { listEntityPolicies } from './persons.operations.ts';

/** A list that is given page by page, put together. */
async function wholeOf({ long_list }: VaultResult) {
  assert.ok(long_list);
  const keys: string[] = [];
  for await (const page of long_list.pages) keys.push(...page);
  const key_info: Record<string, unknown> = {};
  for await (const page of long_list.info?.pages ?? []) Object.assign(key_info, page);
  return { keys, key_info };
}

eachEngine('identity', (open) => {
  test('a name of a mount is one entity, though two log-ins come at once', async () => {
    const { app } = await openTestApp(await open());
    const mount = await requireTestMount(app, 'auth/token/');
    const caller = testCaller(mount);
    const first = await ensureEntityForAlias(app, mount, 'Ann');
    const second = await ensureEntityForAlias(app, mount, 'ann');
    await app.commit(caller, first.effects);
    await assert.rejects(app.commit(testCaller(mount), second.effects), (error) =>
      isConflict(error),
    );
    const again = await ensureEntityForAlias(app, mount, 'ANN');
    assert.equal(again.entity.id, first.entity.id);
    assert.equal(again.is_new, false);
    assert.equal(await findEntityById(app.db, second.entity.id), undefined);
  });

  test('an entity gets the policies of its groups, and never root', async () => {
    const { app } = await openTestApp(await open());
    const mount = await requireTestMount(app, 'auth/token/');
    const { entity, effects } = await ensureEntityForAlias(app, mount, 'ann');
    await app.commit(testCaller(mount), effects);
    await writeGroup(app, testCaller(mount), {
      id: '',
      name: 'team',
      policies: ['web'],
      member_entity_ids: [entity.id, entity.id],
    });
    assert.deepEqual(await listEntityPolicies(app, entity.id), ['web']);
    // Only a hand in the database can have put it there.
    await app.commit(testCaller(mount), [
      updateEntity({ ...entity, policies: ['root'] }),
      bumpConfigVersion(),
    ]);
    const permissions = await readPermissions(app, { policies: [], entity_id: entity.id });
    assert.equal(permissions?.acl.root, false);
    assert.deepEqual(permissions?.identity_policies, ['web']);
  });

  test('of two changes to one entity the later reader wins, the other is told', async () => {
    const { app } = await openTestApp(await open());
    const mount = await requireTestMount(app, 'auth/token/');
    const { entity, effects } = await ensureEntityForAlias(app, mount, 'ann');
    await app.commit(testCaller(mount), effects);
    await app.commit(testCaller(mount), [updateEntity({ ...entity, disabled: true })]);
    await assert.rejects(
      app.commit(testCaller(mount), [updateEntity({ ...entity, policies: ['x'] })]),
      /changed by somebody else/,
    );
    assert.equal((await findEntityById(app.db, entity.id))?.disabled, true);
  });

  test('a group of more members than one statement writes has all of them, or none', async () => {
    const { app } = await openTestApp(await open());
    const mount = await requireTestMount(app, 'auth/token/');
    const caller = () => testCaller(mount);
    const ids = Array.from({ length: 1_001 }, (_, at) => `e${String(at).padStart(5, '0')}`);
    const plain = { metadata: {}, policies: [], disabled: false, version: 1 };
    const times = { created_at_ms: 0, updated_at_ms: 0 };
    const entities = ids.map((id) => insertEntity({ id, name: id, ...plain, ...times }));
    await app.commit(caller(), [...entities, bumpConfigVersion()]);
    const made = await writeGroup(app, caller(), { id: '', name: 'all', member_entity_ids: ids });
    const group_id = String(Reflect.get(made.data as object, 'id'));
    assert.deepEqual(await listMembers(app.db, group_id, 'entity'), ids);
    await assert.rejects(
      app.commit(caller(), replaceMembers(group_id, 'entity', [...ids, 'nobody'])),
      /a member was removed in the meantime/,
    );
    assert.deepEqual(await listMembers(app.db, group_id, 'entity'), ids);
  });

  test('a list of thousands has all of them, and others have their turn meanwhile', async () => {
    const { app } = await openTestApp(await open());
    const mount = await requireTestMount(app, 'auth/token/');
    const names = Array.from({ length: 2_001 }, (_, at) => `n${String(at).padStart(5, '0')}`);
    const times = { created_at_ms: 0, updated_at_ms: 0 };
    const plain = { metadata: {}, policies: [], version: 1, ...times };
    const effects = names.flatMap((name) => [
      insertEntity({ id: `e-${name}`, name, disabled: false, ...plain }),
      insertGroup({ id: `g-${name}`, name, type: 'internal', ...plain }),
      insertAlias({
        id: `a-${name}`,
        entity_id: `e-${name}`,
        // Equal names on two mounts lie on two sides of a page's end.
        mount_accessor: name < 'n00999' ? 'm1' : 'm2',
        name,
        custom_metadata: {},
        moves: 0,
        ...times,
      }),
    ]);
    await app.commit(testCaller(mount), [...effects, bumpConfigVersion()]);
    const [first = ''] = names;
    await app.commit(testCaller(mount), replaceMembers(`g-${first}`, 'entity', [`e-${first}`]));
    const lists: [of: string, list: (of: typeof app) => Promise<VaultResult>, keys: string[]][] = [
      ['entities', entities.listIds, names.map((name) => `e-${name}`)],
      ['names of entities', entities.listNames, names],
      ['groups', groups.listIds, names.map((name) => `g-${name}`)],
      ['names of groups', groups.listNames, names],
      ['aliases', entityAliases.list, names.map((name) => `a-${name}`)],
    ];
    for (const [of, list, keys] of lists) {
      let turns = 0;
      let isOver = false;
      const others = (async () => {
        for (; !isOver; turns += 1) await new Promise((resolve) => setImmediate(resolve));
      })();
      const { keys: listed } = await wholeOf(await list(app));
      isOver = true;
      await others;
      assert.deepEqual(listed, keys, of);
      assert.ok(turns >= 2, `${turns} turns of others while ${of} were listed`);
    }
    const { key_info } = await wholeOf(await groups.listIds(app));
    assert.deepEqual(key_info[`g-${first}`], {
      name: first,
      num_member_entities: 1,
      num_parent_groups: 0,
    });
  });

  test('a token whose entity is gone stands for nobody', async () => {
    const { app } = await openTestApp(await open());
    assert.equal(await readPermissions(app, { policies: ['root'], entity_id: 'none' }), undefined);
    const own = await readPermissions(app, { policies: ['root'], entity_id: '' });
    assert.equal(own?.acl.root, true);
  });

  test('lists of policies that read alike are different permissions', async () => {
    const { app } = await openTestApp(await open());
    const mount = await requireTestMount(app, 'auth/token/');
    const { entity, effects } = await ensureEntityForAlias(app, mount, 'ann');
    await app.commit(testCaller(mount), effects);
    const isRoot = async (policies: string[], restricted: boolean) =>
      (await readPermissions(app, { policies, entity_id: entity.id, restricted }))?.acl.root;
    for (const restricted of [false, true]) {
      assert.equal(await isRoot(['a', 'root'], restricted), true);
      for (const name of ['a root', 'a,root', 'a","root', '["a","root"]']) {
        assert.equal(await isRoot([name], restricted), false, name);
      }
      assert.equal(await isRoot(['a', 'root'], restricted), true);
    }
  });

  test('what a mount called somebody goes with the mount', async () => {
    const { app } = await openTestApp(await open());
    const mount = await requireTestMount(app, 'auth/token/');
    const { effects } = await ensureEntityForAlias(app, mount, 'ann');
    await app.commit(testCaller(mount), effects);
    const { commit } = app.store;
    await deleteAliasesOfMount(app, { commit }, 'another');
    assert.equal((await findAlias(app.db, mount.accessor, 'ann'))?.name, 'ann');
    await deleteAliasesOfMount(app, { commit }, mount.accessor);
    assert.equal(await findAlias(app.db, mount.accessor, 'ann'), undefined);
  });

  test('an external group has one alias, written anew in place', async () => {
    const { app } = await openTestApp(await open());
    const mount = await requireTestMount(app, 'auth/token/');
    const caller = () => testCaller(mount);
    const made = await writeGroup(app, caller(), { id: '', name: 'ldap-ops', type: 'external' });
    const group_id = String(Reflect.get(made.data as object, 'id'));
    const alias = { id: '', name: 'ops', mount_accessor: mount.accessor, canonical_id: group_id };
    const first = await groupAliases.write(app, caller(), alias);
    const second = await groupAliases.write(app, caller(), alias);
    assert.deepEqual(second.data, first.data);
    await assert.rejects(
      groupAliases.write(app, caller(), { ...alias, name: 'others' }),
      /has an alias already/,
    );
    assert.deepEqual(await listMembers(app.db, group_id, 'entity'), []);
  });

  test('whoever has more policies than are read may do nothing, and is told so each time', async () => {
    const { app } = await openTestApp(await open());
    const mount = await requireTestMount(app, 'auth/token/');
    const { entity, effects } = await ensureEntityForAlias(app, mount, 'ann');
    await app.commit(testCaller(mount), effects);
    const caller = testCaller(mount);
    const names = (word: string, count: number) =>
      Array.from({ length: count }, (_, at) => `${word}${at}`);
    const low = await writeGroup(app, caller, {
      id: '',
      name: 'low',
      policies: names('low', 600),
      member_entity_ids: [entity.id],
    });
    const low_id = String((low.data as Record<string, unknown>).id);
    await writeGroup(app, caller, { id: '', name: 'same', policies: names('low', 600) });
    const top = { id: '', name: 'top', member_group_ids: [low_id] };
    await writeGroup(app, caller, { ...top, policies: names('top', 400) });
    assert.equal((await listEntityPolicies(app, entity.id)).length, 1000);
    const refused = (kind: string) => (error: unknown) =>
      error instanceof Failure &&
      error.kind === kind &&
      /at most 1000 policies/.test(error.message);
    await assert.rejects(
      writeGroup(app, caller, { id: low_id, name: '', policies: names('low', 601) }),
      refused('invalid'),
    );
    await assert.rejects(
      writeEntityById(app, caller, { id: entity.id, name: '', policies: ['one-more'] }),
      refused('invalid'),
    );
    // A group that gives others as many, or that is beneath one, takes nobody in who would have too many.
    const more = { id: '', name: 'more', policies: names('more', 1) };
    await writeGroup(app, caller, more);
    const nested = { id: '', name: 'nested' };
    const { data } = await writeGroup(app, caller, nested);
    const nested_id = String(Reflect.get(data as object, 'id'));
    const above = { id: '', name: 'above', policies: names('above', 1) };
    await writeGroup(app, caller, { ...above, member_group_ids: [nested_id] });
    const newOne = { id: '', name: 'new', policies: names('new', 1) };
    for (const group of [{ ...more, policies: undefined }, nested, newOne]) {
      await assert.rejects(
        writeGroup(app, caller, { ...group, member_entity_ids: [entity.id] }),
        refused('invalid'),
        group.name,
      );
    }
    const fits: [name: string, policies: string[]][] = [
      ['none', []],
      ['known', names('top', 400)],
    ];
    for (const [name, policies] of fits) {
      await writeGroup(app, caller, { id: '', name, policies, member_entity_ids: [entity.id] });
    }
    assert.equal((await listEntityPolicies(app, entity.id)).length, 1000);
    await writeGroup(app, caller, { id: '', name: 'known', policies: [] });
    const grown = { ...top, policies: names('top', 401) };
    await assert.rejects(writeGroup(app, caller, grown), refused('invalid'));
    // As it may have been stored before those beneath were looked at.
    await storePoliciesOfGroup(app, 'top', grown.policies);
    for (let turn = 0; turn < 2; turn++) {
      await assert.rejects(listEntityPolicies(app, entity.id), refused('forbidden'));
      const token = { policies: ['default'], entity_id: entity.id, restricted: false };
      await assert.rejects(readPermissions(app, token), refused('forbidden'));
      // Nor does anybody know then what one is denied that has its own policies alone.
      const restricted = { ...token, restricted: true };
      await assert.rejects(readPermissions(app, restricted), refused('forbidden'));
    }
    await writeGroup(app, caller, { ...top, policies: [] });
    assert.equal((await listEntityPolicies(app, entity.id)).length, 600);
  });

  test('a token and those it was made from have no more policies together than are read', async () => {
    const { app } = await openTestApp(await open());
    const caller = testCaller(await requireTestMount(app, 'auth/token/'));
    const names = ['a', 'b', 'c', 'd', 'e'];
    for (const name of names) {
      const rules = Array.from({ length: 2000 }, (_, at) => `path "${name}/${at}" {}`);
      await writePolicy(app, caller, { name, text: rules.join('\n') });
    }
    await writePolicy(app, caller, { name: 'f', text: 'path "a/f" { policy = "read" }' });
    const boundBy = (...ceilings: string[][]) => ({
      policies: [...names, 'f'].slice(1),
      entity_id: '',
      bounds: {
        ceilings: ceilings.map((policies) => ({ policies, entity_id: '' })),
        entity_policies: [],
      },
    });
    const three = names.slice(0, 3);
    const within = await readPermissions(app, boundBy(three, ['f']));
    assert.equal(within?.acl.tables.length, 3);
    const forbidden = (error: unknown) =>
      error instanceof Failure &&
      error.kind === 'forbidden' &&
      /are worth \d+ paths in all, at most 16000/.test(error.message);
    for (let turn = 0; turn < 2; turn++) {
      await assert.rejects(readPermissions(app, boundBy(three, names)), forbidden);
    }
    // Once others are fewer it has what it had.
    await writePolicy(app, caller, { name: 'a', text: '# none' });
    await writePolicy(app, caller, { name: 'b', text: '# none' });
    assert.equal((await readPermissions(app, boundBy(three, names)))?.acl.tables.length, 3);
  });
});
