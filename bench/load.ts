// The load generator: a process of its own that keeps requests going over raw sockets, one at a
// time on each connection. It does as little as it can, since it shares the cores with the server.

import { connect, type Socket } from 'node:net';

/** What one run shall send. */
export interface Load {
  port: number;
  connections: number;
  /** Ends after this time, or when a list that is not repeated is through. */
  milliseconds: number;
  /** Whole requests as they go on the wire, head and body. */
  requests: string[];
  /** Whether the list begins anew at its end. */
  repeat: boolean;
  /** Where in the list to begin. */
  from: number;
  /** Keeps what this expression's first group finds in each answer. */
  collect?: string;
  /** Whether the times of all answers are wanted. */
  keep_times?: boolean;
}

export interface LoadResult {
  /** Answers with a status below 300. */
  answered: number;
  refused: number;
  /** A refusal as an example. */
  refusal: string;
  milliseconds: number;
  /** Microseconds. */
  p50: number;
  p99: number;
  /** CPU time of this process, in microseconds. */
  cpu: number;
  collected: string[];
  /** Of each answer, in milliseconds; empty unless they are wanted. */
  times: number[];
  /** Where in the list the next run goes on. */
  next: number;
}

const HEAD_END = Buffer.from('\r\n\r\n');

function runLoad(load: Load): Promise<LoadResult> {
  const requests = load.requests.map((text) => Buffer.from(text, 'latin1'));
  const wanted = load.collect === undefined ? undefined : new RegExp(load.collect);
  const latencies: number[] = [];
  const collected: string[] = [];
  let next = load.from;
  let refused = 0;
  let refusal = '';
  const { promise, resolve, reject } = Promise.withResolvers<LoadResult>();
  const cpu = process.cpuUsage();
  const start = performance.now();
  const end = start + load.milliseconds;
  let open = load.connections;

  function take(): Buffer | undefined {
    if (performance.now() >= end) return undefined;
    if (next >= requests.length) {
      if (!load.repeat) return undefined;
      next = 0;
    }
    return requests[next++];
  }

  function finish(socket: Socket): void {
    socket.destroy();
    open -= 1;
    if (open > 0) return;
    latencies.sort((a, b) => a - b);
    const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? 0;
    const spent = process.cpuUsage(cpu);
    resolve({
      answered: latencies.length - refused,
      refused,
      refusal,
      milliseconds: performance.now() - start,
      p50: Math.round(at(0.5) * 1000),
      p99: Math.round(at(0.99) * 1000),
      cpu: spent.user + spent.system,
      collected,
      times: load.keep_times ? latencies : [],
      next,
    });
  }

  function answered(bytes: Buffer): void {
    // "HTTP/1.1 200 …": the first digit of the status.
    if (bytes[9] !== 0x32) {
      refused += 1;
      refusal = bytes.toString('latin1').slice(0, 1000);
    } else if (wanted) {
      const found = wanted.exec(bytes.toString('latin1'))?.[1];
      if (found !== undefined) collected.push(found);
    }
  }

  for (let index = 0; index < load.connections; index += 1) {
    const socket = connect({ port: load.port, host: '127.0.0.1', noDelay: true });
    let sentAt = 0;
    let pending: Buffer | undefined;
    const send = (): void => {
      const request = take();
      if (request === undefined) {
        finish(socket);
        return;
      }
      sentAt = performance.now();
      socket.write(request);
    };
    socket.on('connect', send);
    socket.on('error', reject);
    socket.on('data', (chunk: Buffer) => {
      const bytes = pending ? Buffer.concat([pending, chunk]) : chunk;
      if (!isWhole(bytes)) {
        pending = bytes;
        return;
      }
      pending = undefined;
      latencies.push(performance.now() - sentAt);
      answered(bytes);
      send();
    });
  }
  return promise;
}

function isWhole(bytes: Buffer): boolean {
  const head = bytes.indexOf(HEAD_END);
  if (head < 0) return false;
  const length = /content-length: *(\d+)/i.exec(bytes.toString('latin1', 0, head))?.[1] ?? 0;
  return bytes.length >= head + HEAD_END.length + Number(length);
}

process.on('message', (load: Load) => {
  runLoad(load).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
