import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { startConnecting } from '../support/connect.ts';
import { inReverse, newDirectory } from '../support/node-process.ts';
import { runProgram } from '../support/program.ts';

// `gatehouse authenticate`, in a process of its own, against a server of this one.

const MAIN = join(import.meta.dirname, '../../src/main.ts');
const PASSWORD = 'correct horse';
const scope = inReverse({ after });
const { project, server } = await startConnecting(scope);
const method = ['-auth-method-id', project.auth_method_id];
const env = { BOUNDARY_ADDR: server.url, PW: PASSWORD };
const authenticate = (args: readonly string[], input = '') =>
  runProgram(['authenticate', '-login-name', 'admin', ...args], { env, input });

/** Who a token is of. */
const userOf = async (token: string): Promise<string> => {
  const id = token.split('_').slice(0, 2).join('_');
  const headers = { authorization: `Bearer ${token}` };
  const read = await server.call('GET', `auth-tokens/${id}`, undefined, { token: '', headers });
  return read.textAt('user_id');
};

test('the password is read from a pipe or a reference, and the token alone is written', async () => {
  for (const [args, input] of [
    [[], `${PASSWORD}\n`],
    [['-password', 'env://PW'], ''],
  ] as const) {
    const { code, stdout, stderr } = await authenticate([...method, ...args], input);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^at_\w{10}_\w+\n$/);
    assert.equal(await userOf(stdout.trim()), project.admin.user_id);
    assert.match(stderr, new RegExp(`^User +${project.admin.user_id}$`, 'm'));
    assert.ok(!stderr.includes(stdout.trim()));
  }
});

test('without a method the primary one of the scope is taken, if it takes passwords', async () => {
  const words = ['authenticate', 'password', '-login-name=admin', '-password=env://PW'];
  const none = await runProgram(words, { env });
  assert.equal(none.code, 1);
  assert.match(none.stderr, /global has no primary auth method that takes passwords/);
  const { textAt } = await project.admin.call('GET', 'scopes/global');
  const body = {
    version: Number(textAt('version')),
    primary_auth_method_id: project.auth_method_id,
  };
  const set = await project.admin.call('PATCH', 'scopes/global', body);
  assert.equal(set.status, 200, set.text);
  const { code, stderr } = await authenticate(['-password', 'env://PW']);
  assert.equal(code, 0, stderr);
});

test('a token is kept in a file that its owner alone can read, in the place of an older one', async (t) => {
  const folder = newDirectory(t);
  const file = join(folder, 'token');
  writeFileSync(file, 'an older one that is longer than any token of this server is'.repeat(9), {
    mode: 0o644,
  });
  const args = [...method, '-password', 'env://PW', '-token-file', file];
  const table = await authenticate(args);
  assert.deepEqual([table.code, table.stdout], [0, ''], table.stderr);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const kept = readFileSync(file, 'utf8');
  assert.match(kept, /^at_\w{10}_\w+\n$/);
  assert.deepEqual(readdirSync(folder), ['token']);
  const json = await authenticate([...args, '-format', 'json']);
  const told = JSON.parse(json.stdout);
  assert.deepEqual([told.user_id, told.token], [project.admin.user_id, undefined]);
  // Other commands read it there.
  const connect = await runProgram(['connect', 'no.alias', '-token-file', file], { env });
  assert.match(connect.stderr, /answered 404/);
});

const refused: [what: string, args: string[], input: string, line: RegExp][] = [
  ['a wrong password', [...method], 'canary', /the name or the password is wrong/],
  ['no password', [...method], '', /Password: nothing was given/],
  ['two lines', [...method], 'canary\ncanary', /give one line/],
  ['a password as an argument', ['-password', 'canary'], '', /not the secret itself/],
  ['no such method', ['-auth-method-id', 'ampw_0000000000'], 'canary', /answered 404/],
  [
    'a file that cannot be',
    [...method, '-token-file', '/nonexistent/x'],
    PASSWORD,
    /cannot be kept/,
  ],
];
for (const [what, args, input, line] of refused) {
  test(`${what} is told in one line`, async () => {
    const { code, stdout, stderr } = await authenticate(args, input);
    assert.deepEqual([code, stdout], [1, ''], stderr);
    assert.match(stderr, line);
    assert.match(stderr, /^gatehouse: [^\n]+\n$/);
    assert.doesNotMatch(stderr, /canary/);
  });
}

test('a password that is typed does not show', async (t) => {
  const command = [
    'exec',
    process.execPath,
    MAIN,
    'authenticate -login-name admin',
    ...method,
  ].join(' ');
  const terminal = spawn('script', ['-qfec', command, '/dev/null'], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  t.after(() => terminal.kill('SIGKILL'));
  let shown = '';
  terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  while (!shown.includes('Password: ')) await wait(20);
  const ended = new Promise((resolve) => terminal.once('close', resolve));
  terminal.stdin.write(`${PASSWORD}\r`);
  assert.equal(await ended, 0, shown);
  assert.match(shown, /at_\w{10}_\w+/);
  assert.ok(!shown.includes(PASSWORD.slice(0, 4)));
});
