import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoragePolicy } from '../policies/policy.ts';
import { FOR_EVER_MS, planRetention } from './retention.ts';

const DAY = 86_400_000;
const END = 1_000;

/** @param retain days, or null of a policy that does not speak of it; so is `remove` */
function policy(retain: number | null, remove: number | null, overridable = true): StoragePolicy {
  return {
    retain_for_days: retain,
    retain_for_overridable: overridable,
    delete_after_days: remove,
    delete_after_overridable: overridable,
  };
}

type Case = [
  why: string,
  global: StoragePolicy | undefined,
  org: StoragePolicy | undefined,
  retain: number | 'for ever' | 'not',
  remove: number | 'never',
];
const cases: Case[] = [
  ['no policy', undefined, undefined, 'not', 'never'],
  ["the org's alone", undefined, policy(2, 5), 2, 5],
  ['the global one alone', policy(2, 5), undefined, 2, 5],
  ["an org's in place of one that may be overridden", policy(2, 5), policy(1, 3), 1, 3],
  ["an org's beside one that may not", policy(2, 5, false), policy(1, 3), 2, 5],
  ['for ever', policy(-1, 0), undefined, 'for ever', 'never'],
  ['for ever, whatever is to be deleted', policy(-1, 3, false), policy(1, 1), 'for ever', 'never'],
  ['nothing is deleted that must be retained', policy(9, 0, false), policy(1, 3), 9, 'never'],
  [
    'one of two may be overridden',
    { ...policy(9, 9), retain_for_overridable: false },
    policy(1, 3),
    9,
    9,
  ],
  ['deletion alone', policy(null, 3), undefined, 'not', 3],
  ["what an org's does not speak of is the global one's", policy(9, 20), policy(null, 12), 9, 12],
  ['and so it is of deletion', policy(9, 20), policy(4, null), 4, 20],
  ['and nothing is deleted before', policy(9, null), policy(null, 3), 9, 9],
  ['an org may say that it retains nothing', policy(9, null), policy(0, 3), 'not', 3],
  ['and that it never deletes', policy(null, 9), policy(4, 0), 4, 'never'],
  ["what a global one does not speak of is the org's", policy(null, 9), policy(4, null), 4, 9],
  [
    'but where it says that nobody may',
    { ...policy(null, 9), retain_for_overridable: false },
    policy(4, 5),
    'not',
    5,
  ],
  ['more days than there are', policy(2_000_000_000, 0), undefined, 'for ever', 'never'],
];

for (const [why, global, org, retain, remove] of cases) {
  test(`a recording is retained ${retain} days and deleted after ${remove}: ${why}`, () => {
    const planned = planRetention(END, { global, org });
    const retained =
      retain === 'for ever' ? FOR_EVER_MS : retain === 'not' ? 0 : END + retain * DAY;
    assert.equal(planned.retain_until_ms, retained);
    assert.equal(planned.delete_after_ms, remove === 'never' ? null : END + remove * DAY);
  });
}
