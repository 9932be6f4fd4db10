import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newDirectory } from '../support/node-process.ts';
import { S3_KEYS, startS3Server } from '../support/s3-server.ts';
import { addWorker, startCarryingServer } from '../support/workers-alone.ts';

const INNER = '"inner" in "/tags/type"';

test('an S3 server that this one may not ask is asked through a worker', async (t) => {
  const folder = newDirectory(t);
  const server = await startCarryingServer(t, { local_buckets: folder });
  const s3 = await startS3Server('recordings');
  t.after(() => s3.close());
  const inner = { name: 'inside', listener: null, tags: { type: ['inner'] } };
  const { worker } = await addWorker(t, server, inner);
  const call = server.project.admin.call;
  const make = (fields: object, plugin = 'minio') =>
    call('POST', `storage-buckets?plugin_name=${plugin}`, {
      scope_id: 'global',
      bucket_name: 'recordings',
      secrets: S3_KEYS,
      attributes: { endpoint_url: s3.url },
      ...fields,
    });

  const direct = await make({});
  assert.equal(direct.status, 400, 'it is at an address that servers do not ask');
  const made = await make({ worker_filter: INNER });
  assert.equal(made.status, 200, made.text);
  assert.equal(made.field('worker_filter'), INNER);
  assert.equal(s3.objects.size, 0, 'nothing is left of the trial');

  for (const [fields, told] of [
    [{ worker_filter: INNER, secrets: { ...S3_KEYS, secret_access_key: 'x' } }, /SignatureDoesNot/],
    [{ worker_filter: '"none" in "/tags/type"' }, /no worker that the filter admits/],
    // The server's own worker asks as the server does.
    [{ worker_filter: '"embedded" in "/tags/type"' }, /not to be reached/],
    [
      { worker_filter: INNER, attributes: { endpoint_url: 'http://169.254.169.254' } },
      /not to be reached/,
    ],
  ] as const) {
    const refused = await make(fields);
    assert.equal(refused.status, 400, refused.text);
    assert.match(refused.text, told);
  }

  const local = { scope_id: 'global', attributes: { path: folder } };
  const kept = await call('POST', 'storage-buckets?plugin_name=local', local);
  assert.equal(kept.status, 200, kept.text);
  const changed = await call('PATCH', `storage-buckets/${kept.textAt('id')}`, {
    version: 1,
    worker_filter: INNER,
  });
  assert.equal(changed.status, 400);
  assert.match(changed.text, /"worker_filter"/);

  await worker.kill();
  const late = await call('PATCH', `storage-buckets/${made.textAt('id')}`, {
    version: 1,
    secrets: S3_KEYS,
  });
  assert.equal(late.status, 400, late.text);
});
