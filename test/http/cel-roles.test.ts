/** Roles whose rules are programs in CEL, asked of a server. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { parsePem } from '../../src/core/pem.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
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

/** As the documentation of OpenBao has it, but for names. */
const DOCUMENTED = {
  variables: [
    {
      name: 'validate_cn',
      expression: 'has(request.common_name) && request.common_name == "example.com"',
    },
    { name: 'small_ttl', expression: 'has(request.ttl) && duration(request.ttl) < duration("4h")' },
    { name: 'cn_value', expression: 'request.common_name' },
    { name: 'not_after', expression: 'now + duration(request.ttl)' },
    {
      name: 'cert',
      expression:
        'CertTemplate{Subject: PKIX.Name{CommonName: cn_value, Country: ["ZW", "US"]}, NotBefore: now, NotAfter: not_after, DNSNames: [cn_value]}',
    },
    {
      name: 'output',
      expression:
        'ValidationOutput{template: cert, generate_lease: small_ttl, no_store: !small_ttl, issuer_ref: "default", key_type: "ec", key_bits: 256u, warnings: ["by a program"]}',
    },
    {
      name: 'err',
      expression: '"Request should have Common name: example.com but got: " + cn_value',
    },
  ],
  expression: 'validate_cn ? output : err',
};

const leaf = (fields: string, output = ''): { expression: string } => ({
  expression: `ValidationOutput{key_type: "ec", ${output} template: CertTemplate{NotAfter: now + duration("1h"), ${fields}}}`,
});
const write = (name: string, cel_program: object | string): Promise<Reply> =>
  call('POST', `pki/cel/roles/${name}`, { cel_program });
const errorOf = (reply: Reply): string => String(reply.field('errors.0') ?? '');

async function issued(path: string, body: object) {
  const reply = await must(call('POST', `pki/${path}`, body));
  const [block] = parsePem(reply.textAt('data.certificate'));
  assert.ok(block);
  return { reply, certificate: parseCertificate(block.der) };
}

let other = '';
before(async () => {
  await must(call('POST', 'sys/mounts/pki', { type: 'pki', config: { max_lease_ttl: '87600h' } }));
  for (const issuer_name of ['root', 'other']) {
    const body = { common_name: issuer_name, key_type: 'ec', issuer_name, ttl: '8760h' };
    const made = await must(call('POST', 'pki/issuers/generate/root/internal', body));
    other = made.textAt('data.issuer_id');
  }
  await must(call('POST', 'pki/config/issuers', { default: 'root' }));
  await must(write('documented', DOCUMENTED));
});

test('a role is written, read, listed, changed and removed', async () => {
  assert.equal((await call('GET', 'pki/cel/roles/first')).status, 404);
  const made = await must(write('first', { expression: 'false' }));
  const program = { variables: [], expression: 'false' };
  assert.deepEqual(made.field('data'), { name: 'first', cel_program: program });
  await must(write('second', JSON.stringify(DOCUMENTED)));
  assert.deepEqual(
    (await call('GET', 'pki/cel/roles/second')).field('data.cel_program'),
    DOCUMENTED,
  );
  const all = await must(call('LIST', 'pki/cel/roles'));
  assert.deepEqual(all.field('data.keys'), ['documented', 'first', 'second']);
  const page = await must(call('LIST', 'pki/cel/roles?after=documented&limit=1'));
  assert.deepEqual(page.field('data.keys'), ['first']);
  const err = { name: 'err', expression: '"another"' };
  const patch = { cel_program: { variables: [err, { name: 'last', expression: '1' }] } };
  const patched = await must(call('PATCH', 'pki/cel/roles/second', patch));
  assert.deepEqual(patched.field('data.cel_program.expression'), DOCUMENTED.expression);
  assert.deepEqual(patched.field('data.cel_program.variables.6'), err);
  assert.deepEqual(patched.field('data.cel_program.variables.7.name'), 'last');
  const absent = await call('PATCH', 'pki/cel/roles/none', patch);
  assert.equal(errorOf(absent), 'Unable to fetch cel role entry to patch');
  for (const name of ['first', 'second', 'never']) {
    assert.equal((await call('DELETE', `pki/cel/roles/${name}`)).status, 204);
  }
  assert.deepEqual((await call('LIST', 'pki/cel/roles')).field('data.keys'), ['documented']);
});

test('a program that cannot be compiled is refused where it is written, naming the expression', async () => {
  const cases: [program: object | string, message: RegExp][] = [
    [{ expression: '1 +' }, /^cel_program: expression: at 1:3: /],
    [{ expression: 'Nope{}' }, /there is no type "Nope"/],
    [{ expression: 'CertTemplate{Names: []}' }, /CertTemplate has no field "Names"/],
    [{ expression: 'nope' }, /expression: "nope" is not known here/],
    [{ expression: 'nope(1)', variables: [] }, /expression: there is no function "nope"/],
    [{ expression: '' }, /expression cannot be empty/],
    [{ variables: [] }, /expression/],
    ['not json', /cel_program/],
    [
      {
        expression: 'a',
        variables: [
          { name: 'a', expression: 'b' },
          { name: 'b', expression: '1' },
        ],
      },
      /variables\[0\] a: "b" is not known here/,
    ],
    [{ expression: 'a', variables: [{ name: 'now', expression: '1' }] }, /there is a now already/],
    [
      { expression: 'true', variables: [{ name: 'a b', expression: '1' }] },
      /no name of a variable/,
    ],
    [{ expression: 'true', nothing: 1 }, /nothing/],
    [{ expression: 'x'.repeat(8193) }, /expression/],
    [{ expression: `${'('.repeat(200)}1${')'.repeat(200)}` }, /too many parts within each other/],
    [{ expression: '[1].all(a, [1].all(b, [1].all(c, [1].all(d, true))))' }, /at most 3 macros/],
  ];
  for (const [program, message] of cases) {
    const refused = await write('broken', program);
    assert.equal(refused.status, 400, refused.text);
    assert.match(errorOf(refused), message);
  }
  assert.equal((await call('GET', 'pki/cel/roles/broken')).status, 404);
});

test('the documented program issues, with its lease, warning and names', async () => {
  const body = { common_name: 'example.com', ttl: '1h', anything: { of: [1, 'x'] } };
  const { reply, certificate } = await issued('cel/issue/documented', body);
  assert.deepEqual(reply.field('warnings'), ['by a program']);
  assert.match(reply.textAt('lease_id'), /^pki\/cel\/issue\/documented\//);
  assert.equal(certificate.notAfter - certificate.notBefore, 3600);
  assert.equal(reply.textAt('data.private_key_type'), 'ec');
  const serial = reply.textAt('data.serial_number');
  assert.equal((await call('GET', `pki/cert/${serial}`)).status, 200);
  const fleeting = await issued('cel/issue/documented', { ...body, ttl: '5h' });
  assert.equal(fleeting.reply.textAt('lease_id'), '');
  const unstored = fleeting.reply.textAt('data.serial_number');
  assert.equal((await call('GET', `pki/cert/${unstored}`)).status, 404);
});

test('a program refuses in its own words', async () => {
  const wrong = await call('POST', 'pki/cel/issue/documented', {
    common_name: 'evil.test',
    ttl: '1h',
  });
  assert.equal(wrong.status, 400);
  assert.equal(errorOf(wrong), 'Request should have Common name: example.com but got: evil.test');
  await must(write('never', { expression: 'false' }));
  assert.equal(errorOf(await call('POST', 'pki/cel/issue/never', {})), 'request denied');
  const unknown = await call('POST', 'pki/cel/issue/nobody', {});
  assert.equal(errorOf(unknown), 'unknown cel role: nobody');
  const missing = await call('POST', 'pki/cel/issue/documented', { common_name: 'example.com' });
  assert.match(errorOf(missing), /^cel_program: variables\[3\] not_after: field not found: ttl/);
});

test('a CSR is signed as the program describes it, by what it brings', async () => {
  const names =
    'Subject: PKIX.Name{CommonName: parsed_csr.Subject.CommonName}, DNSNames: ["by.program.test"]';
  await must(write('signs', leaf(`${names}, ExtKeyUsage: [ExtKeyUsage.ExtKeyUsageServerAuth]`)));
  const csr = makeCsr({ subject: { common_name: 'a.test' } });
  const { certificate, reply } = await issued('cel/sign/signs', { csr });
  assert.deepEqual(certificate.subjectAltNames?.dns, ['by.program.test']);
  assert.equal(reply.field('data.private_key'), undefined);
  const stored = await must(call('GET', `pki/cert/${reply.textAt('data.serial_number')}`));
  assert.equal(stored.textAt('data.certificate').trim(), reply.textAt('data.certificate').trim());
  const weak = makeCsr({ subject: { common_name: 'a.test' }, key: 'rsa-1024' });
  await must(
    write('any', {
      expression: 'ValidationOutput{template: CertTemplate{NotAfter: now + duration("1h")}}',
    }),
  );
  const refused = await call('POST', 'pki/cel/sign/any', { csr: weak });
  assert.match(errorOf(refused), /RSA keys < 2048 bits are unsafe/);
  const wrong = await call('POST', 'pki/cel/sign/signs', { csr: makeCsr({ key: 'rsa-2048' }) });
  assert.match(errorOf(wrong), /role requires keys of type ec/);
  assert.equal((await call('POST', 'pki/cel/sign/signs', { csr: 'x' })).status, 400);
});

test('what a program comes to that no certificate can have is refused, naming the field', async () => {
  const cases: [fields: string, output: string, message: RegExp][] = [
    ['DNSNames: "a"', '', /Expected list but got string for message CertTemplate.DNSNames/],
    ['DNSNames: [1]', '', /Expected string but got int for message CertTemplate.DNSNames/],
    ['DNSNames: ["a_b@c"]', '', /template.DNSNames\[0\]/],
    ['DNSNames: ["a.test,b.test"]', '', /template.DNSNames\[0\]/],
    ['EmailAddresses: ["a.test"]', '', /template.EmailAddresses\[0\]/],
    ['IPAddresses: [net.IP{IP: b"abc"}]', '', /template.IPAddresses\[0\]/],
    ['URIs: [url.URL{Host: "a.test"}]', '', /template.URIs\[0\].Scheme/],
    ['IsCA: true', '', /template.IsCA: cel roles make certificates of leaves/],
    ['PermittedDNSDomains: ["a.test"]', '', /template.PermittedDNSDomains/],
    [
      'ExtraExtensions: [PKIX.Extension{Id: [2, 5, 29, 17], Value: b"0"}]',
      '',
      /ExtraExtensions\[0\].Id/,
    ],
    [
      'ExtraExtensions: [PKIX.Extension{Id: [1, 2, 3], Value: b"zz"}]',
      '',
      /ExtraExtensions\[0\].Value/,
    ],
    ['KeyUsage: 4096', '', /template.KeyUsage/],
    ['', 'key_bits: 7u,', /unsupported bit length/],
    ['NotBefore: now + duration("9h")', '', /Not Before/],
  ];
  for (const [fields, output, message] of cases) {
    await must(write('wrong', leaf(fields, output)));
    const refused = await call('POST', 'pki/cel/issue/wrong', {});
    assert.ok(refused.status >= 400 && refused.status < 500, `${fields} ${refused.text}`);
    assert.match(errorOf(refused), message);
  }
  await must(write('wrong', leaf('', 'issuer_ref: "nobody",')));
  const nobody = await call('POST', 'pki/cel/issue/wrong', {});
  assert.match(errorOf(nobody), /unable to find PKI issuer for reference: nobody/);
  for (const expression of ['1', 'CertTemplate{}', 'ValidationOutput{}', '[1]', 'null']) {
    await must(write('wrong', { expression }));
    const refused = await call('POST', 'pki/cel/issue/wrong', {});
    assert.equal(refused.status, 400, expression);
    assert.match(errorOf(refused), /^cel_program: /);
  }
});

test('the mount bounds how long a certificate lasts, and the issuer which names it has', async () => {
  await must(call('POST', 'sys/mounts/bounded', { type: 'pki', config: { max_lease_ttl: '2h' } }));
  const root = {
    common_name: 'B',
    key_type: 'ec',
    ttl: '87600h',
    permitted_dns_domains: 'in.test',
  };
  await must(call('POST', 'bounded/root/generate/internal', root));
  const expression =
    'ValidationOutput{key_type: "ec", template: CertTemplate{NotAfter: now + duration("1h"), DNSNames: [request.name], ExtKeyUsage: [ExtKeyUsage.ExtKeyUsageServerAuth]}}';
  await must(call('POST', 'bounded/cel/roles/r', { cel_program: { expression } }));
  await must(call('POST', 'bounded/cel/issue/r', { name: 'a.in.test' }));
  const outside = await call('POST', 'bounded/cel/issue/r', { name: 'a.out.test' });
  assert.match(errorOf(outside), /name constraints refuse it/);
  await must(
    write('long', {
      expression:
        'ValidationOutput{key_type: "ec", template: CertTemplate{NotAfter: now + duration("999999h")}}',
    }),
  );
  const beyond = await call('POST', 'pki/cel/issue/long', {});
  assert.match(errorOf(beyond), /beyond the expiration of the CA certificate/);
});

test('a program sees who asks: entity, groups and metadata', async () => {
  const expression =
    'entity_id != "" && entity_info.metadata.team == "blue" && entity_groups.exists(g, g.name == "issuers") ? "known " + entity_info.name : "unknown"';
  await must(write('who', { expression }));
  assert.equal(errorOf(await call('POST', 'pki/cel/issue/who', {})), 'unknown');
  const entity = await must(
    call('POST', 'identity/entity', { name: 'ann', metadata: { team: 'blue' }, policies: ['all'] }),
  );
  const id = entity.textAt('data.id');
  await must(call('POST', 'identity/group', { name: 'issuers', member_entity_ids: [id] }));
  await must(
    call('PUT', 'sys/policies/acl/all', { policy: 'path "pki/*" { capabilities = ["update"] }' }),
  );
  await must(call('POST', 'sys/auth/userpass', { type: 'userpass' }));
  await must(call('POST', 'auth/userpass/users/ann', { password: 'a long password' }));
  const mounts = await must(call('GET', 'sys/auth'));
  const mount_accessor =
    mounts.textAt('data.userpass/.accessor') ||
    String((mounts.field('data') as Record<string, { accessor: string }>)['userpass/']?.accessor);
  await must(
    call('POST', 'identity/entity-alias', { name: 'ann', canonical_id: id, mount_accessor }),
  );
  const login = await must(
    call('POST', 'auth/userpass/login/ann', { password: 'a long password' }),
  );
  const token = login.textAt('auth.client_token');
  assert.equal(errorOf(await call('POST', 'pki/cel/issue/who', {}, { token })), 'known ann');
});

test('neither paths, nor conditions on fields, nor a denied issuer are passed by a program', async () => {
  await must(
    write('free', leaf('DNSNames: ["a.test"]', 'issuer_ref: has(request.by) ? request.by : "",')),
  );
  const person = (name: string, stanzas: string) => personWith(client, name, stanzas);
  const issue = async (ask: Awaited<ReturnType<typeof person>>, body: object) =>
    ask('POST', 'pki/cel/issue/free', body);
  const shut = await person('shut', deny('pki/cel/issue/free'));
  assert.equal(await issue(shut, {}), 403);
  const bound = await person(
    'bound',
    'path "pki/cel/issue/free" { capabilities = ["update"] denied_parameters = { "common_name" = ["a.test"], "by" = [] } }',
  );
  assert.equal(await issue(bound, {}), 200);
  assert.equal(await issue(bound, { common_name: 'A.Test' }), 403);
  assert.equal(await issue(bound, { by: 'other' }), 403);
  const partly = await person('partly', deny('pki/issuer/other'));
  assert.equal(await issue(partly, {}), 200);
  assert.equal(await issue(partly, { by: 'root' }), 200);
  for (const by of ['other', other]) assert.equal(await issue(partly, { by }), 403);
  const signs = await person(
    'signs',
    'path "pki/cel/sign/signs" { capabilities = ["update"] denied_parameters = { "common_name" = ["a.test"] } }',
  );
  const csr = makeCsr({ subject: { common_name: 'a.test' } });
  assert.equal(await signs('POST', 'pki/cel/sign/signs', { csr }), 403);
  const fine = makeCsr({ subject: { common_name: 'b.test' } });
  assert.equal(await signs('POST', 'pki/cel/sign/signs', { csr: fine }), 200);
});

test('a program that makes too much is refused, and the next one is evaluated', async () => {
  const doubled = Array.from({ length: 30 }, (_, at) => ({
    name: `v${at}`,
    expression: at === 0 ? '"aaaaaaaa"' : `v${at - 1} + v${at - 1}`,
  }));
  await must(write('much', { variables: doubled, expression: 'v29' }));
  const refused = await call('POST', 'pki/cel/issue/much', {});
  assert.match(errorOf(refused), /it makes too much/);
  // What is written out counts each time it is made.
  const maps = `[${Array.from({ length: 200 }, (_, at) => `{"a${at}": request.l}`).join(',')}]`;
  await must(
    write('maps', { expression: `request.l.map(x, request.l.map(y, ${maps})) == [] ? "a" : "b"` }),
  );
  const heavy = await call('POST', 'pki/cel/issue/maps', {
    l: Array.from({ length: 1500 }, (_, at) => at),
  });
  assert.match(errorOf(heavy), /it makes too much/);
  const pattern = '(x+x+)+y';
  await must(write('bomb', { expression: `request.t.matches("${pattern}") ? "yes" : "no"` }));
  assert.equal(errorOf(await call('POST', 'pki/cel/issue/bomb', { t: 'x'.repeat(5000) })), 'no');
  const { reply } = await issued('cel/issue/documented', { common_name: 'example.com', ttl: '1h' });
  assert.equal(reply.status, 200);
});

test('a program that goes round too often, or looks at too much, is refused', async () => {
  const l = Array.from({ length: 4000 }, (_, at) => `${at}`);
  const t = 'a'.repeat(900_000);
  for (const [name, expression] of [
    ['rounds', 'request.l.all(a, request.l.all(b, request.l.all(c, true)))'],
    ['contains', 'request.l.all(a, !request.t.contains("ab"))'],
    ['index', `request.l.all(a, request.t.lastIndexOf(request.t.substring(400000) + "b") < 0)`],
    ['size', 'request.l.all(a, request.t.size() > 0)'],
    ['trim', 'request.l.all(a, request.t.trim() != "")'],
    ['same', 'request.l.all(a, request.l.all(b, request.l != [b]))'],
    ['among', 'request.l.all(a, request.l.all(b, !("x" in request.l)))'],
  ] as const) {
    await must(write('long', { expression: `${expression} ? "a" : "b"` }));
    const refused = await call('POST', 'pki/cel/issue/long', { l, t });
    // Where others use the machine, time may be over before the count is.
    assert.ok([400, 503].includes(refused.status), `${name}: ${refused.text}`);
    assert.match(errorOf(refused), /it (takes too long|makes too much)/, name);
  }
});

test('while a program takes too long, requests for certificates are decided', async () => {
  // Each time of a place takes many steps.
  const expression =
    'request.l.all(a, request.l.all(b, now.getHours("America/New_York") >= 0)) ? "a" : "b"';
  await must(write('endless', { expression }));
  await must(call('POST', 'pki/roles/any', { allow_any_name: true, key_type: 'any', ttl: '1h' }));
  const l = Array.from({ length: 5000 }, (_, at) => at);
  let isOver = false;
  const endless = call('POST', 'pki/cel/issue/endless', { l }).finally(() => {
    isOver = true;
  });
  // A key that is looked at on the planning thread, which is another one.
  const csr = makeCsr({ subject: { common_name: 'a.test' }, key: 'rsa-2048' });
  await must(call('POST', 'pki/sign/any', { csr }));
  assert.equal(isOver, false);
  const ended = await endless;
  // Its steps are over before its time, unless others use the machine.
  assert.ok([400, 503].includes(ended.status), ended.text);
  assert.match(errorOf(ended), /it takes too long/);
  await issued('cel/issue/documented', { common_name: 'example.com', ttl: '1h' });
});
