import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FinishedCrl } from './builder/job.ts';
import { CrlCache } from './cache.ts';

/** A CRL that takes about a kilobyte more than its bytes. */
const crlOf = (length: number): FinishedCrl => ({
  mount_id: 'm',
  scope: '{}',
  revision: 1,
  crl: { der: new Uint8Array(length), entries_at: 0, entries_length: 0, count: 0 },
});

test('a CRL is found by its number, and any CRL of the place to build upon', () => {
  const cache = new CrlCache(100 << 10);
  const crl = crlOf(10 << 10);
  cache.put('a', 5, crl);
  assert.equal(cache.find('a', 5), crl);
  assert.equal(cache.find('a', 4), undefined);
  assert.equal(cache.findAny('a'), crl);
  assert.equal(cache.findAny('b'), undefined);
});

test('when there is no room the least used CRL goes', () => {
  const cache = new CrlCache(110 << 10);
  cache.put('a', 1, crlOf(50 << 10));
  cache.put('b', 1, crlOf(50 << 10));
  cache.find('a', 1);
  cache.put('c', 1, crlOf(50 << 10));
  assert.equal(cache.findAny('b'), undefined);
  assert.ok(cache.findAny('a'));
  assert.ok(cache.findAny('c'));
});

test('a CRL that is longer than all the room is kept, alone', () => {
  const cache = new CrlCache(100 << 10);
  cache.put('a', 1, crlOf(50 << 10));
  cache.put('b', 1, crlOf(500 << 10));
  assert.equal(cache.findAny('a'), undefined);
  assert.ok(cache.findAny('b'));
});

test('CRLs of nothing take room, too, and more with the issuers that their scope names', () => {
  const empty = crlOf(0);
  const cache = new CrlCache(100 << 10);
  for (let at = 0; at < 1000; at++) cache.put(`${at}`, 1, empty);
  assert.equal(cache.findAny('0'), undefined);
  assert.ok(cache.findAny('950'));
  cache.put('long', 1, { ...empty, scope: 'x'.repeat(36_000) });
  assert.equal(cache.findAny('950'), undefined);
  assert.ok(cache.findAny('999'));
});

test('what other threads read counts as used, and they hear when it is not kept any more', () => {
  const cache = new CrlCache(110 << 10);
  const passed: object[] = [];
  cache.onPassed((one) => passed.push(one));
  assert.equal(cache.handOver('a', 1), undefined);
  cache.put('a', 1, crlOf(50 << 10));
  const handed = cache.handOver('a', 1);
  assert.ok(handed);
  assert.equal(handed.der, cache.findAny('a')?.crl.der);
  assert.equal(cache.handOver('a', 2), undefined);
  cache.put('b', 1, crlOf(50 << 10));
  Atomics.store(handed.used, 0, 1);
  cache.put('c', 1, crlOf(50 << 10));
  assert.ok(cache.findAny('a'), 'it was read since');
  assert.equal(cache.findAny('b'), undefined);
  assert.deepEqual(passed, [], 'nobody was given the other one');
  cache.put('d', 1, crlOf(50 << 10));
  assert.equal(cache.findAny('c'), undefined, 'it comes behind what was read');
  cache.put('e', 1, crlOf(50 << 10));
  assert.equal(cache.findAny('a'), undefined, 'it was not read since');
  assert.deepEqual(passed, [{ place: 'a', number: 1 }]);
  cache.handOver('d', 1);
  cache.put('d', 2, crlOf(10));
  assert.deepEqual(passed[1], { place: 'd', number: 1 });
});
