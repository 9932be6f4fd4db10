import { createHmac } from 'node:crypto';
import type { App } from '../../../app/app.ts';
import { Failure } from '../../../core/failure.ts';
import { omitEmpty } from '../../../core/omit-empty.ts';
import { IN_REQUEST, refuseField } from '../../resource/field-errors.ts';
import { isOf, type Plan, type ResourceHandler } from '../../resource/handler.ts';
import { hasLinksTo } from '../../resource/links/store.ts';
import { requireVersion } from '../../resource/operations.ts';
import type { Resource, Scope } from '../../resource/resource.ts';
import { findResource } from '../../resource/store.ts';
import {
  BUCKET_PATHS,
  type BucketBody,
  type BucketKind,
  type BucketSecrets,
  bucketAttributes,
  bucketFields,
  bucketShown,
  checkBucket,
  checkNewBucket,
  choosePlugin,
  faultOfPath,
  NO_WORKER,
  PLUGINS,
  planBucket,
} from './bucket.ts';
import { StorageFault } from './objects.ts';
import { openSecrets, sealSecrets, tryBucket } from './opening.operations.ts';
import { hasRecordingsIn } from './store.ts';

export const bucketDefinition: ResourceHandler<BucketKind> = {
  type: 'storage-bucket',
  containerField: 'scope_id',
  fields: bucketFields,
  secrets: ['secrets'],
  wholeFields: ['secrets'],
  attributes: bucketAttributes,
  shown: bucketShown,
  showsType: true,
  words: { stale: 'Storage bucket "%" doesn\'t exist or incorrect version provided.' },

  chooseSubtype(item, _parent, errors) {
    if (item.type !== undefined && item.type !== 'plugin') {
      errors.add('type', "This must be 'plugin'.");
    }
    return 'plugin';
  },
  checkNew(item, _subtype, errors, query) {
    const plugin = choosePlugin(item, query.get('plugin_name'), errors);
    checkBucket(item, errors);
    if (plugin) checkNewBucket(item, plugin, errors);
    return plugin ?? 'local';
  },
  async planNew(app, _caller, { id, item, wanted: plugin }) {
    const { attributes = {} } = item;
    const body: BucketBody = {
      plugin,
      bucket_name: item.bucket_name ?? '',
      bucket_prefix: item.bucket_prefix ?? '',
      worker_filter: item.worker_filter ?? '',
      path: attributes.path ?? '',
      region: attributes.region ?? '',
      endpoint_url: attributes.endpoint_url ?? '',
      disable_credential_rotation: attributes.disable_credential_rotation ?? false,
      secrets_hmac: '',
    };
    return planTried(app, id, body, secretsOf(item.secrets));
  },

  updatable: () => BUCKET_PATHS,
  checkChange(item, _request, errors) {
    checkBucket(item, errors);
    for (const field of ['plugin_id', 'bucket_name', 'bucket_prefix'] as const) {
      if (item[field] !== undefined) {
        errors.add(field, 'This field is set when a bucket is made, and not changed.');
      }
    }
    if (item.attributes?.path !== undefined) {
      errors.add('attributes.path', 'This field is set when a bucket is made, and not changed.');
    }
  },
  async planChange(app, _caller, { resource, item, mask }) {
    // Nobody is asked on behalf of a change that comes too late.
    requireVersion(bucketDefinition, resource, item.version ?? 0);
    const body = planBucket(resource.body, item, mask);
    checkWhole(body);
    if (!mask.some((path) => path !== 'name' && path !== 'description')) return { body };
    const before = openSecrets(app, resource);
    const secrets = mask.includes('secrets') ? { ...before, ...given(item.secrets) } : before;
    return planTried(app, resource.id, body, secrets);
  },
  async planRemoval(app, _caller, { id }) {
    const records = { kind: 'target-storage-bucket', most: 1, conflict: IS_USED } as const;
    if (await hasLinksTo(app.db, id, records)) throw new Failure('precondition', IS_USED);
    if (await hasRecordingsIn(app.db, id)) throw new Failure('precondition', HOLDS);
    return [];
  },

  async describe(_app, _caller, buckets) {
    return buckets.map(({ body }) => {
      const plugin = PLUGINS.find(({ name }) => name === body.plugin);
      const { path, region, endpoint_url, disable_credential_rotation } = body;
      return omitEmpty({
        plugin_id: plugin?.id,
        plugin: plugin && { ...plugin },
        bucket_name: body.bucket_name,
        bucket_prefix: body.bucket_prefix,
        worker_filter: body.worker_filter,
        secrets_hmac: body.secrets_hmac,
        attributes: omitEmpty({ path, region, endpoint_url, disable_credential_rotation }),
      });
    });
  },
};

const IS_USED = 'targets record their sessions in this storage bucket';
const HOLDS = 'the storage bucket holds recordings of sessions: they are deleted first';

const given = (secrets: Partial<Record<keyof BucketSecrets, string | undefined>> = {}) =>
  Object.fromEntries(
    Object.entries(secrets).filter(([, value]) => value !== undefined),
  ) as Partial<BucketSecrets>;

const secretsOf = (secrets: Parameters<typeof given>[0]): BucketSecrets => ({
  access_key_id: '',
  secret_access_key: '',
  ...given(secrets),
});

/** @throws Failure `invalid` for a bucket that a change would leave without what it needs */
function checkWhole({ plugin, region, endpoint_url, worker_filter }: BucketBody): void {
  if (plugin === 'local' && worker_filter !== '') {
    refuseField('worker_filter', NO_WORKER, IN_REQUEST);
  }
  const lacks = plugin === 'aws' ? region === '' : plugin === 'minio' && endpoint_url === '';
  if (!lacks) return;
  const field = plugin === 'aws' ? 'attributes.region' : 'attributes.endpoint_url';
  refuseField(field, 'This is a required field and cannot be set to empty.', IN_REQUEST);
}

/** A bucket is what has worked at the moment when it was set. @throws Failure `invalid` */
async function planTried(
  app: App,
  id: string,
  body: BucketBody,
  secrets: BucketSecrets,
): Promise<Plan<BucketKind>> {
  const isLocal = body.plugin === 'local';
  const { local_folders } = app.config.storage_buckets;
  const fault = isLocal ? faultOfPath(body.path, local_folders) : undefined;
  if (fault !== undefined) refuseField('attributes.path', fault, IN_REQUEST);
  try {
    await tryBucket(app, body, secrets);
  } catch (error) {
    if (!(error instanceof StorageFault)) throw error;
    const field = isLocal ? 'attributes.path' : 'attributes';
    const because = `An object could not be written, read and removed: ${error.message}.`;
    refuseField(field, because, 'The storage bucket cannot be used.');
  }
  if (isLocal) return { body };
  const key = app.barrier.hmac('recording', `bucket:${id}`);
  const secrets_hmac = createHmac('sha256', key)
    .update(JSON.stringify([secrets.access_key_id, secrets.secret_access_key]))
    .digest('base64url');
  return { body: { ...body, secrets_hmac }, secret_sealed: sealSecrets(app, id, secrets) };
}

/**
 * The bucket that a target's sessions are to be recorded in.
 *
 * @param project of the target
 * @returns why it cannot be, where it cannot
 */
export async function findBucketFor(
  app: App,
  id: string,
  project: Scope,
): Promise<Resource<BucketBody> | string> {
  const bucket = await findResource(app.db, id);
  if (!isOf(bucketDefinition, bucket)) return `There is no storage bucket "${id}".`;
  if (bucket.scope_id === 'global' || bucket.scope_id === project.parent_scope_id) return bucket;
  return 'The storage bucket lies in another org than the target.';
}
