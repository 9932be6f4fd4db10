import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { refusedFields, startBroker } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';

// Texts that are made to take long to read, one request each, by somebody who may do it. What a
// request takes is counted in the processor time of the thread that serves everybody.

const broker = await startBroker({ after });
const { admin, project } = broker;

const store = await broker.make('credential-stores', { scope_id: project, type: 'static' });
const target = 'ttcp_1234567890';
for (let at = 0; at < 60; at++) {
  const attributes = { default_port: 22 };
  await broker.make('targets', { scope_id: project, type: 'tcp', name: `many-${at}`, attributes });
}

const MOST_MS = 500;

async function timed(send: () => Promise<Reply>): Promise<Reply> {
  const started = process.threadCpuUsage();
  const answer = await send();
  const { user, system } = process.threadCpuUsage(started);
  assert.ok((user + system) / 1000 < MOST_MS, `${(user + system) / 1000} ms: ${answer.status}`);
  return answer;
}

const nested = (inner: string): string =>
  `any item as a { any item as b { any item as c { ${inner} } } }`;
const many = (count: number, part: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => part(at)).join(' or ');

const filters: [why: string, filter: string][] = [
  [
    'patterns that become large',
    many(7, () => `"/item/name" matches "(${'a'.repeat(1300)}){1000}"`),
  ],
  ['many rounds with small patterns', nested(many(40, (at) => `c matches "x${at}y"`))],
  ['many rounds with comparisons', nested(many(280, (at) => `c == v${at}`))],
  ['as long a filter as a path may have', 'a+'.repeat(3_900)],
];

for (const [why, filter] of filters) {
  test(`a list with a filter that costs much is refused by its field: ${why}`, async () => {
    const path = `targets?scope_id=${project}&filter=${encodeURIComponent(filter)}`;
    const answer = await timed(() => admin('GET', path));
    assert.equal(answer.status, 400, answer.text);
    assert.deepEqual(Object.keys(refusedFields(answer)), ['filter']);
  });
}

test('a filter that costs little is answered, also with rounds and patterns', async () => {
  const filter = nested('a == "name" and item.name matches "^many-[0-9]+$"');
  const path = `targets?scope_id=${project}&filter=${encodeURIComponent(filter)}`;
  const answer = await timed(() => admin('GET', path));
  assert.equal((answer.field('items') as unknown[]).length, 60);
});

test('filters of a target are refused by their field', async () => {
  const filter = `"/name" matches "(${'a'.repeat(900)}){900}"`;
  const version = (await admin('GET', `targets/${target}`)).field('version');
  for (const field of ['worker_filter', 'egress_worker_filter']) {
    const answer = await timed(() =>
      admin('PATCH', `targets/${target}`, { version, [field]: filter }),
    );
    assert.deepEqual(Object.keys(refusedFields(answer)), [field]);
  }
});

test('a library of a store that has none is refused in no time', async () => {
  for (const attributes of [
    { role: 'r', common_name: 'x', ttl: `${'1'.repeat(40)}!` },
    { path: `{{coalesce${'``'.repeat(400_000)}}}` },
    { path: `{{${'('.repeat(500_000)}` },
  ]) {
    for (const credential_store_id of [store, 'csca_1234567890', 'csvlt_1234567890']) {
      const send = (call: typeof admin) =>
        timed(() => call('POST', 'credential-libraries', { credential_store_id, attributes }));
      assert.ok([400, 404].includes((await send(admin)).status));
      assert.ok([400, 401, 403, 404].includes((await send(broker.nobody)).status));
    }
  }
});
