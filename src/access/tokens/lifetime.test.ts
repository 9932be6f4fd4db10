import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LifetimeBounds, planLifetime } from './lifetime.ts';

const HOUR = 3600;
const plain: LifetimeBounds = {
  default_ttl: 2 * HOUR,
  max_ttl: 10 * HOUR,
  explicit_max_ttl: 0,
  role_max_ttl: 0,
  period: 0,
};

const cases: [
  bounds: Partial<LifetimeBounds>,
  wanted: number,
  lived: number,
  ttl: number,
  warned: boolean,
  why: string,
][] = [
  [{}, 0, 0, 2 * HOUR, false, 'the default is given when nothing is asked for'],
  [{}, HOUR, 0, HOUR, false, 'what is asked for is given'],
  [{}, 10 * HOUR, 0, 10 * HOUR, false, 'exactly the maximum is given without a warning'],
  [{}, 10 * HOUR + 1, 0, 10 * HOUR, true, 'one second more than the maximum is capped, and said'],
  [{ explicit_max_ttl: HOUR }, 2 * HOUR, 0, HOUR, true, 'an explicit maximum caps'],
  [{ explicit_max_ttl: HOUR }, 0, 0, HOUR, false, 'a capped default needs no warning'],
  [{ role_max_ttl: HOUR }, 2 * HOUR, 0, HOUR, true, 'the maximum of a role caps'],
  [
    { explicit_max_ttl: 20 * HOUR },
    20 * HOUR,
    0,
    10 * HOUR,
    true,
    'no maximum lifts that of the mount',
  ],
  [{}, 5 * HOUR, 8 * HOUR, 2 * HOUR, true, 'a renewal counts the time already lived'],
  [{}, 0, 10 * HOUR, 0, false, 'nothing is left at the maximum'],
  [{ period: HOUR }, 5 * HOUR, 100 * HOUR, HOUR, false, 'a periodic token gets its period, always'],
  [
    { period: HOUR, explicit_max_ttl: 2 * HOUR },
    0,
    1.5 * HOUR,
    HOUR / 2,
    false,
    'even it obeys an explicit maximum',
  ],
  [{ period: 11 * HOUR }, 0, 0, 10 * HOUR, true, 'a period is capped by the mount'],
];

for (const [bounds, wanted, lived, ttl, warned, why] of cases) {
  test(why, () => {
    const lifetime = planLifetime({ ...plain, ...bounds }, wanted, lived);
    assert.equal(lifetime.ttl, ttl);
    assert.equal(lifetime.warnings.length > 0, warned);
  });
}
