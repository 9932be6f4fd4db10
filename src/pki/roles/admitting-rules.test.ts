import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeRole } from '../../../test/support/leaves.ts';
import { listAdmitted } from './admitting-rules.ts';
import { judgeNames } from './name-policy.ts';

const NONE = {
  common_name: '',
  dns: [],
  email: [],
  ip: [],
  uri: [],
  other: [],
  serial_number: '',
  user_ids: [],
};
const CLOSED = {
  allow_any_name: false,
  allow_localhost: false,
  allowed_domains: ['a.test', '*.b.test'],
};

const CASES: [rules: Record<string, unknown>, name: string, rule: string | undefined][] = [
  [{ allow_any_name: true }, 'x.test', 'allow_any_name'],
  [{ allow_localhost: true }, 'localhost', 'allow_localhost'],
  [{}, 'localhost', undefined],
  [{ allow_bare_domains: true }, 'a.test', 'allow_bare_domains'],
  [{ allow_bare_domains: true }, 'x.a.test', undefined],
  [{ allow_subdomains: true }, 'x.a.test', 'allow_subdomains'],
  [{ allow_subdomains: true }, 'xa.test', undefined],
  [{ allow_glob_domains: true }, 'x.b.test', 'allow_glob_domains'],
  [{ allow_subdomains: true, allow_bare_domains: true }, 'a.test', 'allow_bare_domains'],
  [{ allow_any_name: true, allow_wildcard_certificates: false }, '*.a.test', undefined],
];

for (const [rules, name, rule] of CASES) {
  test(`${name} under ${JSON.stringify(rules)} is let in by ${rule ?? 'nothing'}, as it is judged`, () => {
    const role = makeRole({ ...CLOSED, ...rules });
    const names = { ...NONE, dns: [name] };
    const [told] = listAdmitted(role, names, undefined);
    assert.equal(told?.rule, rule);
    assert.equal(judgeNames(role, names).allowed, rule !== undefined);
  });
}

test('of thousands of names a hundred are told', () => {
  const dns = Array.from({ length: 5000 }, (_, at) => `n${at}.a.test`);
  const role = makeRole({ ...CLOSED, allow_subdomains: true });
  assert.equal(
    listAdmitted(role, { ...NONE, common_name: 'x.a.test', dns }, undefined).length,
    100,
  );
});
