import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTls, type TLSSocket, type TlsOptions } from 'node:tls';
import { Worker } from 'node:worker_threads';

/** A server that does to its client what an honest one does not. */
export interface HostileServer {
  /** Host and port. */
  at: string;
  /** Connections that it had. */
  readonly connections: number;
  stop(): Promise<void>;
}

async function listen(server: Server): Promise<HostileServer> {
  const open = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket) => {
    connections += 1;
    open.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // Of a server that listens on a port.
  const { port } = server.address() as AddressInfo;
  return {
    at: `127.0.0.1:${port}`,
    get connections() {
      return connections;
    },
    stop() {
      for (const socket of open) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** A server that does something with each connection. */
export function startHostile(onConnection: (socket: Socket) => void): Promise<HostileServer> {
  return listen(createServer(onConnection));
}

/** {@link startHostile} with connections that are secured. */
export function startHostileTls(
  options: TlsOptions,
  onConnection: (socket: TLSSocket) => void,
): Promise<HostileServer> {
  const server = createTls(options, (socket) => {
    socket.on('error', () => {});
    onConnection(socket);
  });
  server.on('tlsClientError', () => {});
  return listen(server);
}

const SECURED = `
const { parentPort, workerData: { chain, count } } = require('node:worker_threads');
const { createServer } = require('node:https');
const ports = Array.from({ length: count }, () => new Promise((resolve) => {
  const server = createServer(chain, (_, response) => response.end('{}'));
  server.listen(0, '127.0.0.1', () => resolve(server.address().port));
}));
Promise.all(ports).then((all) => parentPort.postMessage(all));
`;

/** Servers with certificates of their own, on a thread of theirs: what they take is not the test's time. */
export async function startApart(
  chain: { cert: string; key: string },
  count: number,
): Promise<{ urls: string[]; stop(): Promise<void> }> {
  const worker = new Worker(SECURED, { eval: true, workerData: { chain, count } });
  const ports = await new Promise<number[]>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  return {
    urls: ports.map((port) => `https://127.0.0.1:${port}`),
    stop: async () => void (await worker.terminate()),
  };
}
