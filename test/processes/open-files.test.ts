import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { newDirectory } from '../support/node-process.ts';
import { type Program, runProgram, startProgram } from '../support/program.ts';
import { until } from '../support/raw-talk.ts';

const devArgs = (data: string): string[] => [
  ...['dev', '-data', join(data, 'data'), '-listen', '127.0.0.1:0'],
  ...['-proxy-listen', '127.0.0.1:0'],
];

/** Connections that never say a word; those that are closed again stay counted. */
async function openSilent(t: TestContext, program: Program, localAddress: string, count: number) {
  const sockets: Socket[] = [];
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  for (let n = 0; n < count; n++) {
    const socket = connect({ host: '127.0.0.1', port: Number(program.url.port), localAddress });
    sockets.push(socket.on('error', () => {}));
    await once(socket, 'connect');
  }
  return sockets;
}

/** The status of an answer to a connection of its own; 0 for none. */
function askFrom(program: Program, localAddress: string, path: string): Promise<number> {
  return new Promise((resolve) => {
    const headers = { 'x-vault-token': 'root' };
    request(new URL(path, program.url), { agent: false, localAddress, headers }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    })
      .once('error', () => resolve(0))
      .end();
  });
}

for (const open_files of [256, 128]) {
  test(`with ${open_files} open files, silent connections of two addresses shut nobody out`, async (t) => {
    const program = await startProgram(t, devArgs(newDirectory(t)), open_files);
    const room = open_files / 2;
    const silent = [
      ...(await openSilent(t, program, '127.0.0.2', 2 * open_files)),
      ...(await openSilent(t, program, '127.0.0.4', 2 * open_files)),
    ];
    for (const path of ['/v1/sys/health', '/v1/sys/mounts', '/v1/sys/metrics', '/health']) {
      assert.equal(await askFrom(program, '127.0.0.3', path), 200, path);
    }
    const countOpen = () => silent.filter(({ closed }) => !closed).length;
    // Some may still wait at a door to be let in.
    await until(() => countOpen() <= room);
    assert.ok(countOpen() > 0);
    assert.match(program.stderr(), /the listener has fewer connections than configured/);
    assert.match(program.stderr(), new RegExp(`"max_connections":${room},`));
  });
}

test('with too few open files the program says so in one line, and ends', async (t) => {
  const outcome = await runProgram(devArgs(newDirectory(t)), { open_files: 100 });
  assert.match(outcome.stderr, /^gatehouse: the process may have 100 files open, and needs 128 /);
  assert.equal(outcome.code, 1);
});
