import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ROOMS } from './rooms.ts';

test('all that is kept between requests takes some 200 MiB when all of it is full', () => {
  const sum = Object.values(ROOMS).reduce((all, bytes) => all + bytes, 0);
  assert.ok(sum <= 216 << 20, `${sum >> 20} MiB`);
});
