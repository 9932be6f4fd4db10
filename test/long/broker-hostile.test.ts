import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { brokerRoutes } from '../../src/broker/routes.ts';
import { startBroker } from '../support/seeded-broker.ts';

const broker = await startBroker({ after });

const VALUES: readonly unknown[] = [
  null, '', 'x', '\u0000', '\ud800', -1, 0, 1.5, 1e308, '99999999999999999999', true, [], [null], [[]],
  {}, { x: {} }, { __proto__: 1 }, 'o_1234567890', 'p_1234567890', 'u_anon', 'ids=*;type=*;actions=*',
  'x'.repeat(70_000),
]; // biome-ignore format: one table

const IDS = [
  'x',
  'p_1234567890',
  'ttcp_',
  'global',
  'u_anon',
  '%27--',
  'a%2Fb',
  'ttcp_1234567890',
  '*',
];

const STEP = Math.ceil(IDS.length / 2);

const QUERIES = [
  'scope_id=global&recursive=true&filter=%22',
  'scope_id=%00&list_token=%ff',
  'scope_id=p_1234567890&page_size=1&list_token=eyJ9.x',
  'update_mask=,,a.b.c&scope_id=x&scope_id=y',
];

for (const route of brokerRoutes) {
  test(`${route.method} ${route.path} answers whatever it is sent, never with 500`, async () => {
    const sendsBody = route.method === 'POST' || route.method === 'PATCH';
    const fields = Object.keys(route.input.shape);
    for (const [turn, id] of IDS.entries()) {
      // Nothing that is really there is to be taken away from the requests that follow.
      if (route.method === 'DELETE' && !/^(x|ttcp_|\*|%27--|a%2Fb)$/.test(id)) continue;
      const path = `${route.path.slice('/v1/'.length).replace(/\{\w+\}/, id)}?${QUERIES[turn % QUERIES.length]}`;
      // Every value with two of the ids: all pairs would take as long as all other tests of the API.
      const values = VALUES.filter((_, at) => at % STEP === turn % STEP);
      const bodies: unknown[] = sendsBody
        ? values.map((value, at) => ({
            version: 1,
            attributes: { x: value, [fields[at % fields.length] ?? 'y']: value },
            [fields[(at + turn) % Math.max(1, fields.length)] ?? 'z']: value,
          }))
        : [undefined];
      for (const body of bodies) {
        const answer = await broker.admin(route.method, path, body);
        const text = `${path.slice(0, 80)} ${JSON.stringify(body)?.slice(0, 200)}: ${answer.text}`;
        assert.notEqual(answer.status, 500, text);
      }
    }
  });
}

test('a body that is no JSON object is refused', async () => {
  for (const text of ['{', '[]', '"x"', '1', '\u0000', '{"a":1,"a":2', '{"version":1e999}']) {
    const answer = await broker.admin('POST', 'targets', Buffer.from(text));
    assert.equal(answer.status, 400, text);
  }
});
