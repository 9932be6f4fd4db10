/** OpenSSH as client and as server, where it is installed. */

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import { newDirectory, type Scope } from './node-process.ts';
import { findCommand, type Tool } from './tools.ts';

const SSHD = ['/usr/sbin/sshd', '/usr/local/sbin/sshd', '/opt/homebrew/sbin/sshd'];

/** The server's path; `skip` says why tests with it do not run. */
export function findSshd(): Tool {
  const path = SSHD.find((one) => existsSync(one));
  return path === undefined ? findCommand('sshd') : { path, skip: false };
}

/** Who runs the tests: the only one that a server lets in that they have started. */
export const SSH_USER = userInfo().username;

export interface KeyPair {
  /** Path of the private key; the public one has `.pub` behind it. */
  path: string;
  /** One line. */
  public_line: string;
  private_text: string;
}

export function makeKeyPair(
  folder: string,
  name: string,
  { type = 'ed25519', bits = '', passphrase = '' } = {},
): KeyPair {
  const path = join(folder, name);
  const size = bits === '' ? [] : ['-b', bits];
  keygen('-q', '-t', type, ...size, '-N', passphrase, '-C', name, '-f', path);
  const public_line = readFileSync(`${path}.pub`, 'utf8').trim();
  return { path, public_line, private_text: readFileSync(path, 'utf8') };
}

/** Runs `ssh-keygen ARG…`, which has to succeed. */
export function keygen(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync('ssh-keygen', args, { encoding: 'utf8', input: '' });
  if (status !== 0) throw new Error(`ssh-keygen ${args.join(' ')}: ${stderr}`);
  return stdout;
}

/** A key as a certificate of an authority: a line. */
export function certify(authority: KeyPair, { path }: KeyPair, ...options: string[]): string {
  keygen('-q', '-s', authority.path, ...options, `${path}.pub`);
  return readFileSync(`${path}-cert.pub`, 'utf8').trim();
}

/** Whether passwords can be tried: accounts of the test's own need a view of the files of its own. */
export const canHavePasswords = (): boolean =>
  userInfo().uid === 0 && spawnSync('unshare', ['-m', 'true']).status === 0;

/** Who logs in by a password; see {@link canHavePasswords}. */
export const PASSWORD_USER = 'tester';

export interface Sshd {
  port: number;
  host_key: KeyPair;
  folder: string;
  /** What it has written so far. */
  log(): string;
}

/**
 * Starts a server that lets {@link SSH_USER} in.
 *
 * @param keys lines that are authorized
 * @param password lets in {@link PASSWORD_USER} as well
 */
export async function startSshd(
  test: Scope,
  {
    keys = [],
    host_key,
    lines = [],
    password,
  }: { keys?: string[]; host_key?: KeyPair; lines?: string[]; password?: string } = {},
): Promise<Sshd> {
  const folder = newDirectory(test);
  const port = await freePort();
  const shown = host_key ?? makeKeyPair(folder, 'host');
  writeFileSync(join(folder, 'authorized_keys'), `${keys.join('\n')}\n`);
  const config = [
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${shown.path}`,
    'PidFile none',
    `AuthorizedKeysFile ${join(folder, 'authorized_keys')}`,
    'StrictModes no',
    'UsePAM no',
    'LogLevel VERBOSE',
    'Subsystem sftp internal-sftp',
    ...lines,
    'PermitRootLogin yes',
    `PasswordAuthentication ${password === undefined ? 'no' : 'yes'}`,
    'KbdInteractiveAuthentication no',
  ];
  writeFileSync(join(folder, 'sshd_config'), `${config.join('\n')}\n`);
  // One that may become anybody wants a folder to lock a part of itself into.
  if (userInfo().uid === 0) mkdirSync('/run/sshd', { recursive: true });
  const serve = [findSshd().path, '-D', '-e', '-f', join(folder, 'sshd_config')];
  const [program = '', ...args] =
    password === undefined ? serve : withAccount(folder, password, serve);
  let log = '';
  const server = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  server.stderr.on('data', (bytes) => {
    log += bytes;
  });
  const ended = once(server, 'exit');
  test.after(async () => {
    server.kill();
    await ended;
  });
  for (let tries = 0; !(await answers(port)); tries++) {
    if (tries > 100 || server.exitCode !== null) throw new Error(`sshd does not start: ${log}`);
    await wait(50);
  }
  return { port, host_key: shown, folder, log: () => log };
}

/** The files of accounts with one more, for this process and its children alone. */
function withAccount(folder: string, password: string, serve: readonly string[]): string[] {
  const hash = execFileSync('openssl', ['passwd', '-6', '-stdin'], { input: password });
  const [passwd, shadow] = [join(folder, 'passwd'), join(folder, 'shadow')];
  const accounts = readFileSync('/etc/passwd', 'utf8');
  writeFileSync(passwd, `${accounts}${PASSWORD_USER}:x:61234:61234::/tmp:/bin/sh\n`);
  const hashes = readFileSync('/etc/shadow', 'utf8');
  const own = `${PASSWORD_USER}:${String(hash).trim()}:19000:0:99999:7:::\n`;
  writeFileSync(shadow, `${hashes}${own}`);
  chmodSync(shadow, 0o600);
  const mounts = `mount --bind ${passwd} /etc/passwd && mount --bind ${shadow} /etc/shadow`;
  return ['unshare', '-m', 'sh', '-c', `${mounts} && exec "$@"`, 'sh', ...serve];
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

export interface Ran {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a program to its end. */
export function runProgram(program: string, args: readonly string[], input = ''): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: 'pipe', timeout: 60_000 });
    const ran = { stdout: '', stderr: '' };
    child.stdout.on('data', (bytes) => {
      ran.stdout += bytes;
    });
    child.stderr.on('data', (bytes) => {
      ran.stderr += bytes;
    });
    child.on('error', reject);
    child.on('close', (status) => resolve({ status, ...ran }));
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

/** Options of a client that has no key, and that knows no host but by `known`. */
export function clientOptions(known: string, ...more: string[]): string[] {
  return [
    ...['-F', 'none', '-o', 'BatchMode=yes', '-o', 'IdentityFile=none', '-o', 'IdentityAgent=none'],
    ...['-o', `UserKnownHostsFile=${known}`, '-o', 'GlobalKnownHostsFile=none'],
    ...['-o', 'StrictHostKeyChecking=accept-new', '-o', 'ConnectTimeout=30', ...more],
  ];
}
