/** The protocol of sessions, spoken by a client in another language's standard library. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { startConnecting } from '../support/connect.ts';
import { echo, startEndpoint } from '../support/endpoints.ts';
import { inReverse } from '../support/node-process.ts';
import { findCommand } from '../support/tools.ts';

const { skip } = findCommand('python3');
const CLIENT = join(import.meta.dirname, 'session-client.py');
const TOFU = 'abcdefghij0123456789';

interface Told {
  code: number;
  reason: string;
  connection_limit?: number;
  connections_left?: number;
  expiration?: number;
}

/** What the client was told, a connection each. */
async function speak(wanted: Record<string, unknown>): Promise<Told[]> {
  const child = spawn('python3', [CLIENT], { stdio: ['pipe', 'pipe', 'pipe'] });
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text;
    });
  }
  child.stdin.end(JSON.stringify({ tofu: TOFU, ...wanted }));
  const code = await new Promise((resolve) => child.once('close', resolve));
  assert.equal(code, 0, texts.stderr);
  return texts.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

describe('a client in Python', { skip }, async () => {
  if (skip) return;
  const scope = inReverse({ after });
  const connecting = await startConnecting(scope);
  const { call } = connecting.project.admin;
  const echoing = await startEndpoint(scope, echo);
  const target = await connecting.makeTarget('echo', echoing);
  const authorize = async (id = target) => {
    const answer = await call('POST', `targets/${id}:authorize-session`, {});
    assert.equal(answer.status, 200, answer.text);
    return { token: answer.textAt('authorization_token'), id: answer.textAt('session_id') };
  };

  test('a first message right behind the upgrade request is read whole, 200 times in a row', async () => {
    const { token } = await authorize();
    const told = await speak({ token, connections: 200, how: 'with', bytes: 300 });
    assert.equal(told.length, 200);
    for (const { code, connection_limit, connections_left } of told) {
      assert.deepEqual([code, connection_limit, connections_left], [1000, -1, -1]);
    }
  });

  for (const how of ['after', 'bytes']) {
    test(`a first message that comes ${how === 'after' ? 'after the answer' : 'byte by byte'} is read as well`, async () => {
      const { token } = await authorize();
      const [told] = await speak({ token, how, bytes: 300 });
      assert.equal(told?.code, 1000);
    });
  }

  test('megabytes in messages of all sizes come back as they were sent', async () => {
    const { token } = await authorize();
    const [told] = await speak({ token, bytes: 20_000_000 });
    assert.equal(told?.code, 1000);
    assert.ok(Math.abs((told?.expiration ?? 0) - Date.now() / 1000 - 8 * 3600) < 60);
  });

  test('what is left of a limit is told, and beyond it a connection is refused', async () => {
    const limited = await connecting.makeTarget('limited', echoing, {
      session_connection_limit: 2,
    });
    const { token } = await authorize(limited);
    const told = await speak({ token, connections: 2 });
    assert.deepEqual(
      told.map(({ connection_limit, connections_left }) => [connection_limit, connections_left]),
      [
        [2, 1],
        [2, 0],
      ],
    );
  });

  test('another first-use token is refused, and one that is none', async () => {
    const { token } = await authorize();
    await speak({ token });
    const other = await speak({ token, tofu: TOFU.toUpperCase() });
    assert.deepEqual(other, [{ code: 1008, reason: 'tofu token not allowed' }]);
    const short = await speak({ token, tofu: 'short' });
    assert.deepEqual(short, [{ code: 1003, reason: 'invalid tofu token' }]);
  });

  test('a session is canceled by the client that has used it', async () => {
    const { token, id } = await authorize();
    await speak({ token });
    assert.deepEqual(await speak({ token, cancels: true }), [
      { code: 1000, reason: 'session canceled' },
    ]);
    const status = (await call('GET', `sessions/${id}`)).textAt('status');
    assert.match(status, /^(canceling|terminated)$/);
  });
});
