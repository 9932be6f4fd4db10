import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { makeProject, type Project } from './broker.ts';
import type { Scope } from './node-process.ts';
import type { Outcome } from './program.ts';
import { type Client, startTestServer } from './server.ts';

// `gatehouse connect …` in a process of its own, against a server of this one.

const MAIN = join(import.meta.dirname, '../../src/main.ts');

export interface Connecting {
  server: Client;
  project: Project;
  /** What the program needs to know, the token included. */
  env: Record<string, string>;
  /** Makes a target of this machine's port. @returns its id */
  makeTarget(name: string, port: number, fields?: Record<string, unknown>): Promise<string>;
  /** Stores credentials and has a target give them to whoever authorizes a session. */
  broker(target: string, credentials: readonly Record<string, unknown>[]): Promise<void>;
}

export async function startConnecting(scope: Scope): Promise<Connecting> {
  const server = await startTestServer({ after: (stop) => scope.after(stop) });
  const project = await makeProject(server);
  const make = async (path: string, body: unknown): Promise<string> => {
    const reply = await project.admin.call('POST', path, body);
    assert.equal(reply.status, 200, `${path}: ${reply.text}`);
    return reply.textAt('id');
  };
  return {
    server,
    project,
    env: { GATEHOUSE_ADDR: server.url, GATEHOUSE_TOKEN: project.admin.token },
    makeTarget: (name, port, { attributes = {}, ...fields } = {}) =>
      make('targets', {
        scope_id: project.id,
        type: 'tcp',
        name,
        address: '127.0.0.1',
        session_connection_limit: -1,
        attributes: { default_port: port, ...Object(attributes) },
        ...fields,
      }),
    async broker(target, credentials) {
      const store = await make('credential-stores', { scope_id: project.id, type: 'static' });
      const ids: string[] = [];
      for (const credential of credentials) {
        ids.push(await make('credentials', { credential_store_id: store, ...credential }));
      }
      const { textAt } = await project.admin.call('GET', `targets/${target}`);
      const body = { version: Number(textAt('version')), brokered_credential_source_ids: ids };
      const set = await project.admin.call(
        'POST',
        `targets/${target}:set-credential-sources`,
        body,
      );
      assert.equal(set.status, 200, set.text);
    },
  };
}

/** One that runs. */
export interface Running {
  pid: number;
  signal(name: NodeJS.Signals): void;
  stderr(): string;
  stdin: NodeJS.WritableStream;
  stdout: Readable;
  /** Resolves when it has ended. */
  ended: Promise<Outcome>;
}

/** Starts `gatehouse …`; it is killed with the test. */
export function startCommand(
  scope: Scope,
  args: readonly string[],
  env: Record<string, string>,
): Running {
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, HOME: '/nonexistent', ...env },
  });
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (bytes: Buffer) => {
      texts[name] += bytes.toString('latin1');
    });
  }
  child.stdin.on('error', () => {});
  const ended = once(child, 'close').then(() => ({ code: child.exitCode, ...texts }));
  scope.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return {
    pid: child.pid ?? 0,
    signal: (name) => child.kill(name),
    stderr: () => texts.stderr,
    stdin: child.stdin,
    stdout: child.stdout,
    ended,
  };
}

/** One that listens. */
export interface Listening extends Running {
  port: number;
  session_id: string;
  /** All that it said in JSON. */
  told: Record<string, unknown>;
}

/** Starts `gatehouse connect -format json …` and waits until it listens. */
export async function startListening(
  scope: Scope,
  args: readonly string[],
  env: Record<string, string>,
): Promise<Listening> {
  const running = startCommand(scope, ['connect', '-format', 'json', ...args], env);
  const told: Record<string, unknown> = await Promise.race([
    once(running.stdout, 'data').then(([bytes]) => JSON.parse(String(bytes))),
    running.ended.then(({ stderr }) => Promise.reject(new Error(`it did not begin: ${stderr}`))),
  ]);
  return { ...running, port: Number(told.port), session_id: String(told.session_id), told };
}
