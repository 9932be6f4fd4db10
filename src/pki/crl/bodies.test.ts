import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buffersUsed } from '../../../test/support/heap.ts';
import { encodePem } from '../../core/pem.ts';
import { ROOMS } from '../../core/rooms.ts';
import { derBody, pemBody } from './bodies.ts';

const lengths = [1, 47, 48, 49, 96, 1024 * 48 - 1, 1024 * 48, 1024 * 48 + 1, 700_000];

for (const length of lengths) {
  test(`a CRL of ${length} bytes is the same in pieces and whole, and as long as announced`, () => {
    const der = Uint8Array.from({ length }, (_, at) => at * 7);
    const pem = pemBody(der, '\n', '\n');
    const text = Buffer.concat([...pem.pieces()]);
    assert.equal(text.toString('latin1').trimEnd(), encodePem('X509 CRL', der).trimEnd());
    assert.equal(pem.length, text.length);
    const inJson = pemBody(der, '\\n', '\\n');
    const escaped = Buffer.concat([...inJson.pieces()]).toString('latin1');
    assert.equal(inJson.length, escaped.length);
    assert.equal(JSON.parse(`"${escaped}"`), text.toString('latin1'));
    const bytes = Buffer.concat([...derBody(der).pieces()]);
    assert.deepEqual(bytes, Buffer.from(der));
    assert.equal(derBody(der).length, length);
  });
}

test('of CRLs that are read again and again as text, some of the texts are kept, whatever the number of CRLs', async () => {
  const crls = Array.from({ length: 20 }, () => new Uint8Array(1 << 20));
  const before = await buffersUsed();
  for (const der of crls) {
    for (const newline of ['\n', '\\n']) for (const _ of pemBody(der, newline, '').pieces());
  }
  const grown = (await buffersUsed()) - before;
  assert.ok(grown < ROOMS.list_texts + (2 << 20), `${grown >> 20} MiB`);
  const [last] = crls.slice(-1);
  assert.ok(last);
  const [head, text] = pemBody(last, '\\n', '').pieces();
  const [same, again] = pemBody(last, '\\n', '').pieces();
  assert.deepEqual(head, same);
  assert.equal(text, again, 'what was read last is kept');
});
