import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { COMPILED_ONCE, type Scope } from './node-process.ts';
import { TEST_THREADS } from './threads.ts';

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
  /** How many files it may have open, if not as many as this process. */
  open_files?: number;
}

/** One that does not end by itself is ended after this, in milliseconds. */
const PATIENCE = 60_000;

/** Runs `gatehouse …` in a process of its own, until it ends. */
export async function runProgram(
  args: readonly string[],
  { env = {}, input = '', open_files }: Surroundings = {},
): Promise<Outcome> {
  const child = start(args, env, { timeout: PATIENCE, killSignal: 'SIGKILL', open_files });
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
  pid: number;
  signal(name: NodeJS.Signals): void;
  /** Resolves when it has ended. */
  ended: Promise<Outcome>;
  stderr(): string;
}

/**
 * Starts `gatehouse …` and waits until it has printed its address; it is killed with the test.
 *
 * @param open_files how many files it may have open, if not as many as this process
 */
export async function startProgram(
  test: Scope,
  args: readonly string[],
  open_files?: number,
): Promise<Program> {
  const child = start(args, {}, { open_files });
  return watchProgram(test, child, () => child.kill('SIGKILL'));
}

/** Starts `gatehouse …` and waits for nothing; it is killed with the test. */
export function launchProgram(test: Scope, args: readonly string[]): Omit<Program, 'url'> {
  const child = start(args, {}, {});
  return follow(test, child, () => child.kill('SIGKILL'));
}

/**
 * Waits until a program that was started has printed its address.
 *
 * @param kill ends it with the test, and all that it has started
 */
export async function watchProgram(
  test: Scope,
  child: ChildProcess,
  kill: () => void,
): Promise<Program> {
  const program = follow(test, child, kill);
  const url = await Promise.race([
    addressIn(child, program.stdout),
    program.ended.then(({ stderr }) => Promise.reject(new Error(`it did not start: ${stderr}`))),
  ]);
  return { ...program, url };
}

function follow(test: Scope, child: ChildProcess, kill: () => void) {
  const output = collect(child);
  const ended = once(child, 'close').then(() => ({ code: child.exitCode, ...output() }));
  test.after(async () => {
    kill();
    await ended;
  });
  return {
    pid: child.pid ?? 0,
    signal: (name: NodeJS.Signals) => void child.kill(name),
    ended,
    stdout: () => output().stdout,
    stderr: () => output().stderr,
  };
}

/**
 * @returns the arguments, and for a development server, unless they say it, how many threads answer, and a port for sessions
 *   that no other server has
 */
function completed(args: readonly string[]): readonly string[] {
  if (args[0] !== 'dev') return args;
  const own = { threads: String(TEST_THREADS), 'proxy-listen': '127.0.0.1:0' };
  const unsaid = Object.entries(own).filter(
    ([flag]) => !args.some((arg) => new RegExp(`^--?${flag}(=|$)`).test(arg)),
  );
  return [...args, ...unsaid.flatMap(([flag, value]) => [`-${flag}`, value])];
}

interface Limits {
  timeout?: number;
  killSignal?: NodeJS.Signals;
  open_files?: number | undefined;
}

function start(
  args: readonly string[],
  env: Record<string, string>,
  { open_files, ...limits }: Limits = {},
): ChildProcess {
  const program = [process.execPath, MAIN, ...completed(args)];
  // The limit is set for good in a shell, which then becomes the program.
  const shell = ['/bin/sh', '-c', `ulimit -n ${open_files} && exec "$@"`, 'sh'];
  const [command = '', ...rest] = open_files === undefined ? program : [...shell, ...program];
  return spawn(command, rest, {
    ...limits,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      HOME: '/nonexistent',
      ...COMPILED_ONCE,
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
