import assert from 'node:assert/strict';
import {
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { outputOf, readCast } from '../support/asciicast.ts';
import { makeProject } from '../support/broker.ts';
import { runProgram } from '../support/program.ts';
import {
  makeRecordedTarget,
  startRecordedSession,
  tempFolder,
} from '../support/recorded-sessions.ts';
import { startTestServer } from '../support/server.ts';

// `gatehouse session-recordings`, in a process of its own, against a server of this one.

const server = await startTestServer({ after }, { jobs: [] });
const project = await makeProject(server);
const folder = tempFolder();
const { admin } = project;
const env = { GATEHOUSE_ADDR: server.url, GATEHOUSE_TOKEN: admin.token };
const gatehouse = (...args: string[]) => runProgram(['session-recordings', ...args], { env });

const bucket = await admin.call('POST', 'storage-buckets?plugin_name=local', {
  scope_id: 'global',
  attributes: { path: folder },
});
const target = await makeRecordedTarget(project, bucket.textAt('id'));
const session = await startRecordedSession(server.running.app, project, target);
const connection = await session.connect();
const shell = await connection.openChannel({
  type: 'session',
  program: 'shell',
  pty: { term: 'xterm', columns: 80, rows: 24 },
});
const LONG = 'long '.repeat(100_000);
await shell.output(Buffer.from('hello \u001b]52;c;aGk=\u0007there\r\n'), 'stdout');
await shell.output(Buffer.from(LONG), 'stdout');
await shell.close({ status: 7 });
const exec = await connection.openChannel({
  type: 'session',
  program: 'exec',
  command: 'uptime \u009b6n',
});
await exec.close({ signal: 'X\u001b]52;c;aGk=\u0007' });
await connection.close({ reason: 'done' });
await session.end();
const id = session.recording_id;

test('recordings are listed, and shown with their channels', async () => {
  const list = await gatehouse('list');
  assert.equal(list.code, 0, list.stderr);
  assert.match(list.stdout, new RegExp(`^ID .*\n${id} .*available`));
  const json = JSON.parse((await gatehouse('list', '-format', 'json')).stdout);
  assert.equal(json[0].id, id);
  const read = await gatehouse('read', session.session_id);
  assert.match(read.stdout, /User +admin/);
  assert.match(read.stdout, /chr_\w+ {2}shell, /);
  assert.match(read.stdout, /chr_\w+ {2}exec "uptime \\u009b6n", /);
  const raw = (await gatehouse('read', id, '-format', 'json')).stdout;
  assert.ok(!raw.includes('\u009b'), 'nor does JSON have what a terminal acts on');
});

const files = () => readdirSync(join(folder, id)).filter((name) => name.startsWith('chr_'));
const channel = files().toSorted(
  (a, b) => statSync(join(folder, id, b)).size - statSync(join(folder, id, a)).size,
)[0] as string;

test('a channel is downloaded into a file, which is not written over unless that is meant', async () => {
  const out = join(tempFolder(), 'x.cast');
  const written = await gatehouse('download', channel, '-output', out);
  assert.equal(written.code, 0, written.stderr);
  assert.ok(outputOf(readCast(readFileSync(out, 'utf8'))).endsWith(LONG));
  const refused = await gatehouse('download', channel, '-output', out, '-no-clobber');
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /is there already/);
  const piped = await gatehouse('download', channel, '-output', '-');
  assert.equal(piped.stdout, readFileSync(out, 'utf8'));
  const several = await gatehouse('download', id, '-output', out);
  assert.equal(several.code, 1);
  assert.match(several.stderr, new RegExp(channel));
});

test('a channel is played, and what a terminal should not do is left out', async () => {
  const played = await gatehouse('play', channel, '-speed', '100', '-idle-limit', '0.5');
  assert.equal(played.code, 0, played.stderr);
  assert.equal(played.stdout, `hello there\r\n${LONG}`);
  assert.match(played.stderr, /\[exit status 7, /);
  const [other = ''] = files().filter((name) => name !== channel);
  assert.match((await gatehouse('play', other)).stderr, /\[signal X\\u001b\]52;c;aGk=\\u0007\]/);
  const file = join(tempFolder(), 'x.cast');
  writeFileSync(file, '{"version":2,"width":80,"height":24}\n[0.01,"o","from a file"]\n');
  assert.equal((await gatehouse('play', file)).stdout, 'from a file');
  assert.equal((await gatehouse('play', file, '-speed', '0')).code, 1);
  assert.equal((await gatehouse('play', '/none/such.cast')).code, 1);
});

test('a recording is verified: 0 for one that is whole, 1 for one that was cut, 2 for none', async () => {
  const whole = await gatehouse('verify', id);
  assert.equal(whole.code, 0, whole.stderr);
  assert.match(whole.stdout, /as it was written/);
  const path = join(folder, id, channel);
  assert.ok(existsSync(path));
  const bytes = readFileSync(path);
  truncateSync(path, bytes.length - 1);
  const cut = await gatehouse('verify', id);
  assert.equal(cut.code, 1);
  assert.match(cut.stdout, new RegExp(`${channel} +piece \\d+: it was cut`));
  // What is wrong with a later piece breaks the answer off, and is no file that looks whole.
  const broken = await gatehouse('download', channel, '-output', '-');
  assert.equal(broken.code, 1);
  writeFileSync(path, bytes);
  assert.equal((await gatehouse('verify', 'sr_0000000000')).code, 2);
});
