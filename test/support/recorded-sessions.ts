/** Sessions that are recorded, over the broker's API and as a worker carries them. */

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemCaller } from '../../src/access/system-caller.ts';
import type { App } from '../../src/app/app.ts';
import type { JobRun } from '../../src/app/job.ts';
import { recordingJobs } from '../../src/broker/recordings/recordings/jobs.ts';
import { planDue } from '../../src/broker/sessions/termination.operations.ts';
import { ownWorker } from '../../src/broker/workers/embedded.operations.ts';
import { recordConnection } from '../../src/worker/recording/recorder.ts';
import { upstreamOf } from '../../src/worker/serving.operations.ts';
import type { SessionWatcher } from '../../src/worker/ssh/watching.ts';
import type { Upstream } from '../../src/worker/upstream.ts';
import type { Reply } from './server.ts';

export const tempFolder = (): string => mkdtempSync(join(tmpdir(), 'gatehouse-recordings-'));

/** Of an endpoint that nobody dials. */
const HOST_KEY = `ssh-ed25519 ${Buffer.concat([
  Buffer.from('\0\0\0\x0bssh-ed25519\0\0\0\x20', 'latin1'),
  Buffer.from(
    generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }).x ?? '',
    'base64url',
  ),
]).toString('base64')}`;

/** A project, and who may do everything in it. */
interface Place {
  id: string;
  admin: { call(method: string, path: string, body?: object): Promise<Reply> };
}

let named = 0;

/** An ssh target with an injected password, recorded in a bucket. */
export async function makeRecordedTarget(
  project: Place,
  bucket_id: string,
  more: object = {},
): Promise<string> {
  const { admin } = project;
  named += 1;
  const make = async (path: string, body: object): Promise<string> => {
    const reply = await admin.call('POST', path, body);
    assert.equal(reply.status, 200, reply.text);
    return reply.textAt('id');
  };
  const store = await make('credential-stores', { scope_id: project.id, type: 'static' });
  const credential = await make('credentials', {
    credential_store_id: store,
    type: 'username_password',
    name: `root of ${named}`,
    attributes: { username: 'root', password: 'not-to-be-seen' },
  });
  const target = await make('targets', {
    scope_id: project.id,
    type: 'ssh',
    name: `recorded ${named}`,
    address: '192.0.2.7',
    attributes: {
      storage_bucket_id: bucket_id,
      enable_session_recording: true,
      host_keys: [HOST_KEY],
      ...more,
    },
  });
  const added = await admin.call('POST', `targets/${target}:add-credential-sources`, {
    version: 1,
    injected_application_credential_source_ids: [credential],
  });
  assert.equal(added.status, 200, added.text);
  return target;
}

export interface RecordedSession {
  session_id: string;
  recording_id: string;
  /** One more connection, as the server's own worker records it. */
  connect(onFailure?: (error: unknown) => void): Promise<SessionWatcher & { id: string }>;
  /** Ends the session, and lets the jobs of recordings run. */
  end(): Promise<void>;
}

export async function startRecordedSession(
  app: App,
  project: Place,
  target_id: string,
): Promise<RecordedSession> {
  const { admin } = project;
  const made = await admin.call('POST', `targets/${target_id}:authorize-session`, {});
  assert.equal(made.status, 200, made.text);
  const session_id = made.textAt('session_id');
  const recording_id = made.textAt('session_recording_id');
  const upstream = ownUpstream(app);
  const grant = await upstream.lookUp({ session_id });
  assert.equal(grant.recording_id, recording_id);
  const tofu_token = 'abcdefghij0123456789';
  await upstream.activate({ session_id, tofu_token, version: grant.version });
  const connections: string[] = [];
  return {
    session_id,
    recording_id,
    async connect(onFailure = () => {}) {
      const { connection_id } = await upstream.authorize({ session_id });
      connections.push(connection_id);
      const watcher = await recordConnection(upstream, connection_id, { onFailure });
      return { ...watcher, id: connection_id };
    },
    async end() {
      await upstream.close({
        ends: connections.map((connection_id) => ({
          connection_id,
          bytes_up: 0,
          bytes_down: 0,
          reason: 'closed by end-user',
        })),
      });
      await upstream.cancel({ session_id });
      const due = await planDue(app);
      if (due) await app.store.commit(due.effects);
      await runRecordingJobs(app);
    },
  };
}

/** What the worker in the server itself asks. */
export function ownUpstream(app: App): Upstream {
  const own = ownWorker(app);
  assert.ok(own);
  return upstreamOf(app, own.id);
}

export async function runRecordingJobs(app: App): Promise<void> {
  const turn: JobRun = {
    commit: (effects) => app.commit(systemCaller(app.newId(), 'job'), effects),
    fence: () => assert.fail('no fence'),
    stopping: false,
  };
  for (const job of recordingJobs) await job.run(app, turn);
}
