import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseBehavior, planValidity, type ValidityRequest } from './validity.ts';

const NOW = 1_795_262_400;
const HOUR = 3600;
const FAR = 253_402_300_799;

type Overrides = Partial<Omit<ValidityRequest, 'role'>> & {
  role?: Partial<ValidityRequest['role']>;
};

function plan(overrides: Overrides) {
  const { role, ...rest } = overrides;
  return planValidity({
    now: NOW,
    ttl: 0,
    not_after: '',
    mount: { default_ttl: 768 * HOUR, max_ttl: 768 * HOUR },
    issuer: { not_after: NOW + 10_000 * HOUR, behavior: 'err' },
    ...rest,
    role: {
      ttl: 0,
      max_ttl: 0,
      not_after: '',
      not_after_bound: 'permit',
      not_before_duration: 30,
      ...role,
    },
  });
}

const ends: [wanted: Overrides, hours: number, warned: boolean, why: string][] = [
  [{}, 768, false, 'the mount default where nothing is asked'],
  [{ role: { ttl: 2 * HOUR } }, 2, false, "the role's where it has one"],
  [{ ttl: HOUR, role: { ttl: 2 * HOUR } }, 1, false, "the request's before the role's"],
  [{ ttl: 72 * HOUR, role: { max_ttl: 72 * HOUR } }, 72, false, 'up to the maximum itself'],
  [{ ttl: 72 * HOUR + 1, role: { max_ttl: 72 * HOUR } }, 72, true, 'capped beyond it'],
  [{ ttl: 800 * HOUR }, 768, true, 'the mount caps where the role does not'],
  [{ ttl: 800 * HOUR, role: { max_ttl: 900 * HOUR } }, 800, false, "the role's maximum counts"],
  [
    { role: { max_ttl: 72 * HOUR } },
    72,
    false,
    'a default beyond the maximum is capped, and nobody asked for more',
  ],
];
for (const [wanted, hours, warned, why] of ends) {
  test(`the end: ${why}`, () => {
    const { notAfter, warnings } = plan(wanted);
    assert.equal(notAfter, NOW + hours * HOUR);
    assert.equal(warnings.length > 0, warned);
  });
}

test('a beginning that a request names is held against what the role lets it name', () => {
  const at = (time: number): string => new Date(1000 * time).toISOString().replace('.000', '');
  const begin = (not_before: string, role: object = {}) => plan({ not_before, role });
  assert.equal(begin(at(NOW - 9 * HOUR)).notBefore, NOW - 9 * HOUR);
  assert.equal(begin(at(NOW + HOUR)).notBefore, NOW + HOUR);
  assert.throws(() => begin(at(NOW + 9000 * HOUR)), /is later than the certificate's Not After/);
  assert.throws(() => begin('tomorrow'), /not_before "tomorrow" is not a timestamp/);
  assert.throws(() => begin('1969-01-01T00:00:00Z'), /not_before .*1970|is not a timestamp/);
  const forbid = { not_before_bound: 'forbid' };
  assert.throws(() => begin(at(NOW), forbid), /not_before_bound is set to forbid/);
  assert.equal(begin('', forbid).notBefore, NOW - 30);
  const duration = { not_before_bound: 'duration', not_before_duration: 60 };
  assert.equal(begin(at(NOW - 60), duration).notBefore, NOW - 60);
  assert.throws(() => begin(at(NOW - 61), duration), /not_before_bound is set to duration/);
  const bound = { not_before_bound: at(NOW - HOUR) };
  assert.equal(begin(at(NOW - HOUR), bound).notBefore, NOW - HOUR);
  assert.throws(() => begin(at(NOW - HOUR - 1), bound), /not_before_bound is set to 2/);
});

test('the beginning of the role counts before the one of the request', () => {
  const own = { not_before: '2026-01-01T00:00:00Z', not_before_bound: 'forbid' };
  const { notBefore, warnings } = plan({ not_before: '2020-01-01T00:00:00Z', role: own });
  assert.equal(notBefore, Date.parse(own.not_before) / 1000);
  assert.match(warnings.join(), /the role has a not_before of its own/);
});

test('the warning about a capped TTL names both durations', () => {
  assert.deepEqual(plan({ ttl: 1000 * HOUR, role: { max_ttl: 72 * HOUR } }).warnings, [
    'TTL "1000h0m0s" is longer than permitted maxTTL "72h0m0s", so maxTTL is being used',
  ]);
});

test('notBefore lies back by not_before_duration, by 30 seconds where that is 0', () => {
  assert.equal(plan({ role: { not_before_duration: 300 } }).notBefore, NOW - 300);
  assert.equal(plan({ role: { not_before_duration: 0 } }).notBefore, NOW - 30);
  assert.throws(() => plan({ role: { not_before_duration: NOW + 1 } }), /beyond 1970/);
});

test('ttl and not_after exclude each other, whichever of request and role has the end', () => {
  const not_after = '2026-12-01T00:00:00Z';
  assert.throws(() => plan({ ttl: 1, not_after }), /Either ttl or not_after should be provided/);
  assert.throws(() => plan({ ttl: 1, role: { not_after } }), /Either ttl or not_after/);
  assert.equal(plan({ not_after }).notAfter, Date.parse(not_after) / 1000);
  assert.equal(
    plan({ not_after, role: { ttl: HOUR } }).notAfter,
    Date.parse(not_after) / 1000,
    'a TTL of the role gives way',
  );
});

test("the role's fixed end counts before the request's", () => {
  const not_after = '2026-12-01T00:00:00Z';
  const planned = plan({ not_after: '2026-12-02T00:00:00Z', role: { not_after } });
  assert.equal(planned.notAfter, Date.parse(not_after) / 1000);
});

test('the last second of the year 9999 is kept, beyond every maximum TTL', () => {
  const issuer = { not_after: FAR, behavior: 'err' } as const;
  assert.equal(plan({ not_after: '9999-12-31T23:59:59Z', issuer }).notAfter, FAR);
  assert.throws(() => plan({ not_after: '9999-12-31T23:59:59Z' }), /beyond the expiration/);
});

test('not_after that is no timestamp is refused', () => {
  assert.throws(() => plan({ not_after: 'tomorrow' }), { kind: 'invalid' });
});

test('an end before the beginning is refused, one between the beginning and now is not', () => {
  const at = (seconds: number) => new Date(seconds * 1000).toISOString();
  assert.throws(
    () => plan({ not_after: at(NOW - 31) }),
    /is later than the certificate's Not After/,
  );
  assert.equal(plan({ not_after: at(NOW - 30) }).notAfter, NOW - 30);
});

const issuerEnd = NOW + 10 * HOUR;
const behaviors: ['err' | 'truncate' | 'permit' | 'always_enforce_err', number | 'refused'][] = [
  ['err', 'refused'],
  ['truncate', issuerEnd],
  ['permit', NOW + 11 * HOUR],
  ['always_enforce_err', 'refused'],
];
for (const [behavior, outcome] of behaviors) {
  test(`an end beyond the issuer's under ${behavior}`, () => {
    const issuer = { not_after: issuerEnd, behavior };
    assert.equal(plan({ ttl: 10 * HOUR, issuer }).notAfter, issuerEnd, 'the very end is fine');
    const ask = () => plan({ ttl: 11 * HOUR, issuer });
    if (outcome === 'refused') {
      assert.throws(ask, /beyond the expiration of the CA certificate at/);
    } else {
      assert.equal(ask().notAfter, outcome);
    }
  });
}

test('truncation is told, and refused where the issuer has ended', () => {
  const truncated = plan({
    ttl: 11 * HOUR,
    issuer: { not_after: issuerEnd, behavior: 'truncate' },
  });
  assert.equal(truncated.truncated_from, NOW + 11 * HOUR);
  assert.equal(plan({ ttl: HOUR }).truncated_from, undefined);
  const ended = { not_after: NOW, behavior: 'truncate' } as const;
  assert.throws(() => plan({ ttl: HOUR, issuer: ended }), /is in the past/);
});

test('an end that is over by now is told, or refused where ends are cut', () => {
  const at = (seconds: number) => new Date(seconds * 1000).toISOString();
  const past = { not_before: at(NOW - HOUR), not_after: at(NOW - 1) };
  const present = { not_before: at(NOW - HOUR), not_after: at(NOW) };
  for (const behavior of ['err', 'permit', 'always_enforce_err'] as const) {
    const issuer = { not_after: NOW + HOUR, behavior };
    assert.equal(plan({ ...past, issuer }).notAfter, NOW - 1);
    assert.match(
      plan({ ...past, issuer }).warnings.join('|'),
      /^[^|]* is in the past: no verifier/,
    );
    assert.deepEqual(plan({ ...present, issuer }).warnings, []);
  }
  const issuer = { not_after: NOW + HOUR, behavior: 'truncate' } as const;
  assert.throws(() => plan({ ...past, issuer }), /the requested end .* is in the past/);
  assert.deepEqual(plan({ ...present, issuer }).warnings, []);
});

test('an authority that has ended itself is told', () => {
  const at = (seconds: number) => new Date(seconds * 1000).toISOString();
  const ended = { not_after: NOW - 1, behavior: 'err' } as const;
  const past = { not_before: at(NOW - HOUR), not_after: at(NOW - 1) };
  const { warnings } = plan({ ...past, issuer: ended });
  assert.equal(warnings.length, 2);
  assert.match(String(warnings[1]), /the CA certificate ended at .*, in the past/);
  const permitted = plan({ ttl: HOUR, issuer: { ...ended, behavior: 'permit' } });
  assert.match(permitted.warnings.join(), /the CA certificate ended at .*, in the past/);
  const atItsEnd = plan({ not_after: at(NOW), issuer: { not_after: NOW, behavior: 'err' } });
  assert.deepEqual(atItsEnd.warnings, []);
});

test('a certificate that signs itself has only the caps of the mount', () => {
  const planned = planValidity({
    now: NOW,
    ttl: 9000 * HOUR,
    not_after: '',
    role: { ttl: 0, max_ttl: 0, not_after: '', not_after_bound: 'permit', not_before_duration: 30 },
    mount: { default_ttl: HOUR, max_ttl: 8760 * HOUR },
  });
  assert.equal(planned.notAfter, NOW + 8760 * HOUR);
  assert.equal(planned.warnings.length, 1);
});

test('where truncation is the rule, an issuer that always enforces its end still does', () => {
  assert.equal(chooseBehavior('err', false), 'truncate');
  assert.equal(chooseBehavior('permit', false), 'truncate');
  assert.equal(chooseBehavior('err', true), 'err');
  assert.equal(chooseBehavior('permit', true), 'permit');
  assert.equal(chooseBehavior('always_enforce_err', false), 'always_enforce_err');
});

test('an end that nobody named and the issuer forbids says where to name one', () => {
  const issuer = { not_after: NOW + HOUR, behavior: 'err' } as const;
  const advice =
    /beyond the expiration of the CA certificate at .*: set ttl on the role or in the request$/;
  assert.throws(() => plan({ issuer }), advice);
  for (const named of [{ ttl: 2 * HOUR }, { role: { ttl: 2 * HOUR } }]) {
    assert.throws(
      () => plan({ issuer, ...named }),
      ({ message }: Error) => /beyond the expiration/.test(message) && !advice.test(message),
    );
  }
});

const inHours = (hours: number): string => new Date((NOW + hours * HOUR) * 1000).toISOString();
const role = { ttl: HOUR, max_ttl: 72 * HOUR };
const issuer = { not_after: FAR, behavior: 'err' } as const;

const bounds: [
  bound: string,
  wanted: Overrides,
  outcome: 'silent' | 'warned' | RegExp,
  why: string,
][] = [
  ['permit', { not_after: inHours(72) }, 'silent', 'the maximum TTL to the second'],
  ['permit', { not_after: inHours(73) }, 'warned', 'beyond it'],
  ['permit', { not_after: inHours(769), role: { max_ttl: 0 } }, 'warned', "beyond the mount's"],
  ['permit', { not_after: inHours(768), role: { max_ttl: 0 } }, 'silent', "the mount's itself"],
  ['permit', { not_after: '9999-12-31T23:59:59Z' }, 'warned', 'the end of all time'],
  ['permit', { role: { not_after: inHours(73) } }, 'warned', 'the role itself has such an end'],
  ['ttl-limited', { not_after: inHours(1) }, 'silent', 'as late as the TTL'],
  [
    'ttl-limited',
    { not_after: inHours(2) },
    /ttl-limited: notAfter of .* is beyond the TTL of 1h0m0s/,
    'later',
  ],
  [
    'ttl-limited',
    { not_after: inHours(73), role: { ttl: 80 * HOUR } },
    /beyond the TTL of 72h0m0s/,
    'a TTL is capped first',
  ],
  ['ttl-limited', {}, 'silent', 'nothing named'],
  ['ttl-limited', { ttl: 2 * HOUR }, 'silent', 'a TTL is bounded by max_ttl alone'],
  ['forbid', { not_after: inHours(1) }, /not_after_bound is set to forbid/, 'any end'],
  [
    'forbid',
    { not_after: inHours(1), role: { not_after: inHours(2) } },
    /forbid/,
    'also where the role has one',
  ],
  ['forbid', { ttl: HOUR }, 'silent', 'a TTL'],
  ['forbid', { role: { not_after: inHours(2) } }, 'silent', "the role's own end"],
  [inHours(10), { not_after: inHours(10) }, 'silent', 'the time itself'],
  [inHours(10), { not_after: inHours(11) }, /notAfter of .* is beyond it/, 'after it'],
  [inHours(10), { ttl: 11 * HOUR }, /beyond it/, 'a TTL that ends after it'],
  [inHours(10), { role: { not_after: inHours(11) } }, /beyond it/, "the role's own end after it"],
];
for (const [bound, wanted, outcome, why] of bounds) {
  test(`not_after_bound ${bound}: ${why}`, () => {
    const decide = () =>
      plan({ issuer, ...wanted, role: { ...role, not_after_bound: bound, ...wanted.role } });
    if (outcome instanceof RegExp) assert.throws(decide, outcome);
    else assert.equal(decide().warnings.length, outcome === 'warned' ? 1 : 0);
  });
}

test('an end beyond the maximum TTL is told with both, and with what refuses it', () => {
  assert.deepEqual(plan({ issuer, not_after: '2027-01-01T00:00:00Z', role }).warnings, [
    'not_after "2027-01-01T00:00:00Z" is longer than permitted maxTTL "72h0m0s", which does not apply to it; not_after_bound of the role can refuse that',
  ]);
});

test('an end that the role does not take from the request is told', () => {
  const [warning] = plan({ not_after: inHours(1), role: { not_after: inHours(2) } }).warnings;
  assert.match(String(warning), /not_after field was provided but the role has a not_after/);
});

test('an end that the issuer moves, or that is after it, is told', () => {
  const ends = { not_after: NOW + HOUR };
  for (const [behavior, told] of [
    ['truncate', /so the certificate ends with it/],
    ['permit', /ends after its CA/],
  ] as const) {
    assert.deepEqual(plan({ ttl: HOUR, issuer: { ...ends, behavior } }).warnings, []);
    const { warnings } = plan({ ttl: 2 * HOUR, issuer: { ...ends, behavior } });
    assert.equal(warnings.length, 1);
    assert.match(String(warnings[0]), told);
  }
});

test('an end in the year 10,000 of another zone is the last time there is, and that is told', () => {
  const { notAfter, warnings } = plan({
    issuer: { not_after: FAR + 1e6, behavior: 'err' },
    not_after: '9999-12-31T23:59:59-01:00',
  });
  assert.equal(notAfter, FAR);
  assert.match(warnings.join(), /the last time it can name/);
});
