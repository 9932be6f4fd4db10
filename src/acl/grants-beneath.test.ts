import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heapUsed } from '../../test/support/heap.ts';
import { compiledAcl } from '../../test/support/judged.ts';
import { ROOMS } from '../core/rooms.ts';
import type { Acl } from './acl.ts';
import { hasAccessBeneath } from './grants-beneath.ts';
import { parsePolicy } from './policy-reader.ts';
import { RuleWalk } from './rule-walk.ts';

test('which mounts are shown is known of any number of mounts and sets of policies, in one room', async () => {
  const acls: Acl[] = Array.from({ length: 400 }, (_, at) =>
    compiledAcl([parsePolicy(`path "mount-7/${at}" { capabilities = ["read"] }`)], 0),
  );
  const before = heapUsed();
  for (const [of, acl] of acls.entries()) {
    for (let at = 0; at < 2_000; at++) {
      const isShown = await hasAccessBeneath(acl, `mount-${at}/`, new RuleWalk());
      assert.equal(isShown, at === 7, `mount ${at} of ${of}`);
    }
  }
  const grown = heapUsed() - before;
  assert.ok(grown < ROOMS.worked_out + (4 << 20), `${grown >> 20} MiB`);
  assert.equal(acls.length, 400);
});
