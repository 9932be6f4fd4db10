import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { openTunnelTo } from './tunnel.ts';

/** Both ends of a connection. */
async function makePair(): Promise<[near: Socket, far: Socket]> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const near = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [far] = (await once(server, 'connection')) as [Socket];
  for (const socket of [near, far]) socket.on('error', () => socket.destroy());
  server.close();
  return [near, far];
}

// Of some of them a part waits in this process when the other side closes.
for (let kilobytes = 200; kilobytes < 420; kilobytes += 8) {
  test(`${kilobytes} KiB that a slow reader has not taken yet outlive the close behind them`, async (t) => {
    const [near, far] = await makePair();
    const tunnel = await openTunnelTo(near);
    t.after(() => tunnel.close());
    const reader = connect(tunnel.path);
    await once(reader, 'connect');
    far.end(Buffer.alloc(kilobytes << 10));
    // As much as flows without being read.
    for (let last = -1; last !== near.bytesRead; ) {
      last = near.bytesRead;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    let length = 0;
    for await (const part of reader) length += (part as Buffer).length;
    assert.equal(length, kilobytes << 10);
  });
}

test('a tunnel that breaks off is broken off for its reader, and the other way round', async (t) => {
  for (const isReader of [false, true]) {
    const [near, far] = await makePair();
    const tunnel = await openTunnelTo(near);
    t.after(() => tunnel.close());
    const reader = connect(tunnel.path);
    await once(reader, 'connect');
    reader.write('there');
    await once(far, 'data');
    const other = isReader ? far : reader;
    const closed = once(other.on('error', () => {}).resume(), 'close');
    if (isReader) reader.destroy();
    else far.resetAndDestroy();
    await closed;
  }
});
