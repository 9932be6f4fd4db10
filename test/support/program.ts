import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Scope } from './node-process.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');

export interface Outcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

interface Surroundings {
  /** Added to an environment without settings of anybody's own. */
  env?: Record<string, string>;
  /** Standard input. */
  input?: string;
}

/** One that does not end by itself is ended after this, in milliseconds. */
const PATIENCE = 60_000;

/** Runs `gatehouse …` in a process of its own, until it ends. */
export async function runProgram(
  args: readonly string[],
  { env = {}, input = '' }: Surroundings = {},
): Promise<Outcome> {
  const child = start(args, env, { timeout: PATIENCE, killSignal: 'SIGKILL' });
  const output = collect(child);
  // One that has ended before it read everything is not at fault.
  child.stdin?.on('error', () => {});
  child.stdin?.end(input);
  await once(child, 'close');
  return { code: child.exitCode, ...output() };
}

export interface Program {
  /** What stands in its output as an address. */
  url: URL;
  signal(name: NodeJS.Signals): void;
  /** Resolves when it has ended. */
  ended: Promise<Outcome>;
  stderr(): string;
}

/** Starts `gatehouse …` and waits until it has printed its address; it is killed with the test. */
export async function startProgram(test: Scope, args: readonly string[]): Promise<Program> {
  const child = start(args, {});
  const output = collect(child);
  const ended = once(child, 'close').then(() => ({ code: child.exitCode, ...output() }));
  test.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const url = await Promise.race([
    addressIn(child, () => output().stdout),
    ended.then(({ stderr }) => Promise.reject(new Error(`it did not start: ${stderr}`))),
  ]);
  return {
    url,
    signal: (name) => child.kill(name),
    ended,
    stderr: () => output().stderr,
  };
}

function start(
  args: readonly string[],
  env: Record<string, string>,
  limits: { timeout?: number; killSignal?: NodeJS.Signals } = {},
): ChildProcess {
  return spawn(process.execPath, [MAIN, ...args], {
    ...limits,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      HOME: '/nonexistent',
      // Dozens of processes read the same modules; compiled once, each starts in half the time.
      NODE_COMPILE_CACHE: join(tmpdir(), 'gatehouse-test-modules'),
      ...env,
    },
  });
}

function collect(child: ChildProcess): () => { stdout: string; stderr: string } {
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  return () => ({ stdout, stderr });
}

function addressIn(child: ChildProcess, output: () => string): Promise<URL> {
  return new Promise((resolve) => {
    child.stdout?.on('data', () => {
      const found = /(https?:\/\/[\d.]+:\d+)\n/.exec(output())?.[1];
      if (found) resolve(new URL(found));
    });
  });
}
