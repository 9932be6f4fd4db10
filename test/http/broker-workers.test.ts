import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import { insertActiveUser } from '../../src/broker/billing/store.ts';
import { formatWorkerToken } from '../../src/broker/workers/proof.ts';
import {
  listEligibleWorkers,
  requireWorkers,
} from '../../src/broker/workers/selection.operations.ts';
import { readWorkers } from '../../src/broker/workers/worker-cache.operations.ts';
import { Failure } from '../../src/core/failure.ts';
import { copyRow, numbered } from '../support/many-rows.ts';
import { type Client, type Reply, startTestServer } from '../support/server.ts';

let client: Client;
const server = startTestServer({ after });

async function call(method: string, path: string, body?: unknown, token?: string): Promise<Reply> {
  client ??= await server;
  return client.call(method, path, body, token === undefined ? {} : { token });
}

const faults = (reply: Reply): Record<string, string> =>
  Object.fromEntries(
    ((reply.field('details.request_fields') ?? []) as { name: string; description: string }[]).map(
      ({ name, description }) => [name, description],
    ),
  );

async function ownWorker(): Promise<Reply> {
  const list = await call('GET', 'workers?scope_id=global&filter="/item/name"=="local"');
  return call('GET', `workers/${list.textAt('items.0.id')}`);
}

test('a server has a worker of its own, listed without pages', async () => {
  const list = await call('GET', 'workers?scope_id=global');
  assert.equal(list.status, 200, list.text);
  assert.deepEqual(Object.keys(JSON.parse(list.text)), ['items']);
  const item = JSON.parse(list.text).items[0];
  assert.match(item.id, /^w_[A-Za-z0-9]{10}$/);
  assert.equal(item.type, 'pki');
  assert.match(item.address, /^127\.0\.0\.1:[1-9]\d*$/);
  assert.equal(item.active_connection_count, 0);
  assert.equal(item.local_storage_state, 'unknown');
  assert.deepEqual(item.canonical_tags, { type: ['dev', 'local'] });
  assert.ok(Date.parse(item.last_status_time) > Date.now() - 15_000);
  for (const scope of ['', '?scope_id=o_1234567890', '?scope_id=p_1234567890&recursive=true']) {
    const refused = await call('GET', `workers${scope}`);
    assert.equal(refused.status, 400);
    assert.deepEqual(faults(refused), { scope_id: "Must be 'global' when listing." });
  }
});

test('sessions are given to workers that are alive, by name and tags', async () => {
  const { app } = (await server).running;
  const [worker, ...others] = await listEligibleWorkers(app);
  assert.equal(worker?.name, 'local');
  assert.deepEqual(others, []);
  const filters = (worker_filter: string) => ({ worker_filter, ingress_worker_filter: '' });
  const admitted = await requireWorkers(app, filters('"dev" in "/tags/type"'));
  assert.equal(admitted.workers.length, 1);
  assert.equal(admitted.ingress_worker_filter, '');
  for (const [filter, kind] of [
    ['"prod" in "/tags/type"', 'unresolved'],
    ['"/tags" == "x"', 'precondition'],
  ] as const) {
    await assert.rejects(
      requireWorkers(app, filters(filter)),
      (error) => error instanceof Failure && error.kind === kind,
    );
  }
});

test('tags are added, replaced and removed, each in a version of its own', async () => {
  const made = await call('POST', 'workers:create:controller-led', {
    scope_id: 'global',
    name: 'edge-1',
  });
  assert.equal(made.status, 200, made.text);
  const id = made.textAt('id');
  const verb = (name: string, version: number, api_tags: unknown): Promise<Reply> =>
    call('POST', `workers/${id}:${name}-worker-tags`, { version, api_tags });
  const added = await verb('add', 1, { type: ['prod', 'db'] });
  assert.equal(added.status, 200, added.text);
  assert.deepEqual(added.field('api_tags'), { type: ['db', 'prod'] });
  assert.deepEqual(added.field('canonical_tags'), { type: ['db', 'prod'] });
  assert.equal(added.field('version'), 2);
  assert.equal((await verb('add', 1, { a: ['b'] })).status, 404, 'an earlier version');
  assert.deepEqual((await verb('set', 2, { region: ['eu'] })).field('api_tags'), {
    region: ['eu'],
  });
  const removed = await verb('remove', 3, { region: ['eu'] });
  assert.equal(removed.field('api_tags'), undefined);
  assert.deepEqual(faults(await verb('add', 4, {})), { api_tags: 'Must be non-empty.' });
  assert.deepEqual(faults(await verb('set', 0, {})), { version: 'Required field.' });
});

test('tags of a worker are bounded together, whatever a request adds', async () => {
  const made = await call('POST', 'workers:create:controller-led', { scope_id: 'global' });
  const verb = (name: string, version: number, api_tags: unknown): Promise<Reply> =>
    call('POST', `workers/${made.textAt('id')}:${name}-worker-tags`, { version, api_tags });
  const some = (key: string, count: number): Record<string, string[]> => ({
    [key]: Array.from({ length: count }, (_, at) => `${at}`.padEnd(500, 'x')),
  });
  assert.equal((await verb('set', 1, some('a', 16))).status, 200);
  assert.equal((await verb('add', 2, some('b', 15))).status, 200);
  for (const reply of [await verb('add', 3, some('c', 3)), await verb('set', 3, some('d', 34))]) {
    assert.equal(reply.status, 400);
    assert.match(faults(reply).api_tags ?? '', /at most 16384 characters/);
  }
  assert.equal((await verb('remove', 3, some('c', 3))).status, 200);
  assert.equal((await call('DELETE', `workers/${made.textAt('id')}`)).status, 204);
});

test('workers that are expected are in no memory, and a list of too many says so', async () => {
  const { app } = (await server).running;
  const made = await call('POST', 'workers:create:controller-led', { scope_id: 'global' });
  const id = made.textAt('id');
  const tags = { a: Array.from({ length: 30 }, (_, at) => `${at}`.padEnd(512, 'x')) };
  const tagged = await call('POST', `workers/${id}:set-worker-tags`, {
    version: 1,
    api_tags: tags,
  });
  assert.equal(tagged.status, 200, tagged.text);
  const copy = (copies: number, first: number): Promise<void> =>
    copyRow(app.store, 'resource', {
      of: { id },
      changes: { id: sql`'w_' || ${numbered('id')} || ${sql.lit(first)}` },
      copies,
    });
  await copy(200, 1);
  const list = await call('GET', 'workers?scope_id=global');
  assert.equal(list.status, 200, list.text.slice(0, 300));
  assert.ok(JSON.parse(list.text).items.length > 200);
  await copy(200, 2);
  const refused = await call('GET', 'workers?scope_id=global');
  assert.equal(refused.status, 400, refused.text.slice(0, 300));
  assert.match(faults(refused).filter ?? '', /come to more than/);
  const own = await ownWorker();
  assert.equal(own.status, 200);
  assert.deepEqual(
    (await readWorkers(app)).map((worker) => worker.id),
    [own.textAt('id')],
  );
});

test('what people say of a worker can be changed, what it reports cannot', async () => {
  const made = await call('POST', 'workers:create:controller-led', { scope_id: 'global' });
  const path = `workers/${made.textAt('id')}`;
  const changed = await call('PATCH', path, { version: 1, name: 'edge-2', description: 'd' });
  assert.equal(changed.status, 200, changed.text);
  assert.equal(changed.textAt('name'), 'edge-2');
  assert.equal(changed.field('version'), 2);
  for (const [body, field] of [
    [{ name: 'Edge' }, 'name'],
    [{ address: '1.2.3.4' }, 'address'],
    [{ canonical_tags: {} }, 'canonical_tags'],
  ] as const) {
    const refused = await call('PATCH', path, { version: 2, ...body });
    assert.equal(refused.status, 400, refused.text);
    assert.deepEqual(Object.keys(faults(refused)), [field]);
  }
  assert.equal((await call('PATCH', path, { version: 2 })).status, 400, 'nothing to change');
  assert.equal((await call('DELETE', path)).status, 204);
  assert.equal((await call('GET', path)).status, 404);
});

test('a worker of a running server cannot be deleted', async () => {
  const own = await ownWorker();
  const refused = await call('DELETE', `workers/${own.textAt('id')}`);
  assert.equal(refused.status, 400);
  assert.deepEqual(Object.keys(faults(refused)), ['id']);
});

test('the token of a worker that is expected is shown once', async () => {
  const made = await call('POST', 'workers:create:controller-led', {
    scope_id: 'global',
    name: 'edge-3',
  });
  assert.match(made.textAt('controller_generated_activation_token'), /^neslat_[1-9A-Za-z]{80,}$/);
  const read = await call('GET', `workers/${made.textAt('id')}`);
  assert.equal(read.field('controller_generated_activation_token'), undefined);
  const { app } = (await server).running;
  const ids = (await listEligibleWorkers(app)).map((worker) => worker.id);
  assert.ok(!ids.includes(made.textAt('id')), 'one that never came is given no session');
});

test('bad new workers are refused, field by field', async () => {
  for (const [flow, body, fields] of [
    ['controller-led', {}, ['scope_id']],
    ['controller-led', { scope_id: 'o_1234567890' }, ['scope_id']],
    ['controller-led', { scope_id: 'global', name: 'Upper' }, ['name']],
    ['controller-led', { scope_id: 'global', id: 'w_1', version: 1 }, ['id', 'version']],
    [
      'controller-led',
      { scope_id: 'global', worker_generated_auth_token: 'x' },
      ['worker_generated_auth_token'],
    ],
    ['worker-led', { scope_id: 'global' }, ['worker_generated_auth_token']],
    [
      'worker-led',
      { scope_id: 'global', worker_generated_auth_token: '0OIl' },
      ['worker_generated_auth_token'],
    ],
    [
      'worker-led',
      { scope_id: 'global', worker_generated_auth_token: 'GzusqckarbczHoLGQ4UA25uSR' },
      ['worker_generated_auth_token'],
    ],
  ] as const) {
    const refused = await call('POST', `workers:create:${flow}`, body);
    assert.equal(refused.status, 400, refused.text);
    assert.deepEqual(Object.keys(faults(refused)), fields);
  }
});

test('a worker that has made its own token is created with that, which is not shown again', async () => {
  const token = formatWorkerToken({ public_key: randomBytes(32), secret: randomBytes(32) });
  const made = await call('POST', 'workers:create:worker-led', {
    scope_id: 'global',
    worker_generated_auth_token: token,
  });
  assert.equal(made.status, 200, made.text);
  assert.ok(!made.text.includes(token));
  assert.equal(made.field('controller_generated_activation_token'), undefined);
  const twice = await call('POST', 'workers:create:worker-led', {
    scope_id: 'global',
    worker_generated_auth_token: token,
  });
  assert.equal(twice.status, 400, twice.text);
});

test('the roots of workers stay until they are replaced', async () => {
  const read = async (): Promise<string[]> => {
    const answer = await call('GET', 'workers:read-certificate-authority?scope_id=global');
    assert.equal(answer.status, 200, answer.text);
    const certs = answer.field('certs') as { id: string; public_key_sha256: string }[];
    assert.deepEqual(
      certs.map(({ id }) => id),
      ['current', 'next'],
    );
    for (const cert of certs) assert.match(cert.public_key_sha256, /^[0-9a-f]{64}$/);
    return certs.map((cert) => cert.public_key_sha256);
  };
  const first = await read();
  assert.equal(new Set(first).size, 2);
  assert.deepEqual(await read(), first);
  const renewed = await call('POST', 'workers:reinitialize-certificate-authority', {
    scope_id: 'global',
  });
  assert.equal(renewed.status, 200, renewed.text);
  const second = await read();
  assert.ok(second.every((hash) => !first.includes(hash)));
  const refused = await call('GET', 'workers:read-certificate-authority');
  assert.deepEqual(faults(refused), { scope_id: "Must be 'global' when reading." });
});

test('active users are counted by month, each once', async () => {
  const { app } = (await server).running;
  const now = Date.now();
  for (const user of ['u_1', 'u_2', 'u_1']) await app.store.commit([insertActiveUser(user, now)]);
  const answer = await call('GET', 'billing:monthly-active-users');
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(Object.keys(JSON.parse(answer.text)), ['items']);
  assert.equal(answer.field('items.0.count'), 2);
  assert.match(answer.textAt('items.1.start_time'), /^\d{4}-\d\d-01T00:00:00/);
  assert.equal(answer.textAt('items.0.start_time'), answer.textAt('items.1.end_time'));
  for (const query of ['end_time=2026-01', 'start_time=2026-02&end_time=2026-01', 'start_time=x']) {
    assert.equal((await call('GET', `billing:monthly-active-users?${query}`)).status, 400, query);
  }
});

test('without the grant there is neither a worker nor a count to see', async () => {
  for (const [method, path, body] of [
    ['GET', 'workers?scope_id=global', undefined],
    ['GET', 'workers:read-certificate-authority?scope_id=global', undefined],
    ['POST', 'workers:create:controller-led', { scope_id: 'global' }],
    ['GET', 'billing:monthly-active-users', undefined],
  ] as const) {
    assert.equal((await call(method, path, body, '')).status, 401, path);
  }
});

test('what this server has not is said to be so, whatever is sent', async () => {
  for (const [method, path, body] of [
    ['GET', 'session-recordings/cr_1234567890:export', undefined],
    ['GET', 'session-recordings:list-exports?scope_id=global', undefined],
    ['POST', 'scopes/p_1234567890:set-alias-suffix', { alias_suffix: 'x', version: 1 }],
    ['GET', 'scopes/global:list-keys', undefined],
    ['POST', 'scopes:rotate-keys', { scope_id: 'global' }],
  ] as const) {
    const answer = await call(method, path, body);
    assert.equal(answer.status, 405, `${method} ${path}: ${answer.text}`);
    assert.equal(answer.textAt('kind'), 'Unimplemented');
    assert.notEqual(answer.textAt('message'), '');
  }
});
