import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { doFor } from './asking.ts';
import { Breath, nextBreath } from './breath.ts';

/** It never goes back, also not from one test to the next. */
let now = 1_000_000;

/** A clock that stands still but for the work that is done, and what was done in each turn of the event loop. */
class Loop {
  #turns = 0;
  #isOver = false;
  readonly #spent: number[] = [0];
  /** Who worked, piece by piece. */
  readonly order: string[] = [];

  constructor(t: TestContext) {
    t.mock.method(performance, 'now', () => now);
    t.after(() => {
      this.#isOver = true;
    });
    void this.#count();
  }

  /** Turns since the beginning. */
  get turns(): number {
    return this.#turns;
  }

  /** Milliseconds that were worked in the longest turn. */
  get longest(): number {
    return Math.max(...this.#spent);
  }

  work(name: string, ms: number): void {
    now += ms;
    this.#spent[this.#turns] = (this.#spent[this.#turns] ?? 0) + ms;
    this.order.push(name);
  }

  /** A request that works in so many steps, with a breath after each. */
  ask(address: string, name: string, steps: number, ms = 1): Promise<void> {
    return doFor(address, () => this.does(name, steps, ms));
  }

  async does(name: string, steps: number, ms = 1): Promise<void> {
    const breath = new Breath();
    for (let at = 0; at < steps; at += 1) {
      this.work(name, ms);
      await breath.take();
    }
  }

  /** Where of what was done somebody was through. */
  async through(asked: Promise<void>): Promise<number> {
    const before = this.order.length;
    await asked;
    return this.order.length - before;
  }

  async #count(): Promise<void> {
    while (!this.#isOver) {
      await nextTurn();
      this.#turns += 1;
    }
  }
}

/** The turns of what was before are over, and how long they took is so long ago that it does not count. */
async function loopOf(t: TestContext): Promise<Loop> {
  for (let at = 0; at < 3; at += 1) await nextTurn();
  now += 3_600_000;
  return new Loop(t);
}

const FORTY = Array.from({ length: 40 }, (_, at) => at);

test('forty that breathe have together in a turn about what one of them has', async (t) => {
  const loop = await loopOf(t);
  const asked: Promise<void>[] = [];
  for (const at of FORTY) {
    asked.push(loop.ask('192.0.2.1', `${at}`, 50));
    await nextTurn();
  }
  await Promise.all(asked);
  assert.equal(loop.order.length, 2_000);
  // Five, and the first step of whoever came in it.
  assert.ok(loop.longest <= 7, `${loop.longest}`);
});

test('of forty that come in one turn each begins, and does no more in it', async (t) => {
  const loop = await loopOf(t);
  await Promise.all(FORTY.map((at) => loop.ask('192.0.2.1', `${at}`, 20)));
  assert.ok(loop.longest <= 5 + FORTY.length, `${loop.longest}`);
});

test('one alone gives way once in five milliseconds, for one turn', async (t) => {
  const loop = await loopOf(t);
  const before = loop.turns;
  await loop.ask('192.0.2.1', 'one', 100);
  const turns = loop.turns - before;
  assert.ok(turns >= 15 && turns <= 21, `${turns}`);
});

test('what takes less than a millisecond waits for nobody', async (t) => {
  const loop = await loopOf(t);
  const many = FORTY.map((at) => loop.ask('192.0.2.1', `${at}`, 50));
  for (let at = 0; at < 3; at += 1) await nextTurn();
  const done = loop.order.length;
  await loop.ask('198.51.100.7', 'little', 9, 0.1);
  assert.equal(loop.order.length, done + 9);
  await Promise.all(many);
});

test('one who works a little is through after few turns of forty others', async (t) => {
  const loop = await loopOf(t);
  const many = FORTY.map((at) => loop.ask('192.0.2.1', `${at}`, 200));
  // Until each has had as many as a usual request needs.
  while (loop.order.length < 4_000) await nextTurn();
  const elsewhere = await loop.through(loop.ask('198.51.100.7', 'little', 12));
  assert.ok(elsewhere <= 40, `${elsewhere}`);
  // Also from where the forty come: one that has had few turns goes before those that have had many.
  const near = await loop.through(loop.ask('192.0.2.1', 'little', 12));
  assert.ok(near <= 40, `${near}`);
  await Promise.all(many);
});

test("the server's own work takes its turns as one", async (t) => {
  const loop = await loopOf(t);
  const own = FORTY.map(() => loop.does('own', 100));
  while (loop.order.length < 500) await nextTurn();
  loop.order.length = 0;
  await loop.ask('192.0.2.1', 'request', 100);
  const done = loop.order.filter((name) => name === 'own').length;
  assert.ok(done >= 20 && done <= 150, `${done}`);
  await Promise.all(own);
});

test('steps that are longer than a turn should be go on all the same, one in a turn', async (t) => {
  const loop = await loopOf(t);
  const one = loop.ask('192.0.2.1', 'one', 20, 30);
  const other = loop.ask('198.51.100.7', 'other', 20, 30);
  await Promise.all([one, other]);
  assert.equal(loop.order.length, 40);
  const later = loop.order.slice(2);
  assert.ok(
    later.every((name, at) => at < 2 || name === later[at - 2]),
    later.join(' '),
  );
});

test('what fails after a breath stops nobody', async (t) => {
  const loop = await loopOf(t);
  const failing = async (): Promise<void> => {
    await loop.does('failing', 6);
    throw new Error('as it happens');
  };
  const all = await Promise.allSettled(
    FORTY.map((at) =>
      at % 2 === 0 ? doFor('192.0.2.1', failing) : loop.ask('192.0.2.1', `${at}`, 30),
    ),
  );
  assert.equal(all.filter(({ status }) => status === 'rejected').length, 20);
  assert.equal(loop.order.length, 20 * 6 + 20 * 30);
});

test('two that work for one request both go on', async (t) => {
  const loop = await loopOf(t);
  await doFor('192.0.2.1', () => Promise.all([loop.does('a', 30), loop.does('b', 30)]));
  assert.equal(loop.order.length, 60);
});

test('who breathes after the others are long through waits for one turn', async (t) => {
  const loop = await loopOf(t);
  await Promise.all(FORTY.map((at) => loop.ask('192.0.2.1', `${at}`, 12)));
  for (let at = 0; at < 5; at += 1) await nextTurn();
  const before = loop.turns;
  await loop.ask('192.0.2.1', 'late', 5);
  assert.ok(loop.turns - before <= 2, `${loop.turns - before}`);
});

test('pieces that are long by themselves have a turn each, of however many at once', async (t) => {
  const loop = await loopOf(t);
  const ask = (name: string): Promise<void> =>
    doFor('192.0.2.1', async () => {
      for (let at = 0; at < 3; at += 1) {
        await nextBreath();
        loop.work(name, 8);
      }
    });
  await Promise.all(FORTY.map((at) => ask(`${at}`)));
  assert.equal(loop.order.length, 120);
  assert.equal(loop.longest, 8);
});
