import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { entityAliases } from '../../src/access/identity/aliases.operations.ts';
import { listUnmountedTokens } from '../../src/access/tokens/store.ts';
import { listAccountFacts, listAccountsOfUsers } from '../../src/broker/principals/users.store.ts';
import { copyRow, numbered } from '../support/many-rows.ts';
import { startTestServer } from '../support/server.ts';
import { holdsNobodyUp } from '../support/turns.ts';

/** Texts that people may keep with things hold nobody up, where many such things are read. */

const { running, call } = await startTestServer({ after });
const { store, db } = running.app;

const COUNT = 1_000;
const LONG = sql.lit('x'.repeat(100_000));

/** What is kept with a row, and a long text besides. */
const body = sql`substr(body, 1, length(body) - 1) || ',"filling":"' || ${LONG} || '"}'`;

before(async () => {
  const write = async (path: string, fields: object) => {
    const reply = await call('POST', path, fields);
    assert.ok(reply.status < 300, `${path}: ${reply.text}`);
    return reply;
  };
  await write('sys/auth/approle', { type: 'approle' });
  await write('auth/approle/role/r', {});
  await write('auth/approle/role/r/secret-id', {});
  const canonical_id = (await write('identity/entity', { name: 'e' })).textAt('data.id');
  const { data } = JSON.parse((await call('GET', 'sys/auth')).text);
  const mount_accessor = data['approle/'].accessor;
  await write('identity/entity-alias', {
    name: 'a',
    canonical_id,
    mount_accessor,
    custom_metadata: { k: 'v' },
  });
  const { accessor } = await db
    .selectFrom('approle_secret_id')
    .select('accessor')
    .executeTakeFirstOrThrow();
  const named = { id: numbered('id'), body };
  await copyRow(store, 'approle_secret_id', {
    of: { accessor },
    copies: COUNT,
    changes: { ...named, accessor: numbered('accessor') },
  });
  await copyRow(store, 'identity_alias', {
    of: { name: 'a' },
    copies: COUNT,
    changes: { ...named, mount_accessor: numbered('mount_accessor') },
  });
  const child = (await write('auth/token/create', {})).textAt('auth.accessor');
  await copyRow(store, 'token', {
    of: { accessor: child },
    copies: COUNT,
    changes: { ...named, accessor: numbered('accessor') },
  });
  const { id } = await db
    .selectFrom('resource')
    .select('id')
    .where('type', '=', 'user')
    .limit(1)
    .executeTakeFirstOrThrow();
  const account = {
    ...named,
    type: sql`'account'`,
    owner_id: sql`'u_' || n.i`,
    name: numbered('id'),
  };
  await copyRow(store, 'resource', { of: { id }, copies: COUNT, changes: account });
});

const owners = Array.from({ length: COUNT }, (_, at) => `u_${at + 1}`);

const READS: [what: string, read: () => Promise<number>][] = [
  [
    'the list of secret IDs',
    async () => {
      const keys = (await call('LIST', 'auth/approle/role/r/secret-id')).field('data.keys');
      return Array.isArray(keys) ? keys.length - 1 : -1;
    },
  ],
  [
    'all aliases',
    async () => {
      let count = 0;
      const { long_list } = await entityAliases.list(running.app);
      for await (const some of long_list?.info?.pages ?? []) count += Object.keys(some).length;
      return count - 1;
    },
  ],
  ['accounts of many users', async () => (await listAccountsOfUsers(db, owners)).size],
  [
    'what accounts know of people',
    async () => {
      const accounts = [...(await listAccountsOfUsers(db, owners)).values()].flat();
      return (
        await listAccountFacts(
          db,
          accounts.map(({ id }) => id),
        )
      ).size;
    },
  ],
  [
    'tokens that no auth mount made',
    async () => {
      let count = 0;
      for (let last: string | undefined = ''; last !== undefined; ) {
        const { tokens, more } = await listUnmountedTokens(db, last, 500);
        count += tokens.length;
        last = more ? tokens.at(-1)?.id : undefined;
      }
      return Math.min(count, COUNT);
    },
  ],
];

for (const [what, read] of READS) {
  test(`nobody is held up by ${what}, however much is kept with each`, async () => {
    let count = 0;
    await holdsNobodyUp(async () => {
      count = await read();
    });
    assert.equal(count, COUNT);
  });
}
