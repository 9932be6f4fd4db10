import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import v8 from 'node:v8';
import { doFor, doRequest, doShared, holdShared, noteRead, whoAsks } from './asking.ts';
import { SHARED_PARTY } from './party.ts';
import { newHeapLook, ScarceHeap } from './scarce-heap.ts';

/** Requests that pass, and are done when they are told. */
class Requests {
  readonly heap: { isScarce: boolean };
  readonly #scarce: ScarceHeap;
  readonly passed: string[] = [];
  readonly #ends = new Map<string, () => void>();
  readonly #done: Promise<void>[] = [];

  constructor(heap: { isScarce: boolean }) {
    this.heap = heap;
    this.#scarce = new ScarceHeap(() => heap.isScarce);
  }

  /** @param turns that it has had, and how much that is long was read for it */
  begin(name: string, address: string, turns = 0, read = 0): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ends.set(name, resolve);
    const work = async (): Promise<void> => {
      whoAsks().turns = turns;
      noteRead(read);
      await this.#scarce.pass();
      this.passed.push(name);
      await promise;
    };
    this.#done.push(doRequest(address, work));
  }

  async end(...names: string[]): Promise<void> {
    for (const name of names) this.#ends.get(name)?.();
    await nextTurn();
    await nextTurn();
  }

  async endAll(): Promise<void> {
    this.heap.isScarce = false;
    await this.end(...this.#ends.keys());
    await Promise.all(this.#done);
  }

  pass = (): Promise<void> | undefined => this.#scarce.pass();
}

const LONG = 8;
const range = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);

test('while there is room nobody waits, however many go on', async () => {
  const requests = new Requests({ isScarce: false });
  for (const at of range(100)) requests.begin(`${at}`, '192.0.2.1', LONG);
  await nextTurn();
  assert.equal(requests.passed.length, 100);
  await requests.endAll();
});

for (const [read, passed] of [
  [256 << 10, 5],
  [(256 << 10) + 1, 2],
] as const) {
  test(`of requests for which ${read} characters were read ${passed} of five go on at once`, async () => {
    const requests = new Requests({ isScarce: true });
    for (const at of range(5)) requests.begin(`${at}`, '192.0.2.1', 0, read);
    await nextTurn();
    assert.equal(requests.passed.length, passed);
    await requests.endAll();
  });
}

test('of long requests four go on at once, two of one network, and the next when one of them is done', async () => {
  const requests = new Requests({ isScarce: true });
  for (const at of range(4)) requests.begin(`a${at}`, `192.0.2.${at}`, LONG);
  for (const at of range(2)) requests.begin(`b${at}`, '198.51.100.1', LONG);
  for (const at of range(2)) requests.begin(`c${at}`, '203.0.113.1', LONG);
  await nextTurn();
  assert.deepEqual(requests.passed, ['a1', 'a2', 'b1', 'b2']);
  await requests.end('a1');
  // Of a network that has none of them before the third of one that has one.
  assert.deepEqual(requests.passed.slice(4), ['a3']);
  await requests.end('b1', 'b2');
  assert.deepEqual(requests.passed.slice(5).sort(), ['c1', 'c2']);
  await requests.endAll();
  assert.equal(requests.passed.length, 8);
});

test('a request that goes on waits no more until it is done', async () => {
  const scarce = new ScarceHeap(() => true);
  let passed = 0;
  await doRequest('192.0.2.1', async () => {
    whoAsks().turns = LONG;
    for (const at of range(5)) {
      await scarce.pass();
      passed += at;
    }
  });
  assert.equal(passed, 15);
});

for (const [others, waits] of [
  [16, false],
  [17, true],
] as const) {
  test(`beside ${others} others of its network a short one ${waits ? 'waits' : 'goes on'}`, async () => {
    const requests = new Requests({ isScarce: false });
    for (const at of range(others)) requests.begin(`${at}`, '192.0.2.1', LONG);
    await nextTurn();
    requests.heap.isScarce = true;
    for (const at of range(3)) requests.begin(`long ${at}`, '198.51.100.1', LONG);
    for (const at of range(3)) requests.begin(`long too ${at}`, '203.0.113.1', LONG);
    requests.begin('short', '192.0.2.2');
    requests.begin('elsewhere', '192.0.3.1');
    await nextTurn();
    assert.equal(requests.passed.includes('short'), !waits);
    assert.ok(requests.passed.includes('elsewhere'));
    await requests.endAll();
    assert.ok(requests.passed.includes('short'));
  });
}

for (const [what, used, external, isScarce] of [
  ['little', 0.1, 0.1, false],
  ['nearly enough in the heap, and as much outside', 0.54, 0.54, false],
  ['much in the heap', 0.56, 0, true],
  ['much outside', 0.1, 0.56, true],
] as const) {
  test(`the heap is ${isScarce ? '' : 'not '}scarce with ${what}`, (t) => {
    const statistics = { ...v8.getHeapStatistics(), heap_size_limit: 1000 };
    const used_heap_size = used * 1000;
    const external_memory = external * 1000;
    t.mock.method(v8, 'getHeapStatistics', () => ({
      ...statistics,
      used_heap_size,
      external_memory,
    }));
    assert.equal(newHeapLook()(), isScarce);
  });
}

test("the server's own work, and what many wait for, goes on", async () => {
  const requests = new Requests({ isScarce: true });
  for (const at of range(20)) requests.begin(`${at}`, '192.0.2.1', LONG);
  await nextTurn();
  assert.equal(requests.pass(), undefined);
  assert.equal(
    doFor(SHARED_PARTY, () => requests.pass()),
    undefined,
  );
  await requests.endAll();
});

test('those that take no turn for a while, as they wait for something else, keep nobody waiting', async () => {
  const requests = new Requests({ isScarce: true });
  for (const at of range(6)) requests.begin(`${at}`, '192.0.2.1', LONG);
  await nextTurn();
  assert.equal(requests.passed.length, 2);
  while (requests.passed.length < 6) await nextTurn();
  await requests.endAll();
});

test('a request does not wait while it does what others wait for, nor once it holds that', async () => {
  const requests = new Requests({ isScarce: true });
  for (const at of range(20)) requests.begin(`${at}`, '192.0.2.1', LONG);
  await doRequest('192.0.2.1', async () => {
    whoAsks().turns = LONG;
    await doShared(async () => assert.equal(requests.pass(), undefined));
    const waits = requests.pass();
    assert.ok(waits);
    await waits;
  });
  await doRequest('192.0.2.1', async () => {
    whoAsks().turns = LONG;
    holdShared();
    assert.equal(requests.pass(), undefined);
  });
  await requests.endAll();
});
