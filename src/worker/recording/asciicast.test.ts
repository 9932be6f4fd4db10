import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { outputOf, readCast } from '../../../test/support/asciicast.ts';
import type { ChannelFacts } from '../ssh/watching.ts';
import { Asciicast, castHeader } from './asciicast.ts';

const PTY = { term: 'xterm', columns: 100, rows: 30 };
const START = 1_790_000_000_123;

interface Part {
  bytes: string | Buffer;
  from?: 'stdout' | 'stderr' | 'stdin';
  at?: number;
}

function castOf(facts: ChannelFacts, parts: readonly Part[], keepsInput = false) {
  const cast = new Asciicast(facts, { began: 1_000, keepsInput });
  let text = castHeader(facts, START);
  let last = 1_000;
  for (const { bytes, from = 'stdout', at = last } of parts) {
    text += cast.take(Buffer.from(bytes), from, at);
    last = at;
  }
  return readCast(text + cast.finish({ status: 0 }, last));
}

test('a shell has the size of its terminal, and its output with the seconds since it began', () => {
  const { header, events } = castOf({ type: 'session', program: 'shell', pty: PTY }, [
    { bytes: '$ ', at: 1_000 },
    { bytes: 'ls\r\n', at: 2_500.5 },
  ]);
  assert.deepEqual(header, {
    version: 2,
    width: 100,
    height: 30,
    timestamp: 1_790_000_000,
    env: { TERM: 'xterm' },
  });
  assert.deepEqual(events.slice(0, 2), [
    [0, 'o', '$ '],
    [1.5005, 'o', 'ls\r\n'],
  ]);
});

test('bytes that are no text are replaced where there is a terminal', () => {
  const cast = castOf({ type: 'session', program: 'shell', pty: PTY }, [
    { bytes: Buffer.from([0x61, 0xff, 0x62]) },
  ]);
  assert.equal(outputOf(cast), 'a\ufffdb');
});

test('what is typed is kept where that is wanted, and counted in any case', () => {
  const parts: Part[] = [{ bytes: 'secret', from: 'stdin' }];
  const without = castOf({ type: 'session', program: 'shell', pty: PTY }, parts);
  assert.deepEqual(
    without.events.map(([, code]) => code),
    ['m'],
  );
  assert.match(without.events[0]?.[2] ?? '', /^exit status 0, 6 bytes from the client/);
  const kept = castOf({ type: 'session', program: 'shell', pty: PTY }, parts, true);
  assert.deepEqual(kept.events[0], [0, 'i', 'secret']);
});

test('a command without a terminal has its text as output, and what is none in base64', () => {
  const binary = Buffer.from([0, 1, 2, 0xff]);
  const cast = castOf({ type: 'session', program: 'exec', command: 'tar c .' }, [
    { bytes: 'text\n' },
    { bytes: binary },
    { bytes: 'more\n', from: 'stderr' },
  ]);
  assert.equal(cast.header.command, 'tar c .');
  assert.deepEqual(
    cast.events.slice(0, 3).map(([, code, data]) => [code, data]),
    [
      ['o', 'text\n'],
      ['b', `stdout:${binary.toString('base64')}`],
      ['o', 'more\n'],
    ],
  );
});

test('of a mebibyte that is no text the beginning is kept, and of all of it the hash', () => {
  const bytes = randomBytes(1 << 20).fill(0, (1 << 20) - 4);
  const rest = Buffer.alloc(70_000, 0xff);
  const cast = castOf({ type: 'session', program: 'exec', command: 'cat' }, [
    { bytes },
    { bytes: rest },
    { bytes: 'text again' },
  ]);
  assert.deepEqual(
    cast.events.map(([, code]) => code),
    ['b', 'o', 'm'],
  );
  const sha256 = createHash('sha256').update(bytes).update(rest).update('text again').digest('hex');
  assert.ok(cast.events[2]?.[2].includes(sha256));
});

for (const [facts, why] of [
  [{ type: 'session', program: 'subsystem', command: 'sftp' }, 'a subsystem'],
  [{ type: 'direct-tcpip', program: 'none' }, 'a forwarded port'],
] as const) {
  test(`what flows through ${why} is counted, with its hash, and not kept`, () => {
    const cast = castOf(facts, [{ bytes: 'abc' }, { bytes: 'd', from: 'stdin' }], true);
    assert.deepEqual(
      cast.events.map(([, code]) => code),
      ['m'],
    );
    const sha256 = createHash('sha256').update('abc').digest('hex');
    assert.ok(cast.events[0]?.[2].includes(`3 bytes to the client (sha256 ${sha256})`));
  });
}

test('a terminal without a size has a usual one, and it changes', () => {
  const facts = {
    type: 'session',
    program: 'shell',
    pty: { term: 'dumb', columns: 0, rows: 0 },
  } as const;
  const cast = new Asciicast(facts, { began: 0, keepsInput: false });
  const text = castHeader(facts, START) + cast.resize(0, 0, 1) + cast.resize(132, 43, 2);
  const { header, events } = readCast(text + cast.finish({ signal: 'TERM' }, 3));
  assert.deepEqual([header.width, header.height], [80, 24]);
  assert.deepEqual(events, [
    [0.001, 'r', '80x24'],
    [0.002, 'r', '132x43'],
    [0.003, 'm', 'signal TERM'],
  ]);
});

test('a character that is cut off at the end is told', () => {
  const cast = castOf({ type: 'session', program: 'shell', pty: PTY }, [
    { bytes: Buffer.from([0x61, 0xe2, 0x82]) },
  ]);
  assert.equal(outputOf(cast), 'a\ufffd');
});

test('one file has no time that goes back, whatever the clock does', () => {
  const facts = { type: 'session', program: 'shell', pty: PTY } as const;
  const cast = new Asciicast(facts, { began: 500, keepsInput: false });
  const text = castHeader(facts, START) + cast.take(Buffer.from('x'), 'stdout', 100);
  readCast(text + cast.finish({}, 600));
});

test('a command that is named as a subsystem would be is kept like every other', () => {
  const facts = { type: 'session', program: 'exec', command: 'subsystem:; sh' } as const;
  const { header, events } = castOf(facts, [{ bytes: 'shown' }]);
  assert.equal(header.command, 'subsystem:; sh');
  assert.deepEqual(events[0]?.slice(1), ['o', 'shown']);
});

test('a character that was begun at the end of what is typed is told, where that is kept', () => {
  const parts = [{ bytes: Buffer.from([0x61, 0xe2, 0x82]), from: 'stdin' as const }];
  const codes = (keepsInput: boolean) =>
    castOf({ type: 'session', program: 'shell', pty: PTY }, parts, keepsInput).events.map(
      ([, code, data]) => [code, code === 'm' || data],
    );
  assert.deepEqual(codes(true), [
    ['i', 'a'],
    ['i', '\ufffd'],
    ['m', true],
  ]);
  assert.deepEqual(codes(false), [['m', true]]);
});
