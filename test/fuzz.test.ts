import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';

import { Failure } from '../src/core/failure.ts';
import { fuzz, SLOW } from './fuzz/run.ts';
import { fuzzTargets } from './fuzz/targets.ts';

// `node test/fuzz/main.ts` looks longer. Here the number of inputs is the bound, and the time only a
// ceiling for slow machines.
const MILLISECONDS = 3000 / fuzzTargets.length;

for (const target of fuzzTargets) {
  test(`damaged input for ${target.name} is read or refused, at once`, async () => {
    const budget = { iterations: 8000, milliseconds: MILLISECONDS, seed: 1 };
    const { finding } = await fuzz(target, budget);
    const input = finding && Buffer.from(finding.input).toString('base64');
    assert.equal(finding?.because, undefined, `input: ${input}`);
  });
}

const MEGABYTE = new Uint8Array(1 << 20);

const planted: [read: (bytes: Uint8Array) => void, because: RegExp, why: string][] = [
  [
    (bytes) => {
      if (bytes.length > 3 && bytes[0] !== 0x30) throw new TypeError('planted');
    },
    /planted/,
    'a reader that breaks',
  ],
  [
    (bytes) => {
      // Work and not time: on a slow machine it takes longer.
      const rounds = bytes.length === 3 ? 3 * SLOW : 0;
      for (let round = 0; round < rounds; round += 1) hash('sha512', MEGABYTE);
    },
    /took \d+ ms/,
    'a reader that is slow',
  ],
  [
    () => {
      throw new Failure('invalid', 'no');
    },
    /not even undamaged/,
    'a reader that refuses everything',
  ],
];

for (const [read, because, why] of planted) {
  test(`the fuzzer finds ${why}`, async () => {
    const corpus = [Uint8Array.of(0x30, 2, 5, 0)];
    const budget = { iterations: 2000, milliseconds: 5000, seed: 1 };
    const { finding } = await fuzz({ name: 'planted', corpus, read }, budget);
    assert.match(finding?.because ?? '', because);
  });
}

test('the same seed damages the same way', async () => {
  const run = async (seed: number): Promise<string[]> => {
    const seen: string[] = [];
    const read = (bytes: Uint8Array): void => void seen.push(Buffer.from(bytes).toString('hex'));
    const corpus = [Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8)];
    await fuzz({ name: 'same', corpus, read }, { iterations: 50, milliseconds: 5000, seed });
    return seen;
  };
  assert.deepEqual(await run(7), await run(7));
  assert.notDeepEqual(await run(7), await run(8));
});

test('damage is done to a copy, also of a Buffer', async () => {
  const input = Buffer.from('intact');
  const read = (bytes: Uint8Array): void => void bytes.fill(0);
  await fuzz(
    { name: 'copy', corpus: [input], read },
    { iterations: 200, milliseconds: 5000, seed: 1 },
  );
  assert.equal(input.toString(), 'intact');
});
