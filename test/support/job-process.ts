// A node with one job of its own, in a process to be killed: every page of work commits a
// record and prints its fence, or that the job is another node's by now. Its arguments are the
// configuration as JSON and how long a page takes, in milliseconds.

import { writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parseConfig } from '../../src/config/config.ts';
import { startJobs } from '../../src/start/jobs.ts';
import { startServer } from '../../src/start/server.ts';
import { findHolder } from '../../src/store/job-lock.ts';

const { app } = await startServer(parseConfig(process.argv[2] ?? ''));

startJobs(app, [
  {
    name: 'test/pages',
    every_ms: 100,
    run: async (_app, turn) => {
      while (!turn.stopping) {
        await turn.commit([]);
        const held = await findHolder(app.db, 'test/pages');
        writeSync(1, `${JSON.stringify({ at_ms: Date.now(), fence: held?.fence })}\n`);
        await delay(20);
      }
    },
  },
]);
