/** The package as its users get it: packed, installed into an empty folder, run from there. */

import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { VERSION } from '../../src/core/version.ts';
import { formatSerial } from '../../src/x509/serial.ts';
import { parseCrl } from '../support/crl.ts';
import { newDirectory } from '../support/node-process.ts';
import { runFrom, startFrom } from '../support/npm.ts';
import { callOver } from '../support/server.ts';

/** Packs this folder and installs the archive into an empty one. @returns where the package lies there */
function install(t: TestContext, pack: readonly string[]): { folder: string; inside: string } {
  const directory = newDirectory(t);
  const [archives, folder] = [join(directory, 'archives'), join(directory, 'empty')];
  for (const made of [archives, folder]) mkdirSync(made);
  const packed = runFrom('.', [...pack, '--pack-destination', archives]);
  assert.equal(packed.code, 0, packed.stderr);
  const [archive = '', ...others] = readdirSync(archives);
  assert.deepEqual(others, []);
  const installed = runFrom(folder, ['npm', 'install', join(archives, archive)]);
  assert.equal(installed.code, 0, installed.stderr);
  return { folder, inside: join(folder, 'node_modules/gatehouse') };
}

const dev = (folder: string): string[] => {
  const listen = ['-listen', '127.0.0.1:0', '-proxy-listen', '127.0.0.1:0'];
  return ['npx', 'gatehouse', 'dev', '-data', join(folder, 'data'), ...listen];
};

/** The README's first certificate, and what it says of revoking it. */
async function makeFirstCertificate(url: URL): Promise<void> {
  const call = callOver(url.origin, 'root');
  const root = await call('POST', 'demo/root/generate/internal', {
    common_name: 'Example Root',
    key_type: 'ec',
    ttl: '768h',
  });
  assert.equal(root.status, 200, root.text);
  const role = { allowed_domains: 'example.com', allow_subdomains: true, key_type: 'ec' };
  assert.equal((await call('POST', 'demo/roles/web', { ...role, max_ttl: '72h' })).status, 200);
  const refused = await call('POST', 'demo/issue/web', { common_name: 'www.example.org' });
  assert.equal(refused.status, 400, refused.text);
  const issued = await call('POST', 'demo/issue/web', { common_name: 'www.example.com' });
  assert.equal(issued.status, 200, issued.text);
  const leaf = new X509Certificate(issued.textAt('data.certificate'));
  const authority = new X509Certificate(root.textAt('data.certificate'));
  assert.ok(leaf.verify(authority.publicKey));
  const serial_number = issued.textAt('data.serial_number');
  assert.equal((await call('POST', 'demo/revoke', { serial_number })).status, 200);
  const crl = parseCrl((await call('GET', 'demo/crl')).bytes);
  assert.deepEqual(
    [...crl.entries()].map((entry) => formatSerial(entry.serialNumber)),
    [serial_number],
  );
}

const sources = globSync('src/**/*.ts').filter((file) => !file.endsWith('.test.ts'));
const BUILT = sources.map((file) => join('dist', file.replace(/\.ts$/, '.js')));

const packings: [how: string, pack: readonly string[], built: readonly string[]][] = [
  ['npm run package', ['npm', 'run', 'package', '--'], BUILT],
  // Without scripts, which this folder's .npmrc allows none of, nothing is built.
  ['npm pack', ['npm', 'pack'], []],
];
for (const [how, pack, built] of packings) {
  test(`what ${how} makes is installed into an empty folder and issues a certificate there`, async (t) => {
    const { folder, inside } = install(t, pack);
    assert.deepEqual(globSync('dist/**/*.js', { cwd: inside }).sort(), [...built].sort());
    assert.deepEqual(globSync('**/*.test.*', { cwd: inside }), []);
    const version = runFrom(folder, ['npx', 'gatehouse', 'version']);
    assert.deepEqual(version, { code: 0, stdout: `gatehouse ${VERSION}\n`, stderr: '' });

    const server = await startFrom(t, folder, dev(folder));
    await makeFirstCertificate(server.url);
    const lock = join(folder, 'data/lock-journal');
    assert.ok(existsSync(lock));
    server.signal('SIGTERM');
    assert.equal((await server.ended).stderr, '');
    assert.equal(existsSync(lock), false, 'in order: what locks the data was given back');
    await assert.rejects(fetch(server.url));
  });
}

test('nothing that was built for a package is left behind', () => {
  assert.equal(existsSync('dist'), false);
});

test('an installation without the Node that belongs to it says so, and takes no other', (t) => {
  const { folder } = install(t, ['npm', 'pack']);
  const locked = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'));
  const nodes = Object.keys(locked.packages).filter((path) => /\/node-(bin-)?\w+-\w+$/.test(path));
  assert.ok(nodes.length > 4, `${nodes}`);
  for (const node of nodes) rmSync(join(folder, node), { recursive: true, force: true });
  const { code, stdout, stderr } = runFrom(folder, ['npx', 'gatehouse', 'version']);
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /^gatehouse: its Node \(none is installed\) does not run here\.\nnpm .*\n$/);
});
