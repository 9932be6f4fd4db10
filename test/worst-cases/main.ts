/**
 * Worst cases for every declared field: `node test/worst-cases/main.ts [--seconds N] [--only TEXT]`.
 * Without --seconds every case; findings are printed, and the exit code is 1.
 */

import { parseArgs } from 'node:util';
import { tryCases } from './run.ts';

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string' },
      only: { type: 'string' },
      each: { type: 'string' },
      by: { type: 'string' },
    },
  });
  const result = await tryCases({
    milliseconds: Number(values.seconds ?? Number.POSITIVE_INFINITY) * 1000,
    each: values.each === undefined ? undefined : Number(values.each),
    only: values.only,
    by: values.by,
    onFinding: (finding) => console.log(`FINDING ${finding}`),
  });
  console.log(
    `${result.tried} requests for ${result.fields} fields of ${result.endpoints} endpoints`,
  );
  const statuses = [...result.statuses].sort(([a], [b]) => a - b);
  console.log(statuses.map(([status, count]) => `${status}: ${count}`).join(', '));
  console.log(`longest pause ${result.longest.toFixed(0)} ms: ${result.longestOf}`);
  return result.findings.length === 0 ? 0 : 1;
}

process.exitCode = await main();
