import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heapUsed } from '../../../../test/support/heap.ts';
import { GrantSet } from './decision.ts';
import { parseGrant } from './grant.ts';
import type { EffectiveGrant } from './reach.ts';

const SETS = 40;

/** Roles of one grant each, of which each names some scopes. */
function holdRoles(roles: number, scopes: number): EffectiveGrant[] {
  return Array.from({ length: roles }, (_, role) => {
    const text = 'ids=*;type=target;actions=read,list';
    const reading = parseGrant(text);
    assert.ok(reading.valid, text);
    const grant_scope_ids = Array.from(
      { length: scopes },
      (_, at) => `p_${role}_${at.toString(36).padStart(10, '0')}`,
    );
    const role_id = `r_${role}`;
    return { grant: reading.grant, role_id, role_scope_id: 'o_1234567890', grant_scope_ids, text };
  });
}

const ROWS: [roles: number, scopes: number, why: string][] = [
  [1, 1, 'a scope'],
  [1, 1_500, 'as many scopes as a light role names'],
  [10, 150, 'some of each of some roles'],
  [100, 1, 'many roles'],
];

for (const [roles, scopes, why] of ROWS) {
  test(`what somebody is allowed weighs what it takes: ${why}`, () => {
    const held = holdRoles(roles, scopes);
    new GrantSet('user', held);
    // What the test runner keeps meanwhile counts as well: of some times the least is what they take.
    const grown: number[] = [];
    let weighed = 0;
    for (let time = 0; time < 3; time++) {
      const kept: GrantSet[] = [];
      const before = heapUsed();
      for (let at = 0; at < SETS; at++) kept.push(new GrantSet('user', [...held]));
      grown.push(heapUsed() - before);
      weighed = kept.reduce((sum, { bytes }) => sum + bytes, 0);
    }
    assert.ok(Math.min(...grown) < 1.2 * weighed + 50_000, `${grown} bytes weigh ${weighed}`);
  });
}
