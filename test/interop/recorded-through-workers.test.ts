import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { outputOf, readCast } from '../support/asciicast.ts';
import { inReverse, newDirectory, type Scope } from '../support/node-process.ts';
import { S3_KEYS, type S3Server, startS3Server } from '../support/s3-server.ts';
import { openSessionPort } from '../support/session-port.ts';
import {
  clientOptions,
  findSshd,
  type KeyPair,
  makeKeyPair,
  runProgram,
  SSH_USER,
  type Sshd,
  startSshd,
} from '../support/sshd.ts';
import {
  addTarget,
  addWorker,
  type CarryingServer,
  eventually,
  startCarryingServer,
  type WorkerProcess,
} from '../support/workers-alone.ts';

/** A channel each, whose end is what a command has shown: what a shell says at its beginning is recorded, too. */
function assertShown(casts: readonly string[], shown: readonly string[]): void {
  assert.equal(casts.length, shown.length);
  for (const text of shown) assert.ok(casts.some((cast) => cast.endsWith(text)));
}

const IS = (tag: string): string => `"${tag}" in "/tags/type"`;

interface Shown {
  state: string;
  bytes_down: string;
  connection_recordings: {
    id: string;
    channel_recordings: { id: string; bytes_down: string }[];
  }[];
}

const { skip } = findSshd();
describe('what OpenSSH speaks through workers that stand alone is recorded', { skip }, () => {
  const suite = inReverse({ after });
  let server: CarryingServer;
  let folder: string;
  let sshd: Sshd;
  let user: KeyPair;
  let front: WorkerProcess;
  let inside: WorkerProcess;
  let credential: string;
  let bucket: string;
  /** On an S3 server that the second worker alone may ask. */
  let farBucket: string;
  let s3: S3Server;

  before(async () => {
    folder = newDirectory(suite);
    user = makeKeyPair(folder, 'user');
    sshd = await startSshd(suite, { keys: [user.public_line] });
    const buckets = newDirectory(suite);
    server = await startCarryingServer(suite, { local_buckets: buckets });
    const tagged = (type: string) => ({ name: type, tags: { type: [type] } });
    ({ worker: front } = await addWorker(suite, server, tagged('front')));
    const inner = { ...tagged('inner'), listener: null };
    ({ worker: inside } = await addWorker(suite, server, inner));
    const make = async (path: string, body: object): Promise<string> =>
      (await server.ask('POST', path, body)).textAt('id');
    bucket = await make('storage-buckets?plugin_name=local', {
      scope_id: 'global',
      attributes: { path: buckets },
    });
    s3 = await startS3Server('recordings');
    suite.after(() => s3.close());
    farBucket = await make('storage-buckets?plugin_name=minio', {
      scope_id: 'global',
      bucket_name: 'recordings',
      secrets: S3_KEYS,
      attributes: { endpoint_url: s3.url },
      worker_filter: IS('inner'),
    });
    const store = await make('credential-stores', {
      scope_id: server.project.id,
      type: 'static',
    });
    credential = await make('credentials', {
      credential_store_id: store,
      type: 'ssh_private_key',
      attributes: { username: SSH_USER, private_key: user.private_text },
    });
  });

  async function makeTarget(filters: object, storage_bucket_id = bucket): Promise<string> {
    const target = await addTarget(server, {
      type: 'ssh',
      ...filters,
      session_connection_limit: -1,
      attributes: {
        default_port: sshd.port,
        host_keys: [sshd.host_key.public_line],
        storage_bucket_id,
        enable_session_recording: true,
      },
    });
    await server.ask('POST', `targets/${target}:add-credential-sources`, {
      version: 1,
      injected_application_credential_source_ids: [credential],
    });
    return target;
  }

  async function begin(t: Scope, target: string) {
    const made = await server.ask('POST', `targets/${target}:authorize-session`, {});
    const port = await openSessionPort(t, made.textAt('authorization_token'));
    return {
      port,
      session_id: made.textAt('session_id'),
      recording_id: made.textAt('session_recording_id'),
    };
  }

  let known = 0;
  const ssh = (port: number, ...command: string[]) => {
    const options = clientOptions(join(folder, `known-${++known}`));
    return runProgram('ssh', [...options, '-p', `${port}`, 'x@127.0.0.1', ...command]);
  };

  /** One that is left to run, for a minute at most. */
  function startSsh(port: number, command: string) {
    const options = clientOptions(join(folder, `known-${++known}`));
    const args = [...options, '-p', `${port}`, 'x@127.0.0.1', command];
    const child = spawn('ssh', args, { stdio: ['ignore', 'pipe', 'ignore'], timeout: 60_000 });
    let stdout = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    return {
      stdout: () => stdout,
      until: (text: string) =>
        eventually(async () => assert.ok(stdout.includes(text), stdout), 30_000),
      ended: once(child, 'close').then(([status]) => ({ status })),
    };
  }

  const read = async (id: string): Promise<Shown> =>
    JSON.parse((await server.ask('GET', `session-recordings/${id}`)).text);

  const castsOf = async ({ connection_recordings }: Shown): Promise<string[]> => {
    const shown: string[] = [];
    for (const { channel_recordings } of connection_recordings) {
      for (const { id } of channel_recordings) {
        const cast = await server.ask('GET', `session-recordings/${id}:download`);
        shown.push(outputOf(readCast(cast.text)));
      }
    }
    return shown;
  };

  async function end({ session_id }: { session_id: string }): Promise<void> {
    const version = (await server.ask('GET', `sessions/${session_id}`)).field('version');
    await server.ask('POST', `sessions/${session_id}:cancel`, { version });
  }

  const ONE = { egress_worker_filter: IS('front') };
  const TWO = { egress_worker_filter: IS('inner'), ingress_worker_filter: IS('front') };
  const ended: { how: string; recording_id: string; shown: string[] }[] = [];

  for (const [how, filters, isFar] of [
    ['one worker', ONE, false],
    ['two hops', TWO, false],
    ['two hops, into a bucket that is reached through a worker', TWO, true],
  ] as const) {
    test(`through ${how}, to the last byte`, async (t) => {
      const session = await begin(t, await makeTarget(filters, isFar ? farBucket : bucket));
      const { port, recording_id } = session;
      const [short, long, typed] = await Promise.all([
        ssh(port, 'echo plain; exit 3'),
        ssh(port, 'seq 1 200000'),
        ssh(port, '-tt', 'echo grüße'),
      ]);
      assert.deepEqual([short.status, short.stdout], [3, 'plain\n'], short.stderr);
      assert.equal(long.stdout.length, 1_288_895);
      assert.equal(typed.stdout, 'grüße\r\n');
      const shown = [short, long, typed].map(({ stdout }) => stdout);
      await eventually(async () => {
        assertShown(await castsOf(await read(recording_id)), shown);
      }, 10_000);
      assert.equal(s3.objects.size > 0, isFar);
      await end(session);
      ended.push({ how, recording_id, shown });
      // Also as it comes from the server: PKCS #8 in base64.
      for (const log of [front.log(), inside.log()]) {
        assert.doesNotMatch(log, /PRIVATE KEY|MC4CAQAwBQYDK2Vw/);
      }
    });
  }

  test('what has ended is available, and intact', async () => {
    assert.equal(ended.length, 3);
    for (const { how, recording_id, shown } of ended) {
      // Sessions are looked through every half a minute.
      const whole = await eventually(async () => {
        const now = await read(recording_id);
        assert.equal(now.state, 'available', how);
        return now;
      }, 60_000);
      assertShown(await castsOf(whole), shown);
      const verified = await server.ask('POST', `session-recordings/${recording_id}:verify`, {});
      assert.equal(verified.field('intact'), true, verified.text);
    }
  });

  const FOREVER = 'n=0; while :; do n=$((n+1)); echo $n; sleep 0.1; done';

  for (const [how, which] of [
    ['the worker dies', 'front'],
    ['the worker behind it dies', 'behind'],
    ['the server is away', 'server'],
  ] as const) {
    test(`when ${how}, what is recorded ends, and can be read so far`, async (t) => {
      const scope = inReverse(t);
      const tagged = (place: string) => ({
        name: `${place}-${which}`,
        tags: { type: [`${place}-${which}`] },
      });
      const { worker: ingress } = await addWorker(scope, server, tagged('front'));
      const inner = { ...tagged('behind'), listener: null };
      const { worker: egress } = await addWorker(scope, server, inner);
      const session = await begin(
        scope,
        await makeTarget({
          ingress_worker_filter: IS(`front-${which}`),
          egress_worker_filter: IS(which === 'behind' ? `behind-${which}` : `front-${which}`),
        }),
      );
      const running = startSsh(session.port, FOREVER);
      await running.until('\n20\n');
      const victims = { front: ingress, behind: egress, server };
      await victims[which].kill();
      assert.notEqual((await running.ended).status, 0);
      if (which === 'server') await server.start();
      const [kept = ''] = await castsOf(await read(session.recording_id));
      const [, told = ''] = /(?:^|\n)(1\n2\n3\n[\s\S]*)$/.exec(kept) ?? [];
      assert.match(told, /^1\n2\n3\n/, kept);
      const shown = running.stdout();
      const isSame = told.startsWith(shown) || shown.startsWith(told);
      assert.ok(isSame, 'nothing else than was shown');
      // What waits for others for half a second may be missing, where nobody was left to write it.
      assert.ok(
        shown.length - told.length < (which === 'server' ? 1_000 : 120),
        `${shown}\n${kept}`,
      );
    });
  }
});
