import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { encodeBoolean, encodeString, encodeUint32 } from '../../ssh/wire.ts';
import { MOST_CHANNELS, OPENINGS, WatchedChannels } from './channels.ts';
import { Allowance } from './transport/allowance.ts';
import { MESSAGE } from './transport/messages.ts';
import type { ChannelFacts, SessionWatcher } from './watching.ts';

function makeWatcher(): { watcher: SessionWatcher; opened: ChannelFacts[]; exits: unknown[] } {
  const opened: ChannelFacts[] = [];
  const exits: unknown[] = [];
  const watcher: SessionWatcher = {
    async openChannel(facts) {
      opened.push(facts);
      return {
        async output() {},
        async input() {},
        async resize() {},
        async close(exit) {
          exits.push(exit);
        },
      };
    },
    async close() {},
  };
  return { watcher, opened, exits };
}

const message = (number: number, ...fields: Buffer[]): Buffer =>
  Buffer.concat([Buffer.of(number), ...fields]);
const open = (number: number, type = 'session'): Buffer =>
  message(
    MESSAGE.CHANNEL_OPEN,
    encodeString(type),
    ...[number, 1, 1].map((value) => encodeUint32(value)),
  );
const refuse = (number: number): Buffer =>
  message(
    MESSAGE.CHANNEL_OPEN_FAILURE,
    ...[encodeUint32(number), encodeUint32(4), encodeString(''), encodeString('')],
  );
const confirm = (theirs: number, own: number): Buffer =>
  message(
    MESSAGE.CHANNEL_OPEN_CONFIRMATION,
    ...[theirs, own, 1, 1].map((value) => encodeUint32(value)),
  );
const request = (number: number, type: string, ...fields: Buffer[]): Buffer =>
  message(
    MESSAGE.CHANNEL_REQUEST,
    ...[encodeUint32(number), encodeString(type), encodeBoolean(false), ...fields],
  );

/** A clock that stands still, and more than anybody needs. */
const plenty = (): Allowance => new Allowance({ most: 1e6, per_second: 1 }, () => 0);

for (const [from, other] of [
  ['client', 'endpoint'],
  ['endpoint', 'client'],
] as const) {
  test(`the ${from} has ${MOST_CHANNELS} channels open at once, and not one more`, async () => {
    const channels = new WatchedChannels(makeWatcher().watcher, plenty());
    for (let number = 0; number < MOST_CHANNELS; number++) await channels.see(open(number), from);
    await channels.see(refuse(5), other);
    await channels.see(open(MOST_CHANNELS), from);
    await assert.rejects(channels.see(open(5), from), /too many channels are open/);
  });
}

test('whoever opens channels one after the other waits for more, and has them then', async () => {
  let now = 0;
  const openings = new Allowance(OPENINGS, () => now);
  const channels = new WatchedChannels(makeWatcher().watcher, openings);
  for (let nth = 0; nth < OPENINGS.most; nth++) {
    await channels.see(open(nth), 'client');
    await channels.see(refuse(nth), 'endpoint');
  }
  let isOpen = false;
  const last = channels.see(open(0), 'client').then(() => {
    isOpen = true;
  });
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  assert.equal(isOpen, false);
  // What is of others goes on meanwhile.
  await channels.see(message(MESSAGE.GLOBAL_REQUEST, encodeString('keepalive')), 'endpoint');
  now += 1_000 / OPENINGS.per_second;
  await last;
});

test('a type of 256 characters is one, a longer one is none', async () => {
  const channels = new WatchedChannels(makeWatcher().watcher, plenty());
  await channels.see(open(0, 'x'.repeat(256)), 'client');
  await assert.rejects(
    channels.see(open(1, 'x'.repeat(257)), 'client'),
    /no type that is possible/,
  );
});

test('of a terminal and of a signal no more is kept than a name', async () => {
  const { watcher, opened, exits } = makeWatcher();
  const channels = new WatchedChannels(watcher, plenty());
  const long = encodeString('t'.repeat(200_000));
  const size = [80, 24].map((value) => encodeUint32(value));
  await channels.see(open(3), 'client');
  await channels.see(confirm(3, 8), 'endpoint');
  await channels.see(request(8, 'pty-req', long, ...size), 'client');
  await channels.see(request(8, 'shell'), 'client');
  await channels.see(request(3, 'exit-signal', long), 'endpoint');
  await channels.close();
  const name = 't'.repeat(256);
  assert.deepEqual(opened, [
    { type: 'session', program: 'shell', pty: { term: name, columns: 80, rows: 24 } },
  ]);
  assert.deepEqual(exits, [{ signal: name }]);
});
