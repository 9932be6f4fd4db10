// The least that an HTTP server can do: one answer for everything, of the size given, by so many threads.
//
//   node bench/bare.ts [bytes] [threads]

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

/** @returns the port */
async function listen(size: number, port: number, reusePort: boolean): Promise<number> {
  const body = 'x'.repeat(size);
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain', 'content-length': body.length });
    response.end(body);
  });
  server.listen({ host: '127.0.0.1', port, reusePort });
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

if (isMainThread) {
  const [size = '3000', threads = '1'] = process.argv.slice(2);
  let port = 0;
  if (threads === '1') port = await listen(Number(size), port, false);
  else {
    for (let count = 0; count < Number(threads); count += 1) {
      const worker = new Worker(new URL(import.meta.url), { workerData: { size, port } });
      [port] = (await once(worker, 'message')) as [number];
    }
  }
  console.log(`http://127.0.0.1:${port}`);
} else {
  const { size, port } = workerData;
  parentPort?.postMessage(await listen(Number(size), port, true));
}
