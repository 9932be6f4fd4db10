import assert from 'node:assert/strict';
import { test } from 'node:test';
import { doFor } from './asking.ts';
import { AskingLine } from './asking-line.ts';
import { networkOf, SHARED_PARTY } from './party.ts';

/** Lets microtasks go on. */
const settle = async (): Promise<void> => {
  for (let at = 0; at < 10; at += 1) await undefined;
};

/** Lets reads go on one at a time, each telling whose it was. */
class Crowd {
  readonly line = new AskingLine();
  readonly order: string[] = [];

  /** A request that reads so many times, one read after the other. */
  ask(address: string, name: string, reads: number): void {
    void doFor(address, async () => {
      for (let at = 0; at < reads; at += 1) {
        await this.line.wait();
        this.order.push(name);
      }
    });
  }

  async serve(turns: number): Promise<string[]> {
    this.order.length = 0;
    for (let at = 0; at < turns; at += 1) {
      this.line.next();
      await settle();
    }
    return this.order;
  }
}

const AGAIN = 1_000;

test('of two addresses each has every other turn, however many requests one makes', async () => {
  const crowd = new Crowd();
  for (let at = 0; at < 200; at += 1) crowd.ask('192.0.2.1', 'many', AGAIN);
  await crowd.serve(50);
  crowd.ask('198.51.100.7', 'one', 20);
  const order = await crowd.serve(40);
  assert.ok(order.indexOf('one') <= 1, order.join(' '));
  assert.ok(order.filter((name) => name === 'one').length >= 19, order.join(' '));
});

test('who had no turn of late goes before those of many addresses that have one after the other', async () => {
  const crowd = new Crowd();
  for (let at = 0; at < 200; at += 1) crowd.ask(`192.0.2.${at}`, 'many', AGAIN);
  await crowd.serve(400);
  crowd.ask('198.51.100.7', 'one', 1);
  assert.ok((await crowd.serve(3)).includes('one'));
  await crowd.serve(400);
  crowd.ask('198.51.100.7', 'one', 1);
  assert.ok((await crowd.serve(3)).includes('one'));
});

test('addresses of one network have one share together, beside whoever asks as long as they do', async () => {
  const crowd = new Crowd();
  for (let at = 0; at < 250; at += 1) crowd.ask(`192.0.2.${at}`, 'many', AGAIN);
  crowd.ask('198.51.100.7', 'one', AGAIN);
  await crowd.serve(600);
  const order = await crowd.serve(100);
  assert.ok(order.filter((name) => name === 'one').length >= 49, order.join(' '));
});

test('networks of 64 bits of one site have one share together', async () => {
  const crowd = new Crowd();
  for (let at = 0; at < 200; at += 1) crowd.ask(`2001:db8:0:${at.toString(16)}::1`, 'site', AGAIN);
  await crowd.serve(400);
  crowd.ask('2001:db8:1::1', 'other site', 20);
  const order = await crowd.serve(40);
  assert.ok(order.filter((name) => name === 'other site').length >= 19, order.join(' '));
});

test('of one address a request that reads little goes before those that read on and on', async () => {
  const crowd = new Crowd();
  for (let at = 0; at < 100; at += 1) crowd.ask('192.0.2.1', 'long', AGAIN);
  // Until each has had as many as a usual request needs.
  await crowd.serve(1_100);
  crowd.ask('192.0.2.1', 'short', 6);
  const order = await crowd.serve(10);
  assert.equal(order.filter((name) => name === 'short').length, 6, order.join(' '));
});

test('of one address requests that have begun and read little are through before others begin', async () => {
  const crowd = new Crowd();
  for (let at = 0; at < 100; at += 1) crowd.ask('192.0.2.1', `${at}`, 6);
  const order = await crowd.serve(600);
  const present = new Set<string>();
  let most = 0;
  for (const [at, name] of order.entries()) {
    present.add(name);
    most = Math.max(most, present.size);
    if (!order.includes(name, at + 1)) present.delete(name);
  }
  assert.equal(new Set(order).size, 100);
  assert.ok(most <= 2, `${most}`);
});

test('one that reads on and on goes on, however many come anew', async () => {
  const crowd = new Crowd();
  crowd.ask('192.0.2.1', 'long', AGAIN);
  await crowd.serve(20);
  for (let at = 0; at < 500; at += 1) crowd.ask('192.0.2.1', 'new', 1);
  const own = await crowd.serve(100);
  assert.ok(own.filter((name) => name === 'long').length >= 20, own.join(' '));
  for (let at = 0; at < 250; at += 1) crowd.ask(`198.51.100.${at}`, 'newcomer', 1);
  const all = await crowd.serve(100);
  assert.ok(all.filter((name) => name === 'long' || name === 'new').length >= 20, all.join(' '));
});

test("the server's own work is one party", async () => {
  const crowd = new Crowd();
  for (let at = 0; at < 50; at += 1) {
    void (async () => {
      for (;;) {
        await crowd.line.wait();
        crowd.order.push('own');
      }
    })();
  }
  await crowd.serve(100);
  crowd.ask('192.0.2.1', 'request', 20);
  const order = await crowd.serve(40);
  assert.ok(order.filter((name) => name === 'request').length >= 19, order.join(' '));
  assert.ok(order.filter((name) => name === 'own').length >= 19, order.join(' '));
});

test('nothing is lost: everybody is through in the end', async () => {
  const crowd = new Crowd();
  for (let at = 0; at < 300; at += 1) crowd.ask(`192.0.2.${at % 40}`, `${at}`, 1 + (at % 12));
  const order = await crowd.serve(2_000);
  assert.equal(new Set(order).size, 300);
  assert.equal(crowd.line.isEmpty, true);
});

for (const [address, what, ms, least, most] of [
  ['198.51.100.7', 'one whose turns take little', 0.5, 15, 20],
  ['198.51.100.7', 'one whose turns take as long', 10, 1, 3],
  [SHARED_PARTY, 'work that many wait for, whose turns take as long,', 10, 3, 5],
] as const) {
  test(`${what} beside forty networks whose turns take long, in forty turns`, async () => {
    const line = new AskingLine();
    const order: string[] = [];
    const ask = (from: string, reads: number): void => {
      void doFor(from, async () => {
        for (let at = 0; at < reads; at += 1) {
          await line.wait();
          order.push(from);
        }
      });
    };
    const serve = async (turns: number): Promise<void> => {
      for (let at = 0; at < turns; at += 1) {
        const network = line.next();
        assert.ok(network !== undefined);
        await settle();
        line.charge(network, network === networkOf(address) ? ms : 10);
      }
    };
    for (let at = 0; at < 40; at += 1) for (let n = 0; n < 5; n += 1) ask(`10.0.${at}.1`, AGAIN);
    ask(address, AGAIN);
    await serve(1_200);
    order.length = 0;
    await serve(40);
    const own = order.filter((other) => other === address).length;
    assert.ok(own >= least && own <= most, `${own}`);
  });
}
