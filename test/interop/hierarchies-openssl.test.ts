/** OpenSSL, GnuTLS and zlint judge hierarchies: three levels, cross-signed authorities, constraints and path lengths. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { parsePem } from '../../src/core/pem.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { adoptIssuer } from '../support/adopted-issuer.ts';
import { withOpenssl } from '../support/openssl.ts';
import { type Reply, startTestServer } from '../support/server.ts';
import { newAuthorityMount } from '../support/serving-mounts.ts';
import { findCommand, findTool } from '../support/tools.ts';

const { call, running } = await startTestServer({ after });
type Fields = Record<string, unknown>;

const mount = () => newAuthorityMount(call);

async function must(path: string, fields: Fields): Promise<Reply> {
  const reply = await call('POST', path, fields);
  assert.equal(reply.status, 200, `${path}: ${reply.text}`);
  return reply;
}

/** A certificate of a root, of an intermediate or of a server, PEM. */
type Pem = string;

async function makeRoot(path: string, fields: Fields = {}): Promise<Pem> {
  const body = { common_name: 'Root', key_type: 'ec', ttl: '8760h', issuer_name: 'root' };
  return (await must(`${path}/root/generate/internal`, { ...body, ...fields })).textAt(
    'data.certificate',
  );
}

/** An intermediate of the same mount beneath one of its issuers. */
async function makeIntermediate(
  path: string,
  from: string,
  name: string,
  fields: Fields = {},
  key: Fields = { key_type: 'ec' },
): Promise<Pem> {
  const request = await must(`${path}/intermediate/generate/internal`, {
    common_name: name,
    ...key,
  });
  const signed = await must(`${path}/issuer/${from}/sign-intermediate`, {
    csr: request.textAt('data.csr'),
    common_name: name,
    ttl: '4000h',
    ...fields,
  });
  const pem = signed.textAt('data.certificate');
  await adoptIssuer(running.app, path, pem, { name });
  return pem;
}

async function issue(path: string, from: string, fields: Fields): Promise<Reply> {
  const role = { allow_any_name: true, enforce_hostnames: false, key_type: 'ec' };
  const open = { allowed_uri_sans: '*', allowed_other_sans: '*', require_cn: false };
  await must(`${path}/roles/any`, { ...role, ...open });
  return call('POST', `${path}/issuer/${from}/issue/any`, { ttl: '1h', ...fields });
}

const OK = /^leaf\.pem: OK$/m;

/** What `openssl verify` says of a leaf with these above it. */
function verify(root: Pem, untrusted: readonly Pem[], leaf: Pem): string {
  let text = '';
  withOpenssl(({ run, write }) => {
    write('root.pem', `${root}\n`);
    write('between.pem', `${untrusted.join('\n')}\n`);
    write('leaf.pem', `${leaf}\n`);
    const between = untrusted.length === 0 ? [] : ['-untrusted', 'between.pem'];
    text = run('verify', '-x509_strict', '-CAfile', 'root.pem', ...between, 'leaf.pem').text;
  });
  return text;
}

for (const key of [
  { key_type: 'ec', key_bits: 384 },
  { key_type: 'rsa', key_bits: 2048 },
  { key_type: 'rsa', key_bits: 2048, use_pss: true, signature_bits: 512 },
  { key_type: 'ed25519' },
]) {
  test(`OpenSSL reads the request of an intermediate and follows three levels: ${JSON.stringify(key)}`, async () => {
    const path = await mount();
    const root = await makeRoot(path, key);
    const sub = await makeIntermediate(path, 'root', 'sub', { key_usage: 'DigitalSignature' }, key);
    const low = await makeIntermediate(path, 'sub', 'low', {}, key);
    const issued = await issue(path, 'low', { common_name: 'www.test' });
    assert.equal(issued.status, 200, issued.text);
    const leaf = issued.textAt('data.certificate');
    assert.match(verify(root, [sub, low], leaf), OK);
    assert.doesNotMatch(verify(root, [low], leaf), OK, 'without the one between');
    assert.deepEqual(issued.field('data.ca_chain'), [low, sub, root]);
    const request = await must(`${path}/intermediate/generate/exported`, {
      common_name: 'asked.test',
      add_basic_constraints: true,
      key_usage: 'CertSign',
      ...key,
    });
    withOpenssl(({ must: openssl, write }) => {
      write('csr.pem', `${request.textAt('data.csr')}\n`);
      const shown = openssl('req', '-in', 'csr.pem', '-verify', '-noout', '-text');
      assert.match(shown, /CA:TRUE/);
      assert.match(shown, /Certificate Sign/);
      assert.match(shown, /DNS:asked\.test/);
    });
  });
}

test('signature_bits and use_pss say how an intermediate is signed', async () => {
  const path = await mount();
  const root = await makeRoot(path, { key_type: 'rsa' });
  const fields = { signature_bits: 384, use_pss: true };
  const sub = await makeIntermediate(path, 'root', 'sub', fields);
  withOpenssl(({ must: openssl, write }) => {
    write('root.pem', `${root}\n`);
    write('sub.pem', `${sub}\n`);
    const shown = openssl('x509', '-in', 'sub.pem', '-noout', '-text');
    assert.match(shown, /Signature Algorithm: rsassaPss\s+Hash Algorithm: sha384/i);
    openssl('verify', '-x509_strict', '-CAfile', 'root.pem', 'sub.pem');
  });
});

test('a leaf that OpenSSL signs with the exported key of an intermediate is believed', async () => {
  const path = await mount();
  const root = await makeRoot(path);
  const request = await must(`${path}/intermediate/generate/exported`, {
    common_name: 'Elsewhere',
    key_type: 'ec',
  });
  const signed = await must(`${path}/root/sign-intermediate`, {
    csr: request.textAt('data.csr'),
    common_name: 'Elsewhere',
    format: 'pem_bundle',
  });
  assert.equal(parsePem(signed.textAt('data.certificate')).length, 2);
  withOpenssl(({ must: openssl, run, write }) => {
    write('root.pem', `${root}\n`);
    write('bundle.pem', `${signed.textAt('data.certificate')}\n`);
    write('ca.key', `${request.textAt('data.private_key')}\n`);
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
    openssl('req', '-new', ...key, '-subj', '/CN=leaf', '-keyout', 'leaf.key', '-out', 'leaf.csr');
    const by = ['-CA', 'bundle.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '1'];
    openssl('x509', '-req', '-in', 'leaf.csr', ...by, '-out', 'leaf.pem');
    const { text } = run('verify', '-CAfile', 'root.pem', '-untrusted', 'bundle.pem', 'leaf.pem');
    assert.match(text, OK);
  });
});

test('an authority that is signed by another one is reached from both', async () => {
  const [old, young] = [await mount(), await mount()];
  const oldRoot = await makeRoot(old, { common_name: 'Old' });
  const youngRoot = await makeRoot(young, { common_name: 'Young', key_name: 'k' });
  const leaf = (await issue(young, 'root', { common_name: 'www.test' })).textAt('data.certificate');
  const request = await must(`${young}/intermediate/cross-sign`, {
    key_ref: 'k',
    common_name: 'Young',
  });
  const skid = Buffer.from(subjectKeyIdOf(youngRoot)).toString('hex');
  const crossed = await must(`${old}/root/sign-intermediate`, {
    csr: request.textAt('data.csr'),
    common_name: 'Young',
    skid,
  });
  assert.match(verify(youngRoot, [], leaf), OK);
  assert.match(verify(oldRoot, [crossed.textAt('data.certificate')], leaf), OK);
  assert.doesNotMatch(verify(oldRoot, [], leaf), OK);
  const self = await must(`${old}/root/sign-self-issued`, { certificate: youngRoot });
  assert.match(verify(oldRoot, [self.textAt('data.certificate')], leaf), OK);
});

const subjectKeyIdOf = (pem: Pem): Uint8Array =>
  parseCertificate(parsePem(pem)[0]?.der ?? new Uint8Array()).subjectKeyId ?? new Uint8Array();

/** Constraints of a root, names that they allow and the nearest that they do not. */
const CONSTRAINED: [constraints: Fields, allowed: Fields, refused: Fields][] = [
  [{ permitted_dns_domains: 'a.test' }, { common_name: 'x.a.test' }, { common_name: 'xa.test' }],
  [
    { excluded_dns_domains: 'no.a.test' },
    { common_name: 'xno.a.test' },
    { common_name: 'x.no.a.test' },
  ],
  [{ permitted_ip_ranges: '10.0.0.0/8' }, { ip_sans: '10.255.255.255' }, { ip_sans: '11.0.0.0' }],
  [{ excluded_ip_ranges: '10.0.0.0/8' }, { ip_sans: '11.0.0.0' }, { ip_sans: '10.255.255.255' }],
  [
    { permitted_email_addresses: 'a.test' },
    { alt_names: 'ops@a.test' },
    { alt_names: 'ops@x.a.test' },
  ],
  [
    { excluded_email_addresses: 'ops@a.test' },
    { alt_names: 'dev@a.test' },
    { alt_names: 'ops@a.test' },
  ],
  [
    { permitted_uri_domains: '.a.test' },
    { uri_sans: 'https://x.a.test/' },
    { uri_sans: 'https://a.test/' },
  ],
  [
    { excluded_uri_domains: '.a.test' },
    { uri_sans: 'https://a.test/' },
    { uri_sans: 'https://x.a.test/' },
  ],
];
for (const [constraints, allowed, refused] of CONSTRAINED) {
  for (const level of ['root', 'sub'] as const) {
    test(`OpenSSL and we agree on what is beneath ${JSON.stringify(constraints)} of the ${level}`, async () => {
      const path = await mount();
      const root = await makeRoot(path, level === 'root' ? constraints : {});
      const sub = await makeIntermediate(path, 'root', 'sub', level === 'sub' ? constraints : {});
      const low = await makeIntermediate(path, 'sub', 'low');
      const inside = await issue(path, 'low', allowed);
      assert.equal(inside.status, 200, inside.text);
      assert.match(verify(root, [sub, low], inside.textAt('data.certificate')), OK);
      const outside = await issue(path, 'low', refused);
      assert.equal(outside.status, 400, outside.text);
      assert.match(outside.text, /name constraints refuse it/);
      // Made all the same, it is what OpenSSL does not believe either.
      const relaxed = { disable_name_constraint_checks: true };
      assert.equal((await call('PATCH', `${path}/issuer/low`, relaxed)).status, 200);
      const made = await issue(path, 'low', refused);
      assert.equal(made.status, 200, made.text);
      assert.match(
        verify(root, [sub, low], made.textAt('data.certificate')),
        /permitted subtree violation|excluded subtree violation/,
      );
    });
  }
}

test('OpenSSL and we agree on how many authorities may follow', async () => {
  const path = await mount();
  const root = await makeRoot(path, { max_path_length: 1 });
  const sub = await makeIntermediate(path, 'root', 'sub');
  const issued = await issue(path, 'sub', { common_name: 'www.test' });
  assert.match(verify(root, [sub], issued.textAt('data.certificate')), OK);
  const csr = (
    await must(`${path}/intermediate/generate/internal`, { common_name: 'low', key_type: 'ec' })
  ).textAt('data.csr');
  const body = { csr, common_name: 'low' };
  const refused = await call('POST', `${path}/issuer/sub/sign-intermediate`, body);
  assert.equal(refused.status, 400, refused.text);
  const relaxed = { disable_path_length_checks: true };
  assert.equal((await call('PATCH', `${path}/issuer/sub`, relaxed)).status, 200);
  const low = (await must(`${path}/issuer/sub/sign-intermediate`, body)).textAt('data.certificate');
  await adoptIssuer(running.app, path, low, { name: 'low' });
  const leaf = await issue(path, 'low', { common_name: 'www.test' });
  assert.match(
    verify(root, [sub, low], leaf.textAt('data.certificate')),
    /path length constraint exceeded/,
  );
});

/** Intermediates of several shapes, made in one mount. */
async function makeShapes(): Promise<{ root: Pem; made: Pem[] }> {
  const path = await mount();
  const root = await makeRoot(path);
  await must(`${path}/config/urls`, {
    issuing_certificates: 'http://ca.test/ca',
    crl_distribution_points: 'http://ca.test/crl',
    ocsp_servers: 'http://ca.test/ocsp',
  });
  const shapes: Fields[] = [
    {},
    { max_path_length: 0, key_usage: 'DigitalSignature' },
    { alt_names: 'ca.test,ca@ca.test', ip_sans: '10.0.0.1', uri_sans: 'https://ca.test/' },
    { permitted_dns_domains: 'a.test', excluded_ip_ranges: 'fd00::/8' },
    { ext_key_usage: 'ServerAuth,ClientAuth', organization: 'Größe', country: 'CH' },
    { skid: '01:02:03:04' },
    { ttl: 0, not_after: '2100-01-01T00:00:00Z' },
  ];
  const made: Pem[] = [];
  for (const [at, fields] of shapes.entries()) {
    made.push(await makeIntermediate(path, 'root', `sub-${at}`, fields));
  }
  const other = await makeRoot(await mount(), { common_name: 'Other' });
  const crossed = await must(`${path}/root/sign-self-issued`, { certificate: other });
  made.push(crossed.textAt('data.certificate'));
  return { root, made };
}

const { root: judgedRoot, made: judged } = await makeShapes();
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-hierarchies-'));
after(() => rmSync(folder, { recursive: true, force: true }));
writeFileSync(join(folder, 'root.pem'), `${judgedRoot}\n`);
const files = judged.map((pem, at) => {
  writeFileSync(join(folder, `ca-${at}.pem`), `${pem}\n`);
  return `ca-${at}.pem`;
});

function judge(command: string, ...args: string[]): string {
  const options = { cwd: folder, encoding: 'utf8', timeout: 60_000 } as const;
  const { stdout, stderr, error } = spawnSync(command, args, options);
  if (error) throw error;
  return stdout + stderr;
}

test('GnuTLS verifies every intermediate', { skip: findCommand('certtool').skip }, () => {
  for (const file of files) {
    const verdict = judge(
      'certtool',
      '--verify',
      '--load-ca-certificate',
      'root.pem',
      '--infile',
      file,
    );
    assert.match(verdict, /Chain verification output: Verified\./, `${file}: ${verdict}`);
  }
});

const zlint = findTool('zlint-v3.6.0/zlint');
// Everything but the RFCs: rules of programmes for public certificates and of single companies.
const PROGRAMMES = 'Apple,CABF_BR,CABF_EV,CABF_SMIME_BR,Community,ETSI_ESI,Mozilla';
test('zlint finds no error by the RFCs in an intermediate', { skip: zlint.skip }, () => {
  const lines = judge(zlint.path, '-excludeSources', PROGRAMMES, ...files)
    .split('\n')
    .filter((line) => line.startsWith('{'));
  assert.equal(lines.length, files.length);
  const findings = lines.flatMap((line, at) => {
    const results: Record<string, { result: string; details?: string }> = JSON.parse(line);
    return Object.entries(results)
      .filter(([, { result }]) => result === 'error' || result === 'fatal')
      .map(([lint, { details = '' }]) => `${files[at]}: ${lint} ${details}`);
  });
  assert.deepEqual(findings, []);
});
