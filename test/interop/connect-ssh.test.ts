/** `gatehouse connect ssh` and ProxyCommand, with OpenSSH's client and server at both ends. */

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { type Connecting, startCommand, startConnecting } from '../support/connect.ts';
import { newDirectory, type Scope } from '../support/node-process.ts';
import { runProgram } from '../support/program.ts';
import {
  canHavePasswords,
  findSshd,
  makeKeyPair,
  PASSWORD_USER,
  SSH_USER,
  type Sshd,
  startSshd,
} from '../support/sshd.ts';

const { skip } = findSshd();
const MAIN = join(import.meta.dirname, '../../src/main.ts');

describe('ssh through a session', { skip }, async () => {
  if (skip) return;
  const scope = { after };
  const folder = newDirectory(scope);
  const key = makeKeyPair(folder, 'key');
  const locked = makeKeyPair(folder, 'locked', { passphrase: 'open sesame' });
  const sshd = await startSshd(scope, { keys: [key.public_line, locked.public_line] });
  const connecting = await startConnecting(scope);
  const { env } = connecting;
  const private_key = key.private_text;

  const withKey = async (name: string, attributes: Record<string, unknown>): Promise<string> => {
    const target = await connecting.makeTarget(name, sshd.port);
    await connecting.broker(target, [{ type: 'ssh_private_key', attributes }]);
    return target;
  };
  const known = (target: string, { host_key }: Sshd = sshd): string => {
    const file = join(folder, `known-${target}`);
    writeFileSync(file, `${target} ${host_key.public_line}\n`);
    return `UserKnownHostsFile=${file}`;
  };
  const username = SSH_USER;
  const target = await withKey('key', { username, private_key });

  test('a brokered key logs in, and the host is known under the id of the target', async () => {
    const { code, stdout, stderr } = await runProgram(
      ['connect', 'ssh', target, '--', '-o', known(target), 'echo "$USER at $0"; exit 7'],
      { env },
    );
    assert.equal(code, 7, stderr);
    assert.match(stdout, new RegExp(`^${username} at `));
  });

  test('a host that is not known under the id of the target is refused', async () => {
    const nobody = join(folder, 'known-nobody');
    const { public_line } = sshd.host_key;
    writeFileSync(nobody, `127.0.0.1 ${public_line}\n[127.0.0.1]:${sshd.port} ${public_line}\n`);
    const { code, stderr } = await runProgram(
      ['connect', 'ssh', target, '--', '-o', `UserKnownHostsFile=${nobody}`, 'true'],
      { env },
    );
    assert.equal(code, 255);
    assert.match(stderr, /Host key verification failed/);
  });

  test('a brokered key with a passphrase logs in, and nobody is asked', async () => {
    const attributes = {
      username,
      private_key: locked.private_text,
      private_key_passphrase: 'open sesame',
    };
    const target = await withKey('locked', attributes);
    const { code, stdout, stderr } = await runProgram(
      ['connect', 'ssh', target, '--', '-o', known(target), 'echo in'],
      { env },
    );
    assert.deepEqual([code, stdout], [0, 'in\n'], stderr);
  });

  test('while ssh runs no secret stands among arguments, and its file is its owner’s and goes', async (t) => {
    const runtime = newDirectory(t);
    const running = startCommand(
      t,
      ['connect', 'ssh', target, '--', '-o', known(target), 'echo in; sleep 60'],
      { ...env, XDG_RUNTIME_DIR: runtime },
    );
    while (!(await Promise.race([running.ended.then(() => true), saysIn(running)]))) await wait(20);
    const [secrets = ''] = readdirSync(runtime);
    assert.deepEqual(readdirSync(join(runtime, secrets)), ['key']);
    const listed = execFileSync('stat', ['-c', '%a', join(runtime, secrets)], { encoding: 'utf8' });
    assert.equal(listed, '700\n');
    const file = execFileSync('stat', ['-c', '%a', join(runtime, secrets, 'key')]).toString();
    assert.equal(file, '600\n');
    const processes = execFileSync('ps', ['axww', '-o', 'args']).toString();
    assert.match(processes, new RegExp(`HostKeyAlias=${target}`));
    assert.ok(!processes.includes(connecting.project.admin.token));
    assert.ok(!processes.includes(private_key.split('\n')[1] ?? ''));
    running.signal('SIGTERM');
    const { code } = await running.ended;
    assert.ok(code === 255 || code === 143, `${code}`);
    assert.deepEqual(readdirSync(runtime), []);
  });

  test('as a ProxyCommand it carries a login and a copy, with nothing else on its output', async () => {
    const config = join(folder, 'config');
    const command = `${process.execPath} ${MAIN} connect -stdio %n`;
    writeFileSync(
      config,
      [
        `Host ${target}`,
        `  ProxyCommand ${command}`,
        `  User ${username}`,
        `  IdentityFile ${key.path}`,
        '  IdentitiesOnly yes',
        `  ${known(target).replace('=', ' ')}`,
        '',
      ].join('\n'),
    );
    const bytes = Buffer.alloc(5_000_000, 'some bytes that are long');
    const ssh = spawn('ssh', ['-F', config, target, 'cat; echo done >&2; exit 3'], {
      env: { ...process.env, ...env },
    });
    const parts: Buffer[] = [];
    let said = '';
    ssh.stdout.on('data', (part: Buffer) => parts.push(part));
    ssh.stderr.on('data', (part: Buffer) => {
      said += part.toString('utf8');
    });
    ssh.stdin.end(bytes);
    const code = await new Promise((resolve) => ssh.once('close', resolve));
    assert.equal(code, 3, said);
    assert.ok(Buffer.concat(parts).equals(bytes));
    assert.equal(said, 'done\n');
  });

  test('a brokered password logs in, and a wrong one is tried once', {
    skip: !canHavePasswords() && 'needs accounts of the test’s own',
  }, async (t) => {
    const password = 'it\'s a $HOME "password" `id`';
    const server = await startSshd(t, { password });
    await passwordLogsIn(connecting, server, password, known);
    await strangerIsAskedAbout(t, connecting, server, join(folder, 'known-by-answer'));
  });
});

async function passwordLogsIn(
  connecting: Connecting,
  server: Sshd,
  password: string,
  known: (target: string, server: Sshd) => string,
): Promise<void> {
  for (const [name, given, code, logins] of [
    ['right', password, 0, 'tester\n'],
    ['wrong', 'another password', 255, ''],
  ] as const) {
    const target = await connecting.makeTarget(name, server.port);
    const attributes = { username: PASSWORD_USER, password: given };
    await connecting.broker(target, [{ type: 'username_password', attributes }]);
    const outcome = await runProgram(
      ['connect', 'ssh', target, '--', '-o', known(target, server), 'id -un'],
      { env: connecting.env },
    );
    assert.deepEqual([outcome.code, outcome.stdout], [code, logins], outcome.stderr);
    assert.doesNotMatch(outcome.stderr, /another password/);
  }
  const failed = server.log().match(/Failed password for tester/g);
  assert.equal(failed?.length, 1, server.log());
}

/** What else ssh asks goes to whoever sits there. */
async function strangerIsAskedAbout(
  scope: Scope,
  { env }: Connecting,
  { host_key }: Sshd,
  known: string,
): Promise<void> {
  const command = `exec ${process.execPath} ${MAIN} connect ssh -target-name right -target-scope-name project -- -o UserKnownHostsFile=${known} id -un`;
  const terminal = spawn('script', ['-qfec', command, '/dev/null'], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  scope.after(() => terminal.kill('SIGKILL'));
  let shown = '';
  terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  const ended = new Promise((resolve) => terminal.once('close', resolve));
  while (!shown.includes('yes/no')) await wait(20);
  terminal.stdin.write('yes\r');
  assert.equal(await ended, 0, shown);
  assert.match(shown, /^tester\r$/m);
  assert.ok(readFileSync(known, 'utf8').includes(host_key.public_line.split(' ')[1] ?? '?'));
}

async function saysIn({ stdout }: { stdout: NodeJS.ReadableStream }): Promise<boolean> {
  return new Promise((resolve) => stdout.once('data', () => resolve(true)));
}
