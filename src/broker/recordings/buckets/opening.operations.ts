import { join } from 'node:path';
import type { App } from '../../../app/app.ts';
import type { EnvelopeContext } from '../../../barrier/envelope.ts';
import type { Resource } from '../../resource/resource.ts';
import { openTunnelTo } from '../../workers/tunnels.ts';
import { type BucketBody, type BucketSecrets, endpointOf } from './bucket.ts';
import { localObjects, requireFolder } from './local.client.ts';
import { type ObjectStore, StorageFault } from './objects.ts';
import { s3Objects } from './s3.client.ts';

const placeOf = (row: string): EnvelopeContext => ({
  table: 'resource',
  column: 'secret_sealed',
  row,
});

export function sealSecrets(app: App, id: string, secrets: BucketSecrets): Uint8Array {
  const bytes = Buffer.from(JSON.stringify(secrets));
  const sealed = app.barrier.encrypt('recording', placeOf(id), bytes);
  bytes.fill(0);
  return sealed;
}

export function openSecrets(app: App, { id, secret_sealed }: Resource): BucketSecrets {
  if (!secret_sealed) return { access_key_id: '', secret_access_key: '' };
  const opened = app.barrier.decrypt('recording', placeOf(id), secret_sealed);
  const secrets: BucketSecrets = JSON.parse(Buffer.from(opened).toString('utf8'));
  opened.fill(0);
  return secrets;
}

/** What keeps the files of a bucket. */
export function openBucket(app: App, bucket: Resource<BucketBody>): ObjectStore {
  return objectsOf(app, bucket.body, openSecrets(app, bucket));
}

function objectsOf(app: App, body: BucketBody, secrets: BucketSecrets): ObjectStore {
  const { storage_buckets: reach, listen, proxy_listen } = app.config;
  if (body.plugin === 'local') return localObjects(join(body.path, body.bucket_prefix));
  const { bucket_prefix, worker_filter: filter } = body;
  return s3Objects(
    {
      endpoint: endpointOf(body),
      region: body.region || 'us-east-1',
      bucket_name: body.bucket_name,
      prefix:
        bucket_prefix === '' || bucket_prefix.endsWith('/') ? bucket_prefix : `${bucket_prefix}/`,
      ...secrets,
    },
    { reach, listening: [listen.host, proxy_listen.host] },
    filter === '' ? undefined : (url) => openTunnelTo(app, filter, { url, reach }),
  );
}

/**
 * Writes an object, reads it and removes it: what cannot be done then cannot be done when a session is recorded.
 *
 * @throws StorageFault
 */
export async function tryBucket(app: App, body: BucketBody, secrets: BucketSecrets): Promise<void> {
  if (body.plugin === 'local') await requireFolder(body.path);
  const objects = objectsOf(app, body, secrets);
  const folder = `probe_${Buffer.from(app.randomBytes(12)).toString('hex')}`;
  const name = `${folder}/probe`;
  const wanted = Buffer.from(app.randomBytes(32));
  await objects.append(name, 0, wanted);
  try {
    const parts: Uint8Array[] = [];
    for await (const part of objects.read(name, 1)) parts.push(part);
    if (!Buffer.concat(parts).equals(wanted)) {
      throw new StorageFault('what was written is read as something else');
    }
  } finally {
    await objects.remove(name, 1);
    await objects.removeFolder(folder);
  }
}
