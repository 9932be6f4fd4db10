import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWholeHello } from './hello.ts';

const record = (...content: number[]): number[] => [
  ...[22, 3, 1, content.length >> 8, content.length & 0xff],
  ...content,
];
const hello = [1, 0, 0, 3, 7, 7, 7];

const cases: [bytes: number[], whole: boolean, why: string][] = [
  [[], false, 'nothing has come'],
  [record(...hello), true, 'a message in one record'],
  [record(...hello).slice(0, -1), false, 'a byte is missing'],
  [record(...hello).slice(0, 5), false, 'only the head of the record'],
  [record(...hello).slice(0, 3), false, 'not even that'],
  [[...record(1, 0), ...record(0, 3, 7), ...record(7, 7)], true, 'a message in three records'],
  [[...record(1, 0), ...record(0, 3, 7), ...record(7)], false, 'of which the last is short'],
  [[...record(1, 0), ...record(0, 3, 7), ...record(7, 7).slice(0, -1)], false, 'or cut off'],
  [[...record(), ...record(...hello)], true, 'an empty record says nothing'],
  [record(...hello, 1, 0), true, 'more than a message'],
  [record(...hello, 1, 0).slice(0, -1), false, 'which is read as a record only'],
  [[...Buffer.from('GET / HTTP/1.1')], true, 'what is no record is not waited for'],
  [record(2, 0, 0, 9), true, 'nor is another message'],
  [[...record(1, 0), 21, 3, 1, 0, 2], true, 'nor a message that another one interrupts'],
];
for (const [bytes, whole, why] of cases) {
  test(`${bytes.length} bytes are ${whole ? 'enough' : 'waited on'}: ${why}`, () =>
    assert.equal(isWholeHello(Uint8Array.from(bytes)), whole));
}
