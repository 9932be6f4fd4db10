import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { directoryConstraints, directoryName } from '../../../test/support/directory-names.ts';
import { heapUsed } from '../../../test/support/heap.ts';
import { makeCertificate } from '../../../test/support/made-certificate.ts';
import { Failure } from '../../core/failure.ts';
import { ROOMS } from '../../core/rooms.ts';
import type { Certificate } from '../../x509/certificate.ts';
import { basicConstraints, type Extension, subjectKeyIdentifier } from '../../x509/extensions.ts';
import { keyIdentifier, publicKeyInfo } from '../../x509/keys.ts';
import { nameConstraints } from '../../x509/name-constraints.ts';
import { encodeSubject } from '../../x509/names.ts';
import { EXTENSION_OID } from '../../x509/oids.ts';
import { judgeNameConstraints } from '../../x509/subtrees.ts';
import { DEFAULT_SETTINGS, type Issuer, type IssuerSettings } from '../mount-state/issuer.ts';
import { describeIssuing } from './issuing.ts';

const key = generateKeyPairSync('ed25519').privateKey;
const spki = publicKeyInfo(key);

/** A CA of that name; all have one key. */
function makeIssuer(
  subject: string,
  issuer: string,
  given: (Extension | undefined)[] = [],
): Certificate {
  const extensions = given.filter((extension) => extension !== undefined);
  return makeCertificate({ subject, issuer, key, signer: key, extensions });
}

const KEY = { id: 'k', name: '', key_type: 'ed25519', key_bits: 0, public_key: spki } as const;

function issuerOf(chain: Certificate[], settings: Partial<IssuerSettings> = {}): Issuer {
  const [certificate] = chain;
  assert.ok(certificate);
  return {
    id: 'i',
    name: '',
    key_id: 'k',
    certificate,
    chain,
    signed_by: '',
    settings: { ...DEFAULT_SETTINGS, ...settings },
    revoked_at_ms: undefined,
    revocation_reason: 0,
    modified_at_ms: 0,
    created_at_ms: 0,
    version: 0,
  };
}

const describe = (chain: Certificate[], settings: Partial<IssuerSettings> = {}) =>
  describeIssuing(issuerOf(chain, settings), KEY, DEFAULT_SETTINGS);

const limited = (pathLength: number) => basicConstraints({ ca: true, pathLength });
const within = (domain: string) => nameConstraints({ permitted_dns_domains: [domain] });

test('a root brings its subject, end and key identifier, worked out where it states none', () => {
  const facts = describe([makeIssuer('Root', 'Root')]);
  assert.deepEqual(facts.subject, encodeSubject({ common_name: 'Root' }));
  assert.equal(facts.not_after, 4_000_000_000);
  assert.deepEqual(facts.key_identifier, keyIdentifier(spki));
  assert.equal(facts.path_length, undefined);
  const stating = makeIssuer('Root', 'Root', [subjectKeyIdentifier(Uint8Array.of(7))]);
  assert.deepEqual(describe([stating]).key_identifier, Uint8Array.of(7));
});

const paths: [chain: Certificate[], remaining: number | undefined, why: string][] = [
  [[makeIssuer('R', 'R', [limited(0)])], 0, 'of its own'],
  [[makeIssuer('S', 'R'), makeIssuer('R', 'R')], undefined, 'none anywhere'],
  [[makeIssuer('S', 'R', [limited(3)]), makeIssuer('R', 'R')], 3, 'only its own'],
  [[makeIssuer('S', 'R'), makeIssuer('R', 'R', [limited(1)])], 0, 'only the one above'],
  [
    [makeIssuer('S', 'R', [limited(3)]), makeIssuer('R', 'R', [limited(2)])],
    1,
    'the narrower one counts',
  ],
  [
    [makeIssuer('S', 'R'), makeIssuer('R', 'R', [limited(0)]), makeIssuer('R', 'X')],
    undefined,
    'above a fork nothing is known',
  ],
];
for (const [chain, remaining, why] of paths) {
  test(`the path length that is left: ${why}`, () => {
    assert.equal(describe(chain).path_length, remaining);
    assert.equal(describe(chain, { disable_path_length_checks: true }).path_length, undefined);
  });
}

test('name constraints of the issuer and of those above it hold, unless switched off', () => {
  const chain = [makeIssuer('S', 'R', [within('a.test')]), makeIssuer('R', 'R', [within('test')])];
  const domains = (settings: Partial<IssuerSettings> = {}) =>
    describe(chain, settings).name_constraints.map((one) => one.permitted_dns_domains);
  assert.deepEqual(domains(), [['a.test'], ['test']]);
  assert.deepEqual(domains({ disable_name_constraint_checks: true }), []);
});

test('directory names that are constrained above many issuers weigh what they take', () => {
  const many = (of: number) =>
    directoryConstraints(
      [],
      Array.from({ length: 1000 }, (_, at) =>
        directoryName(
          ...Array.from({ length: 10 }, (__, part): ['OU', string][] => [
            ['OU', `${of}-${at.toString(36)}-${part}`],
          ]),
        ),
      ),
    );
  const subject = directoryName([['OU', 'a']]);
  const parents = Array.from({ length: 10 }, (_, of) => makeIssuer(`R${of}`, 'R', [many(of)]));
  const before = heapUsed();
  const issuers = parents.map((parent) => {
    const issuer = issuerOf([parent]);
    const { name_constraints } = describeIssuing(issuer, KEY, DEFAULT_SETTINGS);
    assert.equal(name_constraints[0]?.excluded_directory_names?.length, 1000);
    const names = { subject, dns: [], email: [], ip: [], uri: [] };
    assert.deepEqual(judgeNameConstraints(name_constraints[0], names), { allowed: true });
    return issuer;
  });
  const grown = heapUsed() - before;
  assert.ok(grown < ROOMS.worked_out + (4 << 20), `${grown >> 20} MiB`);
  assert.equal(issuers.length, 10);
});

test('what is above an authority that has certified its new key holds beneath that, too', () => {
  const next = generateKeyPairSync('ed25519').privateKey;
  const by = (
    of: typeof key,
    signer: typeof key,
    subject: string,
    given: (Extension | undefined)[],
  ) =>
    makeCertificate({
      subject,
      issuer: 'R',
      key: of,
      signer,
      extensions: given.flatMap((e) => e ?? []),
    });
  const root = by(key, key, 'R', [within('test'), limited(3)]);
  const rollover = by(next, key, 'R', [within('a.test')]);
  const sub = by(key, next, 'S', []);
  const other = by(next, next, 'R', []);
  const seen = (...chain: Certificate[]) => {
    const { name_constraints, path_length } = describe(chain);
    return [name_constraints.map((one) => one.permitted_dns_domains[0]), path_length];
  };
  assert.deepEqual(seen(root), [['test'], 3]);
  assert.deepEqual(seen(rollover, root), [['a.test', 'test'], 3]);
  assert.deepEqual(seen(sub, rollover, root), [['a.test', 'test'], 2]);
  assert.deepEqual(seen(sub, root, rollover), [['a.test', 'test'], 2]);
  // Of two that have the key which certified it nobody can say by which of them it is verified: neither constrains it for all.
  assert.deepEqual(seen(sub, other, rollover, root), [[], undefined]);
});

test('where ways up part, constraints hold that are on each of them', () => {
  const crossed = [within('test')];
  const [root, again] = [makeIssuer('R', 'R', crossed), makeIssuer('R', 'X', crossed)];
  const other = makeIssuer('R', 'Y', [within('else')]);
  const sub = makeIssuer('S', 'R', [within('a.test')]);
  const top = makeIssuer('X', 'X', [within('x')]);
  const seen = (...chain: Certificate[]) =>
    describe(chain).name_constraints.map((one) => one.permitted_dns_domains[0]);
  assert.deepEqual(seen(sub, root, again), ['a.test', 'test']);
  assert.deepEqual(seen(sub, root, again, top), ['a.test', 'test']);
  assert.deepEqual(seen(sub, again, top), ['a.test', 'test', 'x']);
  assert.deepEqual(seen(sub, root, other), ['a.test'], 'one of them has others');
  assert.deepEqual(seen(sub, root, makeIssuer('R', 'X')), ['a.test'], 'or none');
});

test('constraints that cannot be read are told with whose they are', () => {
  const broken = { oid: EXTENSION_OID.nameConstraints, critical: true, value: Uint8Array.of(5, 0) };
  const chain = [makeIssuer('S', 'R'), makeIssuer('R', 'R', [broken])];
  assert.throws(
    () => describe(chain),
    (error) =>
      error instanceof Failure &&
      error.kind === 'invalid' &&
      error.message.startsWith('the name constraints of the authority "CN=R" cannot be read'),
  );
  assert.deepEqual(describe(chain, { disable_name_constraint_checks: true }).name_constraints, []);
});

test('two CAs that certify each other make no endless path', () => {
  assert.equal(describe([makeIssuer('A', 'B'), makeIssuer('B', 'A')]).path_length, undefined);
});

test('what is forbidden above many issuers is read once for all of them, and only some of it is kept', () => {
  const many = (of: number) =>
    nameConstraints({
      excluded_dns_domains: Array.from({ length: 10_000 }, (_, at) => `${of}-${at.toString(36)}`),
    });
  const parents = Array.from({ length: 10 }, (_, of) => makeIssuer(`R${of}`, 'X', [many(of)]));
  const children = parents.map((_, of) => makeIssuer('S', `R${of}`));
  const describeBeneath = () =>
    parents.flatMap((parent, of) => {
      const child = children[of];
      assert.ok(child);
      return Array.from({ length: 10 }, () => {
        const issuer = issuerOf([child, parent]);
        const { name_constraints } = describeIssuing(issuer, KEY, DEFAULT_SETTINGS);
        assert.equal(name_constraints[0]?.excluded_dns_domains.length, 10_000);
        judgeNameConstraints(name_constraints[0], { dns: ['a.test'], email: [], ip: [], uri: [] });
        return issuer;
      });
    });
  const before = heapUsed();
  const issuers = describeBeneath();
  const grown = heapUsed() - before;
  assert.ok(grown < ROOMS.worked_out + (4 << 20), `${grown >> 20} MiB`);
  assert.equal(issuers.length, 100);
});
