import assert from 'node:assert/strict';
import {
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import {
  findFile,
  findFileOfConnection,
  insertFile,
  listFiles,
} from '../../src/broker/recordings/recordings/files.store.ts';
import { downloadChannel } from '../../src/broker/recordings/recordings/reading.operations.ts';
import {
  findRecording,
  insertRecording,
  listHalfDeleted,
  saveRetention,
} from '../../src/broker/recordings/recordings/store.ts';
import { outputOf, readCast } from '../support/asciicast.ts';
import { logIn, makeProject } from '../support/broker.ts';
import {
  makeRecordedTarget,
  runRecordingJobs,
  startRecordedSession,
  tempFolder,
} from '../support/recorded-sessions.ts';
import { type Reply, startTestServer } from '../support/server.ts';

let shift_ms = 0;
const server = await startTestServer({ after }, { now: () => Date.now() + shift_ms, jobs: [] });
const { app } = server.running;
const project = await makeProject(server);
const { admin } = project;
const folder = tempFolder();
const bucket_id = await makeBucket(folder);
const target_id = await makeRecordedTarget(project, bucket_id);

async function makeBucket(path: string, scope_id = 'global'): Promise<string> {
  const made = await admin.call('POST', 'storage-buckets?plugin_name=local', {
    scope_id,
    attributes: { path },
  });
  assert.equal(made.status, 200, made.text);
  return made.textAt('id');
}

async function must(method: string, path: string, body?: object): Promise<Reply> {
  const reply = await admin.call(method, path, body);
  assert.ok(reply.status < 300, `${path}: ${reply.text}`);
  return reply;
}

const text = (value: string): Uint8Array => Buffer.from(value);
const TERMINAL = {
  type: 'session',
  program: 'shell',
  pty: { term: 'xterm-256color', columns: 100, rows: 30 },
} as const;

/** A session with one shell that has said something, ended. */
async function recordShell(target = target_id, said = 'hello\r\n') {
  const session = await startRecordedSession(app, project, target);
  const connection = await session.connect();
  const shell = await connection.openChannel(TERMINAL);
  await shell.output(text(said), 'stdout');
  await shell.close({ status: 0 });
  await connection.close({ reason: 'done' });
  await session.end();
  const read = await must('GET', `session-recordings/${session.recording_id}`);
  const channel_id = read.textAt('connection_recordings.0.channel_recordings.0.id');
  return { ...session, read, channel_id };
}

const download = (id: string): Promise<Reply> =>
  admin.call('GET', `session-recordings/${id}:download?mime_type=application/x-asciicast`);

test('a recorded session is read, listed and downloaded as what a terminal showed', async () => {
  const session = await startRecordedSession(app, project, target_id);
  const going = await must('GET', `session-recordings/${session.recording_id}`);
  assert.equal(going.field('state'), 'started');
  const connection = await session.connect();
  const shell = await connection.openChannel(TERMINAL);
  await shell.output(Buffer.from('gr\xc3', 'latin1'), 'stdout');
  await shell.output(Buffer.from('\xbc\xc3\x9fe\r\n', 'latin1'), 'stdout');
  await shell.input(text('secret typed\r'));
  await shell.resize(120, 40);
  await shell.output(text('a warning\r\n'), 'stderr');
  await shell.close({ status: 3 });
  await connection.close({ reason: 'closed by end-user' });
  await session.end();

  const read = await must('GET', `session-recordings/${session.recording_id}`);
  assert.equal(read.field('state'), 'available');
  assert.equal(read.field('session_id'), session.session_id);
  assert.equal(read.field('storage_bucket_id'), bucket_id);
  assert.equal(read.field('type'), 'ssh');
  assert.equal(read.field('endpoint'), 'ssh://192.0.2.7:22');
  assert.match(read.textAt('duration'), /^[\d.]+s$/);
  assert.equal(read.field('bytes_up'), '13');
  assert.equal(read.field('bytes_down'), '20');
  assert.equal(read.field('create_time_values.user.id'), admin.user_id);
  assert.equal(read.field('create_time_values.target.id'), target_id);
  assert.deepEqual(read.field('create_time_values.credentials.0.purposes'), [
    'injected_application',
  ]);
  assert.doesNotMatch(read.text, /not-to-be-seen/);
  const channel = read.field('connection_recordings.0.channel_recordings.0') as { id: string };
  assert.match(channel.id, /^chr_/);
  const list = await must('GET', 'session-recordings?scope_id=global');
  assert.ok(list.text.includes(session.recording_id));
  const bySession = await must('GET', `session-recordings/${session.session_id}`);
  assert.equal(bySession.field('id'), session.recording_id);

  for (const id of [channel.id, session.recording_id, session.session_id, connection.id]) {
    const downloaded = await download(id);
    assert.equal(downloaded.status, 200, downloaded.text);
    assert.equal(downloaded.headers.get('content-type'), 'application/x-asciicast');
    const cast = readCast(downloaded.text);
    assert.deepEqual([cast.header.width, cast.header.height], [100, 30]);
    assert.equal(cast.header.env.TERM, 'xterm-256color');
    assert.equal(outputOf(cast), 'grüße\r\na warning\r\n');
    assert.ok(cast.events.some(([, code, data]) => code === 'r' && data === '120x40'));
    assert.ok(!downloaded.text.includes('secret typed'), 'what is typed is not kept');
    assert.match(cast.events.at(-1)?.[2] ?? '', /^exit status 3, 9 bytes to the client/);
  }
});

test('what is typed is recorded where the target says so', async () => {
  const target = await makeRecordedTarget(project, bucket_id, { record_session_input: true });
  const session = await startRecordedSession(app, project, target);
  const connection = await session.connect();
  const shell = await connection.openChannel(TERMINAL);
  await shell.input(text('ls\r'));
  await shell.close({});
  await connection.close({ reason: 'done' });
  await session.end();
  const cast = readCast((await download(session.recording_id)).text);
  assert.deepEqual(cast.events.map(([, code, data]) => [code, data]).slice(0, 1), [['i', 'ls\r']]);
});

test('what lies in the bucket is sealed, and told from what was changed there', async () => {
  const { recording_id, channel_id } = await recordShell(target_id, 'a secret on the screen');
  const path = join(folder, recording_id, channel_id);
  const whole = readFileSync(path);
  assert.ok(!whole.includes('a secret on the screen'));
  const verify = () => must('POST', `session-recordings/${recording_id}:verify`, {});
  assert.equal((await verify()).field('intact'), true);

  const changed = Buffer.from(whole);
  changed[100] = (changed[100] ?? 0) ^ 1;
  writeFileSync(path, changed);
  assert.equal((await verify()).field('intact'), false);
  const refused = await download(channel_id);
  assert.equal(refused.status, 400);
  assert.match(refused.text, /not as it was written/);

  writeFileSync(path, whole);
  truncateSync(path, whole.length - 40);
  assert.equal((await verify()).field('intact'), false);
  writeFileSync(path, whole);
  assert.equal((await verify()).field('intact'), true);
});

test('a session that cannot be recorded does not begin, and one whose recording fails ends', async () => {
  const broken = tempFolder();
  const bucket = await makeBucket(broken);
  const target = await makeRecordedTarget(project, bucket);
  const session = await startRecordedSession(app, project, target);
  const connection = await session.connect();
  const failures: unknown[] = [];
  const other = await session.connect((error) => failures.push(error));
  const shell = await other.openChannel(TERMINAL);
  await shell.output(text('fine'), 'stdout');
  rmSync(broken, { recursive: true });
  writeFileSync(broken, 'no folder any more');
  await assert.rejects(session.connect(), /cannot be written/);
  await assert.rejects(connection.openChannel(TERMINAL), /cannot be written/);
  await shell.output(Buffer.alloc(200_000, 'x'), 'stdout').catch(() => {});
  await assert.rejects(shell.close({}), /cannot be written/);
  assert.equal(failures.length, 1);
  await session.end();
  const read = await must('GET', `session-recordings/${session.recording_id}`);
  assert.equal(read.field('state'), 'unknown');
  assert.match(read.textAt('error_details'), /was not closed/);
});

test('a recording without a policy is deleted by hand, once it has ended', async () => {
  const session = await startRecordedSession(app, project, target_id);
  const refused = await admin.call('DELETE', `session-recordings/${session.recording_id}`);
  assert.equal(refused.status, 400);
  assert.match(refused.text, /goes on/);
  await session.end();
  await must('DELETE', `session-recordings/${session.recording_id}`);
  const gone = await admin.call('GET', `session-recordings/${session.recording_id}`);
  assert.equal(gone.status, 404);
});

test('a policy that is changed is applied to a recording when that is asked', async () => {
  const { recording_id } = await recordShell();
  const policy = await must('POST', 'policies', {
    scope_id: 'global',
    type: 'storage',
    attributes: { retain_for: { days: -1 } },
  });
  const global = await must('GET', 'scopes/global');
  await must('POST', 'scopes/global:attach-storage-policy', {
    version: global.field('version'),
    storage_policy_id: policy.textAt('id'),
  });
  const applied = await must(
    'POST',
    `session-recordings/${recording_id}:reapply-storage-policy`,
    {},
  );
  assert.equal(applied.field('retain_until'), '9999-12-31T23:59:59.999Z');
  assert.equal((await admin.call('DELETE', `session-recordings/${recording_id}`)).status, 400);
  await must('DELETE', `policies/${policy.textAt('id')}`);
  await must('POST', `session-recordings/${recording_id}:reapply-storage-policy`, {});
  await must('DELETE', `session-recordings/${recording_id}`);
});

const onLinux = { skip: process.platform === 'linux' ? false : 'needs /proc' };

test('who leaves amid a download leaves no file open', onLinux, async () => {
  const { recording_id, channel_id } = await recordShell(target_id, 'x'.repeat(1 << 20));
  const file = await findFile(app.db, channel_id);
  assert.ok(file);
  const path = join(folder, recording_id, channel_id);
  const isOpen = (): boolean =>
    readdirSync('/proc/self/fd').some((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`) === path;
      } catch {
        return false;
      }
    });
  const closed = async (): Promise<boolean> => {
    for (let tries = 0; isOpen() && tries < 500; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return !isOpen();
  };
  const { pieces } = await downloadChannel(app, file);
  assert.ok(await closed(), 'nobody has come for it yet');
  for await (const _piece of pieces()) {
    assert.equal(isOpen(), true);
    break;
  }
  assert.ok(await closed(), 'it was left');
});

test('download is granted by itself', async () => {
  const { recording_id, channel_id } = await recordShell();
  const reader = await project.addPerson('reader', [
    'ids=*;type=session-recording;actions=read,list',
  ]);
  assert.equal((await reader.call('GET', `session-recordings/${recording_id}`)).status, 200);
  assert.equal((await reader.call('GET', `session-recordings/${channel_id}:download`)).status, 403);
  const viewer = await project.addPerson('viewer', [
    'ids=*;type=session-recording;actions=download',
  ]);
  assert.equal((await viewer.call('GET', `session-recordings/${channel_id}:download`)).status, 200);
  assert.equal((await viewer.call('DELETE', `session-recordings/${recording_id}`)).status, 403);
});

test('who may not download hears nothing of the channels that there are', async () => {
  const session = await startRecordedSession(app, project, target_id);
  const connection = await session.connect();
  for (let at = 0; at < 2; at += 1) await (await connection.openChannel(TERMINAL)).close({});
  await connection.close({ reason: 'done' });
  await session.end();
  const stranger = await project.addPerson('stranger', ['ids=*;type=target;actions=list']);
  for (const id of [connection.id, session.recording_id, session.session_id]) {
    const refused = await stranger.call('GET', `session-recordings/${id}:download`);
    assert.equal(refused.status, 403, refused.text);
    assert.doesNotMatch(refused.text, /chr_/);
    const told = await download(id);
    assert.equal(told.status, 400, told.text);
    assert.match(told.text, /Of several channels one is downloaded, by its id: chr_\w+, chr_\w+/);
  }
});

test('a connection after thousands of others has its channels in its index all the same', async () => {
  const session = await startRecordedSession(app, project, target_id);
  const before = await session.connect();
  const known = await findFileOfConnection(app.db, before.id);
  assert.ok(known);
  for (let at = 0; at < 10; at += 1) {
    const some = Array.from({ length: 1_001 }, (_, one) =>
      insertFile({ ...known, id: `chr_${at}x${one}`, body: '{}', end_ms: 1 }),
    );
    await app.store.commit(some);
  }
  const connection = await session.connect();
  const shell = await connection.openChannel(TERMINAL);
  await shell.output(text('after'), 'stdout');
  await shell.close({});
  await connection.close({ reason: 'done' });
  const index = await findFileOfConnection(app.db, connection.id);
  assert.equal(index?.bytes_down, 5);
  const cast = await download(connection.id);
  assert.equal(cast.status, 200, cast.text);
  assert.equal(outputOf(readCast(cast.text)), 'after');
  // All of the others, in pieces of their own.
  await before.close({ reason: 'done' });
  assert.ok(((await findFileOfConnection(app.db, before.id))?.pieces ?? 0) >= 11);
  await session.end();
});

test('recordings that cannot be deleted hold up no others', async () => {
  const broken = tempFolder();
  const bucket = await makeBucket(broken);
  const stuck = await recordShell(await makeRecordedTarget(project, bucket));
  const known = await findRecording(app.db, stuck.recording_id);
  const [, channel] = await listFiles(app.db, stuck.recording_id);
  assert.ok(known && channel);
  rmSync(broken, { recursive: true });
  writeFileSync(broken, 'no folder any more');
  const due = Array.from({ length: 120 }, (_, at) => {
    const id = `sr_stuck${String(at).padStart(3, '0')}`;
    const one = { ...known, id, session_id: `s_stuck${at}`, delete_after_ms: 1 + at };
    return [
      insertRecording(one),
      insertFile({ ...channel, id: `chr_stuck${at}`, recording_id: id, connection_id: id }),
    ];
  });
  await app.store.commit(due.flat());
  const fine = await recordShell();
  await app.store.commit([
    saveRetention(fine.recording_id, { retain_until_ms: 0, delete_after_ms: Date.now() }),
  ]);
  await runRecordingJobs(app);
  const gone = await admin.call('GET', `session-recordings/${fine.recording_id}`);
  assert.equal(gone.status, 404, 'the one whose bucket works');
  // What was tried is tried again after what was not.
  const begun = async () =>
    (await listHalfDeleted(app.db, Date.now(), { ms: -1, id: '' }, 999)).length;
  const first = await begun();
  assert.ok(first > 0 && first < 20, `${first} were tried`);
  await runRecordingJobs(app);
  assert.ok((await begun()) > first);
});

test('a policy retains a recording, and has it deleted', async () => {
  const policy = await must('POST', 'policies', {
    scope_id: project.org_id,
    type: 'storage',
    attributes: { retain_for: { days: 2 }, delete_after: { days: 5 } },
  });
  const org = await must('GET', `scopes/${project.org_id}`);
  await must('POST', `scopes/${project.org_id}:attach-storage-policy`, {
    version: org.field('version'),
    storage_policy_id: policy.textAt('id'),
  });
  const attached = await must('GET', `scopes/${project.org_id}`);
  assert.equal(attached.field('storage_policy_id'), policy.textAt('id'));
  const { recording_id, read } = await recordShell();
  const end = Date.parse(read.textAt('end_time'));
  assert.equal(Date.parse(read.textAt('retain_until')), end + 2 * 86_400_000);
  assert.equal(Date.parse(read.textAt('delete_after')), end + 5 * 86_400_000);
  const refused = await admin.call('DELETE', `session-recordings/${recording_id}`);
  assert.equal(refused.status, 400);
  assert.match(refused.text, /retains the recording until/);
  const inOrg = await admin.call('DELETE', `storage-buckets/${bucket_id}`);
  assert.equal(inOrg.status, 400);

  shift_ms += 4.9 * 86_400_000;
  await runRecordingJobs(app);
  // Log-ins have run out by now.
  const again = await logIn(server, project.auth_method_id, 'admin');
  assert.equal((await again.call('GET', `session-recordings/${recording_id}`)).status, 200);
  shift_ms += 0.2 * 86_400_000;
  await runRecordingJobs(app);
  assert.equal((await again.call('GET', `session-recordings/${recording_id}`)).status, 404);
  assert.ok(!readdirSync(folder).includes(recording_id));
});
