import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AddressBlock, AddressBlocks } from './address-blocks.ts';

const block = (text: string): AddressBlock => {
  const [base = '', prefix] = text.split('/');
  return { bytes: Uint8Array.from(base.split('.'), Number), prefix: Number(prefix) };
};

const indexed = (...texts: string[]): AddressBlocks<string> =>
  new AddressBlocks(texts.map((text) => [block(text), text]));

for (const [blocks, asked, found] of [
  [[], '10.0.0.1/32', undefined],
  [['10.0.0.0/8'], '10.0.0.0/32', '10.0.0.0/8'],
  [['10.0.0.0/8'], '10.255.255.255/32', '10.0.0.0/8'],
  [['10.0.0.0/8'], '9.255.255.255/32', undefined],
  [['10.0.0.0/8'], '11.0.0.0/32', undefined],
  [['10.0.0.0/8'], '10.0.0.0/8', '10.0.0.0/8'],
  [['10.0.0.0/8'], '10.0.0.0/7', undefined],
  // Together they hold it, neither of them does.
  [['10.0.0.0/9', '10.128.0.0/9'], '10.0.0.0/8', undefined],
  [['10.0.0.0/9', '10.128.0.0/9'], '10.128.0.0/10', '10.128.0.0/9'],
  [['10.1.0.0/16', '10.0.0.0/8'], '10.1.2.3/32', '10.0.0.0/8'],
  [['10.1.0.0/16', '10.0.0.0/8'], '10.2.2.3/32', '10.0.0.0/8'],
  [['10.1.0.0/16', '10.3.0.0/16'], '10.2.2.3/32', undefined],
  [['10.0.0.0/8', '10.0.0.0/16'], '10.9.0.0/32', '10.0.0.0/8'],
  [['0.0.0.0/0'], '1.2.3.4/32', '0.0.0.0/0'],
  [['0.0.0.0/0'], '0.0.0.0/0', '0.0.0.0/0'],
  [['10.1.2.3/8'], '10.9.9.9/32', '10.1.2.3/8'],
  [['10.1.2.3/32'], '10.1.2.3/32', '10.1.2.3/32'],
  [['10.1.2.3/32'], '10.1.2.2/31', undefined],
  [['10.0.0.128/25'], '10.0.0.127/32', undefined],
  [['10.0.0.128/25'], '10.0.0.128/32', '10.0.0.128/25'],
] as const) {
  test(`${asked} in ${blocks.join(', ') || 'nothing'}: ${found ?? 'no'}`, () => {
    assert.equal(indexed(...blocks).find(block(asked)), found);
  });
}

test('addresses of the one family lie in no block of the other', () => {
  const all = new AddressBlocks([[{ bytes: new Uint8Array(16), prefix: 0 }, 'all']]);
  assert.equal(all.find(block('10.0.0.1/32')), undefined);
  assert.equal(all.find({ bytes: new Uint8Array(16).fill(7), prefix: 128 }), 'all');
});

/** As it is defined: as many bits from the first are the same. */
function holds(outer: AddressBlock, inner: AddressBlock): boolean {
  if (outer.bytes.length !== inner.bytes.length || outer.prefix > inner.prefix) return false;
  for (let bit = 0; bit < outer.prefix; bit++) {
    const differ = (outer.bytes[bit >> 3] ?? 0) ^ (inner.bytes[bit >> 3] ?? 0);
    if (differ & (0x80 >> (bit & 7))) return false;
  }
  return true;
}

test('finds what is held by one of any blocks, and nothing else', () => {
  let seed = 7;
  const next = (below: number): number => {
    seed = (seed * 48_271) % 0x7fff_ffff;
    return seed % below;
  };
  // Few values of each byte, so that blocks are within each other.
  const some = (): AddressBlock => {
    const length = next(2) === 0 ? 4 : 16;
    const bytes = Uint8Array.from({ length }, () => [0, 1, 127, 128, 255][next(5)] ?? 0);
    return { bytes, prefix: next(8 * length + 1) };
  };
  let yes = 0;
  for (let round = 0; round < 400; round++) {
    const blocks = Array.from({ length: 1 + next(20) }, some);
    const index = new AddressBlocks(blocks.map((one) => [one, one]));
    for (let at = 0; at < 20; at++) {
      const asked = some();
      const found = index.find(asked);
      const expected = blocks.some((one) => holds(one, asked));
      assert.equal(found !== undefined, expected);
      if (found) assert.ok(holds(found, asked));
      yes += Number(expected);
    }
  }
  assert.ok(yes > 500, `${yes}`);
});
