import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_WARNINGS, planWarnings } from './settings.ts';

const nothing = { mail: false, loopback: false };
const stored = { ...NO_WARNINGS, enabled: true, webhook_url: 'http://127.0.0.1:9/hook' };

test('a stored URL that is not allowed any more hinders no other change, nor switching off', () => {
  assert.equal(planWarnings(stored, { enabled: false }, nothing).enabled, false);
  assert.deepEqual(planWarnings(stored, { roles: ['web'] }, nothing).roles, ['web']);
  assert.equal(planWarnings(stored, { enabled: false, webhook_url: '' }, nothing).webhook_url, '');
});

test('nobody sets it, nor switches warnings on with it', () => {
  const { webhook_url } = stored;
  const refused = /webhook_url cannot be used/;
  assert.throws(() => planWarnings(stored, { webhook_url }, nothing), refused);
  const off = { ...stored, enabled: false };
  assert.throws(() => planWarnings(off, { enabled: true }, nothing), refused);
  assert.ok(planWarnings(off, { enabled: true }, { mail: false, loopback: true }).enabled);
});
