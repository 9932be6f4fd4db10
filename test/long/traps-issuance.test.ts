/** What comes out of issue and sign, asked of a server. */

import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { after, before, test } from 'node:test';
import { parsePem } from '../../src/core/pem.ts';
import { type Certificate, parseCertificate } from '../../src/x509/certificate.ts';
import {
  basicConstraints,
  findExtension,
  parseBasicConstraints,
  subjectAltName,
} from '../../src/x509/extensions.ts';
import { parseSubjectAltName, type SubjectAltNames } from '../../src/x509/general-names.ts';
import { parseKeyUsage } from '../../src/x509/key-usages.ts';
import { nameText, parseName } from '../../src/x509/names.ts';
import { EXTENSION_OID } from '../../src/x509/oids.ts';
import { makeCsr, type TestKey } from '../support/leaves.ts';
import { type Reply, startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });
type Fields = Record<string, unknown>;

before(async () => {
  await call('POST', 'sys/mounts/pki', { type: 'pki', config: { max_lease_ttl: '87600h' } });
  for (const issuer_name of ['root', 'second']) {
    const made = await call('POST', 'pki/root/generate/internal', {
      common_name: issuer_name,
      issuer_name,
      key_type: 'ec',
      ttl: '1000h',
    });
    assert.equal(made.status, 200, made.text);
  }
  const rsa = await call('POST', 'pki/root/generate/internal', {
    common_name: 'RSA',
    issuer_name: 'rsa',
    ttl: '1000h',
  });
  assert.equal(rsa.status, 200, rsa.text);
});

async function writeRole(fields: Fields): Promise<void> {
  const body = { key_type: 'ec', allow_any_name: true, ttl: '1h', ...fields };
  const answer = await call('POST', 'pki/roles/x', body);
  assert.equal(answer.status, 200, answer.text);
}

async function issue(role: Fields, request: Fields = {}): Promise<Reply> {
  await writeRole(role);
  return call('POST', 'pki/issue/x', { common_name: 'a.example.com', ...request });
}

async function sign(role: Fields, request: Fields): Promise<Reply> {
  await writeRole(role);
  return call('POST', 'pki/sign/x', request);
}

const derOf = (pem: string): Uint8Array => parsePem(pem)[0]?.der ?? new Uint8Array();

function leafOf(answer: Reply): Certificate {
  assert.equal(answer.status, 200, answer.text);
  return parseCertificate(derOf(answer.textAt('data.certificate')));
}

function extensionOf(leaf: Certificate, name: keyof typeof EXTENSION_OID) {
  return findExtension(leaf.extensions, EXTENSION_OID[name]);
}

function refusedWith(answer: Reply, status: number, says: RegExp): void {
  assert.equal(answer.status, status, answer.text);
  assert.match(answer.text, says);
}

const subjectOf = (leaf: Certificate): string => nameText(parseName(leaf.subject));
const secondsOf = (text: string): number => Date.parse(text) / 1000;

/** What a private key is wrapped in, by type: traditional and PKCS#8. */
const labels: [key_type: string, traditional: string][] = [
  ['rsa', 'RSA PRIVATE KEY'],
  ['ec', 'EC PRIVATE KEY'],
  ['ed25519', 'PRIVATE KEY'],
];
for (const [key_type, traditional] of labels) {
  test(`every format of certificate and key, for ${key_type}`, async () => {
    for (const format of ['pem', 'der', 'pem_bundle']) {
      for (const private_key_format of ['der', 'pkcs8', undefined, 'anything']) {
        const why = `${format}, ${private_key_format}`;
        const answer = await issue(
          { key_type },
          { format, ...(private_key_format === undefined ? {} : { private_key_format }) },
        );
        assert.equal(answer.status, 200, `${why}: ${answer.text}`);
        assert.equal(answer.field('data.private_key_type'), key_type);
        const label = private_key_format === 'pkcs8' ? 'PRIVATE KEY' : traditional;
        const certificateText = answer.textAt('data.certificate');
        const keyText = answer.textAt('data.private_key');
        let leaf: X509Certificate;
        let privateKey: ReturnType<typeof createPrivateKey>;
        if (format === 'der') {
          for (const field of ['certificate', 'issuing_ca', 'ca_chain.0', 'private_key']) {
            assert.match(answer.textAt(`data.${field}`), /^[A-Za-z0-9+/]+=*$/, `${why}: ${field}`);
          }
          leaf = new X509Certificate(Buffer.from(certificateText, 'base64'));
          const type = label === 'PRIVATE KEY' ? 'pkcs8' : key_type === 'rsa' ? 'pkcs1' : 'sec1';
          privateKey = createPrivateKey({ key: Buffer.from(keyText, 'base64'), format, type });
        } else {
          const blocks = parsePem(certificateText);
          assert.deepEqual(
            blocks.map((block) => block.label),
            format === 'pem' ? ['CERTIFICATE'] : [traditional, 'CERTIFICATE', 'CERTIFICATE'],
            why,
          );
          assert.ok(!certificateText.endsWith('\n') && !keyText.endsWith('\n'), why);
          assert.deepEqual(
            parsePem(keyText).map((block) => block.label),
            [label],
            why,
          );
          const der = blocks.find((block) => block.label === 'CERTIFICATE')?.der;
          leaf = new X509Certificate(Buffer.from(der ?? []));
          privateKey = createPrivateKey(keyText);
        }
        assert.ok(leaf.checkPrivateKey(privateKey), why);
        assert.equal(
          leaf.serialNumber,
          answer.textAt('data.serial_number').replaceAll(':', '').toUpperCase(),
        );
        assert.equal(answer.field('data.expiration'), secondsOf(leaf.validTo));
      }
    }
  });
}

test('every format when signing: there is no key in the answer', async () => {
  const csr = makeCsr({ subject: { common_name: 'a.example.com' } });
  for (const [format, shape] of [
    ['pem', /^-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----$/],
    ['der', /^[A-Za-z0-9+/]+=*$/],
    ['pem_bundle', /^(-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----\n?){2}$/],
  ] as const) {
    const answer = await sign({}, { csr, format });
    assert.equal(answer.status, 200, answer.text);
    assert.match(answer.textAt('data.certificate'), shape, format);
    assert.equal(answer.field('data.private_key'), undefined);
    assert.equal(answer.field('data.private_key_type'), undefined);
  }
});

test('a format that does not exist is refused', async () => {
  const says = /the \\"format\\" path parameter must be/;
  refusedWith(await issue({}, { format: 'zip' }), 400, says);
  refusedWith(await sign({}, { csr: makeCsr(), format: 'PKCS12' }), 400, says);
});

test('a TTL beyond the maximum of the role or of the mount is cut, with a warning', async () => {
  const answer = await issue({ max_ttl: '2h' }, { ttl: '3h' });
  assert.match(answer.textAt('warnings'), /TTL .* is longer than permitted maxTTL/);
  const { validFrom, validTo } = new X509Certificate(answer.textAt('data.certificate'));
  assert.equal(secondsOf(validTo) - secondsOf(validFrom), 7200 + 30);
  const within = await issue({ max_ttl: '2h' }, { ttl: '2h' });
  assert.equal(within.field('warnings'), null);
});

test('ttl and not_after exclude each other', async () => {
  const not_after = new Date(Date.now() + 7_200_000).toISOString();
  const says = /Either ttl or not_after should be provided/;
  refusedWith(await issue({}, { ttl: '1h', not_after }), 400, says);
  const alone = await issue({ ttl: 0 }, { not_after });
  assert.equal(alone.status, 200, alone.text);
  refusedWith(await issue({ ttl: 0 }, { not_after: 'tomorrow' }), 400, /not_after/);
});

test('an end beyond that of the issuer is judged as the issuer says', async () => {
  const not_after = '9999-12-31T23:59:59Z';
  const patch = (leaf_not_after_behavior: string) =>
    call('PATCH', 'pki/issuer/root', { leaf_not_after_behavior });
  const role = { ttl: 0, not_after };
  const says = /beyond the expiration of the CA certificate at/;
  refusedWith(await issue(role), 400, says);
  refusedWith(await issue({}, { ttl: '2000h' }), 400, says);
  await patch('truncate');
  const root = new X509Certificate((await call('GET', 'pki/issuer/root/pem')).text);
  const cut = new X509Certificate((await issue(role)).textAt('data.certificate'));
  assert.equal(cut.validTo, root.validTo);
  await patch('permit');
  const leaf = leafOf(await issue(role));
  assert.equal(leaf.notAfter, secondsOf(not_after));
  assert.ok(Buffer.from(leaf.raw).includes('99991231235959Z'), 'as GeneralizedTime');
  await patch('err');
  refusedWith(await issue(role), 400, says);
});

test('a role for any type of key makes the one that is asked for, and none unasked', async () => {
  refusedWith(
    await issue({ key_type: 'any' }),
    400,
    /role key type \\"any\\" not allowed for issuing certificates/,
  );
  const asked = await issue({ key_type: 'any' }, { key_type: 'ec', key_bits: 384 });
  const leaf = new X509Certificate(asked.textAt('data.certificate'));
  assert.equal(leaf.publicKey.asymmetricKeyDetails?.namedCurve, 'secp384r1');
  const other = await issue({ key_type: 'ec' }, { key_type: 'rsa', key_bits: 2048 });
  assert.match(other.textAt('warnings'), /key_type and key_bits ignored/);
});

test('an issuer that may not issue signs nothing', async () => {
  await call('PATCH', 'pki/issuer/second', { usage: 'read-only,crl-signing' });
  await writeRole({});
  const says = /requested usage issuing-certificates for issuer .* but only had usage/;
  const request = { common_name: 'a.example.com' };
  refusedWith(await call('POST', 'pki/issuer/second/issue/x', request), 500, says);
  await call('PATCH', 'pki/issuer/second', {
    usage: 'read-only,crl-signing,issuing-certificates,ocsp-signing',
  });
  assert.equal((await call('POST', 'pki/issuer/second/issue/x', request)).status, 200);
  refusedWith(
    await call('POST', 'pki/issuer/none/issue/x', request),
    500,
    /unable to find PKI issuer for reference: none|could not fetch the CA certificate/,
  );
  refusedWith(await call('POST', 'pki/issue/none', request), 400, /unknown role: none/);
});

test('extensions are there only where the role says so', async () => {
  const plain = leafOf(await issue({}));
  assert.deepEqual(
    parseKeyUsage(extensionOf(plain, 'keyUsage')?.value ?? new Uint8Array()).sort(),
    ['DigitalSignature', 'KeyAgreement', 'KeyEncipherment'],
  );
  assert.equal(extensionOf(plain, 'basicConstraints'), undefined);
  assert.equal(extensionOf(leafOf(await issue({ key_usage: [] })), 'keyUsage'), undefined);
  const stated = extensionOf(
    leafOf(await issue({ basic_constraints_valid_for_non_ca: true })),
    'basicConstraints',
  );
  assert.equal(stated?.critical, true);
  assert.equal(parseBasicConstraints(stated.value).ca, false);
});

const csrKeys: [key: TestKey, role: Fields, verdict: true | RegExp][] = [
  ['rsa-1024', { key_type: 'any' }, /RSA keys < 2048 bits are unsafe and not supported/],
  ['rsa-1024', { key_type: 'rsa' }, /2048/],
  ['rsa-2048', { key_type: 'rsa' }, true],
  [
    'rsa-2048',
    { key_type: 'rsa', key_bits: 3072 },
    /minimum of a 3072-bit key, but CSR's key is 2048/,
  ],
  ['rsa-2048', { key_type: 'ec' }, /role requires keys of type ec/],
  ['rsa-2048', { key_type: 'any' }, true],
  ['rsa-2048', { key_type: 'any', key_bits: 3072 }, true],
  ['ec-224', { key_type: 'any' }, true],
  ['ec-224', { key_type: 'ec', key_bits: 224 }, true],
  ['ec-224', { key_type: 'ec' }, /minimum of a 256-bit key, but CSR's key is 224/],
  ['ec-384', { key_type: 'ec' }, true],
  ['ec', { key_type: 'rsa' }, /role requires keys of type rsa/],
  ['ed25519', { key_type: 'ed25519' }, true],
  ['ed25519', { key_type: 'any' }, true],
  ['ed25519', { key_type: 'ec' }, /role requires keys of type ec/],
  ['ec', { key_type: 'ed25519' }, /role requires keys of type ed25519/],
];
test('a request is signed for a key that its role takes, and for no other', async () => {
  for (const [key, role, verdict] of csrKeys) {
    const why = `${key} under ${JSON.stringify(role)}`;
    const csr = makeCsr({ key, subject: { common_name: 'a.example.com' } });
    const answer = await sign(role, { csr });
    assert.equal(answer.status, verdict === true ? 200 : 400, `${why}: ${answer.text}`);
    if (verdict !== true) assert.match(answer.text, verdict, why);
  }
});

// Made once: a key of this size takes seconds. Nobody has its private key.
const RSA_8192 = `-----BEGIN CERTIFICATE REQUEST-----
MIIIXTCCBEUCAQAwGDEWMBQGA1UEAwwNYS5leGFtcGxlLmNvbTCCBCIwDQYJKoZI
hvcNAQEBBQADggQPADCCBAoCggQBAN73oLMtiSO5oQleV7cVIf9woZYmnuEVTljQ
Cn29UHYKbfbbwb69o7kAPj+5Ais82QTUk2cAZBUjckU4bqrCd8JzLZ84FbRFvujY
BQMEvoHfctUDaGBatfZTUd2T6qp475V2pVvP2pfm/JIiZm3tDmGzzUAFHXYHgiy3
UqZGBtRCkTz5/fck1QHy0Q5eEqdCEYsweeABwD0+Z6Ykpdg2UGC6Wg86j2UrC31L
+YcsEPIyA3/I1C6NBzg2aUALEkD7YCZ5ATue4CI81UoIkugqXNy+SpvU0LHu7GuT
IcNdp2uD7q2kd240Ybcz4+XZC/T6H7DdupWSXM5Y2AKZb5DEltFvtgz1PD6lhdes
Or/a/KbLntebrSl5RTKIWuhPzfyEp8lvhkffn2lojQbBcVC+SDGHKe6+pBjeZfEw
IRUy+n+HfNNyU2HRNIVSdqRdngg0l1kbry0jgBKQ7REn28atnWheeDTojkmUi5Ne
1/FDffndw2g+hCmD0Caa4oUUIduLnMJYs/L9SBTG5fnUPKIu09VC2Zrzi1gRvER1
DpwEOobhMl9bNTyA5/U2mHjrOj94HYE9NP9uxmrBYaPEsoVzJBLypDLdABIH5FKO
PRsug2pRKZehvTOdfB8l2ouvz5ilD8unu8euwnFoHgW/zZlTLetVpNolKOPOPZDX
7/jrIw5yZJdLoCdvbwPPfwBcsBLdxRMUmk93qNsV/feCDtIvgxAodMJ11lUOE95m
J0kdOObx0LkzGGb4MVNJ4AOwqnWCadECCZAU6Hd9gkUZQS7F0ujRdlczSyuIobdX
EpAG0+8lnNxhP+qeM549vFpnHtlSWXlG3T7t1Ls44N8u6QHOrQxIv2gcgfr3sfbc
VOvrfsVO9Z/yXKJXx/KWZ+qrBkOjvcdAYpyA9xcydjCRq+h10WAXwUNtu5fgDOIp
pQ5JJi01wEqAdzRSMnnJcpIlFVFZOPyHGry7PUYWuhm8m4HYliJjvKuvL/C5bSFu
v4UqtRmyqIsaZFRZ+Rb07h5cN2SKAvq1B3VA9WAH6MYQ1VwsSgpP44/ZRAg7VZy+
2a6x8UMpiHN3nuvoG5Rw3Th1oror4Kf1WOXeRVyCf632H2HXqChMCkZ2J45hqrEP
4wlQRcD0u/T7oTlH3sMhCT0ZR1g52LeKPqruTIkg0xukbnDUcPxmSsIf5H2NPFQg
JnpgdaAaDQRoXHBp9ftHlQbYi+eLpldptA6/+lI91iQxSFTzqIPNhwdhodYa99oy
dKvnAa/tk2hngMHH7QjAUT8PD4J6EsnsZncSOS2kVa/lz2waT7BMhpn8fG93Qu64
3bS6+ZCABIUfkVA1VzsWaoD6daGiAY3cyq6g+Q0PowrxYpkfXRECAwEAAaAAMA0G
CSqGSIb3DQEBCwUAA4IEAQAQlbBKGFN/9At3TqS6xdjmezSvaZxDYCbkBYly7isd
avHgSncLnZPtBgDMKGHLMVCy6nMLO6G1UW8BmvCX6ohI/wS4K++CCkNc6dw18zNT
zyIiVK5/eLwIIyDDBTyvc7xZjnv7WX+Vn4vigWWfj7TviJbvsmz12dTuGzffhs9e
HSXrkn0gBQu1lIrYe0mIwV+TFNxbi1saShCZjdFRvXgxZOI+KV6e630MhbnOl2tp
IjN1bST6TtN/Fqun3I0sS8n2oOoFnJZej/G8ooM7yqIKrhTtg3LmBQYa1zQzHCnX
ovVban/BrcbsOpNaiHb5LaiKryy01Sp+lEMV6lvL+E90T3u/L9hjzmdpKbUej1qa
dvQXgEqMTrJVUWfEKeryHdmwzEU/V00k5v4Ex2Eh5tfGpfnRPL3Qvdb6EW6dykaz
PwmSy15m3G+F5C+570m+Aay1DF/a8ajQwv4fzRrahcJ5s877d7OSkdU7JFUrD662
gTEJdj3igBpivi7JjZon59MJ0qc2GfRhqrqXZavl03f90yoTdLyZhkyb4rQhK+6B
yR7hADfyJo+3ZLi1DzJ/KfrV2ygZnjMW49gqJb6UeCZAPbeQg3VWDs1REGEjOu1O
XGETuc4pNk/13D16aSFd4tRvSbfOW3KguYbESnDQMfPlXY6HvFFqfOOBTUNz0DEP
CvYj7Oe3ShYZtxL7Yxku01MWg1avtaQu676y87Ro5LR9UlZn9dklOlR4C7jfKNYK
b8qVZfGKPs6R1L6f1Sxj35yXY+hP/7J5bUruuvrjQhClBHpNBQ4K2Wv0dEBceEhC
mHaoFt5zs6l0Ya0NSgaZR84hP/V8WLOmFgZDIB2jDI0DOMZXahRNSe6RoyuAo0ky
4y1XlKBSSnrb+0G1Lvn2NKIHax/T7zFAjtYWyya3iTFMEGQdcWulMkUYahgfjuUb
RzL1nLRw6bFdeloAvsqOFYV6ApKoyeA8pkyBE1TZCvA5G/nU+m5dMLiBo70xX2sU
NI4qAUqZehU5cekJA2yDdnHa352zBlaZ9eYCjnGxZ81SJGcT0udnYY98TqaYsDLZ
gr5w8tmaBOyjc7CJ2y6h25vr5uFQmWNZtEwcY8bKBc6BAJSUSoQ+G/yOc2p75Ijb
fiTqEqCzf1Tgz+AfbiiDxPm/pO7gAxS8PWC1CakaITyOM7Ir0KEEdy0pHDokns25
8c2/qhBmeehCdVatNGuvuI61ARg96nq/tuk6iB82ub0EEHfy35WDJszYvsJpQuA6
Owt4wqt4ZM76sgaIbggLA9ugVP8Sk4ZVVO+APkgqO74CNjoWsD1hENIr4SVbnN05
vKywa77jJdd/jqP9f4R6Y0Rfv0vxr2DWYTHGnmeiORZF
-----END CERTIFICATE REQUEST-----`;

test('an RSA key of 8192 bits is signed for', async () => {
  const answer = await sign({ key_type: 'any' }, { csr: RSA_8192 });
  assert.equal(answer.status, 200, answer.text);
  const leaf = new X509Certificate(answer.textAt('data.certificate'));
  assert.equal(leaf.publicKey.asymmetricKeyDetails?.modulusLength, 8192);
});

test('a request to be a CA is left out, with a warning', async () => {
  const subject = { common_name: 'a.example.com' };
  const csr = makeCsr({ subject, extensions: [basicConstraints({ ca: true })] });
  const answer = await sign({}, { csr });
  assert.match(
    answer.textAt('warnings'),
    /specified CSR contained a Basic Constraints extension that was ignored during issuance/,
  );
  assert.equal(extensionOf(leafOf(answer), 'basicConstraints'), undefined);
  assert.equal((await sign({}, { csr: makeCsr({ subject }) })).field('warnings'), null);
});

test('a request that is missing, broken or signed wrongly is refused', async () => {
  const good = makeCsr({ subject: { common_name: 'a.example.com' } });
  const der = Buffer.from(derOf(good));
  const tampered = Buffer.from(der);
  const last = tampered.length - 1;
  tampered.writeUInt8(tampered.readUInt8(last) ^ 1, last);
  const pemOf = (bytes: Buffer) =>
    `-----BEGIN CERTIFICATE REQUEST-----\n${bytes.toString('base64')}\n-----END CERTIFICATE REQUEST-----`;
  const cases: [body: Fields, says: RegExp][] = [
    [{}, /csr\\" is empty/],
    [{ csr: '' }, /csr\\" is empty/],
    [{ csr: 'hello' }, /csr contains no data/],
    [{ csr: pemOf(der.subarray(0, 40)) }, /certificate request could not be parsed/],
    [{ csr: pemOf(tampered) }, /request signature invalid/],
  ];
  for (const [body, says] of cases) {
    refusedWith(await sign({}, { common_name: 'a.example.com', ...body }), 400, says);
  }
  assert.equal((await sign({}, { csr: good })).status, 200);
});

const names = (dns: string[]): SubjectAltNames => ({ dns, email: [], ip: [], uri: [], other: [] });
const dnsOf = (leaf: Certificate): readonly string[] => {
  const found = extensionOf(leaf, 'subjectAltName');
  return found === undefined ? [] : parseSubjectAltName(found.value).dns;
};

test('use_csr_common_name and use_csr_sans say whose names count', async () => {
  const csr = makeCsr({
    subject: { common_name: 'csr.example.com' },
    extensions: [subjectAltName(names(['san.example.com']), false)],
  });
  const request = { csr, common_name: 'sent.example.com', alt_names: 'alt.example.com' };
  const cases: [role: Fields, cn: string, dns: string[], warned: RegExp | undefined][] = [
    [
      {},
      'csr.example.com',
      ['san.example.com', 'csr.example.com'],
      /use_csr_common_name.*use_csr_sans/s,
    ],
    [
      { use_csr_common_name: false },
      'sent.example.com',
      ['san.example.com', 'sent.example.com'],
      /use_csr_sans/,
    ],
    [
      { use_csr_sans: false },
      'csr.example.com',
      ['csr.example.com', 'alt.example.com'],
      /use_csr_common_name/,
    ],
    [
      { use_csr_common_name: false, use_csr_sans: false },
      'sent.example.com',
      ['sent.example.com', 'alt.example.com'],
      undefined,
    ],
  ];
  for (const [role, cn, dns, warned] of cases) {
    const answer = await sign(role, request);
    const leaf = leafOf(answer);
    assert.equal(subjectOf(leaf), `CN=${cn}`, JSON.stringify(role));
    assert.deepEqual([...dnsOf(leaf)].sort(), dns.sort(), JSON.stringify(role));
    if (warned) assert.match(answer.textAt('warnings'), warned);
    else assert.equal(answer.field('warnings'), null);
  }
  const strict = { allow_any_name: false, allowed_domains: 'example.com', allow_subdomains: true };
  const foreign = makeCsr({
    subject: { common_name: 'csr.example.com' },
    extensions: [subjectAltName(names(['san.example.org']), false)],
  });
  refusedWith(await sign(strict, { csr: foreign }), 400, /san\.example\.org not allowed/);
  assert.equal((await sign({ ...strict, use_csr_sans: false }, { csr: foreign })).status, 200);
});

test('a certificate that is not stored is neither listed nor found', async () => {
  const stored = await issue({});
  const unstored = await issue({ no_store: true });
  const listed = await call('LIST', 'pki/certs');
  const keys = listed.textAt('data.keys');
  assert.ok(keys.includes(stored.textAt('data.serial_number')));
  const serial = unstored.textAt('data.serial_number');
  assert.ok(!keys.includes(serial));
  assert.equal((await call('GET', `pki/cert/${serial}`)).status, 404);
  assert.equal((await call('GET', `pki/cert/${serial}/raw`)).status, 204);
  refusedWith(await call('POST', 'pki/revoke', { serial_number: serial }), 400, /not found/);
  const revoked = await call('POST', 'pki/revoke', {
    certificate: unstored.textAt('data.certificate'),
  });
  assert.equal(revoked.field('data.state'), 'revoked', revoked.text);
  assert.equal((await call('GET', `pki/cert/${serial}`)).status, 200);
});

test('different units stand in one part of the name, each once', async () => {
  const leaf = leafOf(await issue({ ou: ['Z', 'E', 'V', 'Z'], organization: ['Foo, Inc.'] }));
  const subject = new X509Certificate(Buffer.from(leaf.raw)).subject;
  assert.equal(subject.match(/OU=/g)?.length, 3);
  assert.equal(subject.split('\n').filter((line) => line.includes('OU=')).length, 1);
});

test('an issuer with an RSA key signs as the role says', async () => {
  for (const [role, algorithm] of [
    [{}, /sha256WithRSAEncryption/],
    [{ signature_bits: 512, key_type: 'rsa' }, /sha512WithRSAEncryption/],
    [{ use_pss: true }, /rsassaPss/],
  ] as const) {
    const answer = await issue({ issuer_ref: 'rsa', ...role });
    const certificate = new X509Certificate(answer.textAt('data.certificate'));
    const root = new X509Certificate((await call('GET', 'pki/issuer/rsa/pem')).text);
    assert.ok(certificate.verify(root.publicKey));
    assert.match(String(certificate.signatureAlgorithm), algorithm);
  }
});

test('without roots there may be no chain at all', async () => {
  const answer = await issue({}, { remove_roots_from_chain: true });
  assert.equal(answer.field('data.ca_chain'), undefined);
  assert.match(answer.textAt('data.issuing_ca'), /BEGIN CERTIFICATE/);
  const bundle = await issue({}, { remove_roots_from_chain: true, format: 'pem_bundle' });
  assert.equal(parsePem(bundle.textAt('data.certificate')).length, 2);
});

test('the issuer of the path wins over that of the role', async () => {
  await writeRole({ issuer_ref: 'second' });
  const request = { common_name: 'a.example.com' };
  const byRole = await call('POST', 'pki/issue/x', request);
  const byPath = await call('POST', 'pki/issuer/root/issue/x', request);
  const csr = makeCsr({ subject: { common_name: 'a.example.com' } });
  const signedByPath = await call('POST', 'pki/issuer/root/sign/x', { csr });
  const issuerOf = (answer: Reply) => nameText(parseName(leafOf(answer).issuer));
  assert.deepEqual([byRole, byPath, signedByPath].map(issuerOf), [
    'CN=second',
    'CN=root',
    'CN=root',
  ]);
});

test('a serial number is found in every way of writing it', async () => {
  const answer = await issue({});
  const serial = answer.textAt('data.serial_number');
  for (const written of [
    serial,
    serial.toUpperCase(),
    serial.replaceAll(':', '-'),
    serial.replaceAll(':', '-').toUpperCase(),
    encodeURIComponent(serial),
  ]) {
    const found = await call('GET', `pki/cert/${written}`, undefined, { token: '' });
    assert.equal(found.field('data.certificate'), answer.field('data.certificate'), written);
  }
});
