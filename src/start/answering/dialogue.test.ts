import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import { invalid } from '../../core/failure.ts';
import { Dialogue } from './dialogue.ts';
import type { Asked, Said } from './messages.ts';

const named = (name: string, argument: unknown = name): Asked => ({ type: 'do', name, argument });

/** Two sides, and what the second one got, message by message. */
function open(
  answer: (asked: Asked) => unknown = (asked) => asked.type === 'do' && asked.argument,
) {
  const { port1, port2 } = new MessageChannel();
  const messages: number[] = [];
  const order: string[] = [];
  port2.on('message', (sent: unknown[]) => messages.push(sent.length));
  const hear = (said: Said) => order.push(said.type);
  const one = new Dialogue(port1, { answer: () => {}, hear });
  const other = new Dialogue(port2, {
    answer(asked) {
      if (asked.type === 'do') order.push(asked.name);
      return answer(asked);
    },
    hear,
  });
  return { one, other, messages, order, close: () => port1.close() };
}

test('what is asked in one turn goes together, and each is answered', async () => {
  const { one, messages, close } = open();
  assert.deepEqual(await Promise.all([one.ask(named('a')), one.ask(named('b'))]), ['a', 'b']);
  assert.equal(await one.ask(named('c')), 'c');
  assert.deepEqual(messages, [2, 1]);
  close();
});

test('nothing overtakes what was asked before it', async () => {
  const { one, order, close } = open();
  const first = one.ask(named('a'));
  one.say({ type: 'tell', name: 'x', told: 1 });
  const moved = new ArrayBuffer(8);
  const asked = [first, one.ask(named('b', moved), [moved]), one.ask(named('c'))];
  assert.equal(moved.byteLength, 0);
  await Promise.all(asked);
  assert.deepEqual(order, ['a', 'tell', 'b', 'c']);
  close();
});

test('one that cannot be sent, or is refused, takes no other with it', async () => {
  const { one, close } = open((asked) => {
    if (asked.type !== 'do') return undefined;
    if (asked.name === 'refused') throw invalid('not so');
    return asked.name === 'unsent' ? () => {} : asked.argument;
  });
  const asked = ['a', 'unsent', 'refused', 'b'].map((name) => one.ask(named(name)));
  const unsendable = one.ask(named('c', () => {}));
  const outcomes = await Promise.allSettled([...asked, unsendable]);
  const told = outcomes.map((one) => (one.status === 'fulfilled' ? one.value : String(one.reason)));
  assert.deepEqual([told[0], told[3]], ['a', 'b']);
  assert.match(String(told[1]), /could not be cloned/);
  assert.match(String(told[2]), /not so/);
  assert.match(String(told[4]), /could not be cloned/);
  close();
});

test('what waits for the end of a turn is sent before the port is closed', async () => {
  const { one, order, close } = open();
  one.ask(named('a')).catch(() => {});
  one.flush();
  close();
  await turn();
  await turn();
  assert.deepEqual(order, ['a']);
});
