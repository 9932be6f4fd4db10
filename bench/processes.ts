// The processes that a measurement needs: the server under test and the load generator.

import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import type { Load, LoadResult } from './load.ts';

/** A server that runs in a process of its own. */
export interface ServerProcess {
  readonly port: number;
  /** CPU time so far, in microseconds: of the whole process, of the thread that answers, and by the names of threads. */
  cpu(): { all: number; main: number; threads: Map<string, number> };
  /** Resident memory, in bytes. */
  memory(): number;
  stop(): Promise<void>;
}

/**
 * Starts `gatehouse dev` on a folder and waits until it listens.
 *
 * @param node further flags for Node, such as `--cpu-prof`
 * @param threads that answer
 */
export function startGatehouse(
  data: string,
  node: readonly string[],
  threads = '1',
): Promise<ServerProcess> {
  const args = ['src/main.ts', 'dev', '--data', data, '--listen', '127.0.0.1:0'];
  args.push('--threads', threads);
  return startServerProcess([...node, ...args, '--proxy-listen', '127.0.0.1:0']);
}

/** Starts a program that prints `http://…:PORT` once it listens. */
export async function startServerProcess(args: readonly string[]): Promise<ServerProcess> {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const { pid } = child;
  const port = await listening(child);
  if (pid === undefined) throw new Error('the server did not start');
  return {
    port,
    cpu: () => cpuOf(pid),
    memory: () => memoryOf(pid),
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

function listening(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      const port = /https?:\/\/[^ \n/]*:(\d+)/.exec(text)?.[1];
      if (port !== undefined) resolve(Number(port));
    });
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${text}`)));
  });
}

/** From the scheduler's own account, which is exact where `stat` counts in steps of 10 ms. */
function cpuOf(pid: number): ReturnType<ServerProcess['cpu']> {
  let all = 0;
  let main = 0;
  const threads = new Map<string, number>();
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const account = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8');
    const spent = Number(account.split(' ')[0]) / 1000;
    all += spent;
    if (thread === String(pid)) main = spent;
    const name = readFileSync(`/proc/${pid}/task/${thread}/comm`, 'utf8').trim();
    threads.set(name, (threads.get(name) ?? 0) + spent);
  }
  return { all, main, threads };
}

function memoryOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s*(\d+) kB/.exec(status)?.[1] ?? 0) * 1024;
}

export interface Generator {
  run(load: Load): Promise<LoadResult>;
  stop(): void;
}

export function startGenerator(): Generator {
  const child = fork(new URL('./load.ts', import.meta.url), { serialization: 'advanced' });
  return {
    async run(load) {
      const answer = once(child, 'message');
      child.send(load);
      const [result]: LoadResult[] = await answer;
      if (result === undefined) throw new Error('the load generator gave no result');
      return result;
    },
    stop: () => child.kill(),
  };
}
