import assert from 'node:assert/strict';
import { closeSync, openSync, writeSync } from 'node:fs';
import { test } from 'node:test';
import { pino } from 'pino';
import { LogLines } from './log-lines.ts';

/** Takes what `room` says a call takes; an error's code is thrown. */
function newOutput(room: (number | string)[]) {
  let text = '';
  let calls = 0;
  const lines = new LogLines((bytes) => {
    calls += 1;
    const next = room.shift() ?? bytes.length;
    if (typeof next === 'string') throw Object.assign(new Error(next), { code: next });
    text += Buffer.from(bytes.subarray(0, next)).toString();
    return Math.min(next, bytes.length);
  });
  return { lines, text: () => text, calls: () => calls };
}

const told = (count: number): string => `${count} lines of this log could not be written`;

const ROWS: [what: string, room: (number | string)[], calls: number, text: RegExp][] = [
  ['lines are written', [], 2, /^one\ntwo\n$/],
  ['a line is written in parts', [1, 2], 4, /^one\ntwo\n$/],
  ['a slow reader has room again', ['EAGAIN', 'EAGAIN'], 4, /^one\ntwo\n$/],
  [
    'one who does not read',
    ['EAGAIN', 'EAGAIN', 'EAGAIN'],
    4,
    new RegExp(`^.*${told(1)}.*\ntwo\n$`),
  ],
  ['a full disk', ['ENOSPC'], 2, new RegExp(`^.*${told(1)}.*\ntwo\n$`)],
  ['a disk that fills within a line', [2, 'ENOSPC'], 3, new RegExp(`^on\n.*${told(1)}.*\ntwo\n$`)],
  ['a disk that stays full', ['ENOSPC', 'ENOSPC'], 2, /^$/],
];
for (const [what, room, calls, text] of ROWS) {
  test(`nothing holds the log up: ${what}`, () => {
    const output = newOutput(room);
    output.lines.write('one\n');
    output.lines.write('two\n');
    assert.match(output.text(), text);
    assert.equal(output.calls(), calls);
  });
}

test('how many lines were dropped is told once', () => {
  const output = newOutput(['ENOSPC', 1, 'EFBIG', 'EIO']);
  for (const line of ['one\n', 'two\n', 'three\n', 'four\n', 'five\n']) output.lines.write(line);
  assert.match(output.text(), new RegExp(`^\\{\n.*${told(3)}.*\nfour\nfive\n$`));
});

test('a logger goes on whose disk is full', () => {
  const fd = openSync('/dev/full', 'w');
  const log = pino({ level: 'warn' }, new LogLines((bytes) => writeSync(fd, bytes)));
  for (let at = 0; at < 100; at += 1) log.warn({ at }, 'nothing of this is written');
  closeSync(fd);
});
