/** What a load balancer asks two nodes over one database, while that is there and while it is away. */

import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { postgresPlace } from '../support/engines.ts';
import {
  inReverse,
  type NodeProcess,
  newDirectory,
  settingsOf,
  startNodeProcess,
} from '../support/node-process.ts';
import { startPostgres } from '../support/postgres.ts';

const skip =
  process.env.GATEHOUSE_TEST_POSTGRES === undefined &&
  'needs PostgreSQL: set GATEHOUSE_TEST_POSTGRES (test/support/postgres.ts)';

/** What each node answers to both health checks; their answers are the same in kind. */
async function statuses(nodes: readonly NodeProcess[]): Promise<number[]> {
  return Promise.all(
    nodes.map(async (node) => {
      const [plain, full] = await Promise.all([
        fetch(`${node.url}/health`),
        node.as('')('GET', 'sys/health'),
      ]);
      assert.equal(await plain.text(), '{}');
      assert.equal(plain.status === 200, full.status === 200, `${plain.status}, ${full.status}`);
      assert.ok(plain.status === 200 || plain.status === 503);
      return plain.status;
    }),
  );
}

async function until(nodes: readonly NodeProcess[], wanted: readonly number[]): Promise<void> {
  const deadline = performance.now() + 30_000;
  // The two checks may be asked on either side of a change.
  const now = () => statuses(nodes).catch(() => []);
  while (String(await now()) !== String(wanted)) {
    assert.ok(performance.now() < deadline, `never ${wanted}`);
    await delay(50);
  }
}

test('GET /health says 503 whenever sys/health says that a node is not well', {
  skip,
}, async (t) => {
  const scope = inReverse(t);
  // A server of its own, which can be stopped.
  const postgres = await startPostgres(mkdtempSync(join(tmpdir(), 'gatehouse-postgres-')));
  scope.after(() => postgres.stop());
  const place = await postgresPlace(postgres.url);
  const directory = newDirectory(scope);
  const nodes = await Promise.all(
    ['a', 'b'].map((name) =>
      startNodeProcess(scope, { ...settingsOf(place, directory, name), seal: { type: 'shamir' } }),
    ),
  );
  const [a, b] = nodes;
  assert.ok(a && b);
  assert.deepEqual(await statuses(nodes), [503, 503], 'not initialised');

  const made = await a.as('')('PUT', 'sys/init', { secret_shares: 1, secret_threshold: 1 });
  const key = made.textAt('keys.0');
  assert.deepEqual(await statuses(nodes), [503, 503], 'sealed');
  await a.as('')('PUT', 'sys/unseal', { key });
  assert.deepEqual(await statuses(nodes), [200, 503], 'one is unsealed');
  await b.as('')('PUT', 'sys/unseal', { key });
  assert.deepEqual(await statuses(nodes), [200, 200]);

  await postgres.crash();
  await until(nodes, [503, 503]);
  assert.deepEqual(await statuses(nodes), [503, 503], 'the database is away');
  await postgres.restart();
  await until(nodes, [200, 200]);

  await a.as(made.textAt('root_token'))('PUT', 'sys/seal');
  assert.deepEqual(await statuses(nodes), [503, 200], 'one is sealed');
});
