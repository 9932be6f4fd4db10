import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ROOMS } from './rooms.ts';

test('all that is kept between requests takes less than half of a heap of 512 MiB when all of it is full', () => {
  const sum = Object.values(ROOMS).reduce((all, bytes) => all + bytes, 0);
  const outside =
    ROOMS.ocsp_answers +
    ROOMS.pki_certificates +
    ROOMS.revocation_lists +
    ROOMS.list_texts +
    ROOMS.documents;
  assert.ok(sum - outside <= 232 << 20, `${(sum - outside) >> 20} MiB`);
  assert.ok(outside <= 72 << 20, `${outside >> 20} MiB outside the heap`);
});
