import type { App } from '../../../app/app.ts';
import { Failure, isConflict } from '../../../core/failure.ts';
import type { Effect } from '../../../store/write.ts';
import { listResourcesById } from '../../resource/by-ids.store.ts';
import type { BrokerCaller } from '../../resource/caller.ts';
import { isOf, type ShownHandler } from '../../resource/handler.ts';
import { lockResource } from '../../resource/holds.store.ts';
import { newResourceId } from '../../resource/ids.ts';
import { listLinksFrom } from '../../resource/links/store.ts';
import { commitChange } from '../../resource/operations.ts';
import { newResource, type Resource } from '../../resource/resource.ts';
import { findResource, insertResource } from '../../resource/store.ts';
import type { BucketBody } from '../buckets/bucket.ts';
import { openBucket } from '../buckets/opening.operations.ts';
import { bucketDefinition } from '../buckets/operations.ts';
import { policyDefinition } from '../policies/operations.ts';
import type { StoragePolicy } from '../policies/policy.ts';
import { listFiles, sumTraffic } from './files.store.ts';
import { newRecordingKey } from './keys.operations.ts';
import { filesOf } from './reading.operations.ts';
import {
  type CreateTimeValues,
  describeRecording,
  MOST_SHOWN,
  type RecordedParts,
  type RecordingKind,
  recordingShown,
} from './recording.ts';
import { planRetention } from './retention.ts';
import {
  beginDeleting,
  deleteRecording,
  findRecording,
  insertRecording,
  listRecordings,
  type Retention,
  saveRetention,
} from './store.ts';

export const recordingDefinition: ShownHandler<RecordingKind> = {
  type: 'session-recording',
  containerField: 'scope_id',
  shown: recordingShown,
  showsType: false,

  async describe(app, _caller, recordings, how) {
    const rows = await listRecordings(
      app.db,
      recordings.map(({ id }) => id),
    );
    return Promise.all(
      recordings.map(async ({ id, subtype }) => {
        const row = rows.get(id);
        if (!row) return {};
        return describeRecording(row, subtype, how === 'item' ? await partsOf(app, id) : undefined);
      }),
    );
  },
  async planRemoval(app, _caller, { id }) {
    await requireDeletable(app, id);
    return deleteRecording(id);
  },
  endBeforehand: (app, _caller, { id }) => removeFiles(app, id),
};

async function partsOf(app: App, id: string): Promise<RecordedParts> {
  const [files, traffic] = await Promise.all([
    listFiles(app.db, id, undefined, MOST_SHOWN),
    sumTraffic(app.db, id),
  ]);
  return { files, ...traffic };
}

/** What a session is recorded as, when it is made. */
export interface NewRecording {
  session_id: string;
  /** Of the target. */
  type: string;
  endpoint: string;
  bucket: Resource<BucketBody>;
  /** That the target's project lies in. */
  org_id: string;
  keeps_input: boolean;
  values: CreateTimeValues;
}

/** Plans the recording of a session, in the write set that makes it. */
export function planRecording(app: App, wanted: NewRecording): { id: string; effects: Effect[] } {
  const { bucket, session_id, org_id, endpoint } = wanted;
  const id = newResourceId('sr', app.randomBytes(32));
  const row = newResource({
    id,
    type: 'session-recording',
    subtype: wanted.type,
    scope_id: bucket.scope_id,
    created_ms: app.now(),
    body: {},
  });
  return {
    id,
    effects: [
      // A bucket that is being removed takes no more.
      lockResource(bucket.id),
      insertResource(row),
      insertRecording({
        id,
        session_id,
        bucket_id: bucket.id,
        org_id,
        state: 'started',
        error_details: '',
        endpoint,
        start_ms: null,
        end_ms: null,
        retain_until_ms: 0,
        delete_after_ms: null,
        deleting_ms: null,
        keeps_input: wanted.keeps_input ? 1 : 0,
        key_sealed: newRecordingKey(app, id),
        facts: JSON.stringify(wanted.values),
      }),
    ],
  };
}

/** What the policies of today say of a recording. */
export async function findRetention(
  app: App,
  { org_id, end_ms }: { org_id: string; end_ms: number },
): Promise<Retention> {
  const [global, org] = await Promise.all([policyOf(app, 'global'), policyOf(app, org_id)]);
  return planRetention(end_ms, { global, org });
}

async function policyOf(app: App, scope_id: string): Promise<StoragePolicy | undefined> {
  const [id = ''] = await listLinksFrom(app.db, scope_id, 'scope-storage-policy');
  const [policy] = id === '' ? [] : await listResourcesById(app.db, [id]);
  return isOf(policyDefinition, policy) ? policy.body : undefined;
}

/** Has a recording that has ended follow the policies of today. */
export async function reapplyPolicy(
  app: App,
  caller: BrokerCaller,
  resource: Resource,
): Promise<Resource> {
  const row = await findRecording(app.db, resource.id);
  if (!row) throw new Failure('not_found', 'Resource not found.');
  // Of one that goes on they are asked when it ends.
  if (row.end_ms === null || row.state === 'started') return resource;
  const retention = await findRetention(app, { org_id: row.org_id, end_ms: row.end_ms });
  return commitChange(app, caller, recordingDefinition, resource, {
    effects: [saveRetention(row.id, retention)],
  });
}

async function requireDeletable(app: App, id: string): Promise<void> {
  const row = await findRecording(app.db, id);
  if (!row) throw new Failure('not_found', 'Resource not found.');
  if (row.state === 'started') {
    throw new Failure('precondition', 'the recording goes on: it can be deleted once it has ended');
  }
  if (row.retain_until_ms > app.now()) {
    const until = new Date(row.retain_until_ms).toISOString();
    throw new Failure('precondition', `a storage policy retains the recording until ${until}`);
  }
}

/**
 * Removes the files of a recording, which nothing retains from here on. What it does not get done a job goes on with.
 *
 * @throws Failure `conflict` for one that must be retained by now, `unavailable` where the bucket does not do it
 */
export async function removeFiles(app: App, id: string): Promise<void> {
  try {
    await app.store.commit([beginDeleting(id, app.now())]);
  } catch (error) {
    if (isConflict(error)) await requireDeletable(app, id);
    throw error;
  }
  const row = await findRecording(app.db, id);
  if (!row) return;
  const bucket = await findResource(app.db, row.bucket_id);
  // One that is gone has nothing that could be removed.
  if (!isOf(bucketDefinition, bucket)) return;
  const objects = openBucket(app, bucket);
  try {
    for await (const file of filesOf(app, id)) {
      // One more than is known may have been written when the server was killed.
      await objects.remove(`${id}/${file.id}`, file.pieces + 1);
    }
    await objects.removeFolder(id);
  } catch (cause) {
    app.log.warn({ err: cause, recording_id: id }, 'a recording could not be removed');
    throw new Failure('unavailable', "the storage bucket does not remove the recording's files", {
      cause,
    });
  }
}
