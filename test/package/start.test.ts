/** A clone's server, started by a command that is not the server itself. */

import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { newDirectory } from '../support/node-process.ts';
import { runFrom, startFrom } from '../support/npm.ts';

test('npm start before npm ci says in one line what to do', (t) => {
  const clone = newDirectory(t);
  for (const file of ['package.json', 'package-lock.json', '.npmrc', 'bin', 'src']) {
    cpSync(file, join(clone, file), { recursive: true });
  }
  const { code, stdout, stderr } = runFrom(clone, ['npm', 'start']);
  assert.match(
    stderr,
    /^gatehouse: its packages are not installed: run 'npm ci' in \/.+ first\.\n$/,
  );
  assert.equal(code, 1);
  // npm's own words: what it runs.
  assert.doesNotMatch(stdout, /^(?!>|$)/m);
});

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`a ${signal} that is sent to npm start ends the server in order`, async (t) => {
    const flags = ['--data', newDirectory(t), '--listen', '127.0.0.1:0'];
    const start = ['npm', 'start', '--', ...flags, '--proxy-listen', '127.0.0.1:0'];
    const server = await startFrom(t, '.', start);
    const health = new URL('/health', server.url);
    assert.equal((await fetch(health)).status, 200);
    server.signal(signal);
    const { code, stderr } = await server.ended;
    assert.deepEqual([code, stderr], [0, '']);
    await assert.rejects(fetch(health));
  });
}

const starters: [who: string, env: Readonly<Record<string, string>>, ends: boolean][] = [
  ['npx', { npm_command: 'exec' }, true],
  // Somebody who puts it into the background and goes.
  ['a shell', {}, false],
  ['a script of npm, which hands signals on by itself', { npm_command: 'run-script' }, false],
];
for (const [who, env, ends] of starters) {
  test(`a server whose starter is gone ${ends ? 'ends' : 'stays'} if that was ${who}`, async (t) => {
    const line =
      'bin/gatehouse dev -data "$1" -listen 127.0.0.1:0 -proxy-listen 127.0.0.1:0 & wait';
    const server = await startFrom(t, '.', ['sh', '-c', line, 'sh', newDirectory(t)], env);
    const health = new URL('/health', server.url);
    // As long as its starter is there, in every case.
    await sleep(1000);
    assert.equal((await fetch(health)).status, 200);
    server.signal('SIGKILL');
    if (ends) await server.ended;
    else await sleep(1000);
    const still = await fetch(health).then(
      ({ status }) => status,
      () => undefined,
    );
    assert.equal(still, ends ? undefined : 200);
  });
}
