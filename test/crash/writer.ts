// A process to be killed: it commits in a loop from several writers and prints each set's
// number once it was told that the set is durable. Its argument is the store's options.

import { writeSync } from 'node:fs';
import { preparedWrite } from '../../src/store/database.ts';
import { openStore, type StoreOptions } from '../../src/store/store.ts';

const WRITERS = 16;

const insertRow = preparedWrite(
  (build, p: { name: string; holder: string }) =>
    build
      .insertInto('job_lease')
      .values({ name: p.name, holder: p.holder, expires_at_ms: 0, fence: 1 }),
  { rows: 1 },
);

const { round, ...options }: StoreOptions & { round: number } = JSON.parse(process.argv[2] ?? '');
const quiet = () => {};
const store = await openStore({ ...options, log: { info: quiet, warn: quiet, error: quiet } });

async function commitForEver(writer: number): Promise<never> {
  for (let i = 0; ; i += 1) {
    const name = `${round}-${writer}-${i}`;
    // Beside sets that are refused the others of their batch are written in another way.
    if (writer === 0 && i % 8 < 4) {
      const twice = insertRow({ name: `${name} refused`, holder: '' });
      store.commit([twice, { audit: name }, twice]).catch(() => {});
    }
    try {
      // Two rows and a record: all of them are there afterwards, or none.
      await store.commit([
        insertRow({ name, holder: 'first' }),
        { audit: name },
        insertRow({ name: `${name} too`, holder: 'x'.repeat(i % 500) }),
      ]);
      writeSync(1, `${name}\n`);
    } catch {
      // The database is down for the moment: what was not confirmed is not printed.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

await Promise.all(Array.from({ length: WRITERS }, (_, writer) => commitForEver(writer)));
