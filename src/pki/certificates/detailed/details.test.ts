import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp } from '../../../../test/support/app.ts';
import { makeIssuer } from '../../../../test/support/crl-mounts.ts';
import { sqlitePlace } from '../../../../test/support/engines.ts';
import { readMountState } from '../../mount-state/operations.ts';
import { describeDetails } from './details.ts';

const ROW = { serial: '7f:01', subject_cn: 'x', not_before: 0, not_after: 2_000_000_000 };

test('stored bytes that are no certificate spoil no list, and one that can be read is told', async (t) => {
  const place = sqlitePlace();
  t.after(() => place.remove());
  const { app } = await openTestApp(await place.open());
  const { mount } = await makeIssuer(app);
  const [issuer] = (await readMountState(app, mount.id)).issuers.values();
  assert.ok(issuer);
  const readable = describeDetails({ ...ROW, der: issuer.certificate.raw });
  assert.deepEqual([readable.issuer, readable.key_type], ['CN=R', 'ec']);
  assert.deepEqual(describeDetails({ ...ROW, der: Uint8Array.of(1, 2, 3) }), {
    ...{ common_name: 'x', issuer: '', key_type: '', key_bits: 0 },
    ...{ not_before: '1970-01-01T00:00:00Z', not_after: '2033-05-18T03:33:20Z' },
  });
});
