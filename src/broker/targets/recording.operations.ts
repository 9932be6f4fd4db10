import type { App } from '../../app/app.ts';
import { Failure } from '../../core/failure.ts';
import { omitEmpty } from '../../core/omit-empty.ts';
import type { Effect } from '../../store/write.ts';
import { findBucketFor } from '../recordings/buckets/operations.ts';
import { planRecording } from '../recordings/recordings/operations.ts';
import type { CreateTimeValues } from '../recordings/recordings/recording.ts';
import { listResourcesById } from '../resource/by-ids.store.ts';
import { IN_REQUEST, refuseField } from '../resource/field-errors.ts';
import { deleteLinksFrom, insertLink } from '../resource/links/store.ts';
import { describeScope, type Resource, type Scope } from '../resource/resource.ts';
import { requireScope } from '../resource/scope-tree/operations.ts';
import { type Linked, listLinked } from './store.ts';
import type { TargetBody } from './target.ts';

const LINK = 'target-storage-bucket';

/**
 * A target and the bucket that its sessions are recorded in: the link keeps the bucket from being removed.
 *
 * @param before absent of a new target
 * @throws Failure `invalid` for a recording without a bucket, and for a bucket that is none of this target's
 */
export async function planBucketLink(
  app: App,
  { id, scope }: { id: string; scope: Scope },
  before: TargetBody | undefined,
  { storage_bucket_id, enable_session_recording }: TargetBody,
): Promise<Effect[]> {
  const field = 'attributes.storage_bucket_id';
  const had = before?.storage_bucket_id ?? '';
  const isRecorded = before?.enable_session_recording ?? false;
  if (enable_session_recording && storage_bucket_id === '') {
    refuseField(field, 'This is a required field where sessions are recorded.', IN_REQUEST);
  }
  const isSame = storage_bucket_id === had && enable_session_recording === isRecorded;
  if (storage_bucket_id !== '' && !isSame) {
    const bucket = await findBucketFor(app, storage_bucket_id, scope);
    if (typeof bucket === 'string') refuseField(field, bucket, IN_REQUEST);
  }
  if (isSame) return [];
  return [
    ...(before ? [deleteLinksFrom(id, LINK)] : []),
    ...(storage_bucket_id === ''
      ? []
      : [insertLink({ from_id: id, kind: LINK, to_id: storage_bucket_id })]),
  ];
}

interface SessionToRecord {
  target: Resource<TargetBody>;
  /** Of the target. */
  scope: Scope;
  user_id: string;
  session_id: string;
  host_id: string;
  endpoint: string;
}

/**
 * Plans the recording of a session of a target that has its sessions recorded.
 *
 * @throws Failure `precondition` where it could not be recorded: it is not made then
 */
export async function planSessionRecording(
  app: App,
  { target, scope, user_id, session_id, host_id, endpoint }: SessionToRecord,
): Promise<{ id: string; effects: Effect[] }> {
  const { body, subtype } = target;
  if (!body.enable_session_recording) return { id: '', effects: [] };
  const linked = await listLinked(app.db, target.id);
  if (!linked.some(({ kind }) => kind === 'target-injected')) {
    throw new Failure(
      'precondition',
      'sessions of the target are recorded, and it has no injected application credentials: without them the client and the endpoint encrypt what there would be to record',
    );
  }
  const bucket = await findBucketFor(app, body.storage_bucket_id, scope);
  if (typeof bucket === 'string') {
    throw new Failure('precondition', `sessions of the target cannot be recorded: ${bucket}`);
  }
  const purposes = purposesOf(linked);
  const ids = [user_id, host_id, ...purposes.keys()].filter((id) => id !== '');
  const found = await listResourcesById(app.db, ids);
  const user = found.find(({ id }) => id === user_id);
  const host = found.find(({ id }) => id === host_id);
  const sources = (type: 'credential' | 'credential-library') =>
    found
      .filter((one) => one.type === type)
      .map((one) => ({
        ...named(one),
        type: one.subtype,
        purposes: [purposes.get(one.id) ?? ('brokered' as const)],
        credential_store: { id: one.container_id },
      }));
  const credentials = sources('credential');
  const credential_libraries = sources('credential-library');
  const values: CreateTimeValues = {
    ...(user
      ? { user: { ...named(user), scope: describeScope(await requireScope(app, user.scope_id)) } }
      : {}),
    target: describeTarget(target, scope),
    ...(host ? { host: { ...named(host), type: host.subtype } } : {}),
    ...(credentials.length > 0 ? { credentials } : {}),
    ...(credential_libraries.length > 0 ? { credential_libraries } : {}),
  };
  return planRecording(app, {
    session_id,
    type: subtype,
    endpoint,
    bucket,
    org_id: scope.parent_scope_id,
    keeps_input: body.record_session_input ?? false,
    values,
  });
}

type Purpose = 'brokered' | 'injected_application';

/** What the sources of credentials are for, by their ids. */
function purposesOf(linked: readonly Linked[]): Map<string, Purpose> {
  const purposes = new Map<string, Purpose>();
  for (const { kind, id } of linked) {
    if (kind === 'target-injected') purposes.set(id, 'injected_application');
    if (kind === 'target-brokered') purposes.set(id, 'brokered');
  }
  return purposes;
}

const named = ({ id, name, description }: Resource) => ({
  id,
  ...omitEmpty({ name, description }),
});

function describeTarget(target: Resource<TargetBody>, scope: Scope): CreateTimeValues['target'] {
  const { body, subtype } = target;
  const { worker_filter, egress_worker_filter, default_port, default_client_port } = body;
  return {
    ...named(target),
    scope: describeScope(scope),
    type: subtype,
    session_max_seconds: body.session_max_seconds,
    session_connection_limit: body.session_connection_limit,
    ...omitEmpty({ worker_filter, egress_worker_filter }),
    attributes: omitEmpty({ default_port, default_client_port }),
  };
}
