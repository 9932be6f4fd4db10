// A throw-away PostgreSQL server for the tests, from the Debian package.
//
//   node test/support/postgres.ts start   prints the URL for GATEHOUSE_TEST_POSTGRES;
//                                         says the same again when it runs already
//   node test/support/postgres.ts stop    stops it and removes its data

import { execFile, execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './free-port.ts';

const DEBIAN = '/usr/lib/postgresql';

export interface PostgresServer {
  /** A superuser's, on 127.0.0.1. */
  url: string;
  /** Stops it and removes its data. */
  stop(): void;
  /** Kills every process of it at once, as a power cut would; the data stays. */
  crash(): Promise<void>;
  /** Starts it again after a crash, at the same address. */
  restart(): Promise<void>;
}

/** Starts a server of its own in a directory, or finds the one that runs there. */
export async function startPostgres(directory: string): Promise<PostgresServer> {
  const data = join(directory, 'data');
  const portFile = join(directory, 'port');
  if (!existsSync(portFile)) {
    const port = await freePort();
    mkdirSync(directory, { recursive: true });
    chmodSync(directory, 0o755);
    if (process.getuid?.() === 0) execFileSync('chown', ['postgres', directory]);
    // Ordered by a language, so that a key that was not given byte order shows.
    asServer(
      `${tool('initdb')} -D ${data} -U postgres -A trust -E UTF8 --locale=C.UTF-8 --locale-provider=icu --icu-locale=en-US`,
    );
    writeFileSync(portFile, String(port));
  }
  const port = readFileSync(portFile, 'utf8');
  const settings = `-p ${port} -h 127.0.0.1 -k ${directory} -c fsync=on -c max_connections=200`;
  const start = `${tool('pg_ctl')} -D ${data} -w -l ${directory}/log -o '${settings}' start`;
  if (!isRunning(data)) asServer(start);
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    stop: () => stopPostgres(directory),
    crash: () => whileOthersWork(`${tool('pg_ctl')} -D ${data} -w -m immediate stop`),
    restart: () => whileOthersWork(start),
  };
}

function stopPostgres(directory: string): void {
  const data = join(directory, 'data');
  if (isRunning(data)) asServer(`${tool('pg_ctl')} -D ${data} -w -m immediate stop`);
  rmSync(directory, { recursive: true, force: true });
}

function isRunning(data: string): boolean {
  try {
    asServer(`${tool('pg_ctl')} -D ${data} status`);
    return true;
  } catch {
    return false;
  }
}

/** Where Debian puts the programs, of the newest version there is, or where `pg_config` says. */
function tool(name: string): string {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN) : [];
  const newest = versions.toSorted((a, b) => Number(b) - Number(a))[0];
  const directory =
    newest === undefined
      ? execFileSync('pg_config', ['--bindir'], { encoding: 'utf8' }).trim()
      : join(DEBIAN, newest, 'bin');
  return join(directory, name);
}

function asServer(command: string): void {
  const [file, args] = serverShell(command);
  execFileSync(file, args, { stdio: ['ignore', 'ignore', 'inherit'], cwd: '/' });
}

/** As {@link asServer}, while the clients of this process go on. */
async function whileOthersWork(command: string): Promise<void> {
  // The server inherits what it is given for output, so nothing may wait for its end.
  const [file, args] = serverShell(`${command} >/dev/null 2>&1`);
  await promisify(execFile)(file, args, { cwd: '/' });
}

/** PostgreSQL refuses to run as root. */
function serverShell(command: string): [file: string, args: string[]] {
  return process.getuid?.() === 0
    ? ['su', ['postgres', '-s', '/bin/sh', '-c', command]]
    : ['/bin/sh', ['-c', command]];
}

if (import.meta.main) {
  const directory =
    process.env.GATEHOUSE_POSTGRES_DIRECTORY ?? join(tmpdir(), 'gatehouse-postgres');
  const command = process.argv[2];
  if (command === 'start') {
    console.log((await startPostgres(directory)).url);
  } else if (command === 'stop') {
    stopPostgres(directory);
  } else {
    console.error('usage: node test/support/postgres.ts start|stop');
    process.exitCode = 2;
  }
}
