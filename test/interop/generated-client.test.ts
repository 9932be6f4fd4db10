/** A client is generated from the OpenAPI document, compiled, and does both jobs of the README. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { SEED_DEFAULTS } from '../../src/config/seed.ts';
import { startTestServer } from '../support/server.ts';
import { findTool } from '../support/tools.ts';

const installed = findTool('generated-client/node_modules');
const { skip } = installed;
const job = readFileSync(join(import.meta.dirname, 'generated-client/job.ts'), 'utf8');

/** Edits of the program that ask for what the document does not have: none may compile. */
const NEAR_MISSES: [what: string, from: string, to: string][] = [
  ['a path', "'/{pki_mount_path}/revoke'", "'/{pki_mount_path}/revoke-all'"],
  ['a field of an answer', 'issued.issuing_ca', 'issued.issued_by'],
  ['a field beside data', 'const { data: issued }', 'const { date: issued }'],
  ['a type of an answer', 'leaf.verify(new', 'issued.expiration.trim() && leaf.verify(new'],
  ['a type of a request', 'max_ttl: 3 * DAY', 'max_ttl: [3 * DAY]'],
  ['a parameter of a path', "exported: 'internal'", "export: 'internal'"],
  ['a field of a refusal', 'refused?.errors', 'refused?.error'],
  ['a field of a session', 'authorized.session_id &&', 'authorized.session &&'],
  ['a type of a query', 'query: { scope_id }', 'query: { scope_id: [scope_id] }'],
];

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-client-'));
after(() => rmSync(folder, { recursive: true }));

async function run(args: readonly string[]): Promise<{ status: unknown; said: string }> {
  const child = spawn(process.execPath, args, { cwd: folder, timeout: 120_000 });
  const [out, err, status] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise((done) => child.on('close', done)),
  ]);
  return { status, said: out + err };
}

test('a client is generated from the document', { skip }, async () => {
  symlinkSync(installed.path, join(folder, 'node_modules'));
  const { status, said } = await run([
    join(installed.path, 'openapi-typescript/bin/cli.js'),
    resolve('docs/api/openapi.json'),
    // What a request leaves out has its default.
    '--default-non-nullable=false',
    ...['--output', 'api.ts'],
  ]);
  assert.equal(status, 0, said);
});

test('it compiles under strict, and what asks for more than there is does not', {
  skip,
}, async () => {
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: 'esnext',
    module: 'nodenext',
    lib: ['esnext', 'dom', 'dom.iterable'],
    types: ['node'],
    typeRoots: [resolve('node_modules/@types')],
    allowImportingTsExtensions: true,
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'job.ts'), job);
  for (const [at, [what, from, to]] of NEAR_MISSES.entries()) {
    assert.equal(job.split(from).length, 2, `${what}: ${from} stands once`);
    writeFileSync(
      join(folder, `miss-${at}.ts`),
      job.replace(from, () => to),
    );
  }
  const { said } = await run([resolve('node_modules/typescript/bin/tsc'), '--pretty', 'false']);
  const faulty = new Set([...said.matchAll(/^([\w-]+\.ts)\(/gm)].map(([, file]) => file));
  const expected = NEAR_MISSES.map((_, at) => `miss-${at}.ts`);
  assert.deepEqual([...faulty].sort(), expected.sort(), said);
});

test('it issues a certificate, and authorizes a session', { skip }, async (t) => {
  const { url } = await startTestServer(t, { config: { seed: SEED_DEFAULTS } });
  const { status, said } = await run(['job.ts', url, 'root']);
  assert.equal(status, 0, said);
  assert.match(said, /the generated client did both jobs/);
});
