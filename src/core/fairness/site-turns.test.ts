import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SiteTurns } from './site-turns.ts';

const network = (n: number): string => `2001:db8:7:${n.toString(16)}::/64`;

function takeAll(turns: SiteTurns<string>): string[] {
  const taken: string[] = [];
  for (let next = turns.take(); next !== undefined; next = turns.take()) taken.push(next);
  return taken;
}

function lineUp(...waiting: [party: string, item: string][]): SiteTurns<string> {
  const turns = new SiteTurns<string>();
  for (const [party, item] of waiting) turns.add(party, item);
  return turns;
}

test('turns go round the networks, in each round its sites, in a site round its parties, in a party by the order of coming', () => {
  const turns = lineUp(
    [network(1), 'a1'],
    [network(1), 'a2'],
    [network(2), 'b1'],
    ['192.0.2.1', 'x1'],
    ['192.0.2.1', 'x2'],
    ['192.0.2.2', 'y1'],
  );
  // Every other turn is for a network, and in it for a site, that has been served.
  assert.deepEqual(takeAll(turns), ['a1', 'b1', 'x1', 'a2', 'x2', 'y1']);
  assert.ok(turns.isEmpty);
});

test('whoever waits in another network goes before the second of a crowd of neighbours, whoever has been served', () => {
  const crowd = Array.from({ length: 250 }, (_, n) => `198.51.100.${n}`);
  for (const isServed of [false, true]) {
    const turns = new SiteTurns<string>();
    if (isServed) {
      for (const party of [...crowd, '192.0.2.1']) turns.add(party, party);
      takeAll(turns);
    }
    for (const party of crowd) for (const n of [1, 2]) turns.add(party, `${n}`);
    turns.add('192.0.2.1', 'other');
    const next = [turns.take(), turns.take(), turns.take()];
    assert.ok(next.includes('other'), next.join());
  }
});

test('a neighbour of a crowd waits no longer than two turns of their network', () => {
  const turns = new SiteTurns<string>();
  for (let n = 2; n < 250; n++)
    for (const item of ['1', '2', '3', '4']) turns.add(`198.51.100.${n}`, item);
  for (let taken = 0; taken < 600; taken++) turns.take();
  turns.add('198.51.100.1', 'neighbour');
  assert.ok([turns.take(), turns.take()].includes('neighbour'));
});

test('one that is gone from a network leaves the others their places', () => {
  const turns = lineUp(['192.0.2.1', 'a'], ['192.0.2.2', 'b'], ['198.51.100.1', 'c']);
  turns.delete('192.0.2.1', 'a');
  assert.equal(turns.hasSite('192.0.2.1'), false);
  assert.equal(turns.hasSite('192.0.2.2'), true);
  assert.equal(turns.hasSite('198.51.100.2'), false);
  assert.deepEqual(takeAll(turns), ['b', 'c']);
  assert.ok(turns.isEmpty);
});

test('who comes anew waits for two turns at most, however many have been served and wait again', () => {
  const turns = new SiteTurns<string>();
  const crowd = Array.from({ length: 500 }, (_, n) => `198.51.${n >> 8}.${n & 255}`);
  for (const party of crowd) turns.add(party, party);
  takeAll(turns);
  for (const party of crowd) turns.add(party, party);
  turns.take();
  turns.add('192.0.2.1', 'new');
  assert.ok([turns.take(), turns.take()].includes('new'));
});

test('who has been served has every other turn, however many come anew', () => {
  const turns = lineUp(['192.0.2.1', 'first']);
  turns.take();
  for (let n = 0; n < 500; n++) turns.add(`198.51.${n >> 8}.${n & 255}`, 'new');
  turns.add('192.0.2.1', 'again');
  assert.ok([turns.take(), turns.take()].includes('again'));
});

test('a site that may not go now keeps its place, and who has left has none', () => {
  const turns = lineUp(['192.0.2.1', 'a'], ['192.0.2.2', 'b'], ['192.0.2.3', 'c']);
  assert.equal(
    turns.take((site) => site !== '192.0.2.1'),
    'b',
  );
  turns.delete('192.0.2.3', 'c');
  turns.delete('192.0.2.3', 'c');
  assert.equal(
    turns.take((site) => site === '192.0.2.9'),
    undefined,
  );
  assert.equal(turns.isEmpty, false);
  assert.equal(turns.take(), 'a');
  assert.ok(turns.isEmpty);
});
