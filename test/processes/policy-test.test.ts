import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { makeCsr } from '../support/leaves.ts';
import { newDirectory } from '../support/node-process.ts';
import { runProgram } from '../support/program.ts';
import { startTestServer } from '../support/server.ts';

// The real program, against a running server.

const { url, call } = await startTestServer({ after });
before(async () => {
  await call('POST', 'sys/mounts/pki', { type: 'pki' });
  await call('POST', 'pki/root/generate/internal', {
    common_name: 'R',
    key_type: 'ec',
    ttl: '9000h',
  });
  const role = {
    allowed_domains: 'example.com',
    allow_subdomains: true,
    key_type: 'ec',
    ttl: '1h',
  };
  await call('POST', 'pki/roles/web', role);
  const expression =
    'has(request.team) ? ValidationOutput{key_type: "ec", template: CertTemplate{DNSNames: ["a.test"], NotAfter: now + duration("1h")}} : "no team"';
  await call('POST', 'pki/cel/roles/prog', { cel_program: { expression } });
});

const policyTest = (...flags: string[]) =>
  runProgram(['pki', 'policy', 'test', `-address=${url}`, ...flags], {
    env: { GATEHOUSE_TOKEN: 'root' },
  });

test('pki policy test says what would be issued, as a table and as JSON', async (t) => {
  const yes = await policyTest('-role=web', '-common-name=a.example.com', '-ttl=30m');
  assert.equal(yes.code, 0, yes.stderr);
  assert.match(yes.stdout, /^Allowed +yes$/m);
  assert.match(yes.stdout, /^Decided by +roles\/web$/m);
  assert.match(yes.stdout, /^Name dns_name +a\.example\.com: allow_subdomains$/m);
  assert.match(yes.stdout, /^subject +CN=a\.example\.com$/m);

  const json = await policyTest('-role=web', '-common-name=a.example.com', '-format=json');
  assert.equal(JSON.parse(json.stdout).certificate.key_type, 'ec');

  const directory = newDirectory(t);
  const csr = join(directory, 'a.csr');
  writeFileSync(csr, makeCsr({ subject: { common_name: 'b.example.com' } }));
  const signed = await policyTest('-role=web', `-csr=${csr}`);
  assert.match(signed.stdout, /^subject +CN=b\.example\.com$/m);

  const program = await policyTest('-cel-role=prog', '-data={"team":"blue"}');
  assert.match(program.stdout, /^dns_names +a\.test$/m);
});

test('pki policy test says why nothing would be issued, with exit code 2', async () => {
  const no = await policyTest('-role=web', '-common-name=a.other.test');
  assert.equal(no.code, 2);
  assert.match(no.stdout, /^Allowed +no$/m);
  assert.match(no.stdout, /^Because +common name a\.other\.test not allowed by this role$/m);
  assert.match(no.stdout, /^Name common_name +a\.other\.test: no rule lets it in$/m);
  const program = await policyTest('-cel-role=prog');
  assert.equal(program.code, 2);
  assert.match(program.stdout, /^Because +no team$/m);
});

test('pki policy test refuses what it cannot ask, in one line', async () => {
  const wrong: [flags: string[], message: RegExp][] = [
    [[], /either -role or -cel-role is required/],
    [['-role=web', '-cel-role=prog'], /either -role or -cel-role is required/],
    [['-role=none', '-common-name=a.test'], /unknown role: none/],
    [['-role=web', '-mount=../sys'], /-mount must be a path/],
    [['-role=web', '-data=[]'], /-data has must be a JSON object/],
    [['-role=web', '-csr=/nonexistent/x'], /-csr, "\/nonexistent\/x", cannot be read/],
  ];
  for (const [flags, message] of wrong) {
    const { code, stdout, stderr } = await policyTest(...flags);
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, message);
    assert.match(stderr, /^gatehouse: [^\n]+\n$/);
  }
});
