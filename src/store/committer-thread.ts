import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { Arrivals, type Front } from './arrivals.ts';
import type {
  BatchResult,
  BatchWriter,
  CommitterOptions,
  FromCommitter,
  ToCommitter,
} from './batch.ts';
import { Nudge } from './nudge.ts';
import { BatchUnpacker, type PackedBatch } from './packing.ts';
import { KEPT_TABLES, ONLY_ROWS_KEPT, WriteCounts } from './write-counts.ts';
import { WrittenTables } from './written-tables.ts';

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

if (writer !== undefined) serve(writer);

/** Writes for whoever started this thread, and for all that join. */
function serve(writer: BatchWriter): void {
  const counts = new WriteCounts(options.counts);
  const tables = new WrittenTables(KEPT_TABLES, ONLY_ROWS_KEPT);
  const others = new Set<MessagePort>();
  const arrivals = new Arrivals((batch) => {
    const running = writer.run(batch);
    // Whoever keeps rows knows it before anybody is told that they are written.
    const count = (result: BatchResult): BatchResult => {
      counts.raise(tables.of(batch));
      if (result.config_version !== undefined) counts.noteConfig(result.config_version);
      return result;
    };
    return running instanceof Promise ? running.then(count) : count(running);
  });
  const nudge = new Nudge(() => send({ type: 'others wrote' }));
  const serveFront = (port: MessagePort, after: () => void): ((packed: PackedBatch) => void) => {
    const unpacker = new BatchUnpacker();
    const front: Front = {
      done(result) {
        port.postMessage({ type: 'done', result } satisfies FromCommitter);
        after();
      },
    };
    port.on('close', () => arrivals.leave());
    return (packed) => arrivals.add(front, unpacker.unpack(packed));
  };
  if (!parentPort) return;
  const own = serveFront(parentPort, () => {});
  parentPort.on('message', (message: ToCommitter) => {
    switch (message.type) {
      case 'batch':
        own(message.packed);
        break;
      case 'looked':
        nudge.looked();
        break;
      case 'join': {
        const { port } = message;
        arrivals.join();
        others.add(port);
        port.on('close', () => others.delete(port));
        const add = serveFront(port, () => nudge.raise());
        port.on('message', (sent: ToCommitter) => {
          if (sent.type === 'batch') add(sent.packed);
        });
        break;
      }
      case 'close':
        void close();
    }
  });
  send({ type: 'ready', engine: options.engine });

  async function close(): Promise<void> {
    await writer.close();
    for (const port of others) port.close();
    parentPort?.close();
  }
}
