import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { doFor } from './asking.ts';
import { NetworkPlaces } from './network-places.ts';
import { OWN_PARTY } from './party.ts';

/** So many ask at once from each address; whose turn came, in order, and what gives back the place of the first. */
function asking(places: NetworkPlaces) {
  const came: string[] = [];
  const held: { address: string; giveBack: () => void }[] = [];
  const ask = (address: string, count = 1): void => {
    for (let n = 0; n < count; n += 1) {
      void doFor(address, async () => {
        const giveBack = await places.take();
        came.push(address);
        held.push({ address, giveBack });
      });
    }
  };
  const giveBack = (address: string): void => {
    const at = held.findIndex((one) => one.address === address);
    assert.ok(at >= 0, `${address} has none`);
    held.splice(at, 1)[0]?.giveBack();
  };
  return { came, ask, giveBack };
}

for (const [what, count, addresses, taken] of [
  ['one address takes three of four', 4, ['192.0.2.1'], 3],
  ['so does a network', 4, ['192.0.2.1', '192.0.2.2'], 3],
  ['two networks take all', 4, ['192.0.2.1', '198.51.100.1'], 4],
  ['the server itself takes all', 4, [OWN_PARTY], 4],
  ['of one place there is one', 1, ['192.0.2.1'], 1],
  ['of ten a network takes seven', 10, ['192.0.2.1'], 7],
] as const) {
  test(`places: ${what}`, async () => {
    const { came, ask } = asking(new NetworkPlaces(count));
    for (const address of addresses) ask(address, 20);
    await nextTurn();
    assert.equal(came.length, taken);
  });
}

test('who comes beside a network that has what it may have waits for nobody', async () => {
  const { came, ask, giveBack } = asking(new NetworkPlaces(4));
  ask('192.0.2.1', 20);
  ask('198.51.100.1');
  await nextTurn();
  assert.deepEqual(came, ['192.0.2.1', '192.0.2.1', '192.0.2.1', '198.51.100.1']);
  // What the other gives back is not the first network's, whoever of it waits.
  giveBack('198.51.100.1');
  await nextTurn();
  assert.equal(came.length, 4);
  giveBack('192.0.2.1');
  await nextTurn();
  assert.deepEqual(came.slice(4), ['192.0.2.1']);
  ask('203.0.113.1');
  await nextTurn();
  assert.deepEqual(came.slice(5), ['203.0.113.1']);
});

test('when all are taken a place that is given back is of networks that have had less', async () => {
  const { came, ask, giveBack } = asking(new NetworkPlaces(4));
  ask('192.0.2.1', 20);
  ask('198.51.100.1', 20);
  ask('203.0.113.1');
  await nextTurn();
  for (let n = 0; n < 3; n += 1) giveBack('192.0.2.1');
  await nextTurn();
  assert.deepEqual(came.slice(4, 6).sort(), ['198.51.100.1', '203.0.113.1']);
});

test('every place that is given back can be taken again', async () => {
  const { came, ask, giveBack } = asking(new NetworkPlaces(4));
  for (let round = 0; round < 3; round += 1) {
    ask('192.0.2.1', 2);
    ask('198.51.100.1', 2);
    await nextTurn();
    assert.equal(came.length, 4 * (round + 1));
    for (const address of ['192.0.2.1', '198.51.100.1']) {
      giveBack(address);
      giveBack(address);
    }
  }
});
