/** OpenSSL judges the certificates and keys we make, and makes some for us to read. */

import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { before, test } from 'node:test';
import { encodePem, parsePem } from '../../src/core/pem.ts';
import {
  chooseSignatureAlgorithm,
  type SignatureAlgorithm,
  signSync,
} from '../../src/x509/algorithms.ts';
import {
  assembleSigned,
  type Certificate,
  encodeTbsCertificate,
  isSelfSigned,
  isSignedBy,
  parseCertificate,
} from '../../src/x509/certificate.ts';
import {
  certificatePolicies,
  parseCertificatePolicies,
} from '../../src/x509/certificate-policies.ts';
import { sequence, TAG } from '../../src/x509/der.ts';
import {
  authorityInfoAccess,
  crlDistributionPoints,
  freshestCrl,
  parseAuthorityInfoAccess,
  parseDistributionPoints,
} from '../../src/x509/extension-urls.ts';
import {
  authorityKeyIdentifier,
  basicConstraints,
  type Extension,
  findExtension,
  subjectAltName,
  subjectKeyIdentifier,
} from '../../src/x509/extensions.ts';
import type { SubjectAltNames } from '../../src/x509/general-names.ts';
import {
  extKeyUsage,
  extKeyUsageOids,
  keyUsage,
  parseExtKeyUsage,
} from '../../src/x509/key-usages.ts';
import { describePublicKey, keyIdentifier, publicKeyInfo } from '../../src/x509/keys.ts';
import { lintTbsCertificate } from '../../src/x509/lint.ts';
import {
  type NameConstraints,
  nameConstraints,
  parseNameConstraints,
} from '../../src/x509/name-constraints.ts';
import { encodeSubject, nameText } from '../../src/x509/names.ts';
import { ATTRIBUTE_OID, EXTENSION_OID } from '../../src/x509/oids.ts';
import { exportPrivateKey, parsePrivateKey, provePair } from '../../src/x509/private-keys.ts';
import { type ConstrainedNames, judgeNameConstraints } from '../../src/x509/subtrees.ts';
import { type Openssl, withOpenssl } from '../support/openssl.ts';

before(() => {
  try {
    withOpenssl((openssl) => openssl.must('version'));
  } catch (cause) {
    throw new Error('these tests need the openssl command (3.0 or later) in the PATH', { cause });
  }
});

// OpenSSL is told this hour, so that the tests do not depend on the clock.
const NOW = Date.parse('2026-11-21T12:00:00Z') / 1000;
const LAST = Date.parse('9999-12-31T23:59:59Z') / 1000;
const present = <T>(...values: (T | undefined)[]): T[] =>
  values.filter((value) => value !== undefined);
const noNames: SubjectAltNames = { dns: [], email: [], ip: [], uri: [], other: [] };

interface Pair {
  publicKey: KeyObject;
  privateKey: KeyObject;
}

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const kinds: [name: string, pair: Pair, use_pss: boolean][] = [
  ['P-224', generateKeyPairSync('ec', { namedCurve: 'secp224r1' }), false],
  ['P-256', generateKeyPairSync('ec', { namedCurve: 'prime256v1' }), false],
  ['P-384', generateKeyPairSync('ec', { namedCurve: 'secp384r1' }), false],
  ['P-521', generateKeyPairSync('ec', { namedCurve: 'secp521r1' }), false],
  ['RSA', rsa, false],
  ['RSA with PSS', rsa, true],
  ['Ed25519', generateKeyPairSync('ed25519'), false],
];

interface Plan {
  issuer: Pair;
  subject: Pair;
  issuerName: Uint8Array;
  subjectName: Uint8Array;
  extensions: Extension[];
  use_pss?: boolean;
}

/** Signs after our own lint, as the server does. */
function sign(plan: Plan): Uint8Array {
  const signatureAlgorithm: SignatureAlgorithm = chooseSignatureAlgorithm({
    ...describePublicKey(publicKeyInfo(plan.issuer.publicKey)),
    use_pss: plan.use_pss ?? false,
  });
  const subjectPublicKeyInfo = publicKeyInfo(plan.subject.publicKey);
  const tbs = {
    serialNumber: new Uint8Array(20).fill(0x51),
    signatureAlgorithm,
    issuer: plan.issuerName,
    notBefore: NOW - 30,
    notAfter: LAST,
    subject: plan.subjectName,
    subjectPublicKeyInfo,
    extensions: [
      ...plan.extensions,
      subjectKeyIdentifier(keyIdentifier(subjectPublicKeyInfo)),
      authorityKeyIdentifier(keyIdentifier(publicKeyInfo(plan.issuer.publicKey))),
    ],
  };
  assert.deepEqual(lintTbsCertificate(tbs), []);
  const bytes = encodeTbsCertificate(tbs);
  return assembleSigned(
    bytes,
    signatureAlgorithm,
    signSync(plan.issuer.privateKey, signatureAlgorithm, bytes),
  );
}

const rootName = encodeSubject({
  country: ['CH'],
  organization: ['Gatehouse'],
  common_name: 'Root',
});

function signRoot(
  pair: Pair,
  use_pss: boolean,
  constraints: Partial<NameConstraints> = {},
): Uint8Array {
  return sign({
    issuer: pair,
    subject: pair,
    issuerName: rootName,
    subjectName: rootName,
    use_pss,
    extensions: present(
      keyUsage(['CertSign', 'CRLSign']),
      basicConstraints({ ca: true, pathLength: 0 }),
      nameConstraints(constraints),
    ),
  });
}

const leafUsage = present(
  keyUsage(['DigitalSignature', 'KeyAgreement', 'KeyEncipherment']),
  extKeyUsage(extKeyUsageOids(['ServerAuth', 'ClientAuth'])),
);

const verify = (openssl: Openssl, ...more: string[]): ReturnType<Openssl['run']> =>
  openssl.run(
    'verify',
    '-x509_strict',
    '-attime',
    String(NOW),
    ...more,
    '-CAfile',
    'root.pem',
    'leaf.pem',
  );

for (const [name, pair, use_pss] of kinds) {
  test(`a root and a leaf with ${name} keys verify strictly, until the year 9999`, () => {
    withOpenssl((openssl) => {
      const root = signRoot(pair, use_pss);
      const leaf = sign({
        issuer: pair,
        subject: pair,
        issuerName: rootName,
        subjectName: encodeSubject({ common_name: 'a.test' }),
        use_pss,
        extensions: [...leafUsage, subjectAltName({ ...noNames, dns: ['a.test'] }, false)],
      });
      openssl.write('root.pem', encodePem('CERTIFICATE', root, { trailingNewline: true }));
      openssl.write('leaf.pem', encodePem('CERTIFICATE', leaf, { trailingNewline: true }));
      openssl.write('leaf.der', leaf);
      const verdict = verify(openssl, '-purpose', 'sslserver', '-verify_hostname', 'a.test');
      assert.equal(verdict.status, 0, verdict.text);
      openssl.must(
        'verify',
        '-x509_strict',
        '-check_ss_sig',
        '-attime',
        String(NOW),
        '-CAfile',
        'root.pem',
        'root.pem',
      );
      openssl.must(
        'verify',
        '-x509_strict',
        '-attime',
        String(LAST - 1),
        '-CAfile',
        'root.pem',
        'leaf.pem',
      );
      openssl.must('asn1parse', '-inform', 'DER', '-in', 'leaf.der');
      assert.match(
        openssl.must('x509', '-in', 'leaf.pem', '-noout', '-enddate'),
        /Dec 31 23:59:59 9999 GMT/,
      );
      assert.notEqual(verify(openssl, '-verify_hostname', 'b.test').status, 0);
    });
  });

  test(`${name} keys check out in both forms, and come back from OpenSSL`, async () => {
    const read: KeyObject[] = [];
    withOpenssl((openssl) => {
      for (const form of ['traditional', 'pkcs8'] as const) {
        openssl.write('key.pem', `${exportPrivateKey(pair.privateKey, form, 'pem')}\n`);
        openssl.must('pkey', '-in', 'key.pem', '-check', '-noout');
        // OpenSSL has no traditional form of Ed25519 keys either.
        for (const args of name === 'Ed25519' ? [[]] : [[], ['-traditional']]) {
          read.push(parsePrivateKey(openssl.must('pkey', '-in', 'key.pem', ...args)));
        }
      }
    });
    for (const key of read) assert.ok(await provePair(key, publicKeyInfo(pair.publicKey)));
  });
}

test('an empty subject with critical names verifies strictly', () => {
  const [, pair] = kinds[1] ?? assert.fail();
  withOpenssl((openssl) => {
    const leaf = sign({
      issuer: pair,
      subject: pair,
      issuerName: rootName,
      subjectName: encodeSubject({}),
      extensions: [...leafUsage, subjectAltName({ ...noNames, dns: ['a.test'] }, true)],
    });
    openssl.write('root.pem', encodePem('CERTIFICATE', signRoot(pair, false)));
    openssl.write('leaf.pem', encodePem('CERTIFICATE', leaf));
    const verdict = verify(openssl);
    assert.equal(verdict.status, 0, verdict.text);
  });
});

test('OpenSSL reads every field and extension as it was meant', () => {
  const [, pair] = kinds[1] ?? assert.fail();
  const names: SubjectAltNames = {
    dns: ['a.test', '*.b.test'],
    email: ['me@a.test'],
    ip: ['192.0.2.1', '2001:db8::1'],
    uri: ['spiffe://a.test/x'],
    other: [{ oid: '1.3.6.1.4.1.311.20.2.3', value: 'mé@a.test' }],
  };
  const leaf = sign({
    issuer: pair,
    subject: pair,
    issuerName: rootName,
    subjectName: encodeSubject({
      country: ['CH'],
      organization: ['Öl AG'],
      ou: ['Z', 'E', 'V', 'Z'],
      locality: ['Town'],
      province: ['Canton'],
      street_address: ['Main St 1'],
      postal_code: ['1000'],
      common_name: 'a.test',
      serial_number: '42',
      user_ids: ['u-1'],
    }),
    extensions: present(
      ...leafUsage,
      basicConstraints({ ca: false }),
      authorityInfoAccess({ ocsp: ['http://a.test/ocsp'], caIssuers: ['http://a.test/ca'] }),
      subjectAltName(names, false),
      certificatePolicies([{ oid: '1.2.3.4', cps: 'https://a.test/cps', notice: 'Terms' }]),
      crlDistributionPoints(['http://a.test/crl']),
      freshestCrl(['http://a.test/delta']),
    ),
  });
  withOpenssl((openssl) => {
    openssl.write('leaf.der', leaf);
    const text = openssl.must(
      'x509',
      '-inform',
      'DER',
      '-in',
      'leaf.der',
      '-noout',
      '-text',
      '-nameopt',
      'RFC2253,-esc_msb,utf8',
    );
    for (const phrase of [
      'Serial Number:\n            51:51:',
      'Signature Algorithm: ecdsa-with-SHA256',
      'Subject: UID=u-1,serialNumber=42,CN=a.test,postalCode=1000,street=Main St 1,ST=Canton,L=Town,OU=Z+OU=V+OU=E,O=Öl AG,C=CH',
      'X509v3 Key Usage: critical\n                Digital Signature, Key Encipherment, Key Agreement',
      'TLS Web Server Authentication, TLS Web Client Authentication',
      'X509v3 Basic Constraints: critical\n                CA:FALSE',
      'OCSP - URI:http://a.test/ocsp\n                CA Issuers - URI:http://a.test/ca',
      'DNS:a.test, DNS:*.b.test, email:me@a.test, IP Address:192.0.2.1, IP Address:2001:DB8:0:0:0:0:0:1, URI:spiffe://a.test/x',
      'Policy: 1.2.3.4\n                  CPS: https://a.test/cps\n                  User Notice:\n                    Explicit Text: Terms',
      'X509v3 CRL Distribution Points: \n                Full Name:\n                  URI:http://a.test/crl',
      'X509v3 Freshest CRL: \n                Full Name:\n                  URI:http://a.test/delta',
    ]) {
      assert.ok(text.includes(phrase), `${phrase}\n--- in ---\n${text}`);
    }
    // The list of names is long; this part of it differs between versions of OpenSSL.
    assert.match(text, /othername: ?(UPN::?mé@a\.test|<unsupported>)/);
    assert.equal(
      nameText(parseCertificate(leaf).subjectName),
      'UID=u-1,serialNumber=42,CN=a.test,postalCode=1000,STREET=Main St 1,ST=Canton,L=Town,OU=E+OU=V+OU=Z,O=Öl AG,C=CH',
    );
  });
});

const CONFIG = `
[req]
distinguished_name = dn
prompt = no
string_mask = default
[dn]
C = CH
O = Acme \\& Co
1.OU = First
2.OU = Second
CN = Every extension
emailAddress = ca@a.test
[every]
basicConstraints = critical,CA:TRUE,pathlen:3
keyUsage = critical,digitalSignature,nonRepudiation,keyEncipherment,dataEncipherment,keyAgreement,keyCertSign,cRLSign,encipherOnly,decipherOnly
extendedKeyUsage = critical,serverAuth,clientAuth,1.2.3.4
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid:always,issuer:always
subjectAltName = @names
issuerAltName = URI:http://issuer.test,dirName:other
authorityInfoAccess = OCSP;URI:http://a.test/ocsp,caIssuers;URI:http://a.test/ca,1.2.3.5;email:me@a.test
subjectInfoAccess = caRepository;URI:http://a.test/repository
crlDistributionPoints = one,two
freshestCRL = URI:http://a.test/delta
certificatePolicies = 1.2.3.4,@policy
policyConstraints = requireExplicitPolicy:3,inhibitPolicyMapping:0
policyMappings = 1.2.3.4:1.2.3.5
inhibitAnyPolicy = 2
nameConstraints = critical,permitted;DNS:a.test,permitted;IP:10.0.0.0/255.0.0.0,permitted;IP:2001:db8::/ffff:ffff::,excluded;email:.b.test,excluded;URI:.c.test,permitted;dirName:other
tlsfeature = status_request
noCheck = ignored
nsComment = "a comment"
nsCertType = server
1.2.3.6 = ASN1:SEQUENCE:custom
[names]
DNS.1 = a.test
DNS.2 = *.a.test
email.1 = me@a.test
URI.1 = https://a.test/x
IP.1 = 192.0.2.1
IP.2 = 2001:db8::1
RID.1 = 1.2.3.4
dirName.1 = other
otherName.1 = 1.3.6.1.4.1.311.20.2.3;UTF8:me@a.test
otherName.2 = 1.2.3.4;IA5STRING:x
[other]
CN = Other
[one]
fullname = URI:http://a.test/crl1,URI:ldap://a.test/crl2
reasons = keyCompromise,CACompromise
[two]
relativename = relative
CRLissuer = dirName:other
[relative]
CN = relative
[policy]
policyIdentifier = 1.2.3.9
CPS.1 = https://a.test/cps
userNotice.1 = @notice
[notice]
explicitText = UTF8:Terms
organization = Acme
noticeNumbers = 1,2
[custom]
number = INTEGER:1
words = UTF8:words
`;

function every(use: (openssl: Openssl, certificate: Certificate) => void): void {
  withOpenssl((openssl) => {
    openssl.write('config', CONFIG);
    openssl.must(
      'req',
      '-x509',
      '-new',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-keyout',
      'key.pem',
      '-days',
      '30',
      '-config',
      'config',
      '-extensions',
      'every',
      '-out',
      'every.pem',
    );
    const [block] = parsePem(Buffer.from(openssl.read('every.pem')).toString());
    use(openssl, parseCertificate(block?.der ?? assert.fail('no PEM')));
  });
}

test("a certificate of OpenSSL's with every extension is read", () => {
  every((_, certificate) => {
    assert.equal(certificate.extensions.length, 21);
    assert.equal(isSelfSigned(certificate), true);
    assert.equal(certificate.isCa, true);
    assert.equal(certificate.pathLength, 3);
    assert.equal(certificate.keyUsage?.length, 9);
    assert.deepEqual(certificate.subjectAltNames?.dns, ['a.test', '*.a.test']);
    assert.deepEqual(certificate.subjectAltNames?.ip, ['192.0.2.1', '2001:db8::1']);
    assert.deepEqual(certificate.subjectAltNames?.other, [
      { oid: '1.3.6.1.4.1.311.20.2.3', value: 'me@a.test' },
    ]);
    assert.equal(certificate.subjectAltNames?.unknown.length, 3);
    const id = Buffer.from(keyIdentifier(certificate.subjectPublicKeyInfo));
    assert.deepEqual(Buffer.from(certificate.subjectKeyId ?? []), id);
    assert.deepEqual(Buffer.from(certificate.authorityKeyId ?? []), id);
    assert.equal(
      nameText(certificate.subjectName),
      '1.2.840.113549.1.9.1=ca@a.test,CN=Every extension,OU=Second,OU=First,O=Acme & Co,C=CH',
    );
    assert.deepEqual(describePublicKey(certificate.subjectPublicKeyInfo), {
      key_type: 'ec',
      key_bits: 256,
    });
  });
});

test("the values of OpenSSL's extensions are read as they were configured", () => {
  every((_, certificate) => {
    const value = (oid: string): Uint8Array =>
      findExtension(certificate.extensions, oid)?.value ?? assert.fail(oid);
    assert.deepEqual(parseExtKeyUsage(value(EXTENSION_OID.extKeyUsage)), [
      '1.3.6.1.5.5.7.3.1',
      '1.3.6.1.5.5.7.3.2',
      '1.2.3.4',
    ]);
    assert.deepEqual(parseAuthorityInfoAccess(value(EXTENSION_OID.authorityInfoAccess)), {
      ocsp: ['http://a.test/ocsp'],
      caIssuers: ['http://a.test/ca'],
    });
    assert.deepEqual(parseDistributionPoints(value(EXTENSION_OID.cRLDistributionPoints)), [
      'http://a.test/crl1',
      'ldap://a.test/crl2',
    ]);
    assert.deepEqual(parseDistributionPoints(value(EXTENSION_OID.freshestCRL)), [
      'http://a.test/delta',
    ]);
    assert.deepEqual(parseCertificatePolicies(value(EXTENSION_OID.certificatePolicies)), [
      { oid: '1.2.3.4' },
      { oid: '1.2.3.9', cps: 'https://a.test/cps', notice: 'Terms' },
    ]);
    assert.deepEqual(parseNameConstraints(value(EXTENSION_OID.nameConstraints)), {
      permitted_dns_domains: ['a.test'],
      excluded_dns_domains: [],
      permitted_ip_ranges: ['10.0.0.0/8', '2001:db8::/32'],
      excluded_ip_ranges: [],
      permitted_email_addresses: [],
      excluded_email_addresses: ['.b.test'],
      permitted_uri_domains: [],
      excluded_uri_domains: ['.c.test'],
      permitted_directory_names: [
        [[{ oid: ATTRIBUTE_OID.common_name, tag: TAG.printableString, value: 'Other' }]],
      ],
      excluded_directory_names: [],
      other_kinds: [],
    });
  });
});

const otherKeys: [
  name: string,
  args: string[],
  kind: { key_type: string; key_bits: number } | undefined,
][] = [
  ['RSA of 3072 bits', ['rsa:3072'], { key_type: 'rsa', key_bits: 3072 }],
  ['RSA of 1024 bits', ['rsa:1024'], { key_type: 'rsa', key_bits: 1024 }],
  ['Ed25519', ['ed25519'], { key_type: 'ed25519', key_bits: 0 }],
  ['P-224', ['ec', '-pkeyopt', 'ec_paramgen_curve:secp224r1'], { key_type: 'ec', key_bits: 224 }],
  ['secp256k1', ['ec', '-pkeyopt', 'ec_paramgen_curve:secp256k1'], undefined],
  [
    'P-256 with explicit parameters',
    ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-pkeyopt', 'ec_param_enc:explicit'],
    undefined,
  ],
  ['Ed448', ['ed448'], undefined],
  ['RSA-PSS', ['rsa-pss', '-pkeyopt', 'rsa_keygen_bits:2048'], undefined],
];
for (const [name, args, kind] of otherKeys) {
  test(`a certificate of OpenSSL's with a key of ${name} is read, and its key ${kind ? 'known' : 'refused'}`, async () => {
    const pairs: [key: KeyObject, info: Uint8Array][] = [];
    withOpenssl((openssl) => {
      openssl.must(
        'req',
        '-x509',
        '-new',
        '-newkey',
        ...args,
        '-nodes',
        '-keyout',
        'key.pem',
        '-subj',
        '/CN=a',
        '-outform',
        'DER',
        '-out',
        'a.der',
      );
      const certificate = parseCertificate(openssl.read('a.der'));
      const info = certificate.subjectPublicKeyInfo;
      const key = Buffer.from(openssl.read('key.pem')).toString();
      if (kind) {
        assert.deepEqual(describePublicKey(info), kind);
        assert.equal(isSignedBy(certificate, info), true);
        pairs.push([parsePrivateKey(key), info]);
      } else {
        assert.throws(() => describePublicKey(info), { kind: 'invalid' });
        assert.throws(() => parsePrivateKey(key), { kind: 'invalid' });
      }
    });
    for (const [key, info] of pairs) assert.ok(await provePair(key, info));
  });
}

// What OpenSSL says of a chain under constraints, our own judgement must say too, or be stricter.
const constrained: [
  constraints: Partial<NameConstraints>,
  names: Partial<ConstrainedNames>,
  allowed: boolean,
][] = [
  [{ permitted_dns_domains: ['a.test'] }, { dns: ['a.test', 'b.a.test'] }, true],
  [{ permitted_dns_domains: ['a.test'] }, { dns: ['nota.test'] }, false],
  [{ permitted_dns_domains: ['.a.test'] }, { dns: ['b.a.test'] }, true],
  [{ permitted_dns_domains: ['a.test'] }, { dns: ['*.a.test'] }, true],
  [{ excluded_dns_domains: ['b.a.test'] }, { dns: ['c.b.a.test'] }, false],
  [{ excluded_dns_domains: ['b.a.test'] }, { dns: ['c.a.test'] }, true],
  [{ permitted_ip_ranges: ['10.0.0.0/8'] }, { ip: ['10.1.2.3'] }, true],
  [{ permitted_ip_ranges: ['10.0.0.0/8'] }, { ip: ['11.1.2.3'] }, false],
  [{ permitted_ip_ranges: ['10.0.0.0/8'] }, { ip: ['::1'] }, false],
  [{ excluded_ip_ranges: ['2001:db8::/33'] }, { ip: ['2001:db8:8000::1'] }, true],
  [{ excluded_ip_ranges: ['2001:db8::/33'] }, { ip: ['2001:db8:7000::1'] }, false],
  [{ permitted_email_addresses: ['a.test'] }, { email: ['me@a.test'] }, true],
  [{ permitted_email_addresses: ['a.test'] }, { email: ['me@b.a.test'] }, false],
  [{ permitted_email_addresses: ['.a.test'] }, { email: ['me@b.a.test'] }, true],
  [{ permitted_email_addresses: ['me@a.test'] }, { email: ['you@a.test'] }, false],
  [{ permitted_uri_domains: ['a.test'] }, { uri: ['https://a.test/x'] }, true],
  [{ permitted_uri_domains: ['a.test'] }, { uri: ['https://b.a.test/x'] }, false],
  [{ excluded_uri_domains: ['.a.test'] }, { uri: ['https://b.a.test:80/x'] }, false],
];
for (const [constraints, names, allowed] of constrained) {
  test(`${JSON.stringify(constraints)} over ${JSON.stringify(names)}: we and OpenSSL say ${allowed ? 'yes' : 'no'}`, () => {
    const [, pair] = kinds[1] ?? assert.fail();
    const root = signRoot(pair, false, constraints);
    const leaf = sign({
      issuer: pair,
      subject: pair,
      issuerName: rootName,
      subjectName: encodeSubject({ organization: ['Leaf'] }),
      extensions: [...leafUsage, subjectAltName({ ...noNames, ...names }, false)],
    });
    const value = findExtension(
      parseCertificate(root).extensions,
      EXTENSION_OID.nameConstraints,
    )?.value;
    const verdict = judgeNameConstraints(
      parseNameConstraints(value ?? assert.fail()),
      parseCertificate(leaf).subjectAltNames ?? assert.fail(),
    );
    withOpenssl((openssl) => {
      openssl.write('root.pem', encodePem('CERTIFICATE', root));
      openssl.write('leaf.pem', encodePem('CERTIFICATE', leaf));
      const said = verify(openssl);
      assert.equal(said.status === 0, allowed, said.text);
      assert.equal(verdict.allowed, allowed);
    });
  });
}

// OpenSSL finds no host name in most of these, judges none of them, and matches them all the same.
const hostsInSubjects: [
  constraints: Partial<NameConstraints>,
  common_name: string,
  host: string,
  openssl: boolean,
  allowed: boolean,
][] = [
  [{ permitted_dns_domains: ['a.test'] }, 'w.a.test', 'w.a.test', true, true],
  [{ permitted_dns_domains: ['a.test'] }, '*.a.test', 'w.a.test', true, true],
  [{ permitted_dns_domains: ['a.test'] }, 'w.b.test', 'w.b.test', false, false],
  [{ permitted_dns_domains: ['a.test'] }, '*.b.test', 'w.b.test', true, false],
  [{ permitted_dns_domains: ['a.test'] }, 'w*.b.test', 'www.b.test', true, false],
  [{ permitted_dns_domains: ['a.test'] }, '*w.b.test', 'www.b.test', true, false],
  [{ permitted_dns_domains: ['a.test'] }, '-w.b.test', '-w.b.test', true, false],
  [{ permitted_dns_domains: ['a.test'] }, 'w-.b.test', 'w-.b.test', true, false],
  [{ permitted_dns_domains: ['a.test'] }, 'w!.b.test', 'w!.b.test', true, false],
  [{ permitted_dns_domains: ['a.test'] }, 'w.b.test.', 'w.b.test.', true, false],
  [{ permitted_dns_domains: ['a.test'] }, 'localhost', 'localhost', true, false],
  [{ permitted_dns_domains: ['localhost'] }, 'localhost', 'localhost', true, true],
  [{ excluded_dns_domains: ['x.a.test'] }, '*.x.a.test', 'w.x.a.test', true, false],
  [{ excluded_dns_domains: ['x.a.test'] }, '*.A.test', 'x.a.test', true, false],
  [{ excluded_dns_domains: ['x.a.test'] }, 'x*.a.test', 'x.a.test', true, false],
  [{ excluded_dns_domains: ['x.a.test'] }, '-w.X.a.test', '-w.x.a.test', true, false],
  [{ excluded_dns_domains: ['x.a.test'] }, '*.y.a.test', 'w.y.a.test', true, true],
];
for (const [constraints, common_name, host, openssl, allowed] of hostsInSubjects) {
  const ours = allowed ? 'let pass' : 'refuse';
  test(`${JSON.stringify(constraints)} over CN=${common_name}: OpenSSL ${openssl ? 'accepts' : 'refuses'} ${host}, and we ${ours} it`, () => {
    const [, pair] = kinds[1] ?? assert.fail();
    const leaf = sign({
      issuer: pair,
      subject: pair,
      issuerName: rootName,
      subjectName: encodeSubject({ common_name }),
      extensions: leafUsage,
    });
    withOpenssl((run) => {
      run.write('root.pem', encodePem('CERTIFICATE', signRoot(pair, false, constraints)));
      run.write('leaf.pem', encodePem('CERTIFICATE', leaf));
      const said = verify(run, '-purpose', 'sslserver', '-verify_hostname', host);
      assert.equal(said.status === 0, openssl, said.text);
    });
    const verdict = judgeNameConstraints(
      { ...parseNameConstraints(sequence()), ...constraints },
      { common_name, is_for_servers: true, dns: [], email: [], ip: [], uri: [] },
    );
    assert.equal(verdict.allowed, allowed);
  });
}

const utf8Mailboxes: [constraints: Partial<NameConstraints>, mailbox: string, allowed: boolean][] =
  [
    [{ permitted_email_addresses: ['a.test'] }, 'mé@a.test', true],
    [{ permitted_email_addresses: ['a.test'] }, 'mé@b.test', false],
    [{ excluded_email_addresses: ['a.test'] }, 'mé@a.test', false],
    [{ excluded_email_addresses: ['a.test'] }, 'mé@b.test', true],
  ];
for (const [constraints, value, allowed] of utf8Mailboxes) {
  test(`${JSON.stringify(constraints)} over SmtpUTF8Mailbox ${value}: we and OpenSSL say ${allowed ? 'yes' : 'no'}`, () => {
    const [, pair] = kinds[1] ?? assert.fail();
    const other = [{ oid: '1.3.6.1.5.5.7.8.9', value }];
    const leaf = sign({
      issuer: pair,
      subject: pair,
      issuerName: rootName,
      subjectName: encodeSubject({ organization: ['Leaf'] }),
      extensions: [...leafUsage, subjectAltName({ ...noNames, other }, false)],
    });
    withOpenssl((run) => {
      run.write('root.pem', encodePem('CERTIFICATE', signRoot(pair, false, constraints)));
      run.write('leaf.pem', encodePem('CERTIFICATE', leaf));
      const said = verify(run);
      assert.equal(said.status === 0, allowed, said.text);
    });
    const verdict = judgeNameConstraints(
      { ...parseNameConstraints(sequence()), ...constraints },
      { dns: [], email: [], ip: [], uri: [], other },
    );
    assert.equal(verdict.allowed, allowed);
  });
}
