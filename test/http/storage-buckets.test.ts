import assert from 'node:assert/strict';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { makeProject } from '../support/broker.ts';
import {
  makeRecordedTarget,
  startRecordedSession,
  tempFolder,
} from '../support/recorded-sessions.ts';
import { S3_KEYS, startS3Server } from '../support/s3-server.ts';
import { type Reply, startTestServer } from '../support/server.ts';

const folder = tempFolder();
const inside = join(folder, 'inside');
mkdirSync(inside);
const s3 = await startS3Server('recordings');
after(() => s3.close());
const server = await startTestServer(
  { after },
  {
    jobs: [],
    config: {
      storage_buckets: {
        local_folders: [inside],
        allow_loopback: true,
        allowed_networks: [],
        denied_networks: [],
      },
    },
  },
);
const project = await makeProject(server);
const { admin } = project;

const faults = (reply: Reply): Record<string, string> =>
  Object.fromEntries(
    ((reply.field('details.request_fields') ?? []) as { name: string; description: string }[]).map(
      ({ name, description }) => [name, description],
    ),
  );

const make = (plugin_name: string, body: object, scope_id = 'global'): Promise<Reply> =>
  admin.call('POST', `storage-buckets?plugin_name=${plugin_name}`, { scope_id, ...body });

const S3 = {
  bucket_name: 'recordings',
  bucket_prefix: 'team/a',
  attributes: { endpoint_url: s3.url, region: 'us-east-1', disable_credential_rotation: true },
  secrets: S3_KEYS,
};
const LOCAL = { attributes: { path: inside } };

test('a local bucket is a folder within those that the configuration names', async () => {
  const made = await make('local', LOCAL);
  assert.equal(made.status, 200, made.text);
  assert.match(made.textAt('id'), /^sb_/);
  assert.equal(made.field('type'), 'plugin');
  assert.equal(made.field('plugin.name'), 'local');
  assert.equal(made.field('attributes.path'), inside);
  assert.deepEqual(readdirSync(inside), [], 'nothing is left of the trial');
});

const paths: [path: string, told: RegExp][] = [
  [folder, /local_folders/],
  [`${inside}/../..`, /local_folders/],
  [`${inside}x`, /local_folders/],
  ['relative', /absolute/],
  [join(inside, 'none'), /ENOENT/],
];
for (const [path, told] of paths) {
  test(`a local bucket is refused: ${told.source}, ${path.replace(folder, '')}`, async () => {
    const refused = await make('local', { attributes: { path } });
    assert.equal(refused.status, 400, refused.text);
    assert.match(faults(refused)['attributes.path'] ?? '', told);
  });
}

test('a bucket on an S3 server shows no secrets, and tells some from others', async () => {
  const made = await make('minio', { ...S3, name: 'minio' });
  assert.equal(made.status, 200, made.text);
  assert.match(made.textAt('secrets_hmac'), /^[\w-]{43}$/);
  assert.equal(made.field('bucket_prefix'), 'team/a');
  assert.equal(made.field('attributes.endpoint_url'), s3.url);
  const id = made.textAt('id');
  const rows = await server.running.app.db
    .selectFrom('resource')
    .selectAll()
    .where('id', '=', id)
    .execute();
  for (const text of [
    made.text,
    JSON.stringify(rows),
    Buffer.from(rows[0]?.secret_sealed ?? []).toString('latin1'),
  ]) {
    assert.ok(!text.includes(S3_KEYS.secret_access_key));
  }
  const same = await admin.call('PATCH', `storage-buckets/${id}`, {
    version: 1,
    secrets: S3_KEYS,
  });
  assert.equal(same.status, 200, same.text);
  assert.equal(same.field('secrets_hmac'), made.field('secrets_hmac'));
  const through = await admin.call('PATCH', `storage-buckets/${id}`, {
    version: 2,
    worker_filter: '"a" in "/tags/type"',
  });
  assert.equal(through.status, 400, 'a filter is tried when it is set');
  assert.match(through.text, /this server has no listener for workers/);
  const wrong = await admin.call('PATCH', `storage-buckets/${id}`, {
    version: 2,
    secrets: { secret_access_key: 'wrong' },
  });
  assert.equal(wrong.status, 400);
  assert.match(wrong.text, /SignatureDoesNotMatch/);
  assert.equal((await admin.call('DELETE', `storage-buckets/${id}`)).status, 204);
});

type Case = [why: string, plugin: string, body: object, fields: string[]];
const refused: Case[] = [
  ['no such plugin', 'gcs', S3, ['plugin_name']],
  ['a local one with secrets', 'local', { ...LOCAL, secrets: S3_KEYS }, ['secrets']],
  ['a local one with a name', 'local', { ...LOCAL, bucket_name: 'abc' }, ['bucket_name']],
  ['a local one without a path', 'local', {}, ['attributes.path']],
  [
    'one of S3 with a path',
    'minio',
    { ...S3, attributes: { ...S3.attributes, path: inside } },
    ['attributes.path'],
  ],
  ['no name', 'minio', { ...S3, bucket_name: undefined }, ['bucket_name']],
  ['no server', 'minio', { ...S3, attributes: {} }, ['attributes.endpoint_url']],
  ['no region', 'aws', { ...S3, attributes: {} }, ['attributes.region']],
  [
    'no secrets',
    'minio',
    { ...S3, secrets: undefined },
    ['secrets.access_key_id', 'secrets.secret_access_key'],
  ],
  ['a name with a slash', 'minio', { ...S3, bucket_name: 'a/b' }, ['bucket_name']],
  ['a prefix that climbs', 'minio', { ...S3, bucket_prefix: 'a/../b' }, ['bucket_prefix']],
  ['a prefix from the root', 'local', { ...LOCAL, bucket_prefix: '/etc' }, ['bucket_prefix']],
  [
    'a URL with a password',
    'minio',
    { ...S3, attributes: { endpoint_url: 'http://a:b@c' } },
    ['attributes.endpoint_url'],
  ],
  [
    'a URL of another protocol',
    'minio',
    { ...S3, attributes: { endpoint_url: 'file:///etc' } },
    ['attributes.endpoint_url'],
  ],
  [
    'a secret with a line end',
    'minio',
    { ...S3, secrets: { ...S3_KEYS, access_key_id: 'a\nb' } },
    ['secrets.access_key_id'],
  ],
  ['a filter that is none', 'local', { ...LOCAL, worker_filter: 'a ==' }, ['worker_filter']],
  [
    'a folder and a worker',
    'local',
    { ...LOCAL, worker_filter: '"/name" == "a"' },
    ['worker_filter'],
  ],
];
for (const [why, plugin, body, fields] of refused) {
  test(`a storage bucket is refused: ${why}`, async () => {
    const reply = await make(plugin, body);
    assert.equal(reply.status, 400, reply.text);
    assert.deepEqual(Object.keys(faults(reply)), fields);
  });
}

test('a server that is not to be reached is told so', async () => {
  const reply = await make('minio', {
    ...S3,
    attributes: { endpoint_url: 'http://169.254.169.254' },
  });
  assert.equal(reply.status, 400);
  assert.match(reply.text, /not to be reached/);
});

test('a bucket that targets record in, or that holds recordings, stays', async () => {
  const id = (await make('local', LOCAL)).textAt('id');
  const target = await makeRecordedTarget(project, id);
  const inUse = await admin.call('DELETE', `storage-buckets/${id}`);
  assert.equal(inUse.status, 400);
  assert.match(inUse.text, /targets record/);
  const session = await startRecordedSession(server.running.app, project, target);
  await session.end();
  assert.equal((await admin.call('DELETE', `targets/${target}`)).status, 204);
  const holds = await admin.call('DELETE', `storage-buckets/${id}`);
  assert.equal(holds.status, 400);
  assert.match(holds.text, /holds recordings/);
  assert.equal(
    (await admin.call('DELETE', `session-recordings/${session.recording_id}`)).status,
    204,
  );
  assert.equal((await admin.call('DELETE', `storage-buckets/${id}`)).status, 204);
});

test('a target records in a bucket that there is, of its own org or the global scope', async () => {
  const other = await server.call('POST', 'scopes', { scope_id: 'global', name: 'other org' });
  const elsewhere = (await make('local', LOCAL, other.textAt('id'))).textAt('id');
  const own = (await make('local', LOCAL, project.org_id)).textAt('id');
  const target = (attributes: object, type = 'ssh') =>
    admin.call('POST', 'targets', {
      scope_id: project.id,
      type,
      name: `target ${Math.random()}`,
      address: '192.0.2.1',
      attributes,
    });
  const told: [attributes: object, field: string, because: RegExp, type?: string][] = [
    [{ enable_session_recording: true }, 'attributes.storage_bucket_id', /required/],
    [{ storage_bucket_id: 'sb_0000000000' }, 'attributes.storage_bucket_id', /no storage bucket/],
    [{ storage_bucket_id: project.id }, 'attributes.storage_bucket_id', /no storage bucket/],
    [{ storage_bucket_id: elsewhere }, 'attributes.storage_bucket_id', /another org/],
    [
      { enable_session_recording: true },
      'attributes.enable_session_recording',
      /Only .* ssh/,
      'rdp',
    ],
  ];
  for (const [attributes, field, because, type] of told) {
    const reply = await target(attributes, type);
    assert.equal(reply.status, 400, reply.text);
    assert.match(faults(reply)[field] ?? '', because);
  }
  const made = await target({ storage_bucket_id: own, enable_session_recording: true });
  assert.equal(made.status, 200, made.text);
  const id = made.textAt('id');
  const cleared = await admin.call('PATCH', `targets/${id}`, {
    version: 1,
    attributes: { storage_bucket_id: null },
  });
  assert.equal(cleared.status, 400);
  const without = await admin.call('POST', `targets/${id}:authorize-session`, {});
  assert.equal(without.status, 400);
  assert.match(without.text, /no injected application credentials/);
  const off = await admin.call('PATCH', `targets/${id}`, {
    version: 1,
    attributes: { enable_session_recording: false, storage_bucket_id: null },
  });
  assert.equal(off.status, 200, off.text);
  assert.equal((await admin.call('DELETE', `storage-buckets/${own}`)).status, 204);
});

test('a storage policy says how long, and nothing that contradicts itself', async () => {
  const policy = (attributes: object) =>
    admin.call('POST', 'policies', { scope_id: 'global', type: 'storage', attributes });
  for (const [attributes, field] of [
    [{}, 'attributes'],
    [{ retain_for: { days: -2 } }, 'attributes.retain_for.days'],
    [{ delete_after: { days: -1 } }, 'attributes.delete_after.days'],
    [{ retain_for: { days: -1 }, delete_after: { days: 3 } }, 'attributes.delete_after.days'],
    [{ retain_for: { days: 4 }, delete_after: { days: 3 } }, 'attributes.delete_after.days'],
  ] as const) {
    const reply = await policy(attributes);
    assert.equal(reply.status, 400, reply.text);
    assert.deepEqual(Object.keys(faults(reply)), [field]);
  }
  const made = await policy({ retain_for: { days: 3, overridable: false } });
  assert.equal(made.status, 200, made.text);
  assert.deepEqual(made.field('attributes'), { retain_for: { days: 3, overridable: false } });
  const changed = await admin.call('PATCH', `policies/${made.textAt('id')}`, {
    version: 1,
    attributes: { delete_after: { days: 9 }, retain_for: { days: 4 } },
  });
  assert.equal(changed.status, 200, changed.text);
  assert.deepEqual(changed.field('attributes'), {
    retain_for: { days: 4, overridable: false },
    delete_after: { days: 9, overridable: true },
  });
});

test('a storage policy shows what it speaks of, and what it speaks of no more it does not', async () => {
  const said: [sent: object, shown: object][] = [
    [{ delete_after: { days: 9 } }, { delete_after: { days: 9, overridable: true } }],
    [
      { retain_for: { days: 0 }, delete_after: { days: 9 } },
      { retain_for: { days: 0, overridable: true }, delete_after: { days: 9, overridable: true } },
    ],
    [
      { retain_for: { overridable: false }, delete_after: { days: 9 } },
      { retain_for: { days: 0, overridable: false }, delete_after: { days: 9, overridable: true } },
    ],
  ];
  for (const [attributes, shown] of said) {
    const body = { scope_id: 'global', type: 'storage', attributes };
    const made = await admin.call('POST', 'policies', body);
    assert.equal(made.status, 200, made.text);
    assert.deepEqual(made.field('attributes'), shown);
    const path = `policies/${made.textAt('id')}`;
    const silent = await admin.call('PATCH', path, {
      version: 1,
      attributes: { retain_for: null },
    });
    assert.deepEqual(silent.field('attributes'), {
      delete_after: { days: 9, overridable: true },
    });
  }
});

test('an org whose recordings must be retained is not removed', async () => {
  const org = (await server.call('POST', 'scopes', { scope_id: 'global', name: 'kept' })).textAt(
    'id',
  );
  const scope = (await server.call('POST', 'scopes', { scope_id: org, name: 'p' })).textAt('id');
  const bucket = (await make('local', LOCAL, org)).textAt('id');
  const target = await makeRecordedTarget({ ...project, id: scope }, bucket);
  const session = await startRecordedSession(server.running.app, project, target);
  const refused = await admin.call('DELETE', `scopes/${org}`);
  assert.equal(refused.status, 400);
  assert.match(refused.text, /must be retained/);
  await session.end();
  const gone = await admin.call('DELETE', `scopes/${org}`);
  assert.equal(gone.status, 204, gone.text);
});
