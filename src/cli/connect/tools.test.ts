import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planHttp } from './http.ts';
import { planPsql } from './psql.ts';
import { planSsh } from './ssh.ts';
import type { Tool } from './tool.ts';
import type { ToolRequest } from './tool-command.ts';

// What tools are told: the real ones judge it in test/interop.

const SECRET = 'canary';
type Given = { flags?: Record<string, string>; credential?: object; endpoint?: string };

function plan(by: (request: ToolRequest) => Tool, given: Given = {}) {
  const { flags = {}, credential, endpoint = 'tcp://db.internal:5432' } = given;
  const files: Record<string, string> = {};
  const write = (name: string, text: string): string => {
    files[name] = text;
    return `/s 100%/${name}`;
  };
  const tool = by({
    flags: new Map(Object.entries(flags)),
    passed: ['-x'],
    served: {
      address: { host: '127.0.0.1', port: 4000 },
      session: {
        authorization: {
          target_id: 'ttcp_1',
          endpoint,
          endpoint_port: Number(endpoint.replace(/.*:/, '')),
        } as ToolRequest['served']['session']['authorization'],
        credentials: credential === undefined ? [] : [{ credential }],
        api: undefined,
      },
    },
    secrets: () => ({ write, writeProgram: write, remove() {} }),
  });
  assert.ok(!JSON.stringify(tool).includes(SECRET), 'in no argument and in no variable');
  assert.equal(tool.args.at(-1), '-x');
  return { ...tool, files, line: tool.args.join(' ') };
}

test('ssh goes to the proxy alone, and knows the host by the target', () => {
  const { line, env, files } = plan(planSsh);
  assert.match(line, /^-p 4000 -o HostKeyAlias=ttcp_1 .* 127\.0\.0\.1 -x$/);
  for (const option of ['ProxyCommand=none', 'ControlPath=none'])
    assert.match(line, RegExp(option));
  assert.deepEqual([env, files], [{}, {}]);
});

test('ssh takes a key from a file that it names with its tokens escaped', () => {
  const { line, files } = plan(planSsh, { credential: { username: 'ada', private_key: SECRET } });
  assert.match(line, /-o IdentityFile="\/s 100%%\/key" -o IdentitiesOnly=yes -l ada 127/);
  assert.deepEqual(files, { key: `${SECRET}\n` });
});

test('ssh takes a password from a program that answers what ssh asks for it, and nothing else', () => {
  const { env, files, line } = plan(planSsh, {
    credential: { username: "o'neil", password: SECRET },
  });
  assert.deepEqual(env, { SSH_ASKPASS: '/s 100%/askpass', SSH_ASKPASS_REQUIRE: 'force' });
  assert.match(line, /NumberOfPasswordPrompts=1/);
  assert.equal(files.secret, `${SECRET}\n`);
  const [, prompts = ''] = /^(.*)\) exec cat/m.exec(files.askpass ?? '') ?? [];
  assert.ok(prompts.includes(String.raw`'o'\''neil@ttcp_1'\''s password: '`));
  assert.ok(!/\*/.test(prompts));
});

test('a secret of somebody else than the user that was named is not used', () => {
  const flags = { username: 'bob' };
  for (const secret of [{ password: SECRET }, { private_key: SECRET }]) {
    const { line, files, env } = plan(planSsh, {
      flags,
      credential: { username: 'ada', ...secret },
    });
    assert.match(line, /-l bob/);
    assert.deepEqual([files, env], [{}, {}]);
  }
  const { env, files } = plan(planPsql, {
    flags,
    credential: { username: 'ada', password: SECRET },
  });
  assert.deepEqual([env.PGUSER, files], ['bob', {}]);
});

test('psql is told the name of the target and the place of the proxy, by the environment', () => {
  const { args, env } = plan(planPsql, { flags: { dbname: 'd' } });
  assert.deepEqual(args, ['-x']);
  assert.deepEqual(env, {
    PGHOST: 'db.internal',
    PGHOSTADDR: '127.0.0.1',
    PGPORT: '4000',
    PGSERVICE: undefined,
    PGDATABASE: 'd',
  });
});

test('psql takes a password from a file, its fields escaped', () => {
  const { files, env } = plan(planPsql, {
    credential: { username: 'a:b', password: `${SECRET}\\:` },
    endpoint: 'tcp://[2001:db8::1]:5432',
  });
  assert.equal(files.pgpass, `2001\\:db8\\:\\:1:4000:*:a\\:b:${SECRET}\\\\\\:\n`);
  assert.ok('PGPASSWORD' in env && env.PGPASSWORD === undefined);
});

test('a certificate is for psql and curl, and its key for no ssh', () => {
  const credential = { certificate: 'C', private_key: SECRET };
  const psql = plan(planPsql, { credential });
  assert.deepEqual([psql.env.PGSSLKEY, psql.files.key], ['/s 100%/key', SECRET]);
  assert.match(plan(planHttp, { credential }).files.curl ?? '', /^key = "\/s 100%\/key"$/m);
  assert.deepEqual(plan(planSsh, { credential }).files, {});
});

const URLS: [given: Given, url: string, to: string][] = [
  [{ endpoint: 'tcp://a.test:443' }, 'https://a.test/', 'a.test:443'],
  [{ endpoint: 'tcp://a.test:8443' }, 'https://a.test:8443/', 'a.test:8443'],
  [{ endpoint: 'tcp://a.test:80', flags: { scheme: 'http' } }, 'http://a.test/', 'a.test:80'],
  [{ endpoint: 'tcp://a.test:443', flags: { scheme: 'http' } }, 'http://a.test:443/', 'a.test:443'],
  [{ endpoint: 'tcp://10.0.0.1:443', flags: { host: 'b.test' } }, 'https://b.test/', 'b.test:443'],
  [{ endpoint: 'tcp://[2001:db8::1]:443' }, 'https://[2001:db8::1]/', '[2001:db8::1]:443'],
  [{ endpoint: 'tcp://a:443', flags: { path: 'x?y' } }, 'https://a/x?y', 'a:443'],
];
for (const [given, url, to] of URLS) {
  test(`curl is sent to ${url} by way of the proxy`, () => {
    const { args } = plan(planHttp, given);
    assert.deepEqual(args.slice(0, 2), ['--connect-to', `${to}:127.0.0.1:4000`]);
    assert.equal(args.at(-2), url);
  });
}

test('curl waits for no body of an answer to HEAD', () => {
  assert.match(plan(planHttp, { flags: { method: 'head' } }).line, / --head https/);
  assert.match(plan(planHttp, { flags: { method: 'put' } }).line, / --request PUT https/);
});
