import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeRefusal } from '../client/words.ts';
import { lastEndOf, saysNoSuchLease } from './lease.ts';

/** What servers answer to an end of a lease: whether the lease is as good as ended. */
const answers: [status: number, errors: unknown, isGone: boolean][] = [
  [400, ['invalid lease'], true],
  [404, ['invalid lease'], true],
  [400, ['lease not found'], true],
  [400, ['Lease not found\n'], true],
  [400, ['1 error occurred:\n\t* invalid lease\n\n'], true],
  [400, ['failed to persist lease entry: context deadline exceeded'], false],
  [400, ['failed to read lease entry database/creds/app/1: connection refused'], false],
  [400, ['failed to read lease entry: lease not found'], false],
  [400, ['lease not found: context deadline exceeded'], false],
  [400, ['invalid lease', 'failed to persist lease entry'], false],
  [400, ['2 errors occurred:\n\t* invalid lease\n\t* timeout\n\n'], false],
  [400, ['error performing token check: failed to persist lease entry: read only'], false],
  [400, ['lease is not renewable'], false],
  [400, ['lease_id must be specified'], false],
  [400, ['invalid lease "a": storage is sealed'], false],
  [400, ['invalid lease \u2026'], false],
  [400, 'invalid lease', false],
  [400, [], false],
  [404, ['no handler for route "sys/leases/revoke". route entry not found.'], false],
  [403, ['invalid lease'], false],
  [500, ['invalid lease'], false],
  [503, ['lease not found'], false],
];

for (const [status, errors, isGone] of answers) {
  const said = JSON.stringify(errors);
  test(`a lease of which ${status} ${said} is said is ${isGone ? 'gone' : 'there still'}`, () => {
    const words = describeRefusal(JSON.stringify({ errors }));
    assert.equal(saysNoSuchLease({ status, words }), isGone);
  });
}

const YEAR = 366 * 86_400;
/** A lease of 60 seconds that was renewed at 100, by when it ends here. */
const data = { lease_id: 'a', renewable: true, renew_at: 130, until: 160 };
const lasts: [what: string, change: object, expires_at: number, end: number][] = [
  ['that ends here before it is due for a renewal', {}, 99, 160],
  ['that may have been renewed until it ended here', {}, 1000, 1060],
  ['that is not renewed', { renewable: false }, 1000, 160],
  ['that lasts for a year', { renewable: false, until: YEAR }, 0, YEAR],
  ['that lasts longer, after a year', { renewable: false, until: YEAR + 1 }, 0, YEAR],
  ['that was kept without an end, after a year', { renew_at: 2 ** 31, until: 2 ** 32 }, 0, YEAR],
];

for (const [what, change, expires_at, end] of lasts) {
  test(`a lease ${what} has ended at its server at ${end}`, () => {
    assert.equal(lastEndOf({ data: { ...data, ...change }, expires_at }), end);
  });
}
