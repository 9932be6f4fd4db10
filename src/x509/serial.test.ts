import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  canonicaliseSerial,
  decodeSerial,
  formatSerial,
  MAX_SERIAL_BYTES,
  parseSerial,
} from './serial.ts';

const texts: [text: string, serial: string | undefined, why: string][] = [
  ['17:ab:09', '17:ab:09', 'colons'],
  ['17-AB-09', '17:ab:09', 'hyphens and capitals'],
  ['17ab09', '17:ab:09', 'nothing between'],
  ['7ab09', '07:ab:09', 'an odd number of digits'],
  ['00:17', '17', 'a padding byte'],
  ['00', '00', 'zero'],
  ['00:00', '00', 'zero, padded'],
  ['17:AB', '17:ab', 'colons and capitals'],
  ['17:ab\n', undefined, 'a line end after pairs'],
  [
    Array(MAX_SERIAL_BYTES).fill('ff').join(':'),
    Array(MAX_SERIAL_BYTES).fill('ff').join(':'),
    'the longest, in pairs',
  ],
  [
    Array(MAX_SERIAL_BYTES + 1)
      .fill('ff')
      .join(':'),
    undefined,
    'one pair more',
  ],
  ['17:ab-09', undefined, 'mixed separators'],
  ['17:a', undefined, 'half a pair'],
  ['17::ab', undefined, 'an empty pair'],
  [':17', undefined, 'a separator in front'],
  ['', undefined, 'nothing'],
  ['17:xy', undefined, 'letters beyond f'],
  [' 17', undefined, 'a blank'],
  ['17\n', undefined, 'a line end'],
  ['ff'.repeat(MAX_SERIAL_BYTES), Array(MAX_SERIAL_BYTES).fill('ff').join(':'), 'the longest'],
  ['ff'.repeat(MAX_SERIAL_BYTES + 1), undefined, 'one byte more'],
];
for (const [text, serial, why] of texts) {
  test(`a serial number with ${why} is ${serial === undefined ? 'refused' : 'read'}`, () => {
    const bytes = parseSerial(text);
    assert.equal(bytes && formatSerial(bytes), serial);
  });
}

for (const [text, serial, why] of texts) {
  test(`the one text of a serial number with ${why} is ${serial}`, () => {
    assert.equal(canonicaliseSerial(text), serial);
  });
}

const room = new Uint8Array(MAX_SERIAL_BYTES);
for (const [text, serial, why] of texts) {
  test(`the quick reader of our own form meets ${why}`, () => {
    const bytes = decodeSerial(text, room);
    const isOwn = /^[0-9a-f]{2}(:[0-9a-f]{2})*$/.test(text);
    assert.equal(bytes && formatSerial(bytes), isOwn ? serial : undefined);
  });
}
