/** OpenSSL judges the CRLs, OCSP answers and requests we make, and makes some for us to read. */

import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { encodePem, parsePem } from '../../src/core/pem.ts';
import { type SignatureAlgorithm, signSync } from '../../src/x509/algorithms.ts';
import { assembleSigned, encodeTbsCertificate } from '../../src/x509/certificate.ts';
import { encodeCsrInfo, isCsrSignatureValid, parseCsr } from '../../src/x509/csr.ts';
import {
  authorityKeyIdentifier,
  basicConstraints,
  type Extension,
  subjectAltName,
  subjectKeyIdentifier,
} from '../../src/x509/extensions.ts';
import { keyUsage } from '../../src/x509/key-usages.ts';
import { keyIdentifier, publicKeyInfo } from '../../src/x509/keys.ts';
import { encodeSubject } from '../../src/x509/names.ts';
import {
  assembleOcspResponse,
  certIdHashes,
  decodeOcspPath,
  encodeResponseData,
  type OcspHash,
  type OcspStatus,
  parseOcspRequest,
} from '../../src/x509/ocsp.ts';
import { encodeTbsCertList, isCrlSignedBy, parseCrl } from '../support/crl.ts';
import { type Openssl, withOpenssl } from '../support/openssl.ts';

// OpenSSL checks times against the real clock, so these CRLs are of today.
const NOW = Math.floor(Date.now() / 1000);

interface Ca {
  name: string;
  privateKey: KeyObject;
  algorithm: SignatureAlgorithm;
  subject: Uint8Array;
  subjectPublicKeyInfo: Uint8Array;
  certificate: Uint8Array;
}

function newCa(
  name: string,
  algorithm: SignatureAlgorithm,
  { publicKey, privateKey }: { publicKey: KeyObject; privateKey: KeyObject },
): Ca {
  const subject = encodeSubject({ organization: ['Gatehouse'], common_name: `${name} root` });
  const subjectPublicKeyInfo = publicKeyInfo(publicKey);
  const usage = keyUsage(['CertSign', 'CRLSign', 'DigitalSignature']);
  const tbs = encodeTbsCertificate({
    serialNumber: Uint8Array.of(1),
    signatureAlgorithm: algorithm,
    issuer: subject,
    notBefore: NOW - 60,
    notAfter: NOW + 3600,
    subject,
    subjectPublicKeyInfo,
    extensions: [
      basicConstraints({ ca: true }),
      ...(usage ? [usage] : []),
      subjectKeyIdentifier(keyIdentifier(subjectPublicKeyInfo)),
      authorityKeyIdentifier(keyIdentifier(subjectPublicKeyInfo)),
    ],
  });
  const certificate = assembleSigned(tbs, algorithm, signSync(privateKey, algorithm, tbs));
  return { name, privateKey, algorithm, subject, subjectPublicKeyInfo, certificate };
}

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const cas = [
  newCa('P-256', 'ECDSAWithSHA256', generateKeyPairSync('ec', { namedCurve: 'P-256' })),
  newCa('P-384', 'ECDSAWithSHA384', generateKeyPairSync('ec', { namedCurve: 'P-384' })),
  newCa('RSA', 'SHA256WithRSA', rsa),
  newCa('RSA-PSS', 'SHA512WithRSAPSS', rsa),
  newCa('Ed25519', 'PureEd25519', generateKeyPairSync('ed25519')),
];

const REVOKED = Uint8Array.of(0x9a, 0xbc);

function signCrl(ca: Ca, deltaBase?: bigint, extensions: readonly Extension[] = []): Uint8Array {
  const tbs = encodeTbsCertList({
    issuer: ca.subject,
    signatureAlgorithm: ca.algorithm,
    thisUpdate: NOW - 10,
    nextUpdate: NOW + 3600,
    entries: [
      { serialNumber: REVOKED, revocationTime: NOW - 100 },
      { serialNumber: Uint8Array.of(0x11), revocationTime: NOW - 100, reason: 1 },
      { serialNumber: Uint8Array.of(0x12), revocationTime: 2_600_000_000, reason: 4 },
    ],
    crlNumber: 4711n,
    authorityKeyId: keyIdentifier(ca.subjectPublicKeyInfo),
    ...(deltaBase === undefined ? {} : { deltaBase }),
    extensions,
  });
  return assembleSigned(tbs, ca.algorithm, signSync(ca.privateKey, ca.algorithm, tbs));
}

const writeCa = (openssl: Openssl, ca: Ca): void =>
  openssl.write('ca.pem', encodePem('CERTIFICATE', ca.certificate, { trailingNewline: true }));

for (const ca of cas) {
  test(`OpenSSL verifies a CRL signed with ${ca.name} and reads what it says`, () => {
    withOpenssl((openssl) => {
      writeCa(openssl, ca);
      openssl.write('list.pem', encodePem('X509 CRL', signCrl(ca)));
      const text = openssl.must('crl', '-in', 'list.pem', '-noout', '-text', '-CAfile', 'ca.pem');
      assert.match(text, /verify OK/);
      assert.match(text, /Version 2/);
      assert.match(text, /X509v3 CRL Number:\s+4711/);
      assert.match(text, /Serial Number: 9ABC\n/);
      assert.match(
        text,
        /Serial Number: 11\n[^S]*CRL entry extensions:\s+X509v3 CRL Reason Code:\s+Key Compromise/,
      );
      assert.match(text, /2052 GMT/);
      assert.doesNotMatch(text, /Delta/);
    });
  });

  test(`OpenSSL verifies OCSP answers signed with ${ca.name}`, () => {
    withOpenssl((openssl) => {
      writeCa(openssl, ca);
      const statuses: [OcspStatus, RegExp][] = [
        [{ status: 'good' }, /0x9ABC: good/],
        [
          { status: 'revoked', revocationTime: NOW - 50, reason: 1 },
          /0x9ABC: revoked[\s\S]*Reason: keyCompromise/,
        ],
        [{ status: 'revoked', revocationTime: NOW - 50 }, /0x9ABC: revoked/],
        [{ status: 'unknown' }, /0x9ABC: unknown/],
      ];
      for (const [status, says] of statuses) {
        const text = askOpenssl(openssl, ca, status);
        assert.match(text, /Response verify OK/);
        assert.match(text, says);
        assert.doesNotMatch(text, /WARNING|Nonce Verify error/i);
      }
    });
  });
}

/** OpenSSL asks with a nonce, we answer, OpenSSL reads the answer beside its question. */
function askOpenssl(openssl: Openssl, ca: Ca, status: OcspStatus, hash: OcspHash = 'sha1'): string {
  openssl.must(
    ...['ocsp', `-${hash}`, '-issuer', 'ca.pem', '-serial', '0x9ABC', '-reqout', 'question.der'],
  );
  const { certId, nonce } = parseOcspRequest(openssl.read('question.der'));
  const ours = certIdHashes(ca.subject, ca.subjectPublicKeyInfo, certId.hashAlgorithm);
  assert.deepEqual(Buffer.from(certId.issuerNameHash), Buffer.from(ours.issuerNameHash));
  assert.deepEqual(Buffer.from(certId.issuerKeyHash), Buffer.from(ours.issuerKeyHash));
  assert.deepEqual(Buffer.from(certId.serialNumber), Buffer.from(REVOKED));
  assert.equal(certId.hashAlgorithm, hash);
  assert.ok(nonce);
  const data = encodeResponseData({
    responder: ca.subject,
    producedAt: NOW,
    certId: certId.raw,
    status,
    thisUpdate: NOW,
    nextUpdate: NOW + 600,
    nonce,
  });
  const signature = signSync(ca.privateKey, ca.algorithm, data);
  openssl.write('answer.der', assembleOcspResponse(data, ca.algorithm, signature));
  // Without -no_nonce the question would get another nonce on being read again.
  return openssl.must(
    ...[
      'ocsp',
      '-no_nonce',
      '-reqin',
      'question.der',
      '-respin',
      'answer.der',
      '-issuer',
      'ca.pem',
    ],
    ...[`-${hash}`, '-serial', '0x9ABC', '-VAfile', 'ca.pem'],
  );
}

const [p256] = cas;
assert.ok(p256);

test('OpenSSL notices an answer to another question, and one by another key', () => {
  withOpenssl((openssl) => {
    writeCa(openssl, p256);
    askOpenssl(openssl, p256, { status: 'good' });
    openssl.must('ocsp', '-issuer', 'ca.pem', '-serial', '0x9ABC', '-reqout', 'question.der');
    const read = ['ocsp', '-no_nonce', '-reqin', 'question.der', '-respin', 'answer.der'];
    assert.match(openssl.run(...read, '-VAfile', 'ca.pem').text, /Nonce Verify error/);
    const twin = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    assert.throws(
      () => askOpenssl(openssl, { ...p256, privateKey: twin.privateKey }, { status: 'good' }),
      /Response Verify Failure/,
    );
  });
});

const hashes: OcspHash[] = ['sha256', 'sha384', 'sha512'];
for (const hash of hashes) {
  test(`OpenSSL recognises its ${hash} CertID in the answer`, () => {
    withOpenssl((openssl) => {
      writeCa(openssl, p256);
      const text = askOpenssl(openssl, p256, { status: 'good' }, hash);
      assert.match(text, /0x9ABC: good[\s\S]*Response verify OK/);
    });
  });
}

test('an OpenSSL request travels in a path in either alphabet', () => {
  withOpenssl((openssl) => {
    writeCa(openssl, p256);
    openssl.must('ocsp', '-issuer', 'ca.pem', '-serial', '0x9ABC', '-reqout', 'question.der');
    const der = Buffer.from(openssl.read('question.der'));
    assert.deepEqual(Buffer.from(decodeOcspPath(der.toString('base64'))), der);
    assert.deepEqual(Buffer.from(decodeOcspPath(der.toString('base64url'))), der);
  });
});

test('OpenSSL sees a critical delta indicator in a delta CRL, and refuses a CRL that was changed', () => {
  withOpenssl((openssl) => {
    writeCa(openssl, p256);
    const crl = signCrl(p256, 4700n);
    openssl.write('list.pem', encodePem('X509 CRL', crl));
    const show = ['crl', '-in', 'list.pem', '-noout', '-text', '-CAfile', 'ca.pem'];
    assert.match(openssl.must(...show), /X509v3 Delta CRL Indicator: critical\s+4700/);
    const changed = crl.slice();
    changed[Buffer.from(changed).indexOf('9abc', 'hex')] = 0x9b;
    openssl.write('list.pem', encodePem('X509 CRL', changed));
    assert.match(openssl.run(...show).text, /verify failure/);
  });
});

test('OpenSSL checks a certificate against our CRL', () => {
  withOpenssl((openssl) => {
    writeCa(openssl, p256);
    openssl.write('list.pem', encodePem('X509 CRL', signCrl(p256)));
    for (const [serialNumber, says] of [
      [REVOKED, /certificate revoked/],
      [Uint8Array.of(0x9a, 0xbd), /leaf.pem: OK/],
    ] as const) {
      const tbs = encodeTbsCertificate({
        serialNumber,
        signatureAlgorithm: p256.algorithm,
        issuer: p256.subject,
        notBefore: NOW - 60,
        notAfter: NOW + 60,
        subject: encodeSubject({ common_name: 'leaf' }),
        subjectPublicKeyInfo: p256.subjectPublicKeyInfo,
        extensions: [authorityKeyIdentifier(keyIdentifier(p256.subjectPublicKeyInfo))],
      });
      const leaf = assembleSigned(
        tbs,
        p256.algorithm,
        signSync(p256.privateKey, p256.algorithm, tbs),
      );
      openssl.write('leaf.pem', encodePem('CERTIFICATE', leaf));
      const { text } = openssl.run(
        ...['verify', '-crl_check', '-CAfile', 'ca.pem', '-CRLfile', 'list.pem', 'leaf.pem'],
      );
      assert.match(text, says);
    }
  });
});

test('a CRL that OpenSSL made reads back', () => {
  withOpenssl((openssl) => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const ca = newCa('theirs', 'ECDSAWithSHA256', { privateKey, publicKey });
    writeCa(openssl, ca);
    openssl.write('ca.key', privateKey.export({ format: 'pem', type: 'pkcs8' }));
    openssl.write(
      'index.txt',
      'R\t300101000000Z\t260102030405Z,keyCompromise\t9ABC\tunknown\t/CN=a\n' +
        'R\t300101000000Z\t260102030405Z\t11\tunknown\t/CN=b\n',
    );
    openssl.write('crlnumber', '1F\n');
    openssl.write(
      'ca.cnf',
      '[ca]\ndefault_ca=d\n[d]\ndatabase=index.txt\ncrlnumber=crlnumber\ndefault_md=sha256\n' +
        'crl_extensions=e\ncertificate=ca.pem\nprivate_key=ca.key\n[e]\nauthorityKeyIdentifier=keyid\n',
    );
    openssl.must('ca', '-config', 'ca.cnf', '-gencrl', '-crldays', '7', '-out', 'list.pem');
    const [block] = parsePem(Buffer.from(openssl.read('list.pem')).toString());
    assert.ok(block);
    const crl = parseCrl(block.der);
    assert.equal(crl.crlNumber, 0x1fn);
    assert.equal(isCrlSignedBy(crl, ca.subjectPublicKeyInfo), true);
    assert.equal(isCrlSignedBy(crl, p256.subjectPublicKeyInfo), false);
    assert.deepEqual(Buffer.from(crl.issuer), Buffer.from(ca.subject));
    assert.deepEqual(
      Array.from(crl.entries(), (entry) => [
        Buffer.from(entry.serialNumber).toString('hex'),
        entry.revocationTime,
        entry.reason,
      ]),
      [
        ['11', Date.UTC(2026, 0, 2, 3, 4, 5) / 1000, undefined],
        ['9abc', Date.UTC(2026, 0, 2, 3, 4, 5) / 1000, 1],
      ],
    );
  });
});

for (const ca of cas) {
  test(`OpenSSL verifies a request signed with ${ca.name}`, () => {
    const names = { dns: ['a.test'], email: [], ip: ['192.0.2.1'], uri: [], other: [] };
    const info = encodeCsrInfo({
      subject: encodeSubject({ common_name: 'a.test' }),
      subjectPublicKeyInfo: ca.subjectPublicKeyInfo,
      extensions: [subjectAltName(names, false), basicConstraints({ ca: true })],
    });
    const csr = assembleSigned(info, ca.algorithm, signSync(ca.privateKey, ca.algorithm, info));
    withOpenssl((openssl) => {
      openssl.write('request.pem', encodePem('CERTIFICATE REQUEST', csr));
      const text = openssl.must('req', '-in', 'request.pem', '-verify', '-noout', '-text');
      assert.match(text, /self-signature verify OK/);
      assert.match(text, /DNS:a\.test, IP Address:192\.0\.2\.1/);
      assert.match(text, /Basic Constraints: critical\s+CA:TRUE/);
    });
  });
}

const requests: [name: string, key: string[], options: string[]][] = [
  ['RSA', ['-algorithm', 'RSA'], ['-sha256']],
  ['RSA with SHA-512', ['-algorithm', 'RSA'], ['-sha512']],
  [
    'RSA-PSS',
    ['-algorithm', 'RSA'],
    ['-sha384', '-sigopt', 'rsa_padding_mode:pss', '-sigopt', 'rsa_pss_saltlen:-1'],
  ],
  ['P-224', ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-224'], ['-sha256']],
  ['P-256', ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256'], ['-sha256']],
  ['P-384', ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-384'], ['-sha384']],
  ['P-521', ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-521'], ['-sha512']],
  ['Ed25519', ['-algorithm', 'ED25519'], []],
];

for (const [name, key, options] of requests) {
  test(`a request that OpenSSL made with ${name} is read and its signature is right`, () => {
    withOpenssl((openssl) => {
      openssl.must('genpkey', ...key, '-out', 'key.pem');
      openssl.write(
        'req.cnf',
        '[req]\ndistinguished_name=dn\nattributes=at\nreq_extensions=e\nprompt=no\n' +
          '[dn]\nC=CH\nO=Æther\nCN=a.test\n[at]\nchallengePassword=secret\n' +
          '[e]\nsubjectAltName=DNS:a.test,email:a@b.test,URI:https://a.test/,IP:2001:db8::1\nkeyUsage=digitalSignature\n',
      );
      openssl.must(
        ...['req', '-new', '-utf8', '-config', 'req.cnf', '-key', 'key.pem', '-text'],
        ...['-out', 'request.pem', ...options],
      );
      const csr = parseCsr(Buffer.from(openssl.read('request.pem')).toString());
      assert.equal(isCsrSignatureValid(csr), true);
      assert.equal(csr.subjectName.fields.common_name, 'a.test');
      assert.deepEqual(csr.subjectName.fields.organization, ['Æther']);
      assert.deepEqual(csr.subjectAltNames?.dns, ['a.test']);
      assert.deepEqual(csr.subjectAltNames?.email, ['a@b.test']);
      assert.deepEqual(csr.subjectAltNames?.ip, ['2001:db8::1']);
      assert.deepEqual(
        csr.extensions.map(({ oid }) => oid),
        ['2.5.29.17', '2.5.29.15'],
      );
      assert.deepEqual(csr.otherAttributes, ['1.2.840.113549.1.9.7']);
    });
  });
}
