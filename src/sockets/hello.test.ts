import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HELLO_BYTES, Hello } from './hello.ts';

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
  const all = Uint8Array.from(bytes);
  test(`${bytes.length} bytes are ${whole ? 'enough' : 'waited on'}: ${why}`, () => {
    assert.equal(new Hello().add(all), whole);
    const bytewise = new Hello();
    const found = bytes.map((byte) => bytewise.add(Uint8Array.of(byte)));
    assert.equal(found.includes(true), whole, 'a byte at a time');
    assert.deepEqual(new Uint8Array(bytewise.bytes()), all);
  });
}

test('no first message is longer than any client’s, or in more pieces', () => {
  const hello = new Hello();
  assert.equal(hello.add(Uint8Array.of(22, 3, 1, 255, 255)), false);
  for (let n = 1; n < 64; n++) hello.add(Uint8Array.of(n));
  assert.equal(hello.isTooLong, false);
  hello.add(Uint8Array.of(0));
  assert.equal(hello.isTooLong, true);
  const long = new Hello();
  long.add(new Uint8Array(HELLO_BYTES).fill(22));
  assert.equal(long.isTooLong, false);
  long.add(Uint8Array.of(0));
  assert.equal(long.isTooLong, true);
});
