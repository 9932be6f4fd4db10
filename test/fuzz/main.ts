/**
 * Fuzzing by hand: `node test/fuzz/main.ts [--seconds N] [--seed N] [TARGET…]`. Without --seconds,
 * 200,000 inputs a target. A finding is printed as base64, and the exit code is 1.
 */

import { parseArgs } from 'node:util';
import { type FuzzResult, fuzz } from './run.ts';
import { fuzzTargets } from './targets.ts';

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: { seconds: { type: 'string' }, seed: { type: 'string', default: '1' } },
    allowPositionals: true,
  });
  const chosen = fuzzTargets.filter(
    ({ name }) => positionals.length === 0 || positionals.includes(name),
  );
  const seconds = values.seconds === undefined ? undefined : Number(values.seconds);
  let findings = 0;
  for (const target of chosen) {
    const result = await fuzz(target, {
      iterations: seconds === undefined ? 200_000 : Number.POSITIVE_INFINITY,
      milliseconds:
        seconds === undefined ? Number.POSITIVE_INFINITY : (seconds * 1000) / chosen.length,
      seed: Number(values.seed),
    });
    report(result);
    if (result.finding) findings++;
  }
  return chosen.length > 0 && findings === 0 ? 0 : 1;
}

function report({ name, iterations, accepted, refusals, slowest, finding }: FuzzResult): void {
  const counts = `${iterations} inputs, ${accepted} read, ${refusals} kinds of refusal`;
  console.log(`${name}: ${counts}, slowest ${slowest.toFixed(1)} ms`);
  if (finding) {
    console.log(`  FINDING ${finding.because}`);
    console.log(`  ${Buffer.from(finding.input).toString('base64')}`);
  }
}

process.exitCode = await main();
