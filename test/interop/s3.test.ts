import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { outputOf, readCast } from '../support/asciicast.ts';
import { makeProject } from '../support/broker.ts';
import { makeRecordedTarget, startRecordedSession } from '../support/recorded-sessions.ts';
import { startTestServer } from '../support/server.ts';
import { startGateway, VERSITYGW } from '../support/versitygw.ts';

const KEYS = { access_key_id: 'AKIDGATEHOUSE', secret_access_key: 'a/Secret+with=signs' };

test('sessions are recorded on a real S3 server', { skip: VERSITYGW.skip }, async (t) => {
  const gateway = await startGateway(KEYS, 'recordings');
  t.after(() => gateway.stop());
  const server = await startTestServer({ after }, { jobs: [] });
  const { app } = server.running;
  const project = await makeProject(server);
  const { admin } = project;
  const fields = {
    scope_id: 'global',
    bucket_name: 'recordings',
    bucket_prefix: 'of/gatehouse',
    attributes: { endpoint_url: gateway.url, region: 'eu-north-1' },
    secrets: KEYS,
  };
  const make = (more: object) =>
    admin.call('POST', 'storage-buckets?plugin_name=minio', { ...fields, ...more });

  await t.test('a bucket is one that can be written to, read and cleared', async () => {
    for (const [more, told] of [
      [{ secrets: { ...KEYS, secret_access_key: 'other' } }, /SignatureDoesNotMatch/],
      [{ secrets: { ...KEYS, access_key_id: 'other' } }, /InvalidAccessKeyId|UserNotFound/],
      [{ bucket_name: 'others' }, /NoSuchBucket/],
    ] as const) {
      const refused = await make(more);
      assert.equal(refused.status, 400, refused.text);
      assert.match(refused.text, told);
    }
  });

  const made = await make({});
  assert.equal(made.status, 200, made.text);
  assert.doesNotMatch(made.text, /Secret\+with/);
  const folder = join(gateway.folder, 'recordings', 'of', 'gatehouse');
  const target = await makeRecordedTarget(project, made.textAt('id'));
  const session = await startRecordedSession(app, project, target);
  const connection = await session.connect();
  const shell = await connection.openChannel({
    type: 'session',
    program: 'shell',
    pty: { term: 'xterm', columns: 80, rows: 24 },
  });
  const said = randomBytes(300_000).toString('hex');
  await shell.output(Buffer.from(said), 'stdout');
  await shell.close({ status: 0 });
  await connection.close({ reason: 'done' });
  await session.end();

  const download = () => admin.call('GET', `session-recordings/${session.recording_id}:download`);
  const downloaded = await download();
  assert.equal(outputOf(readCast(downloaded.text)), said);

  await t.test('what was changed on the server is told', async () => {
    const inside = join(folder, session.recording_id);
    const channel = readdirSync(inside).find((name) => name.startsWith('chr_')) ?? '';
    const [first = ''] = readdirSync(join(inside, channel));
    const path = join(inside, channel, first);
    const bytes = readFileSync(path);
    const changed = Buffer.from(bytes);
    changed[80] = (changed[80] ?? 0) ^ 1;
    writeFileSync(path, changed);
    assert.equal((await download()).status, 400);
    writeFileSync(path, bytes);
    assert.equal((await download()).status, 200);
  });

  await t.test('a recording that is deleted is gone from the server', async () => {
    const deleted = await admin.call('DELETE', `session-recordings/${session.recording_id}`);
    assert.equal(deleted.status, 204, deleted.text);
    const left = existsSync(folder) ? readdirSync(folder, { recursive: true }) : [];
    assert.deepEqual(
      left.filter((name) => /\d{8}$/.test(String(name))),
      [],
    );
  });
});
