import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A way to a server that can be cut at a chosen moment. */
export interface CutProxy {
  /** The server's URL with the proxy's address in it. */
  url: string;
  /**
   * Cuts every connection when a client next sends these bytes.
   *
   * @param pass whether the server still gets them
   */
  cutAt(text: string, pass: boolean): void;
  /** Cuts every connection now, and refuses new ones until told otherwise. */
  block(blocked: boolean): void;
  /** How often a client has sent something. */
  sends(): number;
  close(): Promise<void>;
}

export async function startCutProxy(server: string): Promise<CutProxy> {
  const target = new URL(server);
  const pairs = new Set<{ client: Socket; upstream: Socket }>();
  let cut: { text: string; pass: boolean } | undefined;
  let blocked = false;
  let sends = 0;

  const listener = createServer((client) => {
    if (blocked) {
      client.destroy();
      return;
    }
    const upstream = connect(Number(target.port), target.hostname);
    const pair = { client, upstream };
    pairs.add(pair);
    client.on('data', (bytes: Buffer) => {
      sends += 1;
      if (cut === undefined || !bytes.includes(cut.text)) {
        upstream.write(bytes);
        return;
      }
      const { pass } = cut;
      cut = undefined;
      if (!pass) {
        end(pair);
        return;
      }
      client.destroy();
      // The server gets all of it, and its answer reaches nobody.
      upstream.end(bytes);
    });
    upstream.on('data', (bytes) => client.destroyed || client.write(bytes));
    for (const socket of [client, upstream]) {
      socket.on('error', () => end(pair));
      socket.on('close', () => end(pair));
    }
  });

  const end = (pair: { client: Socket; upstream: Socket }) => {
    pairs.delete(pair);
    pair.client.destroy();
    if (!pair.upstream.writableEnded) pair.upstream.destroy();
  };

  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const url = new URL(server);
  url.port = String(address.port);
  return {
    url: url.href,
    cutAt: (text, pass) => {
      cut = { text, pass };
    },
    block: (wanted) => {
      blocked = wanted;
      if (blocked) for (const pair of [...pairs]) end(pair);
    },
    sends: () => sends,
    close: async () => {
      for (const pair of [...pairs]) end(pair);
      listener.close();
      await once(listener, 'close');
    },
  };
}
