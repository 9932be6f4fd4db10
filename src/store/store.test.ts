import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachEngine, eachPlace } from '../../test/support/engines.ts';
import { Failure, isConflict } from '../core/failure.ts';
import { chainStart, verifyChain } from '../core/record-chain.ts';
import { bumpConfigVersion } from './config-version.ts';
import { build, type Db, prepared, preparedWrite } from './database.ts';
import { type Write, write } from './write.ts';

// The lease table serves as the example: a text key and two numbers.

const insertLease = preparedWrite(
  (build, p: { name: string; holder: string; fence: number }) =>
    build
      .insertInto('job_lease')
      .values({ name: p.name, holder: p.holder, fence: p.fence, expires_at_ms: 0 }),
  { rows: 1 },
);

const findLease = prepared((build, p: { name: string }) =>
  build.selectFrom('job_lease').selectAll().where('name', '=', p.name),
);

function moveOn(name: string, from: number, holder: string): Write {
  return write(
    build
      .updateTable('job_lease')
      .set({ fence: from + 1, holder })
      .where('name', '=', name)
      .where('fence', '=', from),
    { rows: 1, conflict: 'somebody was faster' },
  );
}

const records = (db: Db, node: string) =>
  db.selectFrom('audit_entry').selectAll().where('node', '=', node).orderBy('seq').execute();

async function countLeases(db: Db): Promise<number> {
  const row = await db
    .selectFrom('job_lease')
    .select((row) => row.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return row.count;
}

eachEngine('a write set', (open) => {
  test('is there for the next read once it has resolved', async () => {
    const { db, commit } = await open();
    await commit([insertLease({ name: 'a', holder: 'me', fence: 7 })]);
    const expected = { name: 'a', holder: 'me', expires_at_ms: 0, fence: 7 };
    assert.deepEqual(await findLease.first(db, { name: 'a' }), expected);
    assert.deepEqual(await findLease.all(db, { name: 'a' }), [expected]);
    assert.equal(await findLease.first(db, { name: 'b' }), undefined);
  });

  test('is written whole or not at all', async () => {
    const { db, commit } = await open();
    await assert.rejects(
      commit([insertLease({ name: 'a', holder: 'me', fence: 1 }), moveOn('b', 1, 'me')]),
      { name: 'Failure', kind: 'conflict', message: 'somebody was faster' },
    );
    assert.equal(await countLeases(db), 0);
  });

  test('is refused with the key that is taken', async () => {
    const { commit } = await open();
    await commit([insertLease({ name: 'a', holder: 'me', fence: 1 })]);
    await assert.rejects(commit([insertLease({ name: 'a', holder: 'you', fence: 2 })]), (error) => {
      assert.ok(isConflict(error));
      assert.match(String(error), /job_lease.*name/);
      return true;
    });
  });

  const gone = moveOn('nobody', 1, 'me');
  const behind: [what: string, write: Write][] = [
    ['a key that is taken', insertLease({ name: 'a', holder: 'me', fence: 2 })],
    ['a mistake', { sql: 'insert into nowhere values ($1)', parameters: [1] }],
  ];
  for (const [what, write] of behind) {
    test(`is refused for what stands before ${what}, alone and among others`, async () => {
      const { commit } = await open();
      await commit([insertLease({ name: 'a', holder: 'me', fence: 1 })]);
      const isGone = { kind: 'conflict', message: 'somebody was faster' };
      await assert.rejects(commit([gone, write]), isGone);
      const others = ['b', 'c'].map((name) =>
        commit([insertLease({ name, holder: 'me', fence: 1 })]),
      );
      await assert.rejects(commit([gone, write]), isGone);
      await Promise.all(others);
    });
  }

  test('with a mistake in it is an error, and refuses no other', async () => {
    const { db, commit } = await open();
    const outcomes = await Promise.allSettled([
      commit([insertLease({ name: 'a', holder: 'me', fence: 1 })]),
      commit([{ sql: 'insert into nowhere values ($1)', parameters: [1] }]),
      commit([insertLease({ name: 'c', holder: 'me', fence: 1 })]),
    ]);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    assert.ok(outcomes[1]?.status === 'rejected' && !(outcomes[1].reason instanceof Failure));
    assert.equal(await countLeases(db), 2);
  });

  test('that fails among fifty at once refuses itself only', async () => {
    const { db, commit } = await open();
    await commit([insertLease({ name: 'taken', holder: 'me', fence: 1 })]);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, (_, i) => {
        const row = insertLease({ name: `n${i}`, holder: 'me', fence: i });
        if (i === 10) return commit([row, moveOn('nobody', 1, 'me')]);
        if (i === 20) return commit([row, insertLease({ name: 'taken', holder: 'x', fence: 1 })]);
        return commit([row]);
      }),
    );
    const refused = outcomes.flatMap(({ status }, i) => (status === 'rejected' ? [i] : []));
    assert.deepEqual(refused, [10, 20]);
    assert.equal(await countLeases(db), 49);
  });

  test('that is refused late, or before anything of it is written, refuses itself only, batch after batch', async () => {
    const { db, commit } = await open();
    await commit([insertLease({ name: 'taken', holder: 'me', fence: 1 })]);
    for (let round = 1; round <= 12; round += 1) {
      const row = (n: number) => insertLease({ name: `${round}.${n}`, holder: 'me', fence: n });
      const outcomes = await Promise.allSettled([
        commit([row(0), { audit: '{"n":0}' }]),
        // Nothing of it was written.
        commit([moveOn('nobody', 1, 'me'), row(1), { audit: '{"n":1}' }]),
        // A row and a record were, and in even rounds no set is refused so late.
        commit([row(2), { audit: '{"n":2}' }, ...(round % 2 ? [moveOn('nobody', 1, 'me')] : [])]),
        commit([row(3), { audit: '{"n":3}' }]),
      ]);
      const late = round % 2 ? 'rejected' : 'fulfilled';
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ['fulfilled', 'rejected', late, 'fulfilled'],
      );
    }
    assert.equal(await countLeases(db), 1 + 12 * 2 + 6);
    const rows = await records(db, 'test');
    assert.equal(rows.length, 12 * 2 + 6);
    assert.ok(verifyChain(chainStart('test'), rows).intact);
  });

  test('of sixty-four that guard the same version wins alone', async () => {
    const { db, commit } = await open();
    await commit([insertLease({ name: 'a', holder: 'nobody', fence: 1 })]);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 64 }, (_, i) => commit([moveOn('a', 1, `writer ${i}`)])),
    );
    const winners = outcomes.flatMap(({ status }, i) => (status === 'fulfilled' ? [i] : []));
    assert.equal(winners.length, 1);
    assert.ok(outcomes.every((o) => o.status === 'fulfilled' || isConflict(o.reason)));
    const row = await findLease.first(db, { name: 'a' });
    assert.deepEqual([row?.fence, row?.holder], [2, `writer ${winners[0]}`]);
  });

  test('sees what the sets before it did, in the order of the calls', async () => {
    const { db, commit } = await open();
    await Promise.all([
      commit([insertLease({ name: 'a', holder: 'me', fence: 0 })]),
      ...Array.from({ length: 20 }, (_, i) => commit([moveOn('a', i, 'me')])),
    ]);
    assert.equal((await findLease.first(db, { name: 'a' }))?.fence, 20);
  });

  test('may be empty', async () => {
    const { commit } = await open();
    await commit([]);
  });

  test('may be large', async () => {
    const { db, commit } = await open();
    const rows = Array.from({ length: 10_000 }, (_, i) =>
      insertLease({ name: `n${i}`, holder: 'x'.repeat(100), fence: i }),
    );
    await commit(rows);
    assert.equal(await countLeases(db), 10_000);
  });
});

eachEngine('values', (open) => {
  const HARD_TEXTS = [
    '',
    ' ',
    "o'clock",
    '"',
    '\\',
    '$1 ?1 %',
    'ü',
    'u\u0308',
    '日本',
    '🔑',
    '\u{10ffff}',
  ];

  test('text reads back as it was written, character for character', async () => {
    const { db, commit } = await open();
    await commit(HARD_TEXTS.map((text) => insertLease({ name: text, holder: text, fence: 1 })));
    for (const text of HARD_TEXTS) {
      assert.equal((await findLease.first(db, { name: text }))?.holder, text);
    }
  });

  test('text with a zero character is not asked for', async () => {
    const { db } = await open();
    const refused = { kind: 'invalid', message: /U\+0000/ };
    await assert.rejects(findLease.first(db, { name: 'a\0' }), refused);
    await assert.rejects(findLease.all(db, { name: '\0' }), refused);
    await assert.rejects(findLease.some(db, { name: '\0' }, 'holder'), refused);
    await assert.rejects(
      db.selectFrom('job_lease').selectAll().where('name', '=', '\0').execute(),
      refused,
    );
  });

  test('text with a zero character is refused, in a key and elsewhere', async () => {
    const { commit } = await open();
    await assert.rejects(commit([insertLease({ name: 'a\0b', holder: 'me', fence: 1 })]), {
      kind: 'invalid',
    });
    await assert.rejects(commit([insertLease({ name: 'a', holder: '\0', fence: 1 })]), {
      kind: 'invalid',
    });
  });

  test('keys are ordered by their UTF-8 bytes', async () => {
    const { db, commit } = await open();
    const names = ['a', 'B', 'ä', 'Z', 'a-b', 'a b', 'ab', 'z', '\uffee', '🔑', '_', '10', '9'];
    await commit(names.map((name) => insertLease({ name, holder: 'me', fence: 1 })));
    const rows = await db.selectFrom('job_lease').select('name').orderBy('name').execute();
    const byBytes = names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    assert.deepEqual(
      rows.map(({ name }) => name),
      byBytes,
    );
    const after = await db.selectFrom('job_lease').select('name').where('name', '>', 'a').execute();
    assert.equal(after.length, byBytes.length - 1 - byBytes.indexOf('a'));
  });

  test('whole numbers up to 2^53 read back, and beyond it a read fails rather than lie', async () => {
    const { db, commit } = await open();
    for (const fence of [
      0,
      -1,
      2 ** 31,
      2 ** 32 + 1,
      Number.MAX_SAFE_INTEGER,
      Number.MIN_SAFE_INTEGER,
    ]) {
      const name = String(fence);
      await commit([insertLease({ name, holder: 'me', fence })]);
      assert.equal((await findLease.first(db, { name }))?.fence, fence);
    }
    const tooLarge = insertLease({ name: 'large', holder: 'me', fence: 1 });
    const parameters = tooLarge.parameters.map((value) => (value === 1 ? 2n ** 60n : value));
    await commit([{ ...tooLarge, parameters }]);
    await assert.rejects(findLease.first(db, { name: 'large' }));
  });

  test('numbers that are not whole cannot get into a statement', () => {
    for (const fence of [0.5, Number.NaN, 2 ** 53, Number.POSITIVE_INFINITY]) {
      assert.throws(() => insertLease({ name: 'a', holder: 'me', fence }), TypeError);
    }
  });

  test('bytes read back as they were written', async () => {
    const { db, commit } = await open();
    const all = Uint8Array.from({ length: 256 }, (_, i) => i);
    const samples = [
      new Uint8Array(0),
      all,
      new Uint8Array(300_000).fill(0x27),
      all.subarray(5, 9),
    ];
    await commit(
      samples.map((hash, seq) =>
        write(
          build.insertInto('audit_entry').values({
            node: 'n',
            seq,
            time_ms: 0,
            record: '{}',
            prev_hash: Buffer.from(hash),
            hash,
          }),
        ),
      ),
    );
    const rows = await db.selectFrom('audit_entry').selectAll().orderBy('seq').execute();
    assert.deepEqual(
      rows.map(({ hash }) => hash),
      samples.map((sample) => new Uint8Array(sample)),
    );
    assert.deepEqual(
      rows.map(({ prev_hash }) => prev_hash),
      rows.map(({ hash }) => hash),
    );
  });

  test('a key that is bytes is found by them', async () => {
    const { db, commit } = await open();
    const hash = Uint8Array.of(0, 255, 1);
    const row = { node: 'n', seq: 1, time_ms: 0, record: '{}', prev_hash: hash, hash };
    await commit([write(build.insertInto('audit_entry').values(row))]);
    const find = (hash: Uint8Array) =>
      db.selectFrom('audit_entry').select('seq').where('hash', '=', hash).executeTakeFirst();
    assert.deepEqual(await find(hash), { seq: 1 });
    assert.equal(await find(Uint8Array.of(0, 255)), undefined);
  });
});

eachEngine('the configuration version', (open) => {
  test('grows with each set that bumps it, and with no other', async () => {
    const { commit, configVersion } = await open();
    const before = await configVersion();
    await commit([bumpConfigVersion(), insertLease({ name: 'a', holder: 'me', fence: 1 })]);
    assert.equal(await configVersion(), before + 1);
    await commit([insertLease({ name: 'b', holder: 'me', fence: 1 })]);
    await assert.rejects(commit([bumpConfigVersion(), moveOn('none', 1, 'me')]));
    assert.equal(await configVersion(), before + 1);
  });

  test('is told to listeners before the commit resolves', async () => {
    const { commit, configVersion, onConfigChange } = await open();
    const told: number[] = [];
    const before = await configVersion();
    onConfigChange((version) => told.push(version));
    await commit([bumpConfigVersion()]);
    assert.deepEqual(told, [before + 1]);
    await commit([insertLease({ name: 'a', holder: 'me', fence: 1 })]);
    assert.deepEqual(told, [before + 1]);
  });
});

eachEngine('reading', (open) => {
  test('cannot write, not even with a statement that the types let through', async () => {
    const { db, commit } = await open();
    await commit([insertLease({ name: 'a', holder: 'me', fence: 1 })]);
    const smuggled = prepared((build) => build.deleteFrom('job_lease').returning('name'));
    await assert.rejects(smuggled.all(db, {}));
    assert.equal(await countLeases(db), 1);
  });

  test('takes a page of a size that is a parameter', async () => {
    const { db, commit } = await open();
    await commit(['a', 'b', 'c'].map((name) => insertLease({ name, holder: 'me', fence: 1 })));
    const page = prepared((build, p: { after: string; size: number }) =>
      build
        .selectFrom('job_lease')
        .select('name')
        .where('name', '>', p.after)
        .orderBy('name')
        .limit(p.size),
    );
    assert.deepEqual(await page.all(db, { after: 'a', size: 1 }), [{ name: 'b' }]);
    assert.deepEqual(await page.all(db, { after: 'a', size: 5 }), [{ name: 'b' }, { name: 'c' }]);
  });
});

eachEngine('the audit chain', (open) => {
  test('holds the records of the sets that were written, in order and without a gap', async () => {
    const { db, commit } = await open();
    const sets = Array.from({ length: 40 }, (_, i) => {
      const audit = { audit: `{"set":${i}}` };
      return commit(i % 5 === 0 ? [audit, moveOn('nobody', 1, 'me')] : [audit, audit]);
    });
    await Promise.allSettled(sets);
    await commit([{ audit: '{"last":"ü"}' }]);
    const rows = await records(db, 'test');
    const expected = Array.from({ length: 40 }, (_, i) => i).filter((i) => i % 5 !== 0);
    assert.deepEqual(
      rows.map(({ record }) => record),
      [...expected.flatMap((i) => [`{"set":${i}}`, `{"set":${i}}`]), '{"last":"ü"}'],
    );
    const verdict = verifyChain(chainStart('test'), rows);
    assert.deepEqual(verdict.intact && verdict.head.seq, rows.length);
  });

  test('is not moved on by a set that was refused alone', async () => {
    const { db, commit } = await open();
    await commit([{ audit: '{"n":1}' }]);
    await assert.rejects(commit([{ audit: '{"n":2}' }, moveOn('nobody', 1, 'me')]));
    await commit([{ audit: '{"n":3}' }]);
    const rows = await records(db, 'test');
    assert.deepEqual(
      rows.map(({ seq, record }) => [seq, record]),
      [
        [1, '{"n":1}'],
        [2, '{"n":3}'],
      ],
    );
    assert.ok(verifyChain(chainStart('test'), rows).intact);
  });
});

eachPlace('a chain', (newPlace) => {
  test('goes on from its last record when the database is opened again', async () => {
    const place = await newPlace();
    for (const n of [1, 2]) {
      const store = await place.open();
      await store.commit([{ audit: `{"n":${n}}` }]);
      await store.close();
    }
    const store = await place.open();
    const rows = await store.db.selectFrom('audit_entry').selectAll().orderBy('seq').execute();
    const verdict = verifyChain(chainStart('test'), rows);
    assert.equal(verdict.intact && verdict.head.seq, 2);
    await store.close();
  });

  test('is begun anew under another name', async () => {
    const place = await newPlace();
    for (const name of ['a', 'b']) {
      const store = await place.open(name);
      await store.commit([{ audit: '{}' }]);
      const rows = await store.db
        .selectFrom('audit_entry')
        .selectAll()
        .where('node', '=', name)
        .execute();
      assert.ok(verifyChain(chainStart(name), rows).intact);
      await store.close();
    }
  });
});

eachEngine('a store', (open) => {
  test('that was closed has written what was waiting, and takes no more', async () => {
    const { commit, close } = await open();
    const waiting = Array.from({ length: 10 }, (_, i) =>
      commit([insertLease({ name: `n${i}`, holder: 'me', fence: 1 })]),
    );
    await close();
    await Promise.all(waiting);
    await assert.rejects(commit([{ audit: '{}' }]), { kind: 'unavailable' });
  });
});
