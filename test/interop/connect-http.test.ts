/** `gatehouse connect http`, with curl as the client. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createPlain, type RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { startCommand, startConnecting } from '../support/connect.ts';
import { inReverse, newDirectory } from '../support/node-process.ts';
import { runProgram } from '../support/program.ts';
import { findCommand } from '../support/tools.ts';

const { skip } = findCommand('curl');
const PASSWORD = 'se"cr\\et: ü';
const PIECE = Buffer.alloc(1 << 20, 'what is downloaded, again and again; ');
const PIECES = 256;

/** Says what was asked; `/big` is long, and `/late` comes to nothing. */
const answer: RequestListener = (request, response) => {
  if (request.url === '/late') return;
  if (request.url === '/big') {
    let left = PIECES;
    const more = (): void => {
      while (left > 0) {
        left -= 1;
        if (!response.write(PIECE)) {
          response.once('drain', more);
          return;
        }
      }
      response.end();
    };
    more();
    return;
  }
  const { host, authorization } = request.headers;
  response.end(JSON.stringify({ method: request.method, url: request.url, host, authorization }));
};

describe('curl through a session', { skip }, async () => {
  if (skip) return;
  const scope = inReverse({ after });
  const folder = newDirectory(scope);
  const [key, cert] = [join(folder, 'key'), join(folder, 'cert')];
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
      ...['-subj', '/CN=server', '-addext', 'subjectAltName=DNS:app.internal,IP:127.0.0.1'],
      ...['-days', '2', '-keyout', key, '-out', cert],
    ],
    { stdio: 'ignore' },
  );
  const secure = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, answer);
  const plain = createPlain(answer);
  const portOf = async (server: Server): Promise<number> => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    scope.after(() => server.close());
    return (server.address() as AddressInfo).port;
  };
  const [securePort, plainPort] = [await portOf(secure), await portOf(plain)];
  const connecting = await startConnecting(scope);
  const { env } = connecting;
  const target = await connecting.makeTarget('secure', securePort);
  const plainTarget = await connecting.makeTarget('plain', plainPort);
  await connecting.broker(plainTarget, [
    { type: 'username_password', attributes: { username: 'ada', password: PASSWORD } },
  ]);
  const http = (...args: string[]) => runProgram(['connect', 'http', ...args], { env });

  test('the server’s certificate is verified by the target’s address, or by the name that -host gives', async () => {
    const trust = ['--', '-sS', '--cacert', cert];
    const byAddress = await http(target, '-path', '/a?b=c', ...trust);
    assert.equal(byAddress.code, 0, byAddress.stderr);
    const { method, url, host } = JSON.parse(byAddress.stdout);
    assert.deepEqual([method, url, host], ['GET', '/a?b=c', `127.0.0.1:${securePort}`]);
    const byName = await http(target, '-host', 'app.internal', '-method', 'delete', ...trust);
    const named = JSON.parse(byName.stdout);
    assert.deepEqual([named.method, named.host], ['DELETE', `app.internal:${securePort}`]);
    const other = await http(target, '-host', 'other.internal', ...trust);
    assert.equal(other.code, 60, 'curl’s code for a certificate of another name');
  });

  test('a proxy that the environment names is not used', async () => {
    const proxies = { http_proxy: 'http://127.0.0.1:1', HTTPS_PROXY: 'http://127.0.0.1:1' };
    const { code, stderr } = await runProgram(
      ['connect', 'http', target, '--', '-sS', '--cacert', cert],
      { env: { ...env, ...proxies } },
    );
    assert.equal(code, 0, stderr);
  });

  test('a brokered user’s name and password log in, whatever characters they have', async () => {
    const { code, stdout, stderr } = await http(plainTarget, '-scheme', 'http', '--', '-sS');
    assert.equal(code, 0, stderr);
    const basic = Buffer.from(`ada:${PASSWORD}`).toString('base64');
    assert.equal(JSON.parse(stdout).authorization, `Basic ${basic}`);
  });

  test('a long download comes whole, also to a reader that is slow', async (t) => {
    const expected = createHash('sha256');
    for (let piece = 0; piece < PIECES; piece += 1) expected.update(PIECE);
    const args = ['connect', 'http', target, '-path', '/big', '--', '-sS', '--cacert', cert];
    const running = startDownload(t, args, env);
    const found = createHash('sha256');
    let isSlow = true;
    for await (const part of running.stdout) {
      if (isSlow) await wait(500);
      isSlow = false;
      found.update(part as Buffer);
    }
    assert.equal(found.digest('hex'), expected.digest('hex'));
  });

  test('the exit code is curl’s, and 128 and the signal’s number where one ended it', async (t) => {
    const refused = await http(plainTarget, '-scheme', 'https', '--', '-sS');
    assert.equal(refused.code, 35, 'curl’s code for a server that speaks no TLS');
    const args = ['connect', 'http', plainTarget, '-scheme=http', '-path=/late', '--', '-sS'];
    const running = startCommand(t, args, env);
    const asked = once(plain, 'request');
    await asked;
    const processes = execFileSync('ps', ['axewww', '-o', 'args']).toString();
    assert.match(processes, /curl .*\/late/);
    assert.ok(!processes.includes(PASSWORD));
    running.signal('SIGTERM');
    assert.equal((await running.ended).code, 143);
  });

  test('what is no scheme, method or name of a host is refused before curl is run', async () => {
    for (const [flag, value] of [
      ['-scheme', 'gopher'],
      ['-method', '-o'],
      ['-host', 'a/../b'],
    ]) {
      const { code, stderr } = await http(target, flag ?? '', value ?? '');
      assert.equal(code, 1);
      assert.match(stderr, new RegExp(`^gatehouse: flag ${flag} must be `));
    }
  });
});

/** As {@link startCommand}, with its output left to whoever reads it. */
function startDownload(
  t: Parameters<typeof startCommand>[0],
  args: readonly string[],
  env: Record<string, string>,
): ReturnType<typeof startCommand> {
  const running = startCommand(t, args, env);
  running.stdout.removeAllListeners('data');
  return running;
}
