import { isAbsolute, normalize, sep } from 'node:path';
import { z } from 'zod';
import { parseUrl } from '../../../core/domain-names.ts';
import { outputOnly } from '../../../core/output-only.ts';
import { checkLengths, type FieldErrors } from '../../resource/field-errors.ts';
import { parseExpression } from '../../resource/filter/expression.ts';
import type { ItemOf, Kind } from '../../resource/handler.ts';

export type PluginName = 'local' | 'aws' | 'minio';

interface Plugin {
  id: string;
  name: PluginName;
  description: string;
}

/** What keeps the objects of a bucket, under the names that clients know, and one of our own. */
export const PLUGINS: readonly Plugin[] = [
  { id: 'pl_local', name: 'local', description: 'A folder of the server' },
  { id: 'pl_aws', name: 'aws', description: 'Amazon S3' },
  { id: 'pl_minio', name: 'minio', description: 'A server of the S3 protocol' },
];

/** What a bucket keeps besides its secrets. */
export interface BucketBody {
  plugin: PluginName;
  bucket_name: string;
  bucket_prefix: string;
  worker_filter: string;
  /** Of `local`. */
  path: string;
  region: string;
  endpoint_url: string;
  disable_credential_rotation: boolean;
  /** Empty of `local`. */
  secrets_hmac: string;
}

export interface BucketSecrets {
  access_key_id: string;
  secret_access_key: string;
}

const text = (about: string) => z.string().optional().describe(about);

export const bucketFields = {
  plugin_id: text('What keeps the objects: `pl_local`, `pl_aws`, `pl_minio`.'),
  plugin: outputOnly(),
  bucket_name: text('Of the bucket on the S3 server; not of the plugin `local`.'),
  bucket_prefix: text('What the names of all objects begin with.'),
  secrets: z
    .object({
      access_key_id: text('Of a user of the S3 server. Never shown.'),
      secret_access_key: text('Never shown.'),
    })
    .optional()
    .describe('What the S3 server is asked with. Never shown.'),
  secrets_hmac: outputOnly(),
  storage_bucket_credential_id: outputOnly(),
  worker_filter: text('Which workers the S3 server is asked through; not of the plugin `local`.'),
};

export const bucketAttributes = {
  plugin: z.object({
    path: text('Absolute path of a folder of the server, of the plugin `local`.'),
    region: text('Of the S3 server.'),
    endpoint_url: text('URL of the S3 server; of the plugin `aws` only where it is not the usual.'),
    disable_credential_rotation: z
      .boolean()
      .optional()
      .describe('Credentials are never rotated here.'),
  }),
};

export const bucketShown = {
  plugin_id: z.string(),
  plugin: z.object({ id: z.string(), name: z.string(), description: z.string() }),
  bucket_name: z.string(),
  bucket_prefix: z.string(),
  worker_filter: z.string(),
  secrets_hmac: z.string().describe('Tells some secrets from others.'),
  attributes: z.object({
    path: z.string().optional(),
    region: z.string().optional(),
    endpoint_url: z.string().optional(),
    disable_credential_rotation: z.boolean().optional(),
  }),
};

export interface BucketKind extends Kind {
  fields: typeof bucketFields;
  attributes: typeof bucketAttributes;
  shown: typeof bucketShown;
  body: BucketBody;
  wanted: PluginName;
}

export type BucketItem = ItemOf<BucketKind>;

const LONGEST = { bucket_name: 63, bucket_prefix: 512, worker_filter: 4_096 } as const;
const LONGEST_ATTRIBUTES = { path: 1_024, region: 64, endpoint_url: 2_048 } as const;
const LONGEST_SECRETS = { access_key_id: 128, secret_access_key: 256 } as const;

/** Names of buckets as S3 has them; one with dots is asked for by path all the same. */
const BUCKET_NAME = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
/** Characters that no server or file system reads anything into. */
const PREFIX = /^[A-Za-z0-9_.-]+(?:\/[A-Za-z0-9_.-]+)*\/?$/;
const REGION = /^[a-z0-9-]+$/;

/** What keeps a new bucket, as its request says: by the query's `plugin_name` or by `plugin_id`. */
export function choosePlugin(
  { plugin_id }: BucketItem,
  plugin_name: string | null,
  errors: FieldErrors,
): PluginName | undefined {
  if (plugin_id !== undefined && plugin_name !== null) {
    const because = 'Cannot provide both plugin_id and plugin_name.';
    errors.add('plugin_id', because);
    errors.add('plugin_name', because);
    return undefined;
  }
  const found = PLUGINS.find(({ id, name }) => id === plugin_id || name === plugin_name);
  if (!found) {
    const names = PLUGINS.map(({ name }) => name).join(', ');
    errors.add(
      plugin_id === undefined ? 'plugin_name' : 'plugin_id',
      `This must name one of the plugins that there are: ${names}.`,
    );
  }
  return found?.name;
}

/** What is wrong with the fields of a bucket, new or changed, as it would be. */
export function checkBucket(item: BucketItem, errors: FieldErrors): void {
  const { attributes = {}, secrets = {} } = item;
  checkLengths(item, LONGEST, errors);
  checkLengths(attributes, LONGEST_ATTRIBUTES, errors, 'attributes.');
  checkLengths(secrets, LONGEST_SECRETS, errors, 'secrets.');
  if (item.bucket_name && !BUCKET_NAME.test(item.bucket_name)) {
    errors.add('bucket_name', 'This must be the name of a bucket as S3 has them.');
  }
  if (item.bucket_prefix && !isPrefix(item.bucket_prefix)) {
    errors.add(
      'bucket_prefix',
      'This must be names of letters, digits, "_", "." and "-", joined by "/".',
    );
  }
  if (item.worker_filter && !parseExpression(item.worker_filter).valid) {
    errors.add('worker_filter', 'Unable to successfully parse filter expression.');
  }
  if (attributes.region && !REGION.test(attributes.region)) {
    errors.add('attributes.region', 'This must be letters, digits and "-".');
  }
  if (attributes.endpoint_url && !isServerUrl(attributes.endpoint_url)) {
    errors.add('attributes.endpoint_url', 'This must be an http or https URL of a server.');
  }
  for (const name of ['access_key_id', 'secret_access_key'] as const) {
    // They become parts of a request's head.
    if (secrets[name] !== undefined && !/^[\x21-\x7e]+$/.test(secrets[name])) {
      errors.add(`secrets.${name}`, 'This must be visible ASCII characters.');
    }
  }
}

const isPrefix = (prefix: string): boolean =>
  PREFIX.test(prefix) && !prefix.split('/').some((one) => one === '.' || one === '..');

function isServerUrl(address: string): boolean {
  const url = parseUrl(address);
  if (!url) return false;
  const { protocol, username, password, pathname, search, hash } = url;
  return (
    (protocol === 'http:' || protocol === 'https:') &&
    [username, password, search, hash].every((part) => part === '') &&
    pathname === '/'
  );
}

export const NO_WORKER = 'Local buckets are folders of the server, which no worker reaches.';

/** What a new bucket of a plugin lacks, or has too much. */
export function checkNewBucket(item: BucketItem, plugin: PluginName, errors: FieldErrors): void {
  const { attributes = {}, secrets = {} } = item;
  if (plugin === 'local') {
    if (!attributes.path)
      errors.add('attributes.path', 'This is a required field of local buckets.');
    if (item.bucket_name) errors.add('bucket_name', 'Local buckets have a path, and no such name.');
    if (item.secrets) errors.add('secrets', 'Local buckets have no secrets.');
    if (item.worker_filter) errors.add('worker_filter', NO_WORKER);
    return;
  }
  if (attributes.path) errors.add('attributes.path', 'Only local buckets have a path.');
  if (!item.bucket_name) errors.add('bucket_name', 'This is a required field.');
  if (plugin === 'aws' && !attributes.region) {
    errors.add('attributes.region', 'This is a required field.');
  }
  if (plugin === 'minio' && !attributes.endpoint_url) {
    errors.add('attributes.endpoint_url', 'This is a required field.');
  }
  for (const name of ['access_key_id', 'secret_access_key'] as const) {
    if (!secrets[name]) errors.add(`secrets.${name}`, 'This is a required field.');
  }
}

/**
 * What is wrong with the folder of a local bucket, by its name alone.
 *
 * @param within folders that the server's operator has named
 */
export function faultOfPath(path: string, within: readonly string[]): string | undefined {
  if (!isAbsolute(path) || path.includes('\0')) return 'This must be an absolute path.';
  const plain = normalize(path);
  const isWithin = within.some((folder) => plain === folder || plain.startsWith(withEnd(folder)));
  return isWithin
    ? undefined
    : "This must lie within one of the folders that the server's configuration names in storage_buckets.local_folders.";
}

const withEnd = (folder: string): string => (folder.endsWith(sep) ? folder : `${folder}${sep}`);

export const BUCKET_PATHS = [
  'worker_filter',
  'secrets',
  'attributes.region',
  'attributes.endpoint_url',
  'attributes.disable_credential_rotation',
] as const;

/** A bucket after a request: what it speaks of as it says, the rest as before. */
export function planBucket(
  before: BucketBody,
  { attributes = {}, worker_filter = '' }: BucketItem,
  mask: readonly string[],
): BucketBody {
  const next = { ...before };
  if (mask.includes('worker_filter')) next.worker_filter = worker_filter;
  for (const name of ['region', 'endpoint_url'] as const) {
    if (mask.includes(`attributes.${name}`)) next[name] = attributes[name] ?? '';
  }
  if (mask.includes('attributes.disable_credential_rotation')) {
    next.disable_credential_rotation = attributes.disable_credential_rotation ?? false;
  }
  return next;
}

/** The server that a bucket's objects lie on. */
export function endpointOf({ plugin, endpoint_url, region }: BucketBody): string {
  if (plugin === 'aws' && endpoint_url === '') return `https://s3.${region}.amazonaws.com`;
  return endpoint_url;
}
