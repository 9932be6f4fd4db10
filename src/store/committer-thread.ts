import { parentPort, workerData } from 'node:worker_threads';
import { Failure } from '../core/failure.ts';
import type { BatchWriter, CommitterOptions, FromCommitter, ToCommitter } from './batch.ts';
import { SqliteWriter } from './sqlite-writer.ts';

// The entry of the thread that writes. It waits for the disk or the network, so that the
// thread that answers requests never does.

const options: CommitterOptions = workerData;

function send(message: FromCommitter): void {
  parentPort?.postMessage(message);
}

async function openWriter(): Promise<BatchWriter | undefined> {
  try {
    if (options.engine === 'sqlite') return new SqliteWriter(options.file, options.node);
    throw new Failure('unavailable', 'PostgreSQL is not there yet');
  } catch (error) {
    send({ type: 'refused', message: error instanceof Error ? error.message : String(error) });
    return undefined;
  }
}

const writer = await openWriter();

if (writer !== undefined) {
  parentPort?.on('message', async (message: ToCommitter) => {
    if (message.type === 'batch') {
      send({ type: 'done', result: await writer.run(message.batch) });
      return;
    }
    await writer.close();
    parentPort?.close();
  });
  send({ type: 'ready', engine: options.engine });
}
