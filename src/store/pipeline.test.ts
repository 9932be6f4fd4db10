import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Client } from 'pg';
import { connectTo, eachPlace } from '../../test/support/engines.ts';
import { Pipeline, type PipelineResult, PreparedNames, type Step } from './pipeline.ts';

const step = (sql: string): Step => ({ sql, parameters: [] });

/** What a connection has prepared, and how its groups of steps went. */
function over(client: Client) {
  const names = new PreparedNames();
  const run = async (...groups: (readonly string[])[]): Promise<PipelineResult[]> => {
    const steps = groups.map((group) => group.map(step));
    const pipeline = new Pipeline(client, steps, { names, mayGoOn: () => true });
    client.query(pipeline);
    return pipeline.results;
  };
  /** But for this question. */
  const countPrepared = async (): Promise<number> => {
    const [counted] = await run(['select count(*) from pg_prepared_statements']);
    return Number(counted?.done[0]?.value) - 1;
  };
  return { run, countPrepared };
}

const FAILING: [what: string, sql: (at: number) => string][] = [
  ['fails as it is run', (at) => `select 1 / 0 as n${at}`],
  ['cannot be prepared', (at) => `select * from not_there_${at}`],
];

eachPlace('prepared statements', (open, engine) => {
  if (engine !== 'postgres') return;

  for (const [what, sql] of FAILING) {
    test(`one that ${what} is not left on the server, however often it is sent`, async () => {
      const client = await connectTo(await open());
      const { run, countPrepared } = over(client);
      await countPrepared();
      for (let again = 0; again < 20; again++) {
        const [failed, next] = await run(['select 2', sql(0), 'select 3'], ['select 4']);
        assert.ok(failed?.error && !next?.error);
      }
      for (let at = 1; at < 20; at++) await run([sql(at)]);
      // Two of those before it, one of those behind it, and never itself.
      assert.equal(await countPrepared(), 2);
      await client.end();
    });
  }

  test('no more than are kept are left on the server where those fail that others give way to', async () => {
    const client = await connectTo(await open());
    const { run, countPrepared } = over(client);
    await run(Array.from({ length: 520 }, (_, at) => `select ${at}`));
    for (let at = 0; at < 50; at++) {
      const [failed] = await run(['select 1 / 0', `select 1000 + ${at}`, `select 2000 + ${at}`]);
      assert.ok(failed?.error);
    }
    assert.ok((await countPrepared()) <= 500);
    await client.end();
  });
});
