/** OpenSSH's server, run for a test on a port of its own. */

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { newDirectory, type Scope } from './node-process.ts';
import { findTool, type Tool } from './tools.ts';

const SSHD = '/usr/sbin/sshd';

/** Whether it is here; a path from the root stays one. */
export function findSshd(): Tool {
  return existsSync(SSHD) ? { path: SSHD, skip: false } : findTool('sshd');
}

/** Whether passwords can be tried: accounts of the test's own need a view of the files of its own. */
export const canHavePasswords = (): boolean => {
  try {
    execFileSync('unshare', ['-m', 'true'], { stdio: 'ignore' });
    return process.getuid?.() === 0;
  } catch {
    return false;
  }
};

export interface Sshd {
  port: number;
  username: string;
  /** Of its host key, as in a file of known hosts. */
  host_key: string;
  /** What it wrote. */
  log(): string;
}

/**
 * Starts a server that lets the user of this process in.
 *
 * @param password lets in a user `tester` as well; see {@link canHavePasswords}
 */
export async function startSshd(
  scope: Scope,
  { authorized_key = '', password }: { authorized_key?: string; password?: string } = {},
): Promise<Sshd> {
  const folder = newDirectory(scope);
  chmodSync(folder, 0o755);
  const file = (name: string): string => join(folder, name);
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file('host')]);
  writeFileSync(file('keys'), authorized_key);
  const port = await freePort();
  const lines = [
    `ListenAddress 127.0.0.1:${port}`,
    `HostKey ${file('host')}`,
    'PidFile none',
    'UsePAM no',
    'StrictModes no',
    'PermitRootLogin yes',
    `PasswordAuthentication ${password === undefined ? 'no' : 'yes'}`,
    'KbdInteractiveAuthentication no',
    `AuthorizedKeysFile ${file('keys')}`,
    'Subsystem sftp internal-sftp',
  ];
  writeFileSync(file('config'), `${lines.join('\n')}\n`);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) mkdirSync('/run/sshd', { recursive: true });
  const serve = [SSHD, '-D', '-e', '-f', file('config')];
  const command = password === undefined ? serve : withAccount(file, password, serve);
  const [program = '', ...args] = command;
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const ended = once(child, 'close');
  scope.after(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  await answers(port, () => log);
  return {
    port,
    username: password === undefined ? userInfo().username : 'tester',
    host_key: readFileSync(file('host.pub'), 'utf8').trim(),
    log: () => log,
  };
}

/** The files of accounts with one more, for this process and its children alone. */
function withAccount(
  file: (name: string) => string,
  password: string,
  serve: readonly string[],
): string[] {
  const hash = execFileSync('openssl', ['passwd', '-6', '-stdin'], { input: password });
  const passwd = readFileSync('/etc/passwd', 'utf8');
  writeFileSync(file('passwd'), `${passwd}tester:x:61234:61234::/tmp:/bin/sh\n`);
  const shadow = readFileSync('/etc/shadow', 'utf8');
  writeFileSync(file('shadow'), `${shadow}tester:${String(hash).trim()}:19000:0:99999:7:::\n`);
  chmodSync(file('shadow'), 0o600);
  const mounts = `mount --bind ${file('passwd')} /etc/passwd && mount --bind ${file('shadow')} /etc/shadow`;
  return ['unshare', '-m', 'sh', '-c', `${mounts} && exec "$@"`, 'sh', ...serve];
}

async function answers(port: number, log: () => string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const socket = connect(port, '127.0.0.1');
    const isThere = await once(socket, 'data').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isThere) return;
    await wait(50);
  }
  throw new Error(`sshd did not start: ${log()}`);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
