import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type HandedCrl, HandedCrls } from './handed.ts';

const crlOf = (number: number): HandedCrl => ({
  number,
  der: new Uint8Array(new SharedArrayBuffer(8)),
  used: new Int32Array(new SharedArrayBuffer(4)),
});

test('what was handed over is found by its number until it has passed, and says that it is read', async () => {
  const handed = new HandedCrls();
  const crl = crlOf(5);
  await handed.take('a', async () => crl);
  assert.equal(Atomics.load(crl.used, 0), 0);
  assert.equal(handed.find('a', 4), undefined);
  assert.equal(handed.find('b', 5), undefined);
  assert.equal(Atomics.load(crl.used, 0), 0);
  assert.equal(handed.find('a', 5), crl.der);
  assert.equal(Atomics.load(crl.used, 0), 1);
  handed.pass({ place: 'b', number: 5 });
  handed.pass({ place: 'a', number: 4 });
  assert.ok(handed.find('a', 5));
  handed.pass({ place: 'a', number: 5 });
  assert.equal(handed.find('a', 5), undefined);
  assert.equal(handed.size, 0);
});

for (const [passed, is_kept] of [
  [4, true],
  [5, false],
  [6, false],
] as const) {
  test(`of what passes while it is handed over nothing is kept: ${passed} of 5`, async () => {
    const handed = new HandedCrls();
    await handed.take('a', async () => {
      handed.pass({ place: 'a', number: passed });
      return crlOf(5);
    });
    assert.equal(handed.find('a', 5) !== undefined, is_kept);
    await handed.take('a', async () => crlOf(5));
    assert.ok(handed.find('a', 5), 'it is another time');
  });
}

test('where there is none, or it cannot be had, there is none', async () => {
  const handed = new HandedCrls();
  await handed.take('a', async () => undefined);
  await assert.rejects(
    handed.take('a', () => Promise.reject(new Error('gone'))),
    /gone/,
  );
  assert.equal(handed.size, 0);
});
