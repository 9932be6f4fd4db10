import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { mock, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { partyOf } from '../core/fairness/party.ts';
import { SharedBytes } from '../core/fairness/shared-bytes.ts';
import { LongAnswers, type OnItsWay, weighAnswer } from './long-answers.ts';
import type { HttpResponse } from './response.ts';
import { WaitingBodies } from './waiting-bodies.ts';

const MIB = 1 << 20;

/** Time stands still: how late it is each look is told. */
const NOW = 1_000_000;
mock.method(performance, 'now', () => NOW);

const encode = (body: HttpResponse['body']): HttpResponse => ({ status: 200, headers: {}, body });
const whole = { length: 100_000, pieces: () => [] };
const paged = { length: undefined, pieces: async function* () {} };

const weights: [
  what: string,
  method: string,
  body: HttpResponse['body'],
  sent: number,
  waiting: number,
][] = [
  ['a long text', 'GET', 'x'.repeat(16_385), 16_385, 16_385],
  ['long bytes', 'GET', Buffer.alloc(20_000), 20_000, 20_000],
  ['long pieces', 'GET', whole, 32 << 10, 100_000],
  ['a list that is made while it is sent', 'LIST', paged, 256 << 10, 4 << 10],
  [
    'one of long names',
    'LIST',
    { ...paged, kept: { sent: 1 << 20, waiting: 0 } },
    1 << 20,
    4 << 10,
  ],
  [
    'one of short ones',
    'LIST',
    { ...paged, kept: { sent: 9_000, waiting: 0 } },
    256 << 10,
    4 << 10,
  ],
  [
    'one of which something is kept',
    'GET',
    { ...paged, kept: { sent: 300 << 10, waiting: 40_000 } },
    300 << 10,
    44_096,
  ],
];
for (const [what, method, body, sent, waiting] of weights) {
  test(`${what} has to wait for room, and weighs what is kept of it`, () => {
    assert.deepEqual(weighAnswer(method, encode(body)), { sent, waiting });
  });
}

const shorts: [what: string, method: string, body: HttpResponse['body']][] = [
  ['a short text', 'GET', 'x'.repeat(16_384)],
  ['short bytes', 'GET', Buffer.alloc(100)],
  ['no body', 'POST', undefined],
  ['what HEAD is answered with', 'HEAD', 'x'.repeat(100_000)],
];
for (const [what, method, body] of shorts) {
  test(`${what} waits for nothing`, () => {
    assert.equal(weighAnswer(method, encode(body)), undefined);
  });
}

/** Whom what is asked for belongs to, and what becomes of it. */
interface Asked {
  name: string;
  response: ServerResponse;
  /** Its client takes it. */
  taken(): void;
}

function start() {
  const unsent = new SharedBytes({ total: 64 * MIB, each: 32 * MIB });
  const answers = new LongAnswers(unsent);
  const begun: string[] = [];
  const lost: string[] = [];
  /** How far each is taken, by name. */
  const far = new Map<string, number>();
  let count = 0;
  const ask = (party: string, bytes: number, body: HttpResponse['body'] = 'x'): Asked => {
    count += 1;
    const name = `${party}#${count}`;
    const response = new EventEmitter() as ServerResponse;
    const giveUp = (): void => {
      lost.push(name);
      response.emit('close');
    };
    const onItsWay: OnItsWay = {
      party,
      since: 0,
      giveUp,
      unsent: unsent.hold(party, giveUp),
      taken: () => far.get(name),
      stood: { at: undefined, since: 0 },
    };
    far.set(name, 0);
    const begin = (): void => {
      begun.push(name);
      response.once('close', () => answers.done(onItsWay));
      answers.note(onItsWay);
      assert.ok(onItsWay.unsent.grow(bytes));
    };
    answers.take(party, response, { weight: { sent: bytes, waiting: bytes }, body, begin, giveUp });
    return { name, response, taken: () => void response.emit('close') };
  };
  return { answers, unsent, begun, lost, far, ask };
}

const names = (asked: readonly Asked[]): string[] => asked.map(({ name }) => name);

test('of a site that does not take its answers some begin, and those of others all do', () => {
  const { begun, lost, ask } = start();
  const slow = Array.from({ length: 40 }, () => ask('192.0.2.1', MIB));
  assert.deepEqual(begun, names(slow.slice(0, 24)));
  const others = Array.from({ length: 24 }, () => ask('198.51.100.7', MIB));
  const late = Array.from({ length: 8 }, (_, at) => ask(`203.0.${at}.1`, MIB));
  assert.deepEqual(
    begun.slice(24),
    names([...others, ...late]),
    'the first of each network finds room',
  );
  assert.deepEqual(lost, []);
});

test('networks of one site wait for one another', () => {
  const { begun, ask } = start();
  for (let n = 0; n < 40; n++) ask(partyOf(`2001:db8:7:${n.toString(16)}::1`), MIB);
  assert.equal(begun.length, 24);
  ask(partyOf('2001:db8:8:1::1'), MIB);
  assert.equal(begun.length, 25);
});

test('what waits begins when others have been taken, by sites in turn', async () => {
  const { begun, ask } = start();
  const first = Array.from({ length: 24 }, () => ask('192.0.2.1', MIB));
  const second = Array.from({ length: 24 }, () => ask('198.51.100.7', MIB));
  const crowd = Array.from({ length: 10 }, () => ask('192.0.2.1', MIB));
  const other = ask('198.51.100.7', MIB);
  assert.equal(begun.length, 48);
  for (const one of [...first.slice(0, 2), second[0]]) one?.taken();
  await nextTurn();
  assert.equal(begun.length, 51);
  assert.ok(begun.includes(other.name));
  assert.deepEqual(
    begun.slice(48).filter((name) => name !== other.name),
    names(crowd.slice(0, 2)),
  );
});

test('who goes while waiting is not answered, and nothing is kept for them', async () => {
  const { answers, begun, ask } = start();
  const first = Array.from({ length: 24 }, () => ask('192.0.2.1', MIB));
  const gone = ask('192.0.2.1', MIB);
  const next = ask('192.0.2.1', MIB);
  assert.equal(answers.held, 2 * MIB);
  gone.response.emit('close');
  assert.equal(answers.held, MIB);
  first[0]?.taken();
  await nextTurn();
  assert.deepEqual(begun.slice(24), [next.name]);
  assert.equal(answers.held, 0);
});

test('answers that wait come to no more than a share of each site, but what many are answered with counts once', () => {
  const { answers, lost, ask } = start();
  for (let n = 0; n < 24 + 32; n++) ask('192.0.2.1', MIB);
  assert.deepEqual(lost, []);
  ask('192.0.2.1', MIB);
  assert.deepEqual(lost, ['192.0.2.1#25'], 'the oldest that waits');
  assert.equal(answers.held, 32 * MIB);

  const other = start();
  const shared = Buffer.alloc(0);
  const all = Array.from({ length: 400 }, () => other.ask('192.0.2.1', MIB, shared));
  assert.deepEqual(other.lost, []);
  assert.equal(other.answers.held, MIB);
  for (const { response } of all) response.emit('close');
  assert.equal(other.answers.held, 0);
});

test('what many wait with is kept as long as any of them waits, and is given up for nobody', () => {
  const { answers, lost, ask } = start();
  const shared = Buffer.alloc(0);
  for (let n = 0; n < 24; n++) ask('192.0.2.1', MIB);
  const [first, second] = [ask('192.0.2.1', MIB, shared), ask('192.0.2.1', MIB, shared)];
  for (let n = 0; n < 31; n++) ask('192.0.2.1', MIB);
  assert.equal(answers.held, 32 * MIB);
  first.taken();
  assert.equal(answers.held, 32 * MIB, 'another waits with it');
  ask('192.0.2.1', MIB);
  assert.deepEqual(lost, ['192.0.2.1#27'], 'the oldest of those that one waits with');
  second.taken();
  assert.equal(answers.held, 31 * MIB);
});

test('what was given up is kept anew for who asks for it before that is over', () => {
  const bodies = new WaitingBodies({ total: 10, each: 10 });
  const shared = {};
  const lost: number[] = [];
  const keep = (body: object, bytes: number) =>
    bodies.keep(body, { party: 'a', bytes, giveUp: () => lost.push(bytes) });
  const first = keep(shared, 6);
  const other = keep({}, 7);
  assert.deepEqual(lost, [6]);
  other?.();
  const again = keep(shared, 6);
  first?.();
  assert.equal(bodies.held, 6);
  assert.ok(keep(shared, 6), 'and once for all');
  assert.equal(bodies.held, 6);
  again?.();
  assert.equal(bodies.held, 6);
});

const LATER = NOW + 10_000;

test('what is slow makes room for as much as waits, and for nobody else', async () => {
  const { answers, begun, lost, ask } = start();
  const slow = Array.from({ length: 24 }, () => ask('192.0.2.1', MIB));
  const other = ask('198.51.100.7', MIB);
  answers.makeRoom(LATER);
  assert.deepEqual(lost, [], 'nobody waits');
  const waiting = [ask('192.0.2.1', MIB), ask('192.0.2.1', MIB)];
  answers.makeRoom(LATER - 1);
  assert.deepEqual(lost, [], 'none is slow yet');
  answers.makeRoom(LATER);
  assert.deepEqual(lost, names(slow.slice(0, 1)));
  await nextTurn();
  answers.makeRoom(LATER);
  await nextTurn();
  assert.deepEqual(lost, names(slow.slice(0, 2)));
  assert.deepEqual(begun.slice(24), names([other, ...waiting]));
  answers.makeRoom(LATER);
  assert.equal(lost.length, 2);
});

test('who has little on the way gives way to nobody while others have more', async () => {
  const { answers, begun, lost, ask } = start();
  const little = ask('203.0.113.1', MIB);
  const much = Array.from({ length: 24 }, () => ask('192.0.2.1', MIB));
  for (let n = 0; n < 23; n++) ask('198.51.100.7', MIB);
  const waiting = ask('203.0.113.1', MIB);
  assert.equal(begun.includes(waiting.name), false);
  answers.makeRoom(LATER);
  assert.deepEqual(lost, names(much.slice(0, 1)));
  await nextTurn();
  assert.ok(begun.includes(waiting.name));
  assert.equal(lost.includes(little.name), false);
});

/** Of so many addresses of a network, each so much (in MiB). */
type Slow = [network: number, addresses: number, each: number, mib: number][];

const address = (network: number, n: number): string => `198.51.${network}.${n}`;

function fill(slow: Slow, ask: ReturnType<typeof start>['ask']): Asked[] {
  return slow.flatMap(([network, addresses, each, mib]) =>
    Array.from({ length: addresses * each }, (_, n) =>
      ask(address(network, 1 + (n % addresses)), mib * MIB),
    ),
  );
}

const begins: [what: string, slow: Slow, begun: number][] = [
  ['a network has three quarters while nobody else waits', [[1, 4, 10, 1]], 36],
  [
    'and a little for the first of each of its addresses',
    [
      [1, 4, 9, 1],
      [1, 250, 1, 1],
    ],
    40,
  ],
  [
    'another one has the rest',
    [
      [1, 4, 10, 1],
      [2, 1, 20, 1],
    ],
    36 + 12,
  ],
  [
    'beyond that each network has its first',
    [
      [1, 4, 10, 1],
      [2, 1, 12, 1],
      [3, 2, 2, 1],
      [4, 2, 2, 1],
    ],
    48 + 2,
  ],
  [
    'up to a bound',
    [
      [1, 4, 10, 1],
      [2, 1, 12, 1],
      ...Array.from({ length: 10 }, (_, n): Slow[number] => [n + 3, 1, 1, 1]),
    ],
    48 + 8,
  ],
];
for (const [what, slow, count] of begins) {
  test(`long answers begin by network: ${what}`, () => {
    const { begun, ask } = start();
    fill(slow, ask);
    assert.equal(begun.length, count);
  });
}

test('a network has half while somebody of another waits', async () => {
  const { begun, ask } = start();
  const slow = fill([[1, 2, 18, 1]], ask);
  const other = fill([[2, 1, 20, 1]], ask);
  const more = fill([[1, 2, 10, 1]], ask);
  assert.equal(begun.length, 36 + 12, 'both wait for more');
  for (const one of slow.slice(0, 12)) one.taken();
  await nextTurn();
  const since = begun.slice(48);
  assert.deepEqual(
    names(other.slice(12)).filter((name) => !since.includes(name)),
    [],
  );
  // Only as nobody else waits any more.
  assert.equal(names(more).filter((name) => since.includes(name)).length, 4);
  assert.equal(since.length, 12);
});

/** All that may be on its way, the first of each network as well. */
const CROWDED: Slow = [
  [1, 2, 15, 1],
  [2, 1, 18, 1],
  ...Array.from({ length: 8 }, (_, n): Slow[number] => [n + 3, 1, 1, 1]),
];

const stalls: [
  what: string,
  slow: Slow,
  asker: string,
  after_ms: number,
  moved: number,
  gives: number,
][] = [
  ['for a network that has nothing', CROWDED, '203.0.113.1', 1_000, 0, 1],
  ['not before a second', CROWDED, '203.0.113.1', 999, 0, 0],
  ['not what is being taken', CROWDED, '203.0.113.1', 1_000, 30, 0],
  ['but what stands behind that', CROWDED, '203.0.113.1', 1_000, 29, 1],
  ['not for a network that has something', CROWDED, address(3, 9), 1_000, 0, 0],
];
for (const [what, slow, asker, after_ms, moved, gives] of stalls) {
  test(`what stands still on its way gives way, of the network that has most: ${what}`, async () => {
    const { answers, begun, lost, far, ask } = start();
    const all = fill(slow, ask);
    assert.equal(begun.length, all.length);
    for (const { name } of all.slice(0, moved)) far.set(name, 1);
    const waiting = ask(asker, MIB);
    assert.equal(begun.includes(waiting.name), false);
    answers.makeRoom(NOW + after_ms);
    await nextTurn();
    assert.deepEqual(lost, names(all.slice(moved, moved + gives)));
    assert.equal(begun.includes(waiting.name), gives > 0);
  });
}

test('slow readers behind one address are not cut for a network of which each address has less', async () => {
  const { answers, begun, lost, ask } = start();
  const crowd = fill([[1, 36, 1, 1]], ask);
  fill([[2, 1, 12, 1]], ask);
  const more = fill(
    [
      [2, 1, 2, 1],
      [1, 100, 1, 1],
    ],
    ask,
  );
  assert.equal(begun.length, 48);
  answers.makeRoom(LATER);
  await nextTurn();
  assert.ok(names(crowd).some((name) => lost.includes(name)));
  assert.deepEqual(
    lost.filter((name) => !name.startsWith('198.51.1.')),
    [],
  );
  assert.ok(names(more.slice(0, 2)).every((name) => begun.includes(name)));
});
