// Which tests run together: `node test/suites.ts SUITE [options of node --test]`. Each test file is in the first
// suite whose patterns it fits.

import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

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

function isSuite(name: string | undefined): name is SuiteName {
  return name !== undefined && Object.hasOwn(SUITES, name);
}

function run(name: SuiteName, options: readonly string[]): void {
  const suite: Suite = SUITES[name];
  const reporter = suite.reporter
    ? [`--test-reporter=${suite.reporter}`, '--test-reporter-destination=stdout']
    : [];
  const args = [
    '--test',
    `--test-concurrency=${suite.at_once}`,
    '--import',
    './test/support/compiled-once.ts',
    ...reporter,
    ...options,
    ...(filesOfSuites().get(name) ?? []),
  ];
  const child = spawn(process.execPath, args, { stdio: 'inherit' });
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (signal ? constants.signals[signal] : 0);
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , name, ...options] = process.argv;
  if (isSuite(name)) run(name, options);
  else {
    const known = Object.entries(SUITES).map(([suite, { of }]) => `  ${suite}: ${of}`);
    console.error(`usage: node test/suites.ts SUITE [options of node --test]\n${known.join('\n')}`);
    process.exitCode = 2;
  }
}
