import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Place } from './engines.ts';
import { type Client, callOver } from './server.ts';
import { TEST_THREADS } from './threads.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');
const MORTAL = join(import.meta.dirname, 'mortal-server.ts');

/** Dozens of processes and threads read the same modules; compiled once, each starts in half the time. */
export const COMPILED_ONCE = { NODE_COMPILE_CACHE: join(tmpdir(), 'gatehouse-test-modules') };

/** What a configuration file says where it matters to a test. */
export interface NodeSettings {
  storage: { type: 'sqlite'; path: string } | { type: 'postgres'; url: string; node_name: string };
  seal: { type: 'shamir' } | { type: 'keyfile'; path: string };
  /** Where workers that stand alone come to; without it there are none. */
  worker_listener?: { address: string; public_address?: string };
  /** How many answer. */
  threads?: number;
  session_limits?: { max_per_user?: number; idle_seconds?: number };
  /** Folders that recordings may be kept in. */
  storage_buckets?: { local_folders: readonly string[] };
}

/** A server in a process of its own, as `gatehouse server -config FILE` starts it. */
export interface NodeProcess {
  /** Ends it in the middle of whatever it does. */
  kill(): Promise<void>;
  /** Ends one of the threads that answer in the middle of whatever it does; of a server started for that. */
  killThread(): void;
  /** Asks it to end, and resolves with its exit code. */
  stop(): Promise<number | null>;
  /** What it wrote to standard error, where its log goes. */
  log(): string;
  readonly url: string;
  /** Requests with this token where they name none of their own. */
  as(token: string): Client['call'];
}

/** What ends with a test or a suite of tests. */
export interface Scope {
  after(work: () => unknown): void;
}

/** Ends what began last first, unlike a test by itself. */
export function inReverse(test: Scope): Scope {
  const works: (() => unknown)[] = [];
  test.after(async () => {
    for (const work of works.toReversed()) await work();
  });
  return { after: (work) => void works.push(work) };
}

/** A directory of the test's own, removed with it. */
export function newDirectory(test: Scope): string {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  test.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** The storage section for a place, and a key file beside it in a directory of the test's own. */
export function settingsOf(place: Place, directory: string, node_name = 'test'): NodeSettings {
  const options = place.options(node_name);
  const path = join(directory, 'unseal.key');
  writeFileSync(path, new Uint8Array(32).fill(7), { mode: 0o600 });
  return {
    storage:
      options.engine === 'sqlite'
        ? { type: 'sqlite', path: options.directory }
        : { type: 'postgres', url: options.url, node_name },
    seal: { type: 'keyfile', path },
  };
}

/**
 * Starts a server and waits until it listens; it is killed with the test.
 *
 * @param how.mortal its threads can be killed: it is started by its parts, since nobody can do that to the program
 */
export async function startNodeProcess(
  test: Scope,
  settings: NodeSettings,
  { mortal = false } = {},
): Promise<NodeProcess> {
  const directory = newDirectory(test);
  const file = join(directory, 'gatehouse.json');
  const listener = { address: '127.0.0.1:0', tls_disable: true };
  const proxy_listener = { address: '127.0.0.1:0' };
  const rest = { listener, log_level: 'warn', threads: settings.threads ?? TEST_THREADS };
  const whole = { proxy_listener, ...settings, ...rest };
  writeFileSync(file, JSON.stringify(whole));
  const started = mortal ? [MORTAL, file] : [MAIN, 'server', '-config', file];
  const child = spawn(process.execPath, started, {
    stdio: ['ignore', 'pipe', 'pipe', ...(mortal ? (['ipc'] as const) : [])],
    env: { ...process.env, ...COMPILED_ONCE },
  });
  let log = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const closed = once(child, 'close');
  const kill = async () => {
    child.kill('SIGKILL');
    await closed;
  };
  test.after(kill);
  const url = await readAddress(child, () => log);
  return {
    kill,
    killThread: () => void child.send('kill a thread'),
    stop: async () => {
      child.kill('SIGTERM');
      await closed;
      return child.exitCode;
    },
    log: () => log,
    url,
    as: (token) => callOver(url, token),
  };
}

async function readAddress(child: ChildProcess, log: () => string): Promise<string> {
  if (!child.stdout) throw new Error('the process has no output');
  for await (const line of createInterface({ input: child.stdout })) {
    const found = /^gatehouse listens on (http\S+)$/.exec(line);
    if (found?.[1]) {
      child.stdout.resume();
      return found[1];
    }
  }
  throw new Error(`the server did not start: ${log()}`);
}

/** Initialises a server that has a key file, and answers its first token. */
export async function initialiseNode(node: NodeProcess): Promise<string> {
  const made = await node.as('')('PUT', 'sys/init', {});
  const token = made.textAt('root_token');
  if (token === '') throw new Error(`not initialised: ${made.text}`);
  return token;
}
