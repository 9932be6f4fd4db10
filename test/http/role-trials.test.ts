/** What roles would let be issued, asked of a server, and by the command for it. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { deny, personWith } from '../support/denied.ts';
import { makeCsr } from '../support/leaves.ts';
import { type Client, type Reply, startTestServer } from '../support/server.ts';

const client: Client = await startTestServer({ after });
const { call } = client;
const must = async (reply: Promise<Reply>): Promise<Reply> => {
  const done = await reply;
  assert.ok(done.status < 300, done.text);
  return done;
};
const CEL =
  'request.common_name.endsWith(".example.com") ? ValidationOutput{key_type: "ec", no_store: true, warnings: ["seen"], template: CertTemplate{Subject: PKIX.Name{CommonName: request.common_name}, DNSNames: [request.common_name]}} : "not one of ours"';

before(async () => {
  await must(call('POST', 'sys/mounts/pki', { type: 'pki', config: { max_lease_ttl: '87600h' } }));
  const root = {
    common_name: 'R',
    key_type: 'ec',
    ttl: '80000h',
    permitted_dns_domains: 'example.com',
  };
  await must(call('POST', 'pki/root/generate/internal', root));
  const role = {
    allowed_domains: 'example.com,*.glob.example.com',
    allow_subdomains: true,
    allow_glob_domains: true,
    allow_bare_domains: true,
    key_type: 'ec',
    ttl: '1h',
    allowed_uri_sans: 'spiffe://*',
    generate_lease: true,
  };
  await must(call('POST', 'pki/roles/web', role));
  await must(call('POST', 'pki/cel/roles/web', { cel_program: { expression: CEL } }));
});

test('what would be issued is told with the rule of each name, and nothing is issued', async () => {
  const asked = {
    common_name: 'a.example.com',
    alt_names: 'example.com',
    ip_sans: '10.0.0.1',
    uri_sans: 'spiffe://x/y',
  };
  const told = await must(call('POST', 'pki/roles/web/test', asked));
  assert.equal(told.field('data.allowed'), true, told.text);
  assert.equal(told.field('data.decided_by'), 'roles/web');
  assert.deepEqual(told.field('data.names'), [
    { kind: 'common_name', name: 'a.example.com', rule: 'allow_subdomains' },
    { kind: 'dns_name', name: 'a.example.com', rule: 'allow_subdomains' },
    { kind: 'dns_name', name: 'example.com', rule: 'allow_bare_domains' },
    { kind: 'ip', name: '10.0.0.1', rule: 'allow_ip_sans' },
    { kind: 'uri', name: 'spiffe://x/y', rule: 'allowed_uri_sans' },
  ]);
  assert.equal(told.field('data.certificate.subject'), 'CN=a.example.com');
  assert.deepEqual(told.field('data.certificate.dns_names'), ['a.example.com', 'example.com']);
  assert.deepEqual(told.field('data.certificate.ext_key_usage'), ['ServerAuth', 'ClientAuth']);
  assert.equal(told.field('data.certificate.leased'), true);
  assert.equal(told.field('data.certificate.key_type'), 'ec');
  const { length } = (await call('LIST', 'pki/certs')).field('data.keys') as unknown[];
  assert.equal(length, 1);
});

test('it is what is issued then', async () => {
  const csr = makeCsr({ subject: { common_name: 'b.example.com' } });
  for (const [trial, path, body] of [
    ['roles/web/test', 'issue/web', { common_name: 'a.example.com', ttl: '2h' }],
    ['roles/web/test', 'sign/web', { csr }],
    ['cel/roles/web/test', 'cel/issue/web', { common_name: 'a.example.com' }],
  ] as const) {
    const told = await must(call('POST', `pki/${trial}`, body));
    assert.equal(told.field('data.allowed'), true, told.text);
    const made = await must(call('POST', `pki/${path}`, body));
    const end = Date.parse(told.textAt('data.certificate.not_after')) / 1000;
    assert.ok(Math.abs(end - Number(made.field('data.expiration'))) <= 5);
    assert.deepEqual(told.field('warnings'), made.field('warnings'));
  }
});

test('what would be refused is told with its reason', async () => {
  const cases: [path: string, body: object, because: RegExp, rules: (string | undefined)[]][] = [
    [
      'roles/web',
      { common_name: 'a.other.test' },
      /common name a.other.test not allowed by this role/,
      [undefined, undefined],
    ],
    ['roles/web', {}, /the common_name field is required/, []],
    [
      'roles/web',
      { common_name: 'localhost' },
      /name constraints refuse it/,
      ['allow_localhost', 'allow_localhost'],
    ],
    [
      'roles/web',
      { common_name: 'a.example.com', ttl: '1h', not_after: '2040-01-01T00:00:00Z' },
      /Either ttl or not_after/,
      ['allow_subdomains', 'allow_subdomains'],
    ],
    [
      'roles/web',
      { csr: makeCsr({ key: 'rsa-2048', subject: { common_name: 'a.example.com' } }) },
      /role requires keys of type ec/,
      ['allow_subdomains', 'allow_subdomains'],
    ],
    ['roles/web', { csr: 'x' }, /csr/i, []],
    ['cel/roles/web', { common_name: 'a.other.test' }, /^not one of ours$/, []],
    ['cel/roles/web', {}, /^cel_program: expression: field not found: common_name/, []],
  ];
  for (const [path, body, because, rules] of cases) {
    const told = await must(call('POST', `pki/${path}/test`, body));
    assert.equal(told.field('data.allowed'), false, told.text);
    assert.match(told.textAt('data.because'), because);
    const names = told.field('data.names') as { rule?: string }[];
    assert.deepEqual(
      names.map(({ rule }) => rule),
      rules,
    );
  }
  for (const path of ['roles/nobody/test', 'cel/roles/nobody/test']) {
    assert.equal((await call('POST', `pki/${path}`, { common_name: 'a.example.com' })).status, 400);
  }
});

test('whoever may not issue is not told', async () => {
  const body = { common_name: 'a.example.com' };
  for (const kind of ['', 'cel/']) {
    const path = `pki/${kind}roles/web/test`;
    const issue = await personWith(client, 'noissue', deny(`pki/${kind}issue/web`));
    const itself = await personWith(client, 'notest', deny(path));
    const field = await personWith(
      client,
      'nofield',
      `path "pki/${kind}issue/*" { capabilities = ["update"] denied_parameters = { "common_name" = ["a.example.com"] } }`,
    );
    const all = await personWith(client, 'all', '');
    assert.equal(await issue('POST', path, body), 403);
    assert.equal(await itself('POST', path, body), 403);
    assert.equal(await field('POST', path, body), 403);
    assert.equal(await field('POST', path, { common_name: 'b.example.com' }), 200);
    assert.equal(await all('POST', path, body), 200);
  }
});

test('fields that the program of a CEL role alone knows are held by its conditions', async () => {
  for (const way of ['issue', 'sign']) {
    const policy = `path "pki/cel/${way}/*" { capabilities = ["update"] denied_parameters = { "team" = ["red"] } }`;
    const person = await personWith(client, `team${way}`, policy);
    const body = { common_name: 'a.example.com' };
    for (const path of [
      'pki/cel/roles/web/test',
      ...(way === 'issue' ? ['pki/cel/issue/web'] : []),
    ]) {
      assert.equal(await person('POST', path, { ...body, team: 'red' }), 403, path);
      assert.equal(await person('POST', path, { ...body, Team: ['red'] }), 403, path);
      assert.equal(await person('POST', path, { ...body, team: 'blue' }), 200, path);
    }
  }
});
