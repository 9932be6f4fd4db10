import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Unattended } from './unattended.ts';

/** Who has so much work for gone clients, and who may begin more. */
const ROWS: [has: [address: string, count: number][], asks: string, may: boolean, why: string][] = [
  [[], '192.0.2.1', true, 'nobody has gone'],
  [[['192.0.2.1', 511]], '192.0.2.1', true, 'one more fits'],
  [[['192.0.2.1', 512]], '192.0.2.1', false, 'an address has its part'],
  [[['192.0.2.1', 512]], '192.0.2.2', true, 'a neighbour has none'],
  [[['192.0.2.1', 512], ['192.0.2.2', 256]], '192.0.2.3', false, 'a network has its part'],
  [[['192.0.2.1', 512], ['192.0.2.2', 256]], '198.51.100.1', true, 'another network has none'],
  [[['2001:db8:1:1::1', 300], ['2001:db8:1:2::1', 212]], '2001:db8:1:3::1', false, 'a site of IPv6'],
  [[['2001:db8:1:1::1', 512]], '2001:db8:2:1::1', true, 'another site'],
]; // biome-ignore format: a row each

for (const [has, asks, may, why] of ROWS) {
  test(`${asks} ${may ? 'may' : 'may not'} begin more: ${why}`, async () => {
    const unattended = new Unattended();
    const ends: (() => void)[] = [];
    for (const [address, count] of has) {
      for (let at = 0; at < count; at++) {
        unattended.add(address, new Promise<void>((resolve) => ends.push(resolve)));
      }
    }
    assert.equal(unattended.hasRoomFor(asks), may);
    for (const end of ends) end();
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(unattended.hasRoomFor(asks), true, 'once it is over');
  });
}

test('work that failed is over as well', async () => {
  const unattended = new Unattended();
  for (let at = 0; at < 512; at++) unattended.add('192.0.2.1', Promise.reject(new Error('no')));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(unattended.hasRoomFor('192.0.2.1'), true);
});

test('who waits for all of it waits for what comes meanwhile, too, and not beyond a time', async () => {
  const unattended = new Unattended();
  const order: string[] = [];
  await unattended.whenOver(60_000);
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  unattended.add('192.0.2.1', first.promise);
  const over = unattended.whenOver(60_000).then(() => order.push('over'));
  unattended.add('192.0.2.1', second.promise);
  await unattended.whenOver(1);
  order.push('late');
  first.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  order.push('one left');
  second.reject(new Error('no'));
  await over;
  assert.deepEqual(order, ['late', 'one left', 'over']);
});
