// What a worker may say to its server takes no longer than its length is worth: the longest of each kind, made of what is
// most work, and what is no message of its kind.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MESSAGE_BYTES, MOST_ENDS, requests } from '../../src/worker/link/messages.ts';
import { parseMessage } from '../../src/worker/link/reading.ts';
import { MOST_CARRIED } from '../../src/worker/upstream.ts';
import { cpuUntil } from '../support/cpu-time.ts';
import { holdBounds } from '../support/machine.ts';

/** As the server's end of a link reads it. @returns whether it is taken */
function hear(text: string): boolean {
  const message = parseMessage(text);
  if (message?.type !== 'call') return message !== undefined;
  return requests[message.name].safeParse(message.request).success;
}

const list = (count: number, of: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => of(at)).join();
const hello = (tags: string): string =>
  `{"type":"hello","name":"","description":"","address":"","release_version":"","tags":${tags}}`;
const report = (open: string): string =>
  `{"type":"report","report_id":1,"state":"active","open":[${open}]}`;
const call = (name: string, request: string): string =>
  `{"type":"call","id":1,"name":"${name}","request":${request}}`;
const piece = (bytes: string): string =>
  call('record', `{"step":"write","id":"x","at":1,"bytes":"${bytes}","bytes_up":0,"bytes_down":0}`);
const member = (at: number): string => `"k${at}":1`;
const whole = (at: number): string =>
  `{"connection_id":"${`${at}`.padEnd(64, 'x')}","bytes_up":${Number.MAX_SAFE_INTEGER},"bytes_down":${Number.MAX_SAFE_INTEGER}}`;
const control = '\\u0001';
const end = `{"connection_id":"x","bytes_up":1,"bytes_down":1,"reason":"unknown","because":"${control.repeat(512)}"}`;

const CASES: [what: string, most: number, text: string, taken: boolean][] = [
  ['many tags', 20, hello(`{${list(300_000, (at) => `"k${at}":[]`)}}`), false],
  ['as many tags as are counted', 20, hello(`{${list(1_000, (at) => `"k${at}":[]`)}}`), true],
  ['unknown fields', 20, `{"type":"hello",${list(340_000, member)}}`, false],
  ['unknown fields of a report', 150, `{"type":"report",${list(60_000, member)}}`, false],
  ['unknown fields of a call', 20, call('lookUp', `{${list(300_000, member)}}`), false],
  ['unknown fields of a step', 20, call('record', `{${list(340_000, member)}}`), false],
  ['as many connections as there may be', 150, report(list(MOST_CARRIED, whole)), true],
  ['more connections', 20, report(list(MOST_CARRIED + 10, whole)), false],
  ['connections that are none', 100, report(list(MOST_CARRIED, () => '{}')), false],
  [
    'connections of unknown fields',
    150,
    report(list(MOST_CARRIED, (at) => `{"a${at}":1,"b${at}":1,"c${at}":1}`)),
    false,
  ],
  ['values for connections', 20, report(list(1_300_000, () => '1')), false],
  ['ends', 100, call('close', `{"ends":[${list(MOST_ENDS, () => end)}]}`), true],
  ['more ends', 100, call('close', `{"ends":[${list(MOST_ENDS + 10, () => end)}]}`), false],
  ['brackets', 20, report('['.repeat(4_000_000)), false],
  ['brackets of a step', 20, call('record', '['.repeat(4_000_000)), false],
  ['the longest piece', 50, piece('A'.repeat(2 << 20)), true],
  ['a longer piece', 50, piece(`${'A'.repeat(MESSAGE_BYTES - 1_000)}!`), false],
  [
    'the longest command',
    100,
    call(
      'record',
      `{"step":"open","id":"x","channel":{"type":"","program":"exec","command":"${control.repeat(256 << 10)}","has_pty":false},"bytes":"${'A'.repeat(2 << 20)}"}`,
    ),
    true,
  ],
  ['a long text of no kind', 20, `{"type":"${'x'.repeat(4_000_000)}"}`, false],
  ['blanks', 20, ' '.repeat(MESSAGE_BYTES), false],
];
for (const [what, most, text, taken] of CASES) {
  test(`a worker's message of ${what} takes no longer than it is worth`, async () => {
    assert.ok(text.length <= MESSAGE_BYTES);
    assert.equal(hear(text), taken);
    await holdBounds({ [what]: most }, async () => ({
      [what]: await cpuUntil(async () => hear(text)),
    }));
  });
}
