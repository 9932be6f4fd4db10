import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { batchSending, type Outgoing, send } from './sending.ts';

/** An answer to somebody at an address. */
const answerTo = (asker: string): Outgoing => ({
  request: {} as IncomingMessage,
  response: {} as ServerResponse,
  dressed: { status: 204, headers: {} } as Outgoing['dressed'],
  asker,
});

const crowd = (count: number): Outgoing[] =>
  Array.from({ length: count }, (_, at) => answerTo(`2001:db8:7:${at % 250}::1`));

/** As if an answer took a millisecond to send. */
function spin(): void {
  const until = performance.now() + 1;
  while (performance.now() < until);
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
  const turns = await sendAll([...crowd(200), answerTo('198.51.100.1')], spin);
  const own = turns.findIndex((turn) => turn.includes('198.51.100.1'));
  assert.equal(own, 1, 'it was sent in the turn after the first');
  assert.ok(turns.length > 5, 'the crowd had to wait');
  assert.equal(turns.flat().length, 201);
});

test('what comes while others wait is sent by sites as well', async () => {
  const sent: string[] = [];
  const send = batchSending(({ asker = '' }) => {
    sent.push(asker);
    spin();
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
  let turn = 0;
  const made: { turn: number; asker: string }[] = [];
  const bodyFor = (asker: string) => ({
    length: 20 * (16 << 10),
    *pieces() {
      for (let at = 0; at < 20; at++) {
        made.push({ turn, asker });
        spin();
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
  await Promise.race(crowd.slice(0, 1).concat([new Promise((go) => setTimeout(go, 50))]));
  await read('198.51.100.1');
  const own = made.flatMap(({ asker }, at) => (asker === '198.51.100.1' ? [at] : []));
  assert.equal(own.length, 20);
  const behind = (own.at(-1) ?? 0) - (own[0] ?? 0);
  assert.ok(behind < 20 * 8, `${behind} pieces of others beside its twenty`);
  await Promise.all(crowd);
  const counts = new Map<number, number>();
  for (const one of made) counts.set(one.turn, (counts.get(one.turn) ?? 0) + 1);
  assert.equal(made.length, 20 * (CROWD + 1));
  assert.ok(Math.max(...counts.values()) <= 16, `${Math.max(...counts.values())} in a turn`);
});
