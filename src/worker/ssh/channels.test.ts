import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { heapUsed } from '../../../test/support/heap.ts';
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

const ended = (number: number): Buffer => message(MESSAGE.CHANNEL_CLOSE, encodeUint32(number));
const nothing = async (): Promise<void> => {};

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

test('what a channel keeps of long names takes no more room than that', async () => {
  const channels = new WatchedChannels(makeWatcher().watcher, plenty());
  const size = [80, 24].map((value) => encodeUint32(value));
  const before = heapUsed();
  for (let number = 0; number < 200; number++) {
    const long = encodeString(`${number}`.padEnd(200_000, 't'));
    await channels.see(open(number), 'client');
    await channels.see(confirm(number, number), 'endpoint');
    await channels.see(request(number, 'pty-req', long, ...size), 'client');
    await channels.see(request(number, 'exit-signal', long), 'endpoint');
  }
  const grown = heapUsed() - before;
  assert.ok(grown < 4 << 20, `${grown} bytes`);
  await channels.close();
});

for (const [what, last, before, message] of [
  ['is being begun', 'open', [], request(8, 'shell')],
  ['is being closed', 'close', [request(8, 'shell')], ended(8)],
] as const) {
  test(`at the end a channel that ${what} is closed before that is over`, async () => {
    const steps: string[] = [];
    const { promise: held, resolve: go } = Promise.withResolvers<void>();
    const step = async (name: string): Promise<void> => {
      if (name === last) await held;
      steps.push(name);
    };
    const channel = { output: nothing, input: nothing, resize: nothing };
    const watcher: SessionWatcher = {
      async openChannel() {
        await step('open');
        return { ...channel, close: () => step('close') };
      },
      async close() {},
    };
    const channels = new WatchedChannels(watcher, plenty());
    await channels.see(open(3), 'client');
    await channels.see(confirm(3, 8), 'endpoint');
    await channels.see(ended(3), 'endpoint');
    for (const one of before) await channels.see(one, 'client');
    const seen = channels.see(message, 'client');
    let isOver = false;
    const closing = channels.close().then(() => {
      isOver = true;
    });
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    assert.equal(isOver, false);
    go();
    await Promise.all([seen, closing]);
    assert.deepEqual(steps, ['open', 'close']);
  });
}

test('what could not be seen at the end is told as what cannot be closed', async () => {
  const { promise: held, reject } = Promise.withResolvers<never>();
  const watcher: SessionWatcher = { openChannel: () => held, async close() {} };
  const channels = new WatchedChannels(watcher, plenty());
  await channels.see(open(3), 'client');
  await channels.see(confirm(3, 8), 'endpoint');
  const seen = channels.see(request(8, 'shell'), 'client');
  const closing = channels.close();
  reject(new Error('no room'));
  await assert.rejects(seen, /no room/);
  await assert.rejects(closing, /no room/);
});

test('what comes after the end is seen by nobody, so it is refused', async () => {
  const { watcher, opened } = makeWatcher();
  const channels = new WatchedChannels(watcher, plenty());
  await channels.see(open(3), 'client');
  await channels.see(confirm(3, 8), 'endpoint');
  await channels.close();
  await assert.rejects(channels.see(open(4), 'client'), /has ended/);
  assert.deepEqual(opened, []);
});
