// Other people's clients and servers through a session: OpenSSH, PostgreSQL, HTTP by curl.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createConnection } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import {
  authorizeSession,
  type Carried,
  listenFor,
  makeTarget,
  openStream,
} from '../support/carried.ts';
import { inReverse, newDirectory, type Scope } from '../support/node-process.ts';
import { startPostgres } from '../support/postgres.ts';
import { startBroker } from '../support/seeded-broker.ts';
import { findCommand } from '../support/tools.ts';

const run = promisify(execFile);
const broker = await startBroker({ after });

async function sessionTo(port: number): Promise<Carried> {
  return authorizeSession(broker.admin, await makeTarget(broker.admin, port));
}

/** A port whose connections each go through the session. */
function forward(scope: Scope, session: Carried): Promise<number> {
  return listenFor(scope, (socket) => {
    socket.pause();
    openStream(session).then(
      ({ stream }) => {
        pipeline(socket, stream, () => {});
        pipeline(stream, socket, () => {});
      },
      () => socket.destroy(),
    );
  });
}

const digestOf = (path: string): string =>
  createHash('sha256').update(readFileSync(path)).digest('hex');

const { skip: noSsh } = findCommand('ssh');

test('OpenSSH logs in, runs a command and copies files both ways', { skip: noSsh }, async (t) => {
  const folder = newDirectory(t);
  const at = (name: string): string => join(folder, name);
  for (const name of ['host', 'user']) {
    await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', at(name)]);
  }
  writeFileSync(at('authorized'), readFileSync(at('user.pub')));
  const port = await listenFor(t, (socket) => {
    // One process a connection, as inetd starts it.
    const lines = [`HostKey ${at('host')}`, `AuthorizedKeysFile ${at('authorized')}`];
    writeFileSync(
      at('config'),
      [...lines, 'StrictModes no', 'Subsystem sftp internal-sftp', ''].join('\n'),
    );
    if (userInfo().uid === 0) mkdirSync('/run/sshd', { recursive: true });
    const sshd = spawn('/usr/sbin/sshd', ['-i', '-f', at('config')], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    pipeline(socket, sshd.stdin, () => {});
    pipeline(sshd.stdout, socket, () => {});
  });
  const local = String(await forward(t, await sessionTo(port)));
  const options = [
    ...['-F', 'none', '-i', at('user'), '-o', 'BatchMode=yes', '-o', 'IdentitiesOnly=yes'],
    ...['-o', `UserKnownHostsFile=${at('known')}`, '-o', 'StrictHostKeyChecking=accept-new'],
  ];
  const host = `${userInfo().username}@127.0.0.1`;
  const { stdout } = await run('ssh', [...options, '-p', local, host, 'echo', 'carried']);
  assert.equal(stdout, 'carried\n');
  writeFileSync(at('sent'), randomBytes(20 << 20));
  await run('scp', [...options, '-q', '-P', local, at('sent'), `${host}:${at('there')}`]);
  await run('scp', [...options, '-q', '-P', local, `${host}:${at('there')}`, at('back')]);
  assert.equal(digestOf(at('there')), digestOf(at('sent')));
  assert.equal(digestOf(at('back')), digestOf(at('sent')));
});

const { skip: noPsql } = findCommand('psql');

test('psql asks a PostgreSQL server, and many rows come whole', { skip: noPsql }, async (t) => {
  const scope = inReverse(t);
  const postgres = await startPostgres(newDirectory(scope));
  scope.after(() => postgres.stop());
  const local = await forward(scope, await sessionTo(Number(new URL(postgres.url).port)));
  const url = `postgres://postgres@127.0.0.1:${local}/postgres`;
  const ask = async (sql: string): Promise<string> =>
    (await run('psql', ['-AtX', '-c', sql, url], { maxBuffer: 64 << 20 })).stdout;
  assert.equal(await ask('select 6 * 7'), '42\n');
  const rows = await ask("select n, repeat('x', 100) from generate_series(1, 100000) n");
  assert.equal(rows.split('\n').length - 1, 100_000);
});

const { skip: noCurl } = findCommand('curl');

test('curl fetches a gigabyte', { skip: noCurl }, async (t) => {
  const file = join(newDirectory(t), 'large');
  writeFileSync(file, '');
  truncateSync(file, 1 << 30);
  const server = createHttpServer((_request, response) => {
    response.writeHead(200, { 'content-length': 1 << 30 });
    createReadStream(file, { highWaterMark: 1 << 20 }).pipe(response);
  }).listen(0, '127.0.0.1');
  t.after(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const local = await forward(t, await sessionTo(port));
  const args = ['-sS', '-o', '/dev/null', '-w', '%{http_code} %{size_download}'];
  const { stdout } = await run('curl', [...args, `http://127.0.0.1:${local}/`]);
  assert.equal(stdout, `200 ${1 << 30}`);
});

/** One request on a connection of its own. @returns what came until its end */
function askOnce(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let heard = '';
    createConnection({ host: '127.0.0.1', port })
      .setEncoding('latin1')
      .on('data', (text: string) => {
        heard += text;
      })
      .on('error', reject)
      .on('close', () => resolve(heard))
      .write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  });
}

for (const [at_once, count] of [
  [1, 1000],
  [16, 2000],
] as const) {
  test(`of ${count} short connections, ${at_once} at once on a cold session, none is lost`, async (t) => {
    const server = createHttpServer((_request, response) => {
      response.end('carried');
    }).listen(0, '127.0.0.1');
    t.after(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const local = await forward(t, await sessionTo(port));
    let left = count;
    await Promise.all(
      Array.from({ length: at_once }, async () => {
        while (left-- > 0) assert.match(await askOnce(local), /^HTTP\/1\.1 200 [\s\S]*carried$/);
      }),
    );
  });
}
