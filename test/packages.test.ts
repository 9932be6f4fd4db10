import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
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
const LOCKS = ['package-lock.json', 'test/interop/node-vault/package-lock.json'];

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

/** What stands where the program expects its Node. */
const RUNTIMES: [what: string, text: string | undefined, runs: boolean][] = [
  ['none', undefined, false],
  ['one whose loader is missing, as on a system with musl', '#!/nonexistent/ld-linux.so\n', false],
  ['one that works', '#!/bin/sh\necho it runs\n', true],
];
for (const [what, text, runs] of RUNTIMES) {
  test(`bin/gatehouse with this Node: ${what}`, (t) => {
    const root = mkdtempSync(join(tmpdir(), 'gatehouse-bin-'));
    t.after(() => rmSync(root, { recursive: true }));
    mkdirSync(join(root, 'bin'));
    mkdirSync(join(root, 'node_modules/.bin'), { recursive: true });
    copyFileSync('bin/gatehouse', join(root, 'bin/gatehouse'));
    if (text !== undefined) {
      writeFileSync(join(root, 'node_modules/.bin/node'), text, { mode: 0o755 });
    }
    const ended = spawnSync(join(root, 'bin/gatehouse'), ['version'], { encoding: 'utf8' });
    assert.equal(ended.stdout, runs ? 'it runs\n' : '');
    assert.equal(ended.status === 0, runs);
    assert.equal(/does not run here.*\n.*glibc/.test(ended.stderr), !runs, ended.stderr);
  });
}
