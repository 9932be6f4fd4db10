import assert from 'node:assert/strict';
import { test } from 'node:test';
import { directoryConstraints, directoryName } from '../../../test/support/directory-names.ts';
import { nameConstraints, parseNameConstraints } from '../../x509/name-constraints.ts';
import { DEFAULT_SETTINGS } from '../mount-state/issuer.ts';
import { checkAuthorityNames } from './authority-names.ts';
import type { IssuingFacts } from './issuing.ts';

const ROOT = directoryName([['CN', 'Root']]);
const ACME = directoryName([['O', 'Acme']]);
const dns = nameConstraints({ permitted_dns_domains: ['a.test'] });
assert.ok(dns);
const issuer: IssuingFacts = {
  subject: ROOT,
  key_identifier: Uint8Array.of(1),
  key: { key_type: 'ec', key_bits: 256 },
  not_after: 4_000_000_000,
  behavior: 'err',
  urls: DEFAULT_SETTINGS,
  name_constraints: [directoryConstraints([ACME]), dns].map(({ value }) =>
    parseNameConstraints(value),
  ),
};

const CA = ['CertSign', 'crlsign'];
const NONE = { dns: [], email: [], ip: [], uri: [] };
const ROWS: [
  why: string,
  subject: Uint8Array,
  usage: string[] | undefined,
  dns: string[],
  taken: boolean,
][] = [
  ['a subject that is permitted', ACME, CA, [], true],
  ['another one', directoryName([['CN', 'Roof']]), CA, [], false],
  ["the issuer's own, for a new key", ROOT, CA, [], true],
  ['one that only looks like it', directoryName([['CN', 'root']]), CA, [], false],
  ["the issuer's own, of a key that may serve", ROOT, [...CA, 'DigitalSignature'], [], false],
  ["the issuer's own, of a key for anything", ROOT, undefined, [], false],
  ["the issuer's own, with a name that is permitted", ROOT, CA, ['w.a.test'], true],
  ["the issuer's own, with one that is not", ROOT, CA, ['w.b.test'], false],
];
for (const [why, subject, usage, names, taken] of ROWS) {
  test(`beneath constraints a CA is ${taken ? 'let' : 'refused'}: ${why}`, () => {
    const judged = {
      names: { ...NONE, dns: names },
      unknown: [],
      subject,
      common_names: ['Root'],
      subject_emails: [],
    };
    const check = () => checkAuthorityNames(issuer, judged, usage);
    if (taken) check();
    else assert.throws(check, /the issuer's name constraints refuse it/);
  });
}
