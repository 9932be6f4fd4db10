/** Commands, npm's above all, as somebody runs them who has nothing of this project's around them. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';
import type { Scope } from './node-process.ts';
import { type Program, watchProgram } from './program.ts';

/** Where the user's registry is, and by what it is trusted; what `npm run` sets besides would change what is done. */
const KEPT = /^npm_config_(registry|userconfig|cache|cafile|https?_?proxy|noproxy)$/i;

function environment(): Record<string, string | undefined> {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^npm_/i.test(name) || KEPT.test(name),
  );
  const inside = join(process.cwd(), 'node_modules');
  const path = (process.env.PATH ?? '').split(delimiter).filter((one) => !one.startsWith(inside));
  return { ...Object.fromEntries(own), PATH: path.join(delimiter), UV_THREADPOOL_SIZE: undefined };
}

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a command in a folder to its end. */
export function runFrom(folder: string, [command = '', ...args]: readonly string[]): Ended {
  const options = { cwd: folder, env: environment(), timeout: 300_000 };
  const ended = spawnSync(command, args, { ...options, encoding: 'utf8' });
  return { code: ended.status, stdout: ended.stdout, stderr: ended.stderr };
}

/**
 * Starts a server by a command in a folder and waits until it has printed its address. A signal goes to that command
 * alone, and `ended` resolves when nothing is left of what it started.
 *
 * @param env added to the environment
 */
export function startFrom(
  test: Scope,
  folder: string,
  [command = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Program> {
  const surroundings = { ...environment(), ...env };
  // In a group of processes of its own, all of which are ended with the test.
  const child = spawn(command, args, { cwd: folder, env: surroundings, detached: true });
  return watchProgram(test, child, () => killGroup(child));
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of them have ended.
  }
}
