import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { runProgram } from '../support/program.ts';
import { startTestServer } from '../support/server.ts';

// `gatehouse pki tidy`, in a process of its own.

const MAIN = join(import.meta.dirname, '../../src/main.ts');
let ahead_ms = 0;
const { call, url } = await startTestServer({ after }, { now: () => Date.now() + ahead_ms });
const env = { GATEHOUSE_ADDR: url, GATEHOUSE_TOKEN: 'root' };
const tidy = (...flags: string[]) => runProgram(['pki', 'tidy', ...flags], { env });

before(async () => {
  await call('POST', 'sys/mounts/pki', { type: 'pki' });
  const root = { common_name: 'R', key_type: 'ec', ttl: '700h' };
  await call('POST', 'pki/root/generate/internal', root);
  await call('POST', 'pki/roles/any', { allow_any_name: true, key_type: 'ec' });
  for (const name of ['a', 'b', 'c']) {
    const issued = await call('POST', 'pki/issue/any', { common_name: `${name}.test`, ttl: '10s' });
    assert.equal(issued.status, 200, issued.text);
  }
  ahead_ms += 60_000;
});

test('a dry run tells what would be removed, as JSON and for people', async () => {
  const json = await tidy('-certs', '-safety-buffer=1s', '-dry-run', '-format=json');
  assert.equal(json.code, 0, json.stderr);
  const data = JSON.parse(json.stdout);
  assert.deepEqual([data.state, data.cert_store_deleted_count], ['Finished', 3]);
  const table = await tidy('-certs', '-safety-buffer=1s', '-dry-run');
  assert.match(table.stdout, /^State +Finished$/m);
  assert.match(table.stdout, /^cert_store_deleted_count +3$/m);
  assert.match(table.stdout, /^Dry run +nothing was removed$/m);
});

test('Ctrl-C cancels the tidying on the server, and the exit code says so', async () => {
  const args = [MAIN, 'pki', 'tidy', '-certs', '-safety-buffer=1s', '-pause=30s', '-format=json'];
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'ignore'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const closed = once(child, 'close');
  while ((await call('GET', 'pki/tidy-status')).field('data.processed_count') !== 1) await wait(20);
  await wait(200);
  child.kill('SIGINT');
  await closed;
  assert.equal(child.exitCode, 2);
  assert.equal(JSON.parse(output).state, 'Cancelled');
});

test('with -detach the tidying goes on by itself', async () => {
  const begun = await tidy('-certs', '-safety-buffer=1s', '-detach', '-format=json');
  assert.equal(begun.code, 0, begun.stderr);
  while ((await call('GET', 'pki/tidy-status')).textAt('data.state') !== 'Finished') await wait(20);
  const left = await call('LIST', 'pki/certs');
  assert.equal((left.field('data.keys') as string[]).length, 1);
});

test('a refusal is told in one line, and nothing is begun', async () => {
  const refused = await tidy('-certs', '-safety-buffer=0');
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^gatehouse: the server answered 400: [^\n]*greater than zero\n$/);
  assert.equal((await tidy('-mount=../sys')).code, 1);
});
