import assert from 'node:assert/strict';
import { test } from 'node:test';
import { devConfig } from '../../config/config.ts';
import { countThreads, shareOfThread } from './share.ts';

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

for (const [wanted, canShare, threads] of [
  [1, true, 1],
  [4, true, 4],
  [1, false, 1],
  [4, false, 1],
] as const) {
  test(`of ${wanted} threads where connections are ${canShare ? '' : 'not '}shared out ${threads} answer`, () => {
    const counted = countThreads(wanted, canShare);
    assert.equal(counted.threads, threads);
    // Whoever starts the server is told where it is fewer than asked for, and only then.
    assert.equal(counted.because !== undefined, threads < wanted);
  });
}
