import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachPlace } from '../../../test/support/engines.ts';
import { aliasIds, insertAlias } from '../../access/identity/aliases.store.ts';
import { insertEntity } from '../../access/identity/entities.store.ts';
import type { Alias } from '../../access/identity/entity.ts';
import { usersNamed } from './log-ins.store.ts';
import { isAliasOfUser } from './user.ts';

const USER = 'u_1234567890';

const cases: [accessor: string, name: string, isUser: boolean, why: string][] = [
  ['ampw_1234567890', USER, true, 'an auth method, whether or not it is there'],
  ['amldap_1234567890', USER, true, 'a method of another kind'],
  ['amoidc_1234567890', USER, true, 'a method of a third kind'],
  ['auth_userpass_0a1b2c3d', USER, false, 'a mount may call anybody so'],
  ['AMPW_1234567890', USER, false, 'no id is written so'],
  ['ampwX1234567890', USER, false, 'what is there separates kind and number'],
  ['x_ampw_1234567890', USER, false, 'not where it begins'],
  ['ampw_1234567890', USER.toUpperCase(), false, "somebody else's id"],
];

eachPlace('who is a user by an alias', (newPlace) => {
  for (const [mount_accessor, name, isUser, why] of cases) {
    test(`${name} of ${mount_accessor} is asked alike at a log-in and where it ends: ${why}`, async () => {
      const store = await (await newPlace()).open();
      const times = { created_at_ms: 0, updated_at_ms: 0 };
      const alias: Alias = {
        ...{ id: 'a', entity_id: 'e', mount_accessor, name, custom_metadata: {}, moves: 0 },
        ...times,
      };
      await store.commit([
        insertEntity({
          id: 'e',
          name: 'e',
          metadata: {},
          policies: [],
          disabled: false,
          version: 1,
          ...times,
        }),
        insertAlias(alias),
      ]);
      const named = await store.db
        .selectFrom('identity_alias')
        .select('name')
        .where('name', 'in', usersNamed(aliasIds({ id: 'a' })))
        .execute();
      assert.equal(isAliasOfUser(alias, USER), isUser);
      assert.equal(
        named.some((one) => one.name === USER),
        isUser,
      );
      await store.close();
    });
  }
});
