import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachEngine } from '../../test/support/engines.ts';
import { holdsNobodyUp } from '../../test/support/turns.ts';
import { chainStart, verifyChain } from '../core/record-chain.ts';
import {
  cutChain,
  deleteCursor,
  findCursor,
  hasRecord,
  listAuditNodes,
  listCursors,
  listRecordsAfter,
  listStampsAfter,
  readChainStart,
  readLastSeq,
  saveCursor,
} from './store.ts';

eachEngine('the audit tables', (open) => {
  test('a chain that was cut is verified from the cut', async () => {
    const store = await open({ node_name: 'a' });
    for (let n = 1; n <= 5; n++) await store.commit([{ audit: `{"n":${n}}` }]);
    assert.deepEqual(await readChainStart(store.db, 'a'), chainStart('a'));
    const before = await listRecordsAfter(store.db, { node: 'a', seq: 0, limit: 10 });
    assert.deepEqual(
      before.map((row) => row.record),
      ['{"n":1}', '{"n":2}', '{"n":3}', '{"n":4}', '{"n":5}'],
    );
    for (const seq of [2, 3]) {
      const head = before[seq - 1];
      assert.ok(head);
      await store.commit(cutChain('a', { seq, hash: head.hash }));
    }
    const rest = await listRecordsAfter(store.db, { node: 'a', seq: 0, limit: 10 });
    assert.deepEqual(
      rest.map((row) => row.seq),
      [4, 5],
    );
    assert.equal(verifyChain(await readChainStart(store.db, 'a'), rest).intact, true);
    assert.equal(verifyChain(chainStart('a'), rest).intact, false);
    assert.equal(await readLastSeq(store.db, 'a'), 5);
    assert.equal(await readLastSeq(store.db, 'b'), 0);
    assert.deepEqual(await listAuditNodes(store.db), ['a']);
  });

  test('a record is known by number and hash, one that was cut off by its number', async () => {
    const store = await open({ node_name: 'a' });
    for (let n = 1; n <= 5; n++) await store.commit([{ audit: `{"n":${n}}` }]);
    const rows = await listRecordsAfter(store.db, { node: 'a', seq: 0, limit: 10 });
    const hashOf = (seq: number) => rows[seq - 1]?.hash ?? new Uint8Array(32);
    const other = new Uint8Array(32).fill(1);
    await store.commit(cutChain('a', { seq: 2, hash: hashOf(2) }));
    const cases: [seq: number, hash: Uint8Array, isKnown: boolean][] = [
      [5, hashOf(5), true],
      [5, other, false],
      [3, hashOf(3), true],
      [3, hashOf(4), false],
      [2, hashOf(2), true],
      [2, other, false],
      // Nobody knows any more what it was.
      [1, other, true],
      [6, other, false],
      [99, hashOf(5), false],
    ];
    for (const [seq, hash, isKnown] of cases) {
      assert.equal(await hasRecord(store.db, 'a', { seq, hash }), isKnown, `record ${seq}`);
    }
    assert.equal(await hasRecord(store.db, 'b', { seq: 1, hash: hashOf(1) }), false);
  });

  test('a page has as many records as its bytes allow, and always one', async () => {
    const store = await open({ node_name: 'a' });
    const large = (mebibytes: number) => `{"n":"${'x'.repeat(mebibytes * 1024 * 1024)}"}`;
    for (const mebibytes of [1, 2, 2, 5, 5, 0, 0]) {
      await store.commit([{ audit: large(mebibytes) }]);
    }
    const pages: number[][] = [];
    for (let seq = 0; ; ) {
      const page = await listRecordsAfter(store.db, { node: 'a', seq, limit: 100 });
      if (page.length === 0) break;
      pages.push(page.map((row) => row.seq));
      seq = page.at(-1)?.seq ?? 0;
    }
    assert.deepEqual(pages, [[1, 2], [3], [4], [5], [6, 7]]);
    const stamps = await listStampsAfter(store.db, { node: 'a', seq: 5, limit: 100 });
    assert.deepEqual(
      stamps.map((row) => row.seq),
      [6, 7],
    );
  });

  test('nobody is held up by finding out which records are long', async () => {
    const store = await open({ node_name: 'a' });
    const large = `{"n":"${'x'.repeat(900_000)}"}`;
    for (let n = 0; n < 300; n++) await store.commit([{ audit: large }]);
    await holdsNobodyUp(async () => {
      const page = await listStampsAfter(store.db, { node: 'a', seq: 0, limit: 1000 });
      assert.equal(page.length, 4);
    });
  });

  test('of short records a page has as many as asked for', async () => {
    const store = await open({ node_name: 'a' });
    await store.commit(Array.from({ length: 100 }, (_, n) => ({ audit: `{"n":${n}}` })));
    for (const limit of [1, 31, 32, 33, 64, 99]) {
      const page = await listRecordsAfter(store.db, { node: 'a', seq: 0, limit });
      assert.deepEqual(
        page.map(({ seq }) => seq),
        Array.from({ length: limit }, (_, at) => at + 1),
      );
    }
    const all = await listRecordsAfter(store.db, { node: 'a', seq: 3, limit: 1000 });
    assert.equal(all.length, 97);
  });

  test('each sink of each node has its own cursor', async () => {
    const store = await open();
    const key = { name: 'file:/x', node: 'a' };
    assert.equal(await findCursor(store.db, key), undefined);
    await store.commit([
      saveCursor({ ...key, seq: 1 }),
      saveCursor({ ...key, node: 'b', seq: 7 }),
      saveCursor({ name: 'stdout', node: 'a', seq: 3 }),
    ]);
    await store.commit([saveCursor({ ...key, seq: 2 })]);
    assert.equal(await findCursor(store.db, key), 2);
    assert.equal((await listCursors(store.db, 'a')).length, 2);
    await store.commit([deleteCursor('file:/x', 'a')]);
    assert.equal(await findCursor(store.db, key), undefined);
    assert.equal(await findCursor(store.db, { ...key, node: 'b' }), 7);
    await store.commit([deleteCursor('file:/x')]);
    assert.equal(await findCursor(store.db, { ...key, node: 'b' }), undefined);
  });
});
