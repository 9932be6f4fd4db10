import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { type Candidate, canGiveWay, GivingWay } from './giving-way.ts';
import type { Asked } from './requests-in-order.ts';

/** What a client is at. */
interface State {
  /** Whether each request has come whole; absent: nothing is asked. */
  asked?: boolean[];
  /** What of the first is answered. */
  answer?: 'begun' | 'left';
  /** Bytes of the answer that the client has not taken, at each look. */
  untaken?: number[];
}

function candidate({ asked = [], answer }: State): Candidate & { socket: { untaken: number } } {
  const socket = Object.assign(new Socket(), { untaken: 0 });
  Object.defineProperty(socket, 'writableLength', { get: () => socket.untaken });
  Object.defineProperty(socket, 'bytesWritten', { get: () => 1_000_000 });
  const all = asked.map((complete): Asked => {
    const request = Object.assign(new IncomingMessage(socket), { complete });
    return { request, response: new ServerResponse(request), since: 0 };
  });
  const first = all[0]?.response;
  if (first && answer) first.writeHead(200);
  if (first && answer === 'left') Object.defineProperty(first, 'writableFinished', { value: true });
  return { socket, asked: all, taking: { at: undefined, since: 0 }, came: 0, site: ALONE };
}

const ALONE = { size: 1, network: { size: 1 } };
const SECONDS = 1_000;
/** Looks are taken at the beginning, after six seconds, and after twelve. */
const LOOKS = [0, 6 * SECONDS, 12 * SECONDS];

const STATES: [what: string, state: State, gives: boolean[]][] = [
  ['asks nothing', {}, [true, true, true]],
  ['has taken its answer', { asked: [true], answer: 'left' }, [true, true, true]],
  ['has said half of what it asks', { asked: [false] }, [true, true, true]],
  [
    'has taken its answer, and said half of the next',
    { asked: [true, false], answer: 'left' },
    [true, true, true],
  ],
  ['is worked for', { asked: [true] }, [false, false, false]],
  ['is worked for, and asks more', { asked: [true, true, false] }, [false, false, false]],
  [
    'has taken its answer, and is worked for',
    { asked: [true, true], answer: 'left' },
    [false, false, false],
  ],
  [
    'takes nothing of its answer',
    { asked: [true], answer: 'begun', untaken: [9, 9, 9] },
    [false, false, true],
  ],
  [
    'takes nothing of its answer, and asks more',
    { asked: [true, true, true], answer: 'begun', untaken: [9, 9, 9] },
    [false, false, true],
  ],
  [
    'takes its answer slowly',
    { asked: [true], answer: 'begun', untaken: [9, 8, 7] },
    [false, false, false],
  ],
  [
    'takes of its answer only at first',
    { asked: [true], answer: 'begun', untaken: [9, 8, 8] },
    [false, false, false],
  ],
  [
    'has taken what there is of its answer, and more is being made',
    { asked: [true], answer: 'begun', untaken: [0, 0, 0] },
    [false, false, false],
  ],
];
for (const [what, state, gives] of STATES) {
  test(`a connection that ${what} gives way: ${gives.join(', ')}`, () => {
    const connection = candidate(state);
    const found = LOOKS.map((now, look) => {
      connection.socket.untaken = state.untaken?.[look] ?? 0;
      return canGiveWay(connection, now);
    });
    assert.deepEqual(found, gives);
    connection.socket.destroy();
  });
}

test('of many connections that are in use few are looked at for each of a crowd of newcomers', (t) => {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  let looks = 0;
  const givingWay = new GivingWay(
    () => false,
    () => {
      looks += 1;
    },
  );
  const used = candidate({ asked: [true] });
  const all = [...new Array<typeof used>(12_000).fill(used), candidate({})];
  const look = (): [isFound: boolean, looks: number] => {
    looks = 0;
    return [givingWay.findUnused(all, { site: 0, network: 0 }) !== undefined, looks];
  };
  assert.deepEqual(look(), [true, 12_000]);
  assert.deepEqual(look(), [false, 4_383], 'what is left');
  assert.deepEqual(look(), [false, 64]);
  now += 200;
  assert.deepEqual(look(), [true, 12_000]);
  used.socket.destroy();
});

/** What the site and network of somebody idle have, and those of the newcomer. */
const FRESH: [what: string, idle: [number, number], newcomer: [number, number], spared: boolean][] =
  [
    ['a newcomer whose network has more', [1, 1], [4, 128], true],
    ['a newcomer of the same network whose site has more', [1, 128], [4, 128], true],
    ['a newcomer whose network has fewer', [1, 128], [0, 0], false],
    ['a newcomer whose site has more, and the network fewer', [1, 128], [4, 8], false],
    ['a newcomer of the same network whose site has fewer', [4, 128], [1, 128], false],
    ['a newcomer that has as many', [4, 4], [4, 4], false],
  ];
for (const [what, [size, all], [site, network], spared] of FRESH) {
  test(`who has just come ${spared ? 'keeps the place before' : 'gives way to'} ${what}, and gives way when time has passed`, (t) => {
    let now = 0;
    t.mock.method(performance, 'now', () => now);
    const givingWay = new GivingWay(
      () => false,
      () => {},
    );
    const idle = { ...candidate({}), site: { size, network: { size: all } } };
    const find = () => givingWay.findUnused([idle], { site, network });
    assert.equal(find(), spared ? undefined : idle);
    now = 3_000;
    assert.equal(find(), idle);
    idle.socket.destroy();
  });
}
