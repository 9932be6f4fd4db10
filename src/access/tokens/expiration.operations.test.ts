import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RawBuilder, sql } from 'kysely';
import { openTestApp, requireTestMount, testCaller } from '../../../test/support/app.ts';
import { connectTo, eachPlace } from '../../../test/support/engines.ts';
import type { App } from '../../app/app.ts';
import { Failure } from '../../core/failure.ts';
import { compiled } from '../../store/database.ts';
import { BY_INDEX } from '../../store/postgres/session.ts';
import type { Store } from '../../store/store.ts';
import { refuseForRoom } from '../../store/waiting-sets.ts';
import { type Effect, type Write, write } from '../../store/write.ts';
import { listTokenAccessors, lookUpAccessor } from '../auth/token/operations.ts';
import { revokeByText } from '../auth/token/revocation.operations.ts';
import { authenticate } from '../permissions/authentication.operations.ts';
import { type RemovalWork, tidyTokens, tidyTokensOnce } from './expiration.operations.ts';
import { removePage } from './expiration.store.ts';
import { listDead } from './line.store.ts';
import { createRootToken, tokenId } from './minting.operations.ts';

/** More children than a request removes; each has one of its own, and as much hangs on the token. */
const MANY = 5_000;
/** Rows that one write set may touch: so many of each kind. */
const MOST = 1_100;

const raw = (text: RawBuilder<unknown>): Write => write(compiled(text));

/** A token `big` with all that, and `small`, which has nothing to do with it. */
async function openWorld(store: Store, many = MANY): Promise<{ app: App; big: string }> {
  const { app } = await openTestApp(store);
  const caller = testCaller(await requireTestMount(app, 'auth/token/'));
  for (const id of ['big', 'small']) await createRootToken(app, caller, { id });
  const big = tokenId(app, 'big');
  const numbers = sql`with recursive n(i) as (
    select 1 union all select i + 1 from n where i < ${sql.lit(many)})`;
  const below = (name: string, parent: RawBuilder<unknown>) =>
    raw(sql`insert into token (id, accessor, parent_id, mount_id, uses_left, body)
      ${numbers} select ${sql.lit(name)} || i, ${sql.lit(name)} || i, ${parent}, '', 0, token.body
      from n, token where token.id = ${big}`);
  await store.commit([
    below('child', sql`token.id`),
    below('grandchild', sql`'child' || i`),
    raw(sql`insert into lease
      (id, bound, token_id, mount_id, kind, data, issued_at, expires_at, renewable)
      ${numbers} select 'l/' || i, 1, cast(${big} as text), '', 'none', '{}', 1, 9000000000, 0 from n`),
    raw(sql`insert into cubbyhole (token_id, path, value_sealed)
      ${numbers} select cast(${big} as text), 'p' || i, cast('x' as ${bytes(store)}) from n`),
  ]);
  return { app, big };
}

const bytes = (store: Store) => sql.raw(store.engine === 'sqlite' ? 'blob' : 'bytea');

type Counted = 'token' | 'cubbyhole' | 'lease';

/** Rows that hang on a token, and tokens. */
async function countRows({ db }: App): Promise<number> {
  const count = async (table: Counted): Promise<number> => {
    const all = db.selectFrom(table).select((row) => row.fn.countAll<number>().as('n'));
    const bound = table === 'lease' ? all.where(sql<boolean>`token_id is not null`) : all;
    return Number((await bound.executeTakeFirst())?.n);
  };
  return (await count('token')) + (await count('cubbyhole')) + (await count('lease'));
}

/** Notes how many rows go with each set, until the process is killed. */
function workOn(app: App, killed_at = Number.POSITIVE_INFINITY) {
  const gone: number[] = [];
  const work: RemovalWork = {
    stopping: false,
    async commit(effects: Effect[]) {
      if (gone.length === killed_at) throw new Error('killed');
      const before = await countRows(app);
      await app.store.commit(effects);
      gone.push(before - (await countRows(app)));
    },
  };
  return { work, gone };
}

async function revokeBig(app: App): Promise<void> {
  const caller = testCaller(await requireTestMount(app, 'auth/token/'));
  await revokeByText(app, caller, { token: 'big' });
}

eachPlace('a token with more beneath it than a request removes', (newPlace, engine) => {
  test('is dead with all of that when its revocation is answered, and removed in small sets', async () => {
    const { app, big } = await openWorld(await (await newPlace()).open());
    const before = await countRows(app);
    await revokeBig(app);
    const after = await countRows(app);
    assert.ok(after > before / 2 && after < before, `${after} of ${before} rows are left`);
    const rows = await app.db.selectFrom('token').select(['id', 'accessor']).execute();
    const small = rows.find(({ id }) => id === tokenId(app, 'small'));
    const dead = await listDead(
      app.db,
      rows.map(({ id }) => id),
      1,
    );
    assert.equal(dead.size, rows.length - 1);
    assert.equal(await authenticate(app, 'big'), undefined);
    const caller = testCaller(await requireTestMount(app, 'auth/token/'));
    assert.deepEqual(await listTokenAccessors(app, caller), { data: { keys: [small?.accessor] } });
    await assert.rejects(
      lookUpAccessor(app, caller, { accessor: `grandchild${MANY}` }),
      /invalid accessor/,
    );
    const { work, gone } = workOn(app);
    await tidyTokens(app, work);
    assert.deepEqual(
      await app.db.selectFrom('token').select('id').execute(),
      small ? [{ id: small.id }] : [],
    );
    assert.ok(Math.max(...gone) <= MOST, `${Math.max(...gone)} rows in one set`);
    assert.ok(await authenticate(app, 'small'));
    assert.equal(await countRows(app), 1);
    assert.equal(dead.has(big), true);
  });

  test('that has run out is removed by the next node where the one before was killed', async () => {
    const place = await newPlace();
    const { app, big } = await openWorld(await place.open(), 500);
    await app.store.commit([raw(sql`update token set expires_at = 1799999999 where id = ${big}`)]);
    for (let kills = 0; kills < 4; kills += 1) {
      const { work } = workOn(app, 2);
      await assert.rejects(tidyTokens(app, work), /killed/);
      assert.equal(await authenticate(app, 'big'), undefined);
      const rows = await app.db.selectFrom('token').select('id').execute();
      const ids = rows.map(({ id }) => id);
      assert.equal((await listDead(app.db, ids, 1_800_000_000)).size, ids.length - 1);
    }
    await tidyTokens(app, workOn(app).work);
    assert.equal(await countRows(app), 1);
  });

  test('keeps what hangs on others that have run out waiting for a few sets', async () => {
    const { app, big } = await openWorld(await (await newPlace()).open(), 2_000);
    const [others, run_out] = [
      "accessor in ('child1', 'child2', 'child3', 'child4')",
      1_799_999_999,
    ];
    await app.store.commit([
      raw(sql`insert into lease
        (id, bound, token_id, mount_id, kind, data, issued_at, expires_at, renewable)
        select 'other/' || id, 1, id, '', 'none', '{}', 1, 9000000000, 0
        from token where ${sql.raw(others)}`),
      raw(sql`update token set expires_at = ${sql.lit(run_out)}
        where id = ${big} or ${sql.raw(others)}`),
    ]);
    const { work } = workOn(app);
    let sets = 0;
    let waited = 0;
    const counting: RemovalWork = {
      stopping: false,
      async commit(effects) {
        await work.commit(effects);
        sets += 1;
        const left = app.db.selectFrom('lease').select('id').where('token_id', 'is not', null);
        const due = await left.where('id', '>', 'other/').limit(1).execute();
        if (due.length > 0) waited = sets;
      },
    };
    await tidyTokens(app, counting);
    assert.ok(sets >= 10, `${sets} sets`);
    assert.ok(waited <= 5, `others wait for ${waited} of ${sets} sets`);
  });

  test('is removed in smaller sets where the database does not take those, and others all the same', async () => {
    const { app, big } = await openWorld(await (await newPlace()).open(), 300);
    const ends = raw(sql`update token set expires_at = 1799999999 where id <> 'child1'`);
    await app.store.commit([ends]);
    const stuck = new Failure('unavailable', 'the database did not confirm the write');
    const { work, gone } = workOn(app);
    const picky: RemovalWork = {
      stopping: false,
      async commit(effects) {
        const isOfBig = effects.some((one) => 'parameters' in one && one.parameters.includes(big));
        if (isOfBig) throw stuck;
        await work.commit(effects);
      },
    };
    await tidyTokens(app, picky);
    assert.ok(gone.length > 0);
    assert.deepEqual(
      (await app.db.selectFrom('token').select('id').execute()).map(({ id }) => id).sort(),
      [big, 'child1'].sort(),
    );
    let largest = 0;
    const weak: RemovalWork = {
      stopping: false,
      async commit(effects) {
        const limits = effects.flatMap((one) => ('parameters' in one ? one.parameters : []));
        const limit = Math.max(
          0,
          ...limits.filter((one) => typeof one === 'number').filter((one) => one <= 200),
        );
        if (limit > 30) throw stuck;
        largest = Math.max(largest, limit);
        await work.commit(effects);
      },
    };
    await tidyTokens(app, weak);
    assert.equal(largest, 25);
    assert.equal(await countRows(app), 0);
  });

  test('is not tried in smaller sets where there is no room for any: the run is over', async () => {
    const { app } = await openWorld(await (await newPlace()).open(), 300);
    await app.store.commit([raw(sql`update token set expires_at = 1799999999`)]);
    let sets = 0;
    const full: RemovalWork = {
      stopping: false,
      async commit() {
        sets += 1;
        throw refuseForRoom();
      },
    };
    await assert.rejects(tidyTokens(app, full), /too many writes/);
    assert.equal(sets, 1);
  });

  test('is removed once for all who ask for it', async () => {
    const { app } = await openWorld(await (await newPlace()).open(), 500);
    await app.store.commit([raw(sql`update token set expires_at = 1799999999`)]);
    const alone = workOn(app);
    let present = 0;
    const works = Array.from({ length: 20 }, (): RemovalWork => {
      return {
        stopping: false,
        async commit(effects) {
          present += 1;
          assert.equal(present, 1, 'one run at a time');
          await alone.work.commit(effects);
          present -= 1;
        },
      };
    });
    await Promise.all(works.map((work) => tidyTokensOnce(app, work)));
    assert.equal(await countRows(app), 0);
    assert.ok(!alone.gone.includes(0), `${alone.gone}`);
  });

  if (engine !== 'postgres') return;
  test('is removed by indexes also where the database knows that nearly all tokens are its children', async () => {
    const place = await newPlace();
    const { app, big } = await openWorld(await place.open());
    await app.store.commit([raw(sql`analyze token`), raw(sql`analyze lease`)]);
    const client = await connectTo(place);
    await client.query(BY_INDEX);
    const page = { ids: [big], now: 1_800_000_000, limit: 200 };
    for (const { sql: text, parameters } of removePage(page)) {
      const { rows } = await client.query(`explain ${text}`, [...parameters]);
      assert.ok(rows.length > 1);
      assert.doesNotMatch(JSON.stringify(rows), /Seq Scan/, text);
    }
    await client.end();
  });
});
