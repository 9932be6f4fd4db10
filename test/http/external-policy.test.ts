/** Certificates that an external policy service decides on, asked of a server and a service that are real. */

import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import { listRecordsAfter } from '../../src/audit/store.ts';
import { parsePem } from '../../src/core/pem.ts';
import { type Certificate, isSignedBy, parseCertificate } from '../../src/x509/certificate.ts';
import { parseCsr } from '../../src/x509/csr.ts';
import { authorityInfoAccess, crlDistributionPoints } from '../../src/x509/extension-urls.ts';
import {
  authorityKeyIdentifier,
  type Extension,
  findExtension,
  subjectKeyIdentifier,
} from '../../src/x509/extensions.ts';
import { keyUsage } from '../../src/x509/key-usages.ts';
import { publicKeyInfo } from '../../src/x509/keys.ts';
import { encodeSubject, isEmptyName, nameText, parseName } from '../../src/x509/names.ts';
import { EXTENSION_OID } from '../../src/x509/oids.ts';
import { makeCsr } from '../support/leaves.ts';
import {
  type Answered,
  type Asked,
  csrOf,
  makeOut,
  makePair,
  startPolicyService,
} from '../support/policy-service.ts';
import { type Reply, startTestServer } from '../support/server.ts';
import { writeRecords } from '../support/threads.ts';

const service = await startPolicyService({ after });
const { call, running } = await startTestServer({ after });
const grant = service.answer;
type Fields = Record<string, unknown>;

const settings = (fields: Fields = {}): Fields => ({
  enabled: true,
  external_service_url: service.url,
  timeout: '15s',
  trusted_ca: service.ca.pem,
  trusted_leaf_certificate_bundle: '',
  vault_client_cert_bundle: service.client.key_pem + service.client.pem,
  entity_jmespath: '',
  group_jmespath: '',
  ...fields,
});

async function configure(fields: Fields = {}): Promise<Reply> {
  const set = await call('POST', 'pki/config/external-policy', settings(fields));
  assert.equal(set.status, 200, set.text);
  return set;
}

const issuers = new Map<string, Certificate>();

before(async () => {
  await call('POST', 'sys/mounts/pki', { type: 'pki', config: { max_lease_ttl: '87600h' } });
  for (const [issuer_name, more] of [
    ['root', { max_path_length: -1 }],
    ['narrow', { permitted_dns_domains: 'example.com' }],
    ['leafy', { max_path_length: 0 }],
  ] as const) {
    const made = await call('POST', 'pki/root/generate/internal', {
      common_name: issuer_name,
      issuer_name,
      key_type: 'ec',
      ttl: '1000h',
      ...more,
    });
    assert.equal(made.status, 200, made.text);
    issuers.set(issuer_name, parseCertificate(derOf(made.textAt('data.certificate'))));
  }
  const urls = { issuing_certificates: 'http://pki.test/ca', ocsp_servers: 'http://pki.test/ocsp' };
  await call('POST', 'pki/config/urls', urls);
  await configure();
});

beforeEach(() => {
  service.asked.length = 0;
  service.clients.length = 0;
  service.answer = grant;
});

const derOf = (pem: string): Uint8Array => parsePem(pem)[0]?.der ?? new Uint8Array();
const certificateOf = (reply: Reply): Certificate => {
  assert.equal(reply.status, 200, reply.text);
  return parseCertificate(derOf(reply.textAt('data.certificate')));
};
const issuerNamed = (name: string): Certificate => {
  const issuer = issuers.get(name);
  assert.ok(issuer);
  return issuer;
};
const lastAsked = (): Asked => {
  const asked = service.asked.at(-1);
  assert.ok(asked);
  return asked;
};
const errorOf = (reply: Reply): string =>
  String((reply.field('errors') as unknown[] | undefined)?.[0]);
const countStored = async (): Promise<number> => {
  const list = await call('LIST', 'pki/certs');
  return list.status === 404 ? 0 : (list.field('data.keys') as unknown[]).length;
};

test('an issued certificate has its own key, and says what the service has made out', async () => {
  const policy_data = { deep: [{ er: 1 }] };
  const reply = await call('POST', 'pki/external-policy/issue/web', {
    key_type: 'ec',
    common_name: 'for.the.service',
    policy_data,
    issuer_ref: 'nobody',
  });
  const leaf = certificateOf(reply);
  assert.equal(nameText(parseName(leaf.subject)), 'CN=made.example.com');
  const root = issuerNamed('root');
  assert.ok(isSignedBy(leaf, root.subjectPublicKeyInfo));
  assert.deepEqual(leaf.issuer, root.subject);
  const key = createPrivateKey(reply.textAt('data.private_key'));
  assert.deepEqual(Buffer.from(publicKeyInfo(key)), Buffer.from(leaf.subjectPublicKeyInfo));
  assert.equal(reply.textAt('data.private_key_type'), 'ec');
  assert.equal(reply.field('data.expiration'), leaf.notAfter);

  const asked = lastAsked();
  assert.ok(isEmptyName(parseCsr(csrOf(asked)).subject), 'the request says nothing but the key');
  assert.ok(!JSON.stringify(asked).includes('PRIVATE KEY'));
  assert.equal(asked.request_version, 1);
  assert.equal(asked.synchronous, true);
  assert.equal(asked.user_request_key_values.common_name, 'for.the.service');
  assert.deepEqual(asked.user_request_key_values.policy_data, policy_data);
  assert.equal(asked.user_request_key_values.issuer_ref, 'nobody');
  assert.ok(!('identity_request_key_values' in asked), 'a root token has no entity');
  assert.deepEqual(service.clients, ['gatehouse']);
  const { requested_issuer_cert, requested_issuer_id, ...values } = asked.vault_request_values;
  assert.deepEqual(derOf(String(requested_issuer_cert)), root.raw);
  assert.match(String(requested_issuer_id), /^[0-9a-f-]{36}$/);
  assert.deepEqual(values, {
    policy_name: 'web',
    mount: 'pki/',
    namespace: '',
    vault_is_performance_standby: false,
    vault_is_performance_secondary: false,
    issuance_mode: 'issue',
    vault_generated_private_key: true,
    requested_issuer_name: 'root',
    requested_issuance_config: {
      aia_values: {
        issuing_certificates: ['http://pki.test/ca'],
        crl_distribution_points: [],
        ocsp_servers: ['http://pki.test/ocsp'],
      },
      leaf_not_after_behavior: 'err',
      mount_default_ttl: '768h0m0s',
      mount_max_ttl: '87600h0m0s',
    },
  });
});

test('a policy in a body is for the service, and is not the one that was permitted', async () => {
  const reply = await call('POST', 'pki/external-policy/issue', {
    key_type: 'ec',
    policy: 'admin',
  });
  assert.equal(reply.status, 200, reply.text);
  const { user_request_key_values, vault_request_values } = lastAsked();
  const { csr: _, ...user } = user_request_key_values;
  // With the defaults of what is understood here.
  assert.deepEqual(user, {
    key_type: 'ec',
    policy: 'admin',
    key_bits: 0,
    format: 'pem',
    private_key_format: 'der',
    remove_roots_from_chain: false,
  });
  assert.equal(vault_request_values.policy_name, '');
});

const PATHS = ['external-policy/', 'issuer/narrow/external-policy/'];
for (const path of PATHS) {
  for (const [action, mode] of [
    ['issue', 'issue'],
    ['sign', 'sign'],
    ['sign-intermediate', 'ica'],
  ] as const) {
    for (const policy of ['', '/p1']) {
      test(`${path}${action}${policy} asks for ${mode}, and is answered by the issuer of the path`, async () => {
        service.answer = (one) => ({
          certificate: makeOut(csrOf(one), { ca: mode === 'ica', dns: ['a.example.com'] }),
        });
        const body = mode === 'issue' ? { key_type: 'ec' } : { csr: makeCsr() };
        const leaf = certificateOf(await call('POST', `pki/${path}${action}${policy}`, body));
        const issuer = issuerNamed(path.includes('narrow') ? 'narrow' : 'root');
        assert.deepEqual(leaf.issuer, issuer.subject);
        assert.ok(isSignedBy(leaf, issuer.subjectPublicKeyInfo));
        assert.equal(leaf.isCa, mode === 'ica');
        const { vault_request_values } = lastAsked();
        assert.equal(vault_request_values.issuance_mode, mode);
        assert.equal(vault_request_values.policy_name, policy.slice(1));
        assert.equal(vault_request_values.vault_generated_private_key, mode === 'issue');
      });
    }
  }
}

test('issuer name, key identifier, URLs and signature are the issuer’s; everything else is kept', async () => {
  const other: Extension = { oid: '1.2.3.4.5', critical: false, value: Uint8Array.of(5, 0) };
  const urls = [
    authorityInfoAccess({ ocsp: ['http://liar.test/ocsp'], caIssuers: [] }),
    crlDistributionPoints(['http://liar.test/crl']),
    keyUsage(['KeyAgreement']),
  ].filter((one) => one !== undefined);
  const now = Math.floor(Date.now() / 1000);
  const serialNumber = Uint8Array.of(0x41, 2, 3, 4, 5, 6, 7, 8);
  const subject = encodeSubject({ organization: ['O'], common_name: 'kept.example.com' });
  service.answer = (one) => ({
    certificate: makeOut(csrOf(one), {
      serialNumber,
      subject,
      notBefore: now - 7_000,
      notAfter: now + 7_000,
      extensions: [
        ...urls,
        other,
        authorityKeyIdentifier(Uint8Array.of(9, 9)),
        subjectKeyIdentifier(Uint8Array.of(7, 7)),
      ],
    }),
    store_certificate: true,
  });
  const leaf = certificateOf(await call('POST', 'pki/external-policy/sign', { csr: makeCsr() }));
  assert.equal(leaf.serial, '41:02:03:04:05:06:07:08');
  assert.deepEqual(leaf.subject, subject);
  assert.deepEqual([leaf.notBefore, leaf.notAfter], [now - 7_000, now + 7_000]);
  assert.deepEqual(leaf.keyUsage, ['KeyAgreement']);
  assert.deepEqual(Buffer.from(leaf.subjectKeyId ?? []), Buffer.of(7, 7));
  assert.deepEqual(leaf.authorityKeyId, issuerNamed('root').subjectKeyId);
  assert.deepEqual(findExtension(leaf.extensions, other.oid), other);
  const access = findExtension(leaf.extensions, EXTENSION_OID.authorityInfoAccess);
  assert.match(Buffer.from(access?.value ?? []).toString('latin1'), /pki\.test\/ocsp/);
  assert.equal(findExtension(leaf.extensions, EXTENSION_OID.cRLDistributionPoints), undefined);
  assert.ok(!Buffer.from(leaf.raw).includes('liar.test'));
  const again = await call('POST', 'pki/external-policy/sign', { csr: makeCsr() });
  assert.equal(again.status, 400);
  assert.match(again.text, /serial number is that of another certificate/);
});

test('the service may choose another issuer, and have it stored and leased', async () => {
  service.answer = (one) => ({
    certificate: makeOut(csrOf(one), { dns: ['a.example.com'] }),
    issuer_ref: 'narrow',
    store_certificate: true,
    generate_lease: true,
    warnings: ['mind the \u001b[31mgap'],
    error: 'not quite',
  });
  const reply = await call('POST', 'pki/issuer/root/external-policy/sign/x', { csr: makeCsr() });
  const leaf = certificateOf(reply);
  assert.deepEqual(leaf.issuer, issuerNamed('narrow').subject);
  assert.match(reply.textAt('lease_id'), /^pki\/issuer\/root\/external-policy\/sign\/x\//);
  assert.deepEqual(reply.field('warnings'), ['mind the [31mgap', 'not quite']);
  assert.equal((await call('GET', `pki/cert/${leaf.serial}`)).status, 200);
  await call('PUT', 'sys/leases/revoke', { lease_id: reply.textAt('lease_id'), sync: true });
  const revoked = await call('LIST', 'pki/certs/revoked');
  assert.ok((revoked.field('data.keys') as string[]).includes(leaf.serial));
});

test('a certificate that the service does not want stored is not found, and has no lease', async () => {
  service.answer = (one) => ({ certificate: makeOut(csrOf(one)), generate_lease: true });
  const reply = await call('POST', 'pki/external-policy/sign', { csr: makeCsr() });
  const leaf = certificateOf(reply);
  assert.equal(reply.textAt('lease_id'), '');
  assert.match(reply.text, /no lease was made/);
  assert.equal((await call('GET', `pki/cert/${leaf.serial}`)).status, 404);
});

const now = (): number => Math.floor(Date.now() / 1000);
const strangeKey = (): Uint8Array => publicKeyInfo(generateKeyPairSync('ed25519').privateKey);
type Answer = (one: Asked) => Answered;
const out =
  (wanted: Parameters<typeof makeOut>[1], more: Fields = {}): Answer =>
  (one) => ({ certificate: makeOut(csrOf(one), wanted), ...more });

/** What a service can do wrong: nothing is issued, and it is told what was wrong. */
const faults: [what: string, status: number, says: RegExp, answer: Answer, path?: string][] = [
  ['refuses', 400, /refuses the request: not you/, () => ({ error: 'not you' })],
  ['answers another status', 503, /status 500/, () => ({ status: 500, text: 'secret words' })],
  ['answers 201', 503, /status 201/, () => ({ status: 201, text: '{}' })],
  [
    'redirects',
    503,
    /status 307/,
    () => ({ status: 307, headers: { location: service.url }, text: '' }),
  ],
  ['says nothing', 503, /no JSON object/, () => ({ text: '' })],
  ['says what is no JSON', 503, /no JSON object/, () => ({ text: '<html>' })],
  ['says a list', 503, /no JSON object/, () => ({ text: '[]' })],
  ['is deep', 503, /no JSON object/, () => ({ text: '['.repeat(100_000) })],
  ['is long', 503, /more than 262144 bytes/, () => ({ text: `{"a":"${'x'.repeat(300_000)}"}` })],
  ['is cut off', 503, /cannot be reached|has no end/, () => 'cut'],
  [
    'answers another request',
    503,
    /another request/,
    (one) => ({ ...(out({})(one) as object), request_uuid: 'x' }),
  ],
  [
    'answers no request',
    503,
    /another request/,
    (one) => ({ ...(out({})(one) as object), request_uuid: null }),
  ],
  ['decides nothing', 503, /neither a certificate nor an error/, () => ({})],
  ['says a number', 503, /"certificate" of its answer is no text/, () => ({ certificate: 1 })],
  ['says a word for a flag', 503, /"store_certificate"/, out({}, { store_certificate: 'yes' })],
  ['warns of what is no text', 503, /"warnings"/, out({}, { warnings: [{}] })],
  ['gives what is no certificate', 400, /no certificate in PEM/, () => ({ certificate: 'x' })],
  [
    'gives bytes',
    400,
    /is refused/,
    () => ({ certificate: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----' }),
  ],
  [
    'gives two',
    400,
    /is refused/,
    (one) => ({ certificate: `${makeOut(csrOf(one))}\n${makeOut(csrOf(one))}` }),
  ],
  ['certifies another key', 400, /for another key/, out({ subjectPublicKeyInfo: strangeKey() })],
  ['makes a CA', 400, /that of a CA, which sign-intermediate alone makes/, out({ ca: true })],
  ['makes no CA', 400, /that of no CA/, out({}), 'external-policy/sign-intermediate'],
  [
    'makes a CA that cannot be',
    400,
    /max path length of zero/,
    out({ ca: true }, { issuer_ref: 'leafy' }),
    'external-policy/sign-intermediate',
  ],
  [
    'lets a leaf sign',
    400,
    /is refused/,
    out({ extensions: [keyUsage(['CertSign']) as Extension] }),
  ],
  [
    'passes the end of the issuer',
    400,
    /beyond the expiration of the CA/,
    out({ notAfter: now() + 10 ** 8 }),
  ],
  [
    'is of yesterday',
    400,
    /is refused/,
    out({ notBefore: now() - 9_000, notAfter: now() - 8_000 }),
  ],
  [
    'begins after its end',
    400,
    /notBefore must not be later/,
    out({ notBefore: now() + 5_000, notAfter: now() + 4_000 }),
  ],
  [
    'names a host that the issuer may not',
    400,
    /name constraints/,
    out({ dns: ['evil.test'] }, { issuer_ref: 'narrow' }),
  ],
  [
    'hides it in a common name',
    400,
    /name constraints/,
    out({ common_name: 'evil.test', dns: [] }, { issuer_ref: 'narrow' }),
  ],
  [
    'names a CA beyond it',
    400,
    /name constraints/,
    out({ ca: true, dns: ['evil.test'] }, { issuer_ref: 'narrow' }),
    'external-policy/sign-intermediate',
  ],
  [
    'has a serial number of nothing',
    400,
    /serial number must be positive/,
    out({ serialNumber: Uint8Array.of(0) }),
  ],
  ['names no issuer', 400, /names an issuer that cannot sign/, out({}, { issuer_ref: 'none' })],
  ['has no subject and no name', 400, /is refused/, out({ subject: encodeSubject({}), dns: [] })],
  [
    'has an extension that is none',
    400,
    /is refused/,
    out({
      extensions: [{ oid: EXTENSION_OID.subjectAltName, critical: false, value: Uint8Array.of(1) }],
    }),
  ],
  [
    'is too long',
    400,
    /at most 32768 are taken/,
    out({ dns: Array.from({ length: 2_000 }, (_, n) => `name-${n}.example.com`) }),
  ],
];
for (const [what, status, says, answer, path = 'external-policy/sign'] of faults) {
  test(`a service that ${what} has nothing issued`, async () => {
    const before = await countStored();
    service.answer = (one) => {
      const answered = answer(one);
      return typeof answered === 'object' && 'certificate' in answered
        ? { store_certificate: true, ...answered }
        : answered;
    };
    const reply = await call('POST', `pki/${path}`, { csr: makeCsr() });
    assert.equal(reply.status, status, reply.text);
    assert.match(errorOf(reply), says);
    assert.ok(!reply.text.includes('secret words'));
    assert.equal(await countStored(), before);
    assert.equal(service.asked.length, 1, 'it is asked once');
  });
}

test('an end beyond the issuer’s is what the issuer’s leaf_not_after_behavior has', async () => {
  const notAfter = now() + 10 ** 8;
  service.answer = out({ notAfter });
  const sign = () => call('POST', 'pki/issuer/root/external-policy/sign', { csr: makeCsr() });
  const behave = (leaf_not_after_behavior: string) =>
    call('PATCH', 'pki/issuer/root', { leaf_not_after_behavior });
  await behave('truncate');
  assert.equal(certificateOf(await sign()).notAfter, issuerNamed('root').notAfter);
  await behave('permit');
  assert.equal(certificateOf(await sign()).notAfter, notAfter);
  await behave('err');
});

const requests: [what: string, status: number, says: RegExp, body: Fields][] = [
  ['no request', 400, /"csr" is empty/, {}],
  ['what is no PEM', 400, /csr contains no data/, { csr: 'x' }],
  ['a weak key', 400, /RSA keys < 2048 bits/, { csr: makeCsr({ key: 'rsa-1024' }) }],
  ['a long request', 400, /at most 262144 are accepted/, { csr: 'x'.repeat(262_145) }],
  ['an unknown format', 400, /"format"/, { csr: makeCsr(), format: 'zip' }],
];
for (const [what, status, says, body] of requests) {
  test(`with ${what} the service is not asked`, async () => {
    const reply = await call('POST', 'pki/external-policy/sign', body);
    assert.equal(reply.status, status, reply.text);
    assert.match(errorOf(reply), says);
    assert.equal(service.asked.length, 0);
  });
}

test('a request with the longest signature is taken on every path, and one that is too long on none', async () => {
  const role = { allow_any_name: true, key_type: 'any', ttl: '1h' };
  await call('POST', 'pki/roles/long', role);
  const kind = { key_type: 'slhdsa-sha2-f', key_bits: 256, common_name: 'a.example.com' };
  const made = await call('POST', 'pki/intermediate/generate/internal', kind);
  const csr = made.textAt('data.csr');
  assert.ok(csr.length > 64 << 10);
  const long = `${csr}${' '.repeat(262_145 - csr.length)}`;
  for (const path of [
    'external-policy/sign',
    'sign/long',
    'sign-verbatim',
    'root/sign-intermediate',
  ]) {
    const fields = { common_name: 'a.example.com', ttl: '1h' };
    const signed = await call('POST', `pki/${path}`, { ...fields, csr });
    assert.equal(signed.status, 200, `${path}: ${signed.text}`);
    const refused = await call('POST', `pki/${path}`, { ...fields, csr: long });
    assert.equal(refused.status, 400, path);
    assert.match(errorOf(refused), /csr of 262145 characters, at most 262144 are accepted/);
  }
});

test('keys are made as issue makes them, and handed out in its forms', async () => {
  const rsa = await call('POST', 'pki/external-policy/issue', { format: 'pem_bundle' });
  assert.match(rsa.textAt('data.private_key'), /BEGIN RSA PRIVATE KEY/);
  assert.match(rsa.textAt('data.certificate'), /^-----BEGIN RSA PRIVATE KEY/);
  const ed = await call('POST', 'pki/external-policy/issue', {
    key_type: 'ed25519',
    private_key_format: 'pkcs8',
    format: 'der',
  });
  assert.equal(ed.textAt('data.private_key_type'), 'ed25519');
  const der = Buffer.from(ed.textAt('data.private_key'), 'base64');
  createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const wrong = await call('POST', 'pki/external-policy/issue', { key_type: 'ec', key_bits: 100 });
  assert.equal(wrong.status, 400);
});

const stranger = makePair('Stranger CA');
const misnamed = await startPolicyService({ after }, '127.0.0.2');
const strangersLeaf = makePair('localhost', stranger);
const unreachable: [what: string, status: number, says: RegExp, fields: Fields][] = [
  [
    'is not there',
    503,
    /cannot be reached: ECONNREFUSED/,
    { external_service_url: 'https://localhost:1/' },
  ],
  ['has another CA', 503, /is not trusted/, { trusted_ca: stranger.pem }],
  [
    'has another name',
    503,
    /another name/,
    { external_service_url: misnamed.url, trusted_ca: misnamed.ca.pem },
  ],
  [
    'is another than the pinned one',
    503,
    /none of the trusted ones/,
    { trusted_ca: '', trusted_leaf_certificate_bundle: strangersLeaf.pem },
  ],
  [
    'is trusted, and another than the pinned one',
    503,
    /none of the trusted ones/,
    { trusted_leaf_certificate_bundle: strangersLeaf.pem },
  ],
  [
    'asks for a certificate that is not shown',
    503,
    /cannot be reached|is not trusted/,
    { vault_client_cert_bundle: '' },
  ],
  [
    'does not know the certificate that is shown',
    503,
    /cannot be reached|is not trusted/,
    { vault_client_cert_bundle: strangersLeaf.key_pem + strangersLeaf.pem },
  ],
];
for (const [what, status, says, fields] of unreachable) {
  test(`a service that ${what} is told nothing`, async () => {
    await configure(fields);
    try {
      const reply = await call('POST', 'pki/external-policy/sign', { csr: makeCsr() });
      assert.equal(reply.status, status, reply.text);
      assert.match(reply.text, says);
      assert.equal(service.asked.length + misnamed.asked.length, 0);
      const read = await call('GET', 'pki/config/external-policy');
      assert.equal(read.field('data.external_service_validated'), false);
    } finally {
      await configure();
    }
  });
}

test('a service on this machine, by name or address, is asked only where the configuration allows it', async (t) => {
  const policy_services = { allow_loopback: false, allowed_networks: [], denied_networks: [] };
  const strict = await startTestServer(t, { config: { policy_services } });
  await strict.call('POST', 'sys/mounts/pki', { type: 'pki' });
  const root = { common_name: 'Root', key_type: 'ec' };
  await strict.call('POST', 'pki/root/generate/internal', root);
  for (const external_service_url of [service.url, service.url.replace('localhost', '127.0.0.1')]) {
    const fields = settings({ external_service_url });
    assert.equal((await strict.call('POST', 'pki/config/external-policy', fields)).status, 200);
    const reply = await strict.call('POST', 'pki/external-policy/sign', { csr: makeCsr() });
    assert.equal(reply.status, 503, reply.text);
    assert.match(reply.text, /must not be asked: the address is this machine/);
  }
  assert.equal(service.asked.length, 0);
});

test('a pinned certificate needs nobody above it', async () => {
  await configure({ trusted_ca: '', trusted_leaf_certificate_bundle: service.server.pem });
  certificateOf(await call('POST', 'pki/external-policy/sign', { csr: makeCsr() }));
  await configure();
});

test('a service that says nothing is given up after the timeout', async () => {
  await configure({ timeout: '1s' });
  service.answer = () => 'never';
  const reply = await call('POST', 'pki/external-policy/sign', { csr: makeCsr() });
  assert.equal(reply.status, 503, reply.text);
  assert.match(reply.text, /too slow: it did not answer in time/);
  await configure();
});

test('a service that takes its time holds up nobody else', async () => {
  const held = Promise.withResolvers<void>();
  service.answer = (one) => held.promise.then(() => grant(one));
  const slow = Array.from({ length: 6 }, () =>
    call('POST', 'pki/external-policy/sign', { csr: makeCsr() }),
  );
  const role = { key_type: 'ec', allow_any_name: true };
  await call('POST', 'pki/roles/web', role);
  const other = await call('POST', 'pki/issue/web', { common_name: 'a.example.com' });
  assert.equal(other.status, 200, other.text);
  // Whoever had waited for them would have been refused, as they would.
  held.resolve();
  for (const reply of await Promise.all(slow)) certificateOf(reply);
});

test('a service is asked once, however often the mount changes meanwhile', async () => {
  let at = 0;
  service.answer = async (one) => {
    at += 1;
    await call('POST', 'pki/config/urls', { ocsp_servers: `http://pki.test/${at}` });
    return grant(one);
  };
  const changing = setInterval(() => {
    void call('POST', 'pki/config/urls', { ocsp_servers: `http://pki.test/${Math.random()}` });
  }, 5);
  try {
    certificateOf(await call('POST', 'pki/external-policy/sign', { csr: makeCsr() }));
  } finally {
    clearInterval(changing);
  }
  assert.equal(service.asked.length, 1);
});

test('what changes while the service is asked counts: the settings, and the token', async () => {
  service.answer = async (one) => {
    await configure({ timeout: '14s' });
    return grant(one);
  };
  const changed = await call('POST', 'pki/external-policy/sign', { csr: makeCsr() });
  assert.equal(changed.status, 503, changed.text);
  assert.match(changed.text, /changed meanwhile/);
  const token = await tokenWith('path "pki/external-policy/sign" { capabilities = ["update"] }');
  service.answer = async (one) => {
    await call('POST', 'auth/token/revoke', { token });
    return grant(one);
  };
  const ended = await call('POST', 'pki/external-policy/sign', { csr: makeCsr() }, { token });
  assert.equal(ended.status, 403, ended.text);
});

test('a key that is blocked while the service is asked is not certified', async () => {
  const csr = makeCsr({ subject: { common_name: 'a.example.com' } });
  const made = await call('POST', 'pki/sign-verbatim', { csr, ttl: '1h' });
  assert.equal(made.status, 200, made.text);
  const serial_number = made.textAt('data.serial_number');
  service.answer = async (one) => {
    const revoked = await call('POST', 'pki/revoke', { serial_number, reason: 'keyCompromise' });
    assert.equal(revoked.status, 200, revoked.text);
    return grant(one);
  };
  const refused = await call('POST', 'pki/external-policy/sign', { csr });
  assert.equal(refused.status, 400, refused.text);
  assert.match(refused.text, /refusing to certify a blocked key/);
});

async function tokenWith(policy: string, more: Fields = {}): Promise<string> {
  const name = `p${Math.random().toString(36).slice(2)}`;
  await call('PUT', `sys/policies/acl/${name}`, { policy });
  const made = await call('POST', 'auth/token/create', { policies: [name], ...more });
  return made.textAt('auth.client_token');
}

test('an issuer that is denied at its own path is not used because a service names it', async () => {
  const token = await tokenWith(
    'path "pki/external-policy/*" { capabilities = ["update"] }\npath "pki/issuer/narrow" { capabilities = ["deny"] }',
  );
  const sign = () => call('POST', 'pki/external-policy/sign/p', { csr: makeCsr() }, { token });
  certificateOf(await sign());
  service.answer = out({ dns: ['a.example.com'] }, { issuer_ref: 'narrow' });
  assert.equal((await sign()).status, 403);
  const policies = await tokenWith(
    'path "pki/external-policy/sign/a" { capabilities = ["update"] }',
  );
  const other = await call(
    'POST',
    'pki/external-policy/sign/b',
    { csr: makeCsr() },
    { token: policies },
  );
  assert.equal(other.status, 403);
  assert.equal(service.asked.length, 2);
});

test('the service is told who asks, as far as the expressions choose', async () => {
  await call('POST', 'sys/auth/userpass', { type: 'userpass' });
  const auth = await call('GET', 'sys/auth');
  const mount_accessor = auth.textAt('data.userpass/.accessor');
  const entity = await call('POST', 'identity/entity', {
    name: 'ada',
    metadata: { team: 'ops', pin: '1' },
  });
  const entity_id = entity.textAt('data.id');
  await call('POST', 'identity/entity-alias', {
    name: 'ada',
    canonical_id: entity_id,
    mount_accessor,
  });
  const inner = await call('POST', 'identity/group', {
    name: 'inner',
    member_entity_ids: [entity_id],
    metadata: { floor: '3' },
  });
  await call('POST', 'identity/group', {
    name: 'outer',
    member_group_ids: [inner.textAt('data.id')],
  });
  await call('PUT', 'sys/policies/acl/asks', {
    policy: 'path "pki/external-policy/*" { capabilities = ["update"] }',
  });
  await call('POST', 'auth/userpass/users/ada', { password: 'words of ada', policies: ['asks'] });
  const login = await call('POST', 'auth/userpass/login/ada', { password: 'words of ada' });
  const token = login.textAt('auth.client_token');
  const ask = async (fields: Fields): Promise<unknown> => {
    await configure(fields);
    const reply = await call('POST', 'pki/external-policy/sign', { csr: makeCsr() }, { token });
    assert.equal(reply.status, 200, reply.text);
    return lastAsked().identity_request_key_values;
  };
  assert.deepEqual(await ask({}), { entity_id });
  assert.deepEqual(
    await ask({
      entity_jmespath: '{name: name, team: metadata.team, by: aliases[*].[mount_type, name][]}',
      group_jmespath: 'sort_by(@, &name)[*].{name: name, floor: metadata.floor}',
    }),
    {
      entity_id,
      entity: { name: 'ada', team: 'ops', by: ['userpass', 'ada'] },
      groups: [
        { name: 'inner', floor: '3' },
        { name: 'outer', floor: null },
      ],
    },
  );
  const whole = Object(await ask({ entity_jmespath: '@', group_jmespath: '@' }));
  assert.equal(whole.entity.metadata.pin, '1');
  assert.equal(whole.groups.length, 2);
  assert.ok(
    !JSON.stringify(whole).includes('words of ada') && !JSON.stringify(whole).includes('asks'),
  );
  await configure({ entity_jmespath: 'sum(name)' });
  const failed = await call('POST', 'pki/external-policy/sign', { csr: makeCsr() }, { token });
  assert.equal(failed.status, 400);
  assert.match(failed.text, /entity_jmespath of config\/external-policy fails/);
  await configure();
});

test('settings read back with the public part of what is shown to the service', async () => {
  const { key_pem, pem } = service.client;
  await configure({ vault_client_cert_bundle: `${pem}${service.ca.pem}${key_pem}` });
  const read = await call('GET', 'pki/config/external-policy');
  assert.equal(read.textAt('data.vault_client_cert_bundle'), pem + service.ca.pem);
  assert.ok(!read.text.includes('PRIVATE KEY'));
  assert.equal(read.field('data.timeout'), 15_000_000_000);
  assert.equal(read.field('data.enabled'), true);
  assert.match(read.textAt('data.external_service_last_updated'), /^20\d\d-/);
  assert.equal(read.field('data.external_service_validated'), false);
  assert.equal(read.textAt('data.last_successful_request'), '');
  certificateOf(await call('POST', 'pki/external-policy/sign', { csr: makeCsr() }));
  const after = await call('GET', 'pki/config/external-policy');
  assert.equal(after.field('data.external_service_validated'), true);
  assert.match(after.textAt('data.last_successful_request'), /^20\d\d-/);
  // What is left out stays, the private key as well.
  await call('POST', 'pki/config/external-policy', { timeout: 20 });
  certificateOf(await call('POST', 'pki/external-policy/sign', { csr: makeCsr() }));
  const row = await running.app.db
    .selectFrom('pki_external_policy')
    .selectAll()
    .executeTakeFirstOrThrow();
  const secret = parsePem(key_pem)[0]?.der ?? new Uint8Array();
  assert.ok(!Buffer.from(row.client_key_sealed ?? []).includes(Buffer.from(secret)));
  assert.ok(!row.body.includes('PRIVATE'));
  await call('POST', 'pki/config/external-policy', { enabled: false });
  const off = await call('POST', 'pki/external-policy/sign', { csr: makeCsr() });
  assert.equal(off.status, 400);
  assert.match(off.text, /not enabled/);
  await configure();
});

test('before anything is set, settings read as none, and the paths do not work', async () => {
  await call('POST', 'sys/mounts/fresh', { type: 'pki' });
  const read = await call('GET', 'fresh/config/external-policy');
  assert.deepEqual(read.field('data'), {
    enabled: false,
    external_service_url: '',
    timeout: 15_000_000_000,
    trusted_ca: '',
    trusted_leaf_certificate_bundle: '',
    vault_client_cert_bundle: '',
    entity_jmespath: '',
    group_jmespath: '',
    external_service_last_updated: '0001-01-01T00:00:00Z',
    external_service_validated: false,
    last_successful_request: '',
  });
  const refused = await call('POST', 'fresh/external-policy/issue', {});
  assert.equal(refused.status, 400, refused.text);
});

const wrong: [what: string, says: RegExp, fields: Fields][] = [
  ['no URL', /external_service_url/, { external_service_url: '' }],
  ['plain HTTP', /begins with https/, { external_service_url: 'http://localhost/' }],
  [
    'a user in the URL',
    /without user/,
    { external_service_url: 'https://a:hidden-word@localhost/' },
  ],
  ['a fragment', /fragment/, { external_service_url: 'https://localhost/#a' }],
  ['what is no URL', /external_service_url/, { external_service_url: 'https://' }],
  ['no trust', /trusted_ca/, { trusted_ca: '' }],
  ['a key to trust', /trusted_ca/, { trusted_ca: service.client.key_pem }],
  ['no PEM to trust', /trusted_ca/, { trusted_ca: 'x' }],
  ['a long bundle', /at most 65536/, { trusted_ca: service.ca.pem.repeat(200) }],
  ['no PEM to pin', /trusted_leaf_certificate_bundle/, { trusted_leaf_certificate_bundle: 'x' }],
  [
    'a certificate without its key',
    /one private key/,
    { vault_client_cert_bundle: service.client.pem },
  ],
  [
    'a key without its certificate',
    /one private key/,
    { vault_client_cert_bundle: service.client.key_pem },
  ],
  [
    'another’s certificate',
    /no such pair/,
    { vault_client_cert_bundle: service.client.key_pem + service.ca.pem },
  ],
  ['no time', /timeout/, { timeout: '61s' }],
  ['a negative time', /timeout/, { timeout: '-1s' }],
  ['no expression', /entity_jmespath is no JMESPath/, { entity_jmespath: 'a[' }],
  ['an unknown function', /no function nothing/, { group_jmespath: 'nothing(@)' }],
];
for (const [what, says, fields] of wrong) {
  test(`settings with ${what} are refused, and nothing is changed`, async () => {
    const before = await call('GET', 'pki/config/external-policy');
    const reply = await call('POST', 'pki/config/external-policy', settings(fields));
    assert.equal(reply.status, 400, reply.text);
    assert.match(reply.text, says);
    assert.ok(!reply.text.includes('hidden-word') && !reply.text.includes('PRIVATE KEY'));
    const after = await call('GET', 'pki/config/external-policy');
    assert.deepEqual(after.field('data'), before.field('data'));
  });
}

test('records say who asked for which certificate, and neither what was told nor what was answered', async () => {
  await configure();
  const since = await readRecords(0);
  const from = since.at(-1)?.seq ?? 0;
  const body = { csr: makeCsr(), password: 'word-for-the-service' };
  const leaf = certificateOf(await call('POST', 'pki/external-policy/sign/p7', body));
  service.answer = () => ({ error: 'no, word-for-the-service is wrong' });
  const refused = await call('POST', 'pki/external-policy/sign/p8', body);
  assert.match(errorOf(refused), /word-for-the-service is wrong/);
  service.answer = out({ dns: ['word-for-the-service.test'] }, { issuer_ref: 'narrow' });
  assert.equal((await call('POST', 'pki/external-policy/sign/p9', body)).status, 400);
  await configure();
  const texts = (await readRecords(from)).map(({ record }) => record).join('\n');
  assert.ok(texts.includes(leaf.serial) && texts.includes('p7') && texts.includes('p9'));
  assert.match(texts, /the external policy service refuses the request/);
  assert.ok(!texts.includes('word-for-the-service'));
  assert.ok(!texts.includes('PRIVATE KEY'));
});

async function readRecords(seq: number) {
  await writeRecords(running);
  return listRecordsAfter(running.app.db, { node: 'local', seq, limit: 10_000 });
}
