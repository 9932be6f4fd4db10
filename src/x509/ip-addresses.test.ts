import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatIpAddress, formatIpRange, parseIpAddress, parseIpRange } from './ip-addresses.ts';

const addresses: [text: string, normal: string | undefined][] = [
  ['192.0.2.1', '192.0.2.1'],
  ['0.0.0.0', '0.0.0.0'],
  ['256.0.0.1', undefined],
  ['192.0.2.01', undefined],
  ['192.0.2', undefined],
  ['192.0.2.1.1', undefined],
  ['192.0.2.1 ', undefined],
  ['::', '::'],
  ['::1', '::1'],
  ['1::', '1::'],
  ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
  ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
  ['1:2:3:4:5:6:7:8', '1:2:3:4:5:6:7:8'],
  ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
  ['1:2:3:4:5:6:7:8::', undefined],
  ['1:2:3:4:5:6:7', undefined],
  ['1::2::3', undefined],
  [':::', undefined],
  [':1:2:3:4:5:6:7', undefined],
  ['1:2:3:4:5:6:7:', undefined],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::192.0.2.1', '::c000:201'],
  ['::192.0.2.1:1', undefined],
  ['192.0.2.1::', undefined],
  ['fe80::1%eth0', undefined],
  ['12345::', undefined],
  ['g::', undefined],
  ['', undefined],
];
for (const [text, normal] of addresses) {
  test(`"${text}" is ${normal ?? 'no IP address'}`, () => {
    const bytes = parseIpAddress(text);
    assert.equal(bytes && formatIpAddress(bytes), normal);
  });
}

const ranges: [text: string, normal: string | undefined][] = [
  ['10.1.2.3/8', '10.0.0.0/8'],
  ['10.1.2.3/32', '10.1.2.3/32'],
  ['0.0.0.0/0', '0.0.0.0/0'],
  ['10.1.255.3/20', '10.1.240.0/20'],
  ['10.0.0.0/33', undefined],
  ['10.0.0.0', undefined],
  ['10.0.0.0/', undefined],
  ['10.0.0.0/08', undefined],
  ['2001:db8:ffff::/33', '2001:db8:8000::/33'],
  ['::/128', '::/128'],
  ['::/129', undefined],
  ['::ffff:10.0.0.0/104', '::ffff:10.0.0.0/104'],
];
for (const [text, normal] of ranges) {
  test(`"${text}" is ${normal ?? 'no IP range'}`, () => {
    const bytes = parseIpRange(text);
    assert.equal(bytes && formatIpRange(bytes), normal);
  });
}

const masks: [mask: number[], prefix: string | undefined][] = [
  [[255, 255, 0, 0], '10.0.0.0/16'],
  [[255, 0, 255, 0], undefined],
  [[254, 255, 0, 0], undefined],
  [[253, 0, 0, 0], undefined],
  [[254, 1, 0, 0], undefined],
  [[0, 0, 0, 0], '10.0.0.0/0'],
  [[0, 128, 0, 0], undefined],
  [[255, 255, 255, 255], '10.0.0.0/32'],
  [[255, 255, 255, 254], '10.0.0.0/31'],
  [[255, 255, 255, 253], undefined],
  [[255, 128, 0, 0], '10.0.0.0/9'],
  [[255, 128, 0, 1], undefined],
  [[128, 0, 0, 0], '10.0.0.0/1'],
];
for (const [mask, prefix] of masks) {
  test(`the mask ${mask.join('.')} is ${prefix === undefined ? 'no prefix' : 'a prefix'}`, () => {
    assert.equal(formatIpRange(Uint8Array.from([10, 0, 0, 0, ...mask])), prefix);
  });
}

test('an address has 4 or 16 bytes, a range twice that', () => {
  assert.equal(formatIpAddress(new Uint8Array(5)), undefined);
  assert.equal(formatIpRange(new Uint8Array(4)), undefined);
});
