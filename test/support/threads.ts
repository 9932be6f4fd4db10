import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Running } from '../../src/start/server.ts';

/** How many threads answer in the servers of tests that say nothing of it: any suite can be run with several. */
export const TEST_THREADS = Number(process.env.GATEHOUSE_TEST_THREADS ?? 1);

const told = new Set<string>();

/**
 * Has a server answer on one thread also where the run asks for several, which then tells of it in the end.
 *
 * @param why what of the test is on one thread alone
 */
export function onOneThread(why: string): 1 {
  const list = process.env.GATEHOUSE_TEST_ON_ONE;
  if (TEST_THREADS > 1 && list && !told.has(why)) {
    told.add(why);
    appendFileSync(list, `${relative('.', process.argv[1] ?? '')}\t${why}\n`);
  }
  return 1;
}

/** Has all threads of a server write the audit records that wait for more of them. */
export async function writeRecords({ app, threads }: Running): Promise<void> {
  await threads?.writeRecords();
  await app.audit.close();
}
