import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import type { Client } from 'pg';
import { startCutProxy } from '../../test/support/cut-proxy.ts';
import { connectTo, eachPlace, type Place } from '../../test/support/engines.ts';
import { Failure } from '../core/failure.ts';
import { chainStart, verifyChain } from '../core/record-chain.ts';
import { bumpConfigVersion } from './config-version.ts';
import { preparedWrite } from './database.ts';
import { joinStore, openStore, type Store } from './store.ts';
import type { Effect, Write } from './write.ts';

const insertSink = preparedWrite(
  (build, p: { name: string; seq: number }) =>
    build.insertInto('audit_sink').values({ name: p.name, node: 'n', seq: p.seq }),
  { rows: 1 },
);

const count = preparedWrite(
  (build, p: { name: string }) =>
    build
      .updateTable('audit_sink')
      .set((row) => ({ seq: row('seq', '+', 1) }))
      .where('name', '=', p.name),
  { rows: 1 },
);

const moveOn = preparedWrite(
  (build, p: { name: string; seq: number }) =>
    build
      .updateTable('audit_sink')
      .set((row) => ({ seq: row('seq', '+', 1) }))
      .where('name', '=', p.name)
      .where('seq', '=', p.seq),
  { rows: 1 },
);

const holdSink = preparedWrite(
  (build, p: { name: string }) =>
    build.selectFrom('audit_sink').select('name').where('name', '=', p.name).forShare(),
  { rows: 1 },
);

async function sinks(store: Store): Promise<Record<string, number>> {
  const rows = await store.db.selectFrom('audit_sink').select(['name', 'seq']).execute();
  return Object.fromEntries(rows.map(({ name, seq }) => [name, seq]));
}

async function chainLength(store: Store, node: string): Promise<number> {
  const rows = await store.db
    .selectFrom('audit_entry')
    .selectAll()
    .where('node', '=', node)
    .orderBy('seq')
    .execute();
  const verdict = verifyChain(chainStart(node), rows);
  assert.ok(verdict.intact);
  return verdict.head.seq;
}

/** Runs statements beside the program, as an administrator would. */
async function beside<T>(place: Place, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await connectTo(place);
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

function nextVersion(store: Store, wanted: number): Promise<number> {
  return new Promise((resolve) =>
    store.onConfigChange((version) => version >= wanted && resolve(version)),
  );
}

/** Returns once the committer waits for a lock, and its server's process, or no longer does. */
async function seeWaiting(client: Client, wanted: boolean): Promise<number> {
  for (;;) {
    // A transaction keeps what it has seen of sessions.
    await client.query('select pg_stat_clear_snapshot()');
    const { rows } = await client.query<{ pid: number }>(
      `select pid from pg_locks join pg_stat_activity using (pid)
        where not granted and application_name = 'gatehouse committer a'
          and datname = current_database()`,
    );
    if ((rows.length !== 0) === wanted) return rows[0]?.pid ?? 0;
  }
}

/** Tries until it is no longer unavailable. */
async function until(attempt: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== 'unavailable') throw error;
    }
  }
}

eachPlace('several nodes', (newPlace, engine) => {
  if (engine !== 'postgres') return;

  test('can start together on an empty database', async () => {
    const place = await newPlace();
    const stores = await Promise.all(['a', 'b', 'c'].map((name) => place.open(name)));
    for (const [n, store] of stores.entries())
      await store.commit([insertSink({ name: `${n}`, seq: n })]);
    const [first] = stores;
    assert.deepEqual(first && (await sinks(first)), { 0: 0, 1: 1, 2: 2 });
  });

  test('must have different names', async () => {
    const place = await newPlace();
    const store = await place.open('a');
    await assert.rejects(place.open('a'), {
      kind: 'unavailable',
      message: /another process runs as node "a"/,
    });
    await store.commit([{ audit: '{}' }]);
    await store.close();
    await (await place.open('a')).commit([{ audit: '{}' }]);
  });

  for (const [letters, fits] of [
    [2_600, true],
    [8_000, false],
    [40_000, false],
  ] as const) {
    test(`a name of ${letters} random letters ${fits ? 'is written' : 'is refused, and others beside it are not'}`, async () => {
      const store = await (await newPlace()).open('a');
      const name = randomBytes(letters).toString('base64').slice(0, letters);
      const write = store.commit([insertSink({ name, seq: 1 })]);
      const others = [2, 3].map((seq) => store.commit([insertSink({ name: `${seq}`, seq })]));
      if (fits) await write;
      else await assert.rejects(write, { kind: 'invalid', message: /at most 2,600 bytes/ });
      await Promise.all(others);
      assert.equal(Object.keys(await sinks(store)).length, fits ? 3 : 2);
    });
  }

  test('of which 64 writers guard the same version: one wins', async () => {
    const place = await newPlace();
    const [a, b] = await Promise.all([place.open('a'), place.open('b')]);
    await a.commit([insertSink({ name: 'x', seq: 1 })]);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 64 }, (_, i) => (i % 2 ? a : b).commit([moveOn({ name: 'x', seq: 1 })])),
    );
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
    assert.ok(outcomes.every((o) => o.status === 'fulfilled' || o.reason.kind === 'conflict'));
    assert.deepEqual(await sinks(b), { x: 2 });
  });

  test('that touch the same rows in opposite order all get through', async () => {
    const place = await newPlace();
    const [a, b] = await Promise.all([place.open('a'), place.open('b')]);
    await a.commit(['x', 'y'].map((name) => insertSink({ name, seq: 0 })));
    const writer = async (store: Store, order: string[]) => {
      for (let i = 0; i < 20; i += 1) {
        await store.commit([...order.map((name) => count({ name })), { audit: '{}' }]);
      }
    };
    await Promise.all(
      Array.from({ length: 8 }, (_, i) => (i % 2 ? writer(a, ['x', 'y']) : writer(b, ['y', 'x']))),
    );
    assert.deepEqual(await sinks(a), { x: 160, y: 160 });
    assert.deepEqual([await chainLength(a, 'a'), await chainLength(a, 'b')], [80, 80]);
  });

  test('wait for a row that somebody holds for long, and are then all written once', async () => {
    const place = await newPlace();
    const store = await place.open('a');
    await store.commit([insertSink({ name: 'x', seq: 0 })]);
    await beside(place, async (client) => {
      await client.query("begin; update audit_sink set seq = 10 where name = 'x'");
      const written = Promise.all(
        Array.from({ length: 5 }, (_, i) =>
          store.commit([
            insertSink({ name: `y${i}`, seq: i }),
            count({ name: 'x' }),
            { audit: '{}' },
          ]),
        ),
      );
      // Three times it gives up: the batch twice, and then the half of it.
      for (let i = 0; i < 3; i += 1) {
        await seeWaiting(client, true);
        await seeWaiting(client, false);
      }
      await client.query('commit');
      await written;
    });
    assert.deepEqual(await sinks(store), { x: 15, y0: 0, y1: 1, y2: 2, y3: 3, y4: 4 });
    assert.equal(await chainLength(store, 'a'), 5);
  });

  test('beside a set that is refused give up soon while somebody holds a row that all of them want', async () => {
    const place = await newPlace();
    const store = await place.open('a');
    await store.commit(['x', 'z'].map((name) => insertSink({ name, seq: 0 })));
    await beside(place, async (client) => {
      await client.query("begin; update audit_sink set seq = 10 where name = 'x'");
      const refused = store.commit([insertSink({ name: 'z', seq: 0 }), { audit: '{}' }]);
      const isRefused = assert.rejects(refused, { kind: 'conflict' });
      const written = Promise.all(
        Array.from({ length: 24 }, (_, i) =>
          store.commit([
            insertSink({ name: `y${i}`, seq: i }),
            count({ name: 'x' }),
            { audit: '{}' },
          ]),
        ),
      );
      // Each of them would wait in its turn, and others for what the transaction holds: it gives up before.
      const pids = new Set<number>();
      const givesUp = async (): Promise<void> => {
        while (pids.size < 2) pids.add(await seeWaiting(client, true));
      };
      await Promise.race([written, givesUp()]);
      await client.query('commit');
      await written;
      await isRefused;
    });
    assert.equal((await sinks(store)).x, 34);
    assert.equal(await chainLength(store, 'a'), 24);
  });

  test('refuse the one set that is ended for its length, also behind sets that hold the same rows', async () => {
    const place = await newPlace();
    const store = await place.open('a');
    await store.commit(['x', 'z'].map((name) => insertSink({ name, seq: 0 })));
    await beside(place, async (client) => {
      await client.query("begin; update audit_sink set seq = 10 where name = 'z'");
      // Of all of these one is sent.
      const held = Array.from({ length: 3 }, () => holdSink({ name: 'x' }));
      const insertLease = (name: string): Write => ({
        sql: 'insert into job_lease (name, holder, expires_at_ms, fence) values ($1, $2, 0, 1)',
        parameters: [name, 'a'],
      });
      const outcomes = Promise.allSettled([
        store.commit([...held, insertLease('p')]),
        store.commit([...held, insertLease('q'), count({ name: 'z' })]),
        store.commit([...held, insertLease('r')]),
      ]);
      const pid = await seeWaiting(client, true);
      await client.query('select pg_cancel_backend($1)', [pid]);
      const [first, second, third] = await outcomes;
      await client.query('rollback');
      assert.deepEqual([first?.status, third?.status], ['fulfilled', 'fulfilled']);
      assert.match(String(second?.status === 'rejected' && second.reason), /too long over this/);
    });
    const leases = await store.db.selectFrom('job_lease').select('name').orderBy('name').execute();
    assert.deepEqual(
      leases.map(({ name }) => name),
      ['p', 'r'],
    );
  });

  test('try a commit again that was refused for the sake of another', async () => {
    const place = await newPlace();
    const store = await place.open('a');
    // As a distributed engine does: every statement goes well, and the commit does not.
    await beside(place, (client) =>
      client.query(`
        create sequence tries;
        create function refuse_once() returns trigger language plpgsql as $$ begin
          if nextval('tries') = 1 then
            raise exception 'could not serialize access' using errcode = '40001';
          end if;
          return null;
        end $$;
        create constraint trigger refuse_once after insert on audit_sink
          deferrable initially deferred for each row execute function refuse_once()`),
    );
    await store.commit([insertSink({ name: 'x', seq: 0 }), { audit: '{}' }]);
    assert.deepEqual(await sinks(store), { x: 0 });
    assert.equal(await chainLength(store, 'a'), 1);
  });

  test('delete what another is making something for, and only what still refers to it forbids that', async () => {
    const place = await newPlace();
    const store = await place.open('a');
    await beside(place, (client) =>
      client.query(`alter table audit_sink add unique (name);
        create table leaf (sink text not null references audit_sink (name))`),
    );
    const cut: Write = {
      sql: "with x as (select 'x' as sink) delete from leaf where sink in (select sink from x)",
      parameters: [],
    };
    const fell: Write = { sql: "delete from audit_sink where name = 'x'", parameters: [], rows: 1 };
    await store.commit([insertSink({ name: 'x', seq: 0 })]);
    await beside(place, async (client) => {
      await client.query("begin; insert into leaf values ('x')");
      // The leaf is not there yet for the first statement, and is for what judges the second.
      const felled = [store.commit([cut, fell]), store.commit([insertSink({ name: 'y', seq: 1 })])];
      await seeWaiting(client, true);
      await client.query('commit');
      await Promise.all(felled);
    });
    assert.deepEqual(await sinks(store), { y: 1 });

    const stays: Write = { ...fell, sql: "delete from audit_sink where name = 'y'" };
    await beside(place, (client) => client.query("insert into leaf values ('y')"));
    await assert.rejects(store.commit([stays]), {
      kind: 'conflict',
      message: 'something still refers to it',
    });
    const orphan: Write = { sql: "insert into leaf values ('z')", parameters: [] };
    await assert.rejects(store.commit([orphan]), { kind: 'conflict', message: /does not exist/ });
    await store.commit([insertSink({ name: 'z', seq: 2 }), orphan]);
  });

  test('no key but one keeps a row from being deleted: what refers to it goes with it, or lets go', async () => {
    const place = await newPlace();
    await place.open('a');
    const { rows } = await beside(place, (client) =>
      client.query(
        "select conname, confdeltype as action from pg_constraint where contype = 'f' order by conname",
      ),
    );
    assert.ok(rows.length > 5);
    const keeping = rows.filter(({ action }) => action !== 'c' && action !== 'n');
    // Deleting a managed key asks for that itself, and a key that is made for it meanwhile must not be left without it.
    assert.deepEqual(
      keeping.map(({ conname }) => conname),
      ['pki_key_managed_key_id_fkey'],
    );
  });

  for (const alone of [true, false]) {
    const what = alone ? 'no other set' : 'a set that can never be written';
    test(`refuse the one set that took too long, and write the others of its batch, with ${what}`, async () => {
      const place = await newPlace();
      const store = await place.open('a');
      const slow: Write = { sql: 'select pg_sleep(600)', parameters: [] };
      const sets = [
        [insertSink({ name: 'x', seq: 1 }), { audit: '{}' }],
        [insertSink({ name: 'slow', seq: 2 }), slow, { audit: '{}' }],
        [insertSink({ name: 'y', seq: 3 }), { audit: '{}' }],
        ...(alone ? [] : [[insertSink({ name: 'z', seq: 1 }), insertSink({ name: 'z', seq: 2 })]]),
      ];
      // Those that are broken come first, so that each set is tried alone.
      const done = Promise.allSettled(
        (alone ? sets : sets.toReversed()).map((set) => store.commit(set)),
      );
      await beside(place, async (client) => {
        // As its time being over does.
        for (let found: number | null = 0; !found; ) {
          ({ rowCount: found } = await client.query(
            `select pg_cancel_backend(pid) from pg_stat_activity
              where wait_event = 'PgSleep' and datname = current_database()`,
          ));
        }
      });
      const outcomes = (await done).map((one) =>
        one.status === 'fulfilled' ? 'written' : one.reason.kind,
      );
      const expected = ['written', 'unavailable', 'written', ...(alone ? [] : ['conflict'])];
      assert.deepEqual(outcomes, alone ? expected : expected.toReversed());
      assert.deepEqual(await sinks(store), { x: 1, y: 3 });
      assert.equal(await chainLength(store, 'a'), 2);
    });
  }

  test('learn of each other’s changes of configuration', async () => {
    const place = await newPlace();
    const [a, b] = await Promise.all([place.open('a'), place.open('b')]);
    const learned = nextVersion(b, (await b.configVersion()) + 1);
    await a.commit([bumpConfigVersion()]);
    assert.equal(await learned, await a.configVersion());
    assert.equal(await b.configVersion(), await a.configVersion());
  });

  test('learn of a change whose notice was lost', async () => {
    const place = await newPlace();
    const store = await place.open('a');
    const learned = nextVersion(store, (await store.configVersion()) + 1);
    await beside(place, (client) => client.query(bumpConfigVersion().sql));
    assert.equal(await learned, await store.configVersion());
  });

  for (const [what, sql, isOther] of [
    ['that has lost the last change', 'update config_version set version = version - 1', true],
    ['that was restored', "update config_version set incarnation = 'x', version = 99", true],
    ['that has changed', 'update config_version set version = version + 1', false],
    ['that has not changed', 'update config_version set version = version', false],
  ] as const) {
    test(`${isOther ? 'end' : 'go on'} over a database ${what}`, async (t) => {
      const place = await newPlace();
      const store = await place.open('a');
      await store.commit([bumpConfigVersion()]);
      const joined = joinStore(store.share(), {
        confirmConfig: async () => store.configVersion(),
        refreshConfig: () => store.refreshConfig(),
      });
      t.after(() => joined.close());
      const deaths: string[] = [];
      store.onDeath(({ kind }) => deaths.push(kind));
      await beside(place, (client) => client.query(sql));
      if (isOther) await assert.rejects(store.refreshConfig(), { kind: 'unavailable' });
      else await store.refreshConfig();
      assert.deepEqual(deaths, isOther ? ['unavailable'] : []);
      // Also by the other threads of the process.
      for (const each of [store, joined]) {
        const written = each.commit([{ audit: '{}' }]);
        await (isOther ? assert.rejects(written, { kind: 'unavailable' }) : written);
      }
    });
  }
});

eachPlace('a connection', (newPlace, engine) => {
  if (engine !== 'postgres') return;

  test('that was ended by the server is made anew, for writing, reading and watching', async () => {
    const place = await newPlace();
    const store = await place.open('a');
    await store.commit([insertSink({ name: 'x', seq: 1 }), { audit: '{}' }]);
    await beside(place, (client) =>
      client.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'gatehouse %' and datname = current_database()",
      ),
    );
    await store.commit([count({ name: 'x' }), { audit: '{}' }]);
    assert.deepEqual(await sinks(store), { x: 2 });
    assert.equal(await chainLength(store, 'a'), 2);
    const learned = nextVersion(store, (await store.configVersion()) + 1);
    await beside(place, (client) => client.query(bumpConfigVersion().sql));
    await learned;
  });

  for (const [what, sql, isLost] of [
    ['the newest record is gone', 'delete from audit_entry where seq = 3', true],
    ['two records are gone', 'delete from audit_entry where seq >= 2', true],
    ['another record stands in its place', "update audit_entry set hash = 'x' where seq = 3", true],
    ['nothing is gone', 'select 1', false],
    ['old records are kept no longer', 'delete from audit_entry where seq <= 2', false],
  ] as const) {
    test(`that is made anew, where ${what}, ${isLost ? 'ends' : 'does not end'} its node`, async () => {
      const place = await newPlace();
      const store = await place.open('a');
      const deaths: string[] = [];
      const died = new Promise<void>((resolve) =>
        store.onDeath(({ kind }) => {
          deaths.push(kind);
          resolve();
        }),
      );
      for (let n = 0; n < 3; n += 1) await store.commit([{ audit: '{}' }]);
      await beside(place, async (client) => {
        await client.query(sql);
        await client.query(
          "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'gatehouse committer a' and datname = current_database()",
        );
      });
      const written = store.commit([{ audit: '{}' }]);
      if (isLost) {
        await assert.rejects(written, { kind: 'unavailable' });
        await died;
      } else await written;
      assert.deepEqual(deaths, isLost ? ['unavailable'] : []);
    });
  }

  for (const arrives of [true, false]) {
    const what = arrives ? 'before the commit is answered' : 'before the commit arrives';
    test(`that is lost ${what} leaves its set unconfirmed, and the next goes well`, async () => {
      const place = await newPlace();
      const options = place.options('a');
      assert.ok(options.engine === 'postgres');
      const proxy = await startCutProxy(options.url);
      const store = await openStore({ ...options, url: proxy.url });
      try {
        // The text is sent when a session uses a statement for the first time.
        proxy.cutAt('commit\0', arrives);
        await assert.rejects(store.commit([insertSink({ name: 'x', seq: 0 }), { audit: '{}' }]), {
          kind: 'unavailable',
        });
        await store.commit([insertSink({ name: 'y', seq: 0 }), { audit: '{}' }]);
        assert.deepEqual(await sinks(store), arrives ? { x: 0, y: 0 } : { y: 0 });
        assert.equal(await chainLength(store, 'a'), arrives ? 2 : 1);
      } finally {
        await store.close();
        await proxy.close();
      }
    });
  }

  test('is used a few times for a batch, however many sets of it are refused', async () => {
    const place = await newPlace();
    const options = place.options('a');
    assert.ok(options.engine === 'postgres');
    const proxy = await startCutProxy(options.url);
    const store = await openStore({ ...options, url: proxy.url });
    const again = { ...insertSink({ name: 'x', seq: 5 }), conflict: 'the name is taken' };
    const moved = { ...moveOn({ name: 'x', seq: 99 }), conflict: 'it has moved on' };
    const mistake: Write = { sql: 'insert into nowhere values ($1)', parameters: [1] };
    const record = { audit: '{}' };
    const cases: [set: (name: string) => Effect[], refusal?: string][] = [
      [(name) => [insertSink({ name, seq: 1 }), record, again], 'the name is taken'],
      // The server does not come to the last statement here, and first does in the next set.
      [(name) => [insertSink({ name, seq: 1 }), moved, count({ name })], 'it has moved on'],
      [(name) => [record, insertSink({ name, seq: 1 }), count({ name })]],
      [(name) => [record, insertSink({ name, seq: 1 }), mistake], 'nowhere'],
      [() => [record]],
      [() => [moveOn({ name: 'x', seq: 7 }), holdSink({ name: 'x' }), bumpConfigVersion()]],
      [() => [moveOn({ name: 'x', seq: 7 }), record], 'somebody else'],
      [(name) => [insertSink({ name, seq: 1 }), holdSink({ name: 'z' })], 'somebody else'],
    ];
    try {
      await store.commit([insertSink({ name: 'x', seq: 7 })]);
      const version = await store.configVersion();
      for (const round of [1, 2]) {
        const before = proxy.sends();
        const outcomes = await Promise.allSettled(
          Array.from({ length: 64 }, (_, at) => {
            const [set] = cases[at % cases.length] ?? [];
            return store.commit(set?.(`${round} ${at}`) ?? []);
          }),
        );
        assert.ok(proxy.sends() - before < 16, `${proxy.sends() - before} times`);
        for (const [at, outcome] of outcomes.entries()) {
          const isFirst = round === 1 && at < cases.length;
          const [, refusal = at % cases.length === 5 && !isFirst ? 'somebody else' : ''] =
            cases[at % cases.length] ?? [];
          const message = outcome.status === 'rejected' ? String(outcome.reason) : '';
          assert.ok(message.includes(refusal) && (message === '') === (refusal === ''), message);
        }
      }
      const left = await sinks(store);
      assert.equal(left.x, 8);
      assert.deepEqual(Object.values(left).toSorted(), [...Array(16).fill(2), 8]);
      assert.equal(await store.configVersion(), version + 1);
      assert.equal(await chainLength(store, 'a'), 32);
    } finally {
      await store.close();
      await proxy.close();
    }
  });

  test('that is lost while a set is being sent is made anew, and the set is written once', async () => {
    const place = await newPlace();
    const options = place.options('a');
    assert.ok(options.engine === 'postgres');
    const proxy = await startCutProxy(options.url);
    const store = await openStore({ ...options, url: proxy.url });
    try {
      proxy.cutAt('begin\0', true);
      await store.commit([insertSink({ name: 'x', seq: 0 }), { audit: '{}' }]);
      assert.deepEqual(await sinks(store), { x: 0 });
      assert.equal(await chainLength(store, 'a'), 1);
    } finally {
      await store.close();
      await proxy.close();
    }
  });

  test('that cannot be had makes everything unavailable until it can', async () => {
    const place = await newPlace();
    const options = place.options('a');
    assert.ok(options.engine === 'postgres');
    const proxy = await startCutProxy(options.url);
    const store = await openStore({ ...options, url: proxy.url });
    try {
      proxy.block(true);
      await assert.rejects(store.commit([{ audit: '{}' }]), { kind: 'unavailable' });
      await assert.rejects(sinks(store), { kind: 'unavailable' });
      proxy.block(false);
      await until(() => store.commit([insertSink({ name: 'x', seq: 0 })]));
      assert.deepEqual(await sinks(store), { x: 0 });
    } finally {
      await store.close();
      await proxy.close();
    }
  });
});
