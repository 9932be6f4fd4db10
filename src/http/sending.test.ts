import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mock, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { until } from '../../test/support/raw-talk.ts';
import { batchSending, type Outgoing, send } from './sending.ts';

/** An answer to somebody at an address. */
const answerTo = (asker: string): Outgoing => ({
  request: {} as IncomingMessage,
  response: {} as ServerResponse,
  encoded: { status: 204, headers: {} } as Outgoing['encoded'],
  asker,
});

const crowd = (count: number): Outgoing[] =>
  Array.from({ length: count }, (_, at) => answerTo(`2001:db8:7:${at % 250}::1`));

let now = 1_000_000;
mock.method(performance, 'now', () => now);

/** As if something took a millisecond: of a turn of the event loop there are five. */
function spend(): void {
  now += 1;
}

async function sendAll(answers: readonly Outgoing[], sendOne: () => void): Promise<string[][]> {
  const turns: string[][] = [];
  let turn: string[] = [];
  const send = batchSending(({ asker = '' }) => {
    turn.push(asker);
    sendOne();
  });
  for (const answer of answers) send(answer);
  for (let sent = 0; sent < answers.length; sent += turn.length) {
    turn = [];
    await nextTurn();
    turns.push(turn);
    assert.ok(turns.length <= answers.length, 'some are never sent');
  }
  return turns;
}

test('answers of one turn leave at its end, in the order of their coming', async () => {
  const answers = [...crowd(40), answerTo('198.51.100.1')];
  const turns = await sendAll(answers, () => {});
  assert.deepEqual(
    turns[0],
    answers.map(({ asker }) => asker),
  );
});

test('where there is no time for all, a site does not wait for what another has left over', async () => {
  const turns = await sendAll([...crowd(200), answerTo('198.51.100.1')], spend);
  const own = turns.findIndex((turn) => turn.includes('198.51.100.1'));
  assert.equal(own, 1, 'it was sent in the turn after the first');
  assert.ok(turns.length > 5, 'the crowd had to wait');
  assert.equal(turns.flat().length, 201);
});

test('what comes while others wait is sent by sites as well', async () => {
  const sent: string[] = [];
  const send = batchSending(({ asker = '' }) => {
    sent.push(asker);
    spend();
  });
  for (const answer of crowd(200)) send(answer);
  await nextTurn();
  for (const answer of crowd(100)) send(answer);
  send(answerTo('198.51.100.1'));
  const before = sent.length;
  await nextTurn();
  assert.ok(sent.slice(before).includes('198.51.100.1'));
});

test('what sending itself has come is sent in a turn of its own', async () => {
  const sent: string[] = [];
  const send = batchSending(({ asker = '' }) => {
    sent.push(asker);
    if (asker === '192.0.2.1') send(answerTo('192.0.2.2'));
  });
  send(answerTo('192.0.2.1'));
  await nextTurn();
  await nextTurn();
  assert.deepEqual(sent, ['192.0.2.1', '192.0.2.2']);
});

test('of many long answers few pieces are made in a turn, and another’s are not behind them', async (t) => {
  const CROWD = 100;
  const OWN = '198.51.100.1';
  const PIECES = 20;
  let turn = 0;
  let isRead = false;
  const made: { turn: number; asker: string }[] = [];
  const bodyFor = (asker: string) => ({
    length: undefined,
    async *pieces() {
      // Those of the crowd come to no end before.
      for (let at = 0; asker === OWN ? at < PIECES : !isRead; at++) {
        made.push({ turn, asker });
        spend();
        yield Buffer.alloc(16 << 10);
      }
    },
  });
  const server = createServer((request, response) => {
    const asker = `${request.headers['x-asker']}`;
    send(request, response, { status: 200, headers: {}, body: bodyFor(asker) }, asker);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  let isOver = false;
  const count = (): void => {
    turn += 1;
    if (!isOver) setImmediate(count);
  };
  count();
  t.after(() => {
    isOver = true;
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const read = async (asker: string): Promise<void> => {
    const [answer] = await once(
      get({ port, host: '127.0.0.1', agent: false, headers: { 'x-asker': asker } }),
      'response',
    );
    answer.resume();
    await once(answer, 'end');
  };
  const crowd = Array.from({ length: CROWD }, (_, n) => read(`192.0.2.${n}`));
  await until(() => new Set(made.map(({ asker }) => asker)).size === CROWD);
  await read(OWN);
  isRead = true;
  await Promise.all(crowd);
  const own = made.flatMap(({ asker }, at) => (asker === OWN ? [at] : []));
  assert.equal(own.length, PIECES);
  const beside = made.slice(own[0], own.at(-1));
  assert.ok(beside.length <= 3 * PIECES, `${beside.length} while its twenty were made`);
  const counts = new Map<number, number>();
  for (const one of beside) counts.set(one.turn, (counts.get(one.turn) ?? 0) + 1);
  assert.ok(Math.max(...counts.values()) <= 6, [...counts.values()].join());
});
