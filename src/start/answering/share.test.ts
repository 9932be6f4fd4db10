import assert from 'node:assert/strict';
import { test } from 'node:test';
import { devConfig } from '../../config/config.ts';
import { countThreads, readersOfThread, shareOfThread } from './share.ts';

const limitsOf = (
  threads: number,
  max_connections: number,
  max_connections_per_address: number,
) => {
  const config = devConfig({
    data: 'unused',
    listen: '127.0.0.1:0',
    proxy_listen: '127.0.0.1:0',
    public_listen: '127.0.0.1:1',
    root_token: 'root',
    threads,
  });
  const connections = { ...config.connections, max_connections, max_connections_per_address };
  const { public_listener } = config;
  const share = shareOfThread({
    ...config,
    connections,
    public_listener: public_listener && { ...public_listener, connections },
  });
  assert.deepEqual(share.public_listener?.connections, share.connections);
  return [share.connections.max_connections, share.connections.max_connections_per_address];
};

for (const [threads, all, of_address, expected] of [
  [1, 8192, 1024, [8192, 1024]],
  [4, 8192, 1024, [2048, 1024]],
  [16, 8192, 1024, [512, 512]],
  [3, 10, 10, [4, 4]],
  [8, 1, 1, [1, 1]],
] as const) {
  test(`of ${all} connections each of ${threads} threads has ${expected[0]}, ${expected[1]} of one address`, () => {
    assert.deepEqual(limitsOf(threads, all, of_address), expected);
  });
}

for (const [threads, readers] of [
  [1, 4],
  [12, 4],
  [13, 3],
  [16, 3],
  [17, 2],
  [64, 2],
] as const) {
  test(`each of ${threads} threads reads PostgreSQL over ${readers} connections`, () => {
    assert.equal(readersOfThread(threads), readers);
  });
}

for (const [wanted, connections, open_files, threads] of [
  [1, true, undefined, 1],
  [4, true, undefined, 4],
  [1, false, undefined, 1],
  [4, false, undefined, 1],
  [64, true, 16_384, 64],
  [64, true, 4_096, 16],
  [4, true, 1_024, 4],
  [4, true, 1_023, 3],
  [2, true, 511, 1],
  [2, true, 128, 1],
  // Too few to start with, which is told elsewhere.
  [1, true, 0, 1],
] as const) {
  const files = open_files === undefined ? 'as many files as they like' : `${open_files} files`;
  test(`of ${wanted} threads with ${files}, where connections are ${connections ? '' : 'not '}shared out, ${threads} answer`, () => {
    const counted = countThreads(wanted, { connections, open_files });
    assert.equal(counted.threads, threads);
    // Whoever starts the server is told where it is fewer than asked for, and only then.
    assert.equal(counted.because !== undefined, threads < wanted);
  });
}
