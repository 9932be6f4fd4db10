import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { outputOf, readCast } from '../support/asciicast.ts';
import { inReverse, newDirectory } from '../support/node-process.ts';
import { tempFolder } from '../support/recorded-sessions.ts';
import { type Broker, startBroker } from '../support/seeded-broker.ts';
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
import { eventually } from '../support/workers-alone.ts';

const { skip } = findSshd();
describe('sessions that OpenSSH speaks are recorded', { skip }, () => {
  const suite = inReverse({ after });
  const buckets = tempFolder();
  let broker: Broker;
  let folder: string;
  let user: KeyPair;
  let sshd: Sshd;
  let target: string;

  before(async () => {
    const listen = { host: '127.0.0.1', port: 0 };
    broker = await startBroker(suite, { config: { proxy_listen: listen } });
    folder = newDirectory(suite);
    user = makeKeyPair(folder, 'user');
    sshd = await startSshd(suite, { keys: [user.public_line] });
    const bucket = await broker.make('storage-buckets?plugin_name=local', {
      scope_id: 'global',
      attributes: { path: buckets },
    });
    const store = await broker.make('credential-stores', {
      scope_id: broker.project,
      type: 'static',
      attributes: {},
    });
    const credential = await broker.make('credentials', {
      credential_store_id: store,
      type: 'ssh_private_key',
      attributes: { username: SSH_USER, private_key: user.private_text },
    });
    target = await broker.make('targets', {
      scope_id: broker.project,
      type: 'ssh',
      name: 'recorded',
      address: '127.0.0.1',
      session_connection_limit: -1,
      attributes: {
        default_port: sshd.port,
        host_keys: [sshd.host_key.public_line],
        storage_bucket_id: bucket,
        enable_session_recording: true,
      },
    });
    const added = await broker.admin('POST', `targets/${target}:add-credential-sources`, {
      version: 1,
      injected_application_credential_source_ids: [credential],
    });
    assert.equal(added.status, 200, added.text);
  });

  async function authorize() {
    const answer = await broker.admin('POST', `targets/${target}:authorize-session`, {});
    assert.equal(answer.status, 200, answer.text);
    return {
      token: answer.textAt('authorization_token'),
      recording_id: answer.textAt('session_recording_id'),
    };
  }

  let known = 0;
  const ssh = (port: number, ...command: string[]) => {
    const options = clientOptions(join(folder, `known-${++known}`));
    const [first = '', ...rest] = command;
    return runProgram('ssh', [...options, '-p', `${port}`, first, ...rest], '');
  };

  test('what a command and a terminal show is in the recording', async (t) => {
    const { token, recording_id } = await authorize();
    const port = await openSessionPort(t, token);
    const plain = await ssh(port, 'x@127.0.0.1', 'echo plain; exit 3');
    assert.deepEqual([plain.status, plain.stdout], [3, 'plain\n'], plain.stderr);
    const terminal = await ssh(port, '-tt', 'x@127.0.0.1', 'echo grüße');
    assert.match(terminal.stdout, /grüße/);
    // What was shown last is written behind it.
    await eventually(async () => {
      const shown: string[] = [];
      const read = await broker.admin('GET', `session-recordings/${recording_id}`);
      const connections = read.field('connection_recordings') as {
        channel_recordings: { id: string }[];
      }[];
      for (const { channel_recordings } of connections) {
        for (const { id } of channel_recordings) {
          const cast = await broker.admin('GET', `session-recordings/${id}:download`);
          shown.push(outputOf(readCast(cast.text)));
        }
      }
      assert.deepEqual(shown, ['plain\n', 'grüße\r\n']);
    }, 10_000);
  });

  test('a command that is named like a subsystem is recorded as the command that it is', async (t) => {
    const { token, recording_id } = await authorize();
    const port = await openSessionPort(t, token);
    const ran = await ssh(port, 'x@127.0.0.1', 'subsystem:; echo seen');
    assert.match(ran.stdout, /^seen$/m, ran.stderr);
    await eventually(async () => {
      const cast = await broker.admin('GET', `session-recordings/${recording_id}:download`);
      assert.match(outputOf(readCast(cast.text)), /^seen$/m);
    }, 10_000);
  });

  test('a bucket that is gone lets no connection begin', async (t) => {
    const { token } = await authorize();
    const port = await openSessionPort(t, token);
    rmSync(buckets, { recursive: true });
    writeFileSync(buckets, '');
    const refused = await ssh(port, 'x@127.0.0.1', 'echo unrecorded');
    assert.notEqual(refused.status, 0);
    assert.equal(refused.stdout, '');
  });
});
