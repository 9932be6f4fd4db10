import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachEngine } from '../../../test/support/engines.ts';
import { type Role, roleSchema } from './role.ts';
import { countRolesOf, findStoredRole, saveRole } from './store.ts';

const roleWith = (fields: Partial<Role>): Role => ({ ...roleSchema.parse({}), ...fields });

eachEngine('the roles that name an issuer', (open) => {
  test('are counted by what they name now, exactly as spelt, on their own mount', async () => {
    const store = await open();
    const save = async (mount_id: string, name: string, issuer_ref: string): Promise<void> => {
      const read = await findStoredRole(store.db, mount_id, name);
      await store.commit(saveRole(mount_id, name, { read, role: roleWith({ issuer_ref }) }));
    };
    await save('m', 'a', 'old');
    await save('m', 'b', 'old');
    await save('m', 'c', 'default');
    await save('m', 'd', 'OLD');
    await save('other', 'a', 'old');
    const count = (ref: string) => countRolesOf(store.db, 'm', ref);
    assert.deepEqual(await Promise.all(['old', 'default', 'Old', 'new'].map(count)), [2, 1, 0, 0]);
    await save('m', 'b', 'new');
    assert.deepEqual(await Promise.all(['old', 'new'].map(count)), [1, 1]);
  });

  test('may name it in as many characters as a field has, and then name none', async () => {
    const store = await open();
    for (const [name, issuer_ref] of [
      ['longest', 'x'.repeat(255)],
      ['longer', 'x'.repeat(256)],
      ['far too long', 'é'.repeat(8192)],
    ] as const) {
      const role = roleWith({ issuer_ref });
      await store.commit(saveRole('m', name, { read: undefined, role }));
      const found = await findStoredRole(store.db, 'm', name);
      assert.equal(found?.role.issuer_ref, issuer_ref);
    }
    assert.equal(await countRolesOf(store.db, 'm', 'x'.repeat(255)), 1);
    assert.equal(await countRolesOf(store.db, 'm', 'x'.repeat(256)), 0);
  });
});
