// Which tests run together: `node test/suites.ts SUITE [--threads N] [options of node --test]`. Each test file is in the
// first suite whose patterns it fits.

import { spawn } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TEST_THREADS } from './support/threads.ts';

interface Suite {
  /** What its tests are. */
  of: string;
  files: readonly string[];
  /** Test files that run at the same time; some measure what others would disturb. */
  at_once: number;
  reporter?: 'dot';
}

export const SUITES = {
  interop: {
    of: "other people's clients and judges: OpenSSL, linters, hvac, command lines",
    files: ['test/interop/**/*.test.ts'],
    at_once: 1,
  },
  package: {
    of: 'the package, packed and installed into an empty folder',
    files: ['test/package/*.test.ts'],
    at_once: 1,
  },
  processes: {
    of: "the program's commands, each as a process of its own",
    files: ['test/processes/*.test.ts'],
    at_once: 2,
  },
  crash: { of: 'kill -9, again and again', files: ['test/crash/**/*.test.ts'], at_once: 2 },
  nodes: {
    of: 'several servers over one PostgreSQL',
    files: ['test/nodes/*.test.ts'],
    at_once: 1,
  },
  store: {
    of: 'what has two engines, and races: on SQLite, and on PostgreSQL where GATEHOUSE_TEST_POSTGRES names one',
    files: [
      'src/store/**/*.test.ts',
      'src/**/{store,operations,jobs}.test.ts',
      'src/**/*.{store,operations,jobs}.test.ts',
      'test/races/*.test.ts',
      'test/long/broker-cli.test.ts',
    ],
    at_once: 2,
  },
  load: {
    of: 'much at once, and much of it: floods, worst cases, rows by the thousand',
    files: [
      'test/load/*.test.ts',
      'test/regular-expressions.test.ts',
      'src/acl/{rule-walk,parameter-turns,judging-turns}.test.ts',
      'src/access/auth/long-changes.test.ts',
      'src/access/identity/memberships-{beneath,nesting}.test.ts',
      'src/broker/vault/client/{hostile,costly}-servers.test.ts',
    ],
    at_once: 2,
    reporter: 'dot',
  },
  long: {
    of: 'what asks for much time: many servers, many requests, one after the other',
    files: ['test/long/*.test.ts'],
    at_once: 2,
    reporter: 'dot',
  },
  quick: {
    of: 'everything else',
    files: ['src/**/*.test.ts', 'test/*.test.ts', 'test/http/*.test.ts'],
    at_once: 2,
    reporter: 'dot',
  },
} as const satisfies Readonly<Record<string, Suite>>;

export type SuiteName = keyof typeof SUITES;

/** The files of each suite; every file of a pattern that no earlier suite has. */
export function filesOfSuites(): Map<SuiteName, string[]> {
  const taken = new Set<string>();
  const suites = Object.entries(SUITES) as [SuiteName, Suite][];
  return new Map(
    suites.map(([name, { files }]) => {
      const found = [...new Set(files.flatMap((pattern) => globSync(pattern)))]
        .filter((file) => !taken.has(file))
        .sort();
      for (const file of found) taken.add(file);
      return [name, found];
    }),
  );
}

/** What is run again with several threads before anything lands; any suite can be, by `--threads`. */
export const ON_THREADS = {
  of: 'with four threads that answer: what must be in force on all of them at once, killed servers, other people’s clients',
  files: [
    'test/http/audited-headers.test.ts',
    'test/http/automatic-seals.test.ts',
    'test/http/broker-roles.test.ts',
    'test/http/broker-users.test.ts',
    'test/http/certificate-export.test.ts',
    'test/http/crl-shards.test.ts',
    'test/http/delta-crls.test.ts',
    'test/http/handed-on.test.ts',
    'test/http/locked-users.test.ts',
    'test/http/main-job.test.ts',
    'test/http/managed-keys.test.ts',
    'test/http/metrics.test.ts',
    'test/http/ocsp.test.ts',
    'test/http/recorded-changes.test.ts',
    'test/http/relying-parties.test.ts',
    'test/http/revocation.test.ts',
    'test/http/role-fields.test.ts',
    'test/http/seal-token.test.ts',
    'test/http/session-limits.test.ts',
    'test/http/traps-core.test.ts',
    'test/long/awaited-bodies.test.ts',
    'test/processes/process.test.ts',
    'test/crash/server.test.ts',
    'test/interop/clients.test.ts',
    'test/interop/carried-sessions.test.ts',
    'test/interop/session-client.test.ts',
  ],
  at_once: 2,
  reporter: 'dot',
  threads: 4,
} as const satisfies Suite & { threads: number };

interface Run extends Suite {
  /** How many answer in the servers that are started. */
  threads: number;
}

/** @returns what a name stands for, unless it stands for nothing */
function runOf(name: string | undefined, threads: number | undefined): Run | undefined {
  if (name === 'threads') return { ...ON_THREADS, threads: threads ?? ON_THREADS.threads };
  for (const [suite, files] of filesOfSuites()) {
    if (suite === name) return { ...SUITES[suite], files, threads: threads ?? TEST_THREADS };
  }
  return undefined;
}

/** What tests say of servers that they have on one thread all the same (`test/support/threads.ts`). */
function tellOnOne(list: string, threads: number): void {
  const files = new Map<string, Set<string>>();
  for (const line of readFileSync(list, 'utf8').split('\n')) {
    const [file = '', why] = line.split('\t');
    if (why !== undefined) files.set(why, (files.get(why) ?? new Set()).add(file));
  }
  console.log(`\n${threads} threads answered, except where a test has a server on one, because of`);
  if (files.size === 0) console.log('  nothing: there is no such test');
  for (const [why, of] of files) console.log(`  ${why}: ${[...of].sort().join(', ')}`);
}

function run({ files, at_once, reporter, threads }: Run, options: readonly string[]): void {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-suite-'));
  const list = join(folder, 'on-one');
  writeFileSync(list, '');
  const reports = reporter
    ? [`--test-reporter=${reporter}`, '--test-reporter-destination=stdout']
    : [];
  const args = [
    '--test',
    `--test-concurrency=${at_once}`,
    '--import',
    './test/support/compiled-once.ts',
    ...reports,
    ...options,
    ...files,
  ];
  const env = {
    ...process.env,
    GATEHOUSE_TEST_THREADS: String(threads),
    GATEHOUSE_TEST_ON_ONE: list,
  };
  const child = spawn(process.execPath, args, { stdio: 'inherit', env });
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (signal ? constants.signals[signal] : 0);
    if (threads > 1) tellOnOne(list, threads);
    rmSync(folder, { recursive: true });
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , name, ...options] = process.argv;
  const at = options.indexOf('--threads');
  const threads = at < 0 ? undefined : Number(options.splice(at, 2)[1]);
  const wanted = threads === undefined || threads >= 1 ? runOf(name, threads) : undefined;
  if (wanted) run(wanted, options);
  else {
    const known = Object.entries({ ...SUITES, threads: ON_THREADS });
    const lines = known.map(([suite, { of }]) => `  ${suite}: ${of}`);
    console.error(
      `usage: node test/suites.ts SUITE [--threads N] [options of node --test]\n${lines.join('\n')}`,
    );
    process.exitCode = 2;
  }
}
