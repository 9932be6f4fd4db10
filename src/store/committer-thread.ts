import { parentPort, workerData } from 'node:worker_threads';
import type { BatchWriter, CommitterOptions, FromCommitter, ToCommitter } from './batch.ts';
import { BatchUnpacker } from './packing.ts';

// The entry of the thread that writes. It waits for the disk or the network, so that the
// thread that answers requests never does.

const options: CommitterOptions = workerData;

function send(message: FromCommitter): void {
  parentPort?.postMessage(message);
}

async function openWriter(): Promise<BatchWriter | undefined> {
  try {
    // Only what is needed is loaded: a start takes half as long without the other engine.
    if (options.engine === 'sqlite') {
      const { SqliteWriter } = await import('./sqlite/writer.ts');
      return new SqliteWriter(options.file, options.node);
    }
    const { PostgresWriter } = await import('./postgres/writer.ts');
    return await PostgresWriter.open(options.url, options.node, (level, message, detail) =>
      send({ type: 'log', level, message, detail }),
    );
  } catch (error) {
    send({ type: 'refused', message: error instanceof Error ? error.message : String(error) });
    return undefined;
  }
}

const writer = await openWriter();

if (writer !== undefined) {
  const unpacker = new BatchUnpacker();
  parentPort?.on('message', async (message: ToCommitter) => {
    if (message.type === 'batch') {
      send({ type: 'done', result: await writer.run(unpacker.unpack(message.packed)) });
      return;
    }
    await writer.close();
    parentPort?.close();
  });
  send({ type: 'ready', engine: options.engine });
}
