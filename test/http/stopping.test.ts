import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { devConfig } from '../../src/config/config.ts';
import { type Overrides, startServer } from '../../src/start/server.ts';
import { CommitHolder } from '../support/held-commit.ts';
import { newDirectory } from '../support/node-process.ts';
import { until } from '../support/raw-talk.ts';
import { reset } from '../support/reset.ts';
import { callOver } from '../support/server.ts';
import { onOneThread } from '../support/threads.ts';

const BODY = '{"a":"b"}';
const REQUEST = `POST /v1/cubbyhole/x HTTP/1.1\r\nHost: localhost\r\nX-Vault-Token: root\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;

for (const hasGone of [true, false]) {
  test(`what is done for a client that ${hasGone ? 'has gone' : 'waits'} is done before a server that stops has stopped`, async (t) => {
    const directory = newDirectory(t);
    const threads = onOneThread('what stands between the server and its store');
    const start = (substitutes: Overrides = {}) => {
      const listen = '127.0.0.1:0';
      const where = { data: directory, listen, proxy_listen: listen, root_token: 'root', threads };
      return startServer({ ...devConfig(where), log_level: 'silent' }, substitutes);
    };
    const commits = new CommitHolder();
    const running = await start({ store: commits.over });
    const held = commits.hold('cubbyhole/x');
    const accepting = once(running.http.server, 'connection');
    const socket = connect(running.address.port, '127.0.0.1');
    const [accepted] = await accepting;
    socket.on('error', () => {}).write(REQUEST);
    await held.reached;
    if (hasGone) {
      reset(socket);
      await until(() => accepted.closed);
    }
    const stopped = running.stop();
    for (let turn = 0; turn < 100; turn += 1) await nextTurn();
    held.letGo();
    await stopped;
    socket.destroy();
    const again = await start();
    t.after(() => again.stop());
    const call = callOver(`http://127.0.0.1:${again.address.port}`, 'root');
    assert.equal((await call('GET', 'cubbyhole/x')).status, 200);
  });
}
