import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import {
  decodeAuthorizationToken,
  encodeAuthorizationToken,
} from '../../src/broker/sessions/authorization-token.ts';
import {
  type Listening,
  startCommand,
  startConnecting,
  startListening,
} from '../support/connect.ts';
import { startCutProxy } from '../support/cut-proxy.ts';
import { echo, startEndpoint } from '../support/endpoints.ts';
import { inReverse, newDirectory } from '../support/node-process.ts';
import { runProgram } from '../support/program.ts';

// `gatehouse connect`, in a process of its own, against a server of this one.

const MAIN = join(import.meta.dirname, '../../src/main.ts');
const scope = inReverse({ after });
const connecting = await startConnecting(scope);
const { env, makeTarget } = connecting;
const { call } = connecting.project.admin;
const echoing = await startEndpoint(scope, echo);
const target = await makeTarget('echo', echoing);
const secret = await makeTarget('secret', echoing);
const attributes = { username: 'ada', password: 'secret' };
await connecting.broker(secret, [{ type: 'username_password', attributes }]);

/** A connection by way of a proxy. */
async function reach({ port }: Pick<Listening, 'port'>): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** What is said back. */
async function say(socket: Socket, text: string): Promise<string> {
  socket.write(text);
  let heard = '';
  for await (const bytes of socket.iterator({ destroyOnReturn: false })) {
    heard += String(bytes);
    if (heard.length >= text.length) break;
  }
  return heard;
}

/** Resolves when it is closed, in whatever way. */
const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once('close', () => resolve());
  });

const statusOf = async (session_id: string): Promise<string> =>
  (await call('GET', `sessions/${session_id}`)).textAt('status');

test('what a session is for is told in one object, and its connections are carried', async (t) => {
  await connecting.broker(await makeTarget('told', echoing), []);
  const proxy = await startListening(t, [target], env);
  const { address, port, protocol, expiration, connection_limit, session_id, target_id } =
    proxy.told;
  assert.deepEqual(
    [address, protocol, connection_limit, target_id],
    ['127.0.0.1', 'tcp', -1, target],
  );
  assert.ok(Date.parse(String(expiration)) > Date.now() && Number(port) > 0);
  const sockets = await Promise.all(Array.from({ length: 16 }, () => reach(proxy)));
  const heard = await Promise.all(sockets.map((socket, n) => say(socket, `hello ${n}`)));
  assert.deepEqual(
    heard,
    sockets.map((_, n) => `hello ${n}`),
  );
  for (const socket of sockets) socket.destroy();
  proxy.signal('SIGINT');
  const { code, stderr, stdout } = await proxy.ended;
  assert.deepEqual([code, stderr], [0, '']);
  assert.equal(stdout.trim().split('\n').length, 1);
  assert.match(await statusOf(String(session_id)), /^(canceling|terminated)$/, 'canceled at exit');
});

/** With all that means something in a path. */
const NAME = 'by/name: 100% ?#ü';

test('a target is found by id, name and alias; credentials come with it', async (t) => {
  const alias = { value: 'echo.internal', scope_id: 'global' };
  const named = await makeTarget(NAME, echoing, { with_aliases: [alias] });
  const attributes = { username: 'ada', password: 'p' };
  await connecting.broker(named, [{ type: 'username_password', attributes }]);
  const scope_id = connecting.project.id;
  for (const way of [
    ['-target-id', named],
    ['-target-name', NAME, '-target-scope-id', scope_id],
    ['-target-name', NAME, '-target-scope-name', 'project'],
    ['echo.internal'],
    ['-target-id', 'ECHO.internal'],
  ]) {
    const proxy = await startListening(t, way, env);
    assert.equal(proxy.told.target_id, named, way.join(' '));
    const [credential] = proxy.told.credentials as { credential: unknown }[];
    assert.deepEqual(credential?.credential, attributes);
    proxy.signal('SIGTERM');
    assert.equal((await proxy.ended).code, 0);
  }
});

test('it listens where it is told, else at the target’s port for clients, and says if that is taken', async (t) => {
  const proxy = await startListening(t, [target, '-listen', '127.0.0.2:0'], env);
  assert.equal(proxy.told.address, '127.0.0.2');
  const attributes = { default_client_port: proxy.port };
  const ported = await makeTarget('ported', echoing, { attributes });
  const there = await startListening(t, [ported], env);
  assert.deepEqual([there.told.address, there.port], ['127.0.0.1', proxy.port]);
  const taken = await runProgram(['connect', ported], { env });
  assert.equal(taken.code, 1);
  assert.match(
    taken.stderr,
    /^gatehouse: 127\.0\.0\.1:\d+ is in use by another program; [^\n]+\n$/,
  );
});

test('at the limit nobody else is let in, and who is there goes on', async (t) => {
  const limited = await makeTarget('limited', echoing, { session_connection_limit: 2 });
  const proxy = await startListening(t, [limited], env);
  const first = await reach(proxy);
  assert.equal(await say(first, 'one'), 'one');
  const second = await reach(proxy);
  assert.equal(await say(second, 'two'), 'two');
  while (
    await reach(proxy).then(
      (third) => third.destroy(),
      () => undefined,
    )
  )
    await wait(10);
  assert.equal(await say(first, 'still'), 'still');
  first.destroy();
  assert.equal(await say(second, 'here'), 'here');
  second.destroy();
  const { code, stderr } = await proxy.ended;
  assert.deepEqual([code, stderr], [0, 'gatehouse: no connections are left in the session\n']);
});

test('a session that is canceled ends the program, with and without a connection', async (t) => {
  for (const isUsed of [true, false]) {
    const proxy = await startListening(t, [target], env);
    const socket = isUsed ? await reach(proxy) : undefined;
    if (socket) assert.equal(await say(socket, 'in'), 'in');
    const version = Number((await call('GET', `sessions/${proxy.session_id}`)).textAt('version'));
    await call('POST', `sessions/${proxy.session_id}:cancel`, { version });
    if (socket) await closed(socket);
    // The server is asked only once somebody comes or goes.
    else await closed(await reach(proxy));
    const { code, stderr } = await proxy.ended;
    assert.deepEqual([code, stderr], [2, 'gatehouse: the session was canceled\n'], `${isUsed}`);
  }
});

test('a session ends at its time, and the program with it', async (t) => {
  const short = await makeTarget('short', echoing, { session_max_seconds: 3 });
  const proxy = await startListening(t, [short], env);
  const socket = await reach(proxy);
  assert.equal(await say(socket, 'in'), 'in');
  await closed(socket);
  const { code, stderr } = await proxy.ended;
  assert.deepEqual([code, stderr], [2, 'gatehouse: the session has expired\n']);
});

/** A psql of one's own, in a folder for PATH. @param script what it does, in the shell's words */
function makePsql(t: Parameters<typeof newDirectory>[0], script: string): { PATH: string } {
  const folder = newDirectory(t);
  writeFileSync(join(folder, 'psql'), `#!/bin/sh\n${script}\n`, { mode: 0o700 });
  return { PATH: `${folder}:${process.env.PATH}` };
}

/** Says what it is sent on a connection by way of the proxy, until that ends. */
const LISTENS = `exec '${process.execPath}' -e '
  require("net").connect(process.env.PGPORT, process.env.PGHOSTADDR).on("data", (bytes) =>
    process.stdout.write(bytes)).on("error", () => {}).on("close", () => process.exit(3))'`;

for (const [what, why] of [
  ['is canceled', 'gatehouse: the session was canceled\n'],
  ['goes on', ''],
  ['has its only connection ended', ''],
]) {
  test(`whoever uses a tool is told when its session ends before it, here as it ${what}`, async (t) => {
    let end = (): void => {};
    const greeting = await startEndpoint(t, (socket) => {
      socket.write('in');
      end = () => void socket.end();
    });
    const session_connection_limit = what?.startsWith('has') ? 1 : -1;
    const limited = await makeTarget(`tool ${what}`, greeting, { session_connection_limit });
    const running = startCommand(t, ['connect', 'psql', limited], {
      ...env,
      ...makePsql(t, LISTENS),
    });
    await once(running.stdout, 'data');
    const scope_id = connecting.project.id;
    const filter = encodeURIComponent(`"/item/target_id"=="${limited}"`);
    const listed = await call('GET', `sessions?scope_id=${scope_id}&filter=${filter}`);
    const [session] = JSON.parse(listed.text).items;
    if (why === '') end();
    else await call('POST', `sessions/${session.id}:cancel`, { version: session.version });
    const { code, stdout, stderr } = await running.ended;
    assert.deepEqual([code, stdout, stderr], [3, 'in', why]);
  });
}

/** A server that authorizes sessions whose worker says nothing, and ends nobody until it is told to. */
async function startSilence(
  t: TestContext,
): Promise<{ env: Record<string, string>; reached: Promise<void>; end(): void }> {
  const answer = JSON.parse((await call('POST', `targets/${secret}:authorize-session`, {})).text);
  const authorization = decodeAuthorizationToken(answer.authorization_token);
  assert.ok(authorization);
  const reached = Promise.withResolvers<void>();
  const sockets: Socket[] = [];
  const worker = await startEndpoint(t, (socket) => {
    sockets.push(socket);
    reached.resolve();
  });
  const worker_addresses = [`127.0.0.1:${worker}`];
  const authorization_token = encodeAuthorizationToken({ ...authorization, worker_addresses });
  const api = createServer((_, reply) => {
    reply.end(JSON.stringify({ ...answer, authorization_token }));
  });
  api.listen(0, '127.0.0.1');
  await once(api, 'listening');
  t.after(() => void api.close());
  const { port } = api.address() as AddressInfo;
  return {
    env: { ...env, GATEHOUSE_ADDR: `http://127.0.0.1:${port}` },
    reached: reached.promise,
    end: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

test('a second signal does not break off what ends the session', async (t) => {
  const silence = await startSilence(t);
  const proxy = await startListening(t, [target], silence.env);
  proxy.signal('SIGTERM');
  await silence.reached;
  proxy.signal('SIGTERM');
  proxy.signal('SIGINT');
  silence.end();
  assert.equal((await proxy.ended).code, 0);
});

test('a signal after a tool’s end leaves no secret behind', async (t) => {
  const silence = await startSilence(t);
  const running = startCommand(t, ['connect', 'psql', target], {
    ...silence.env,
    ...makePsql(t, 'cat "$PGPASSFILE"; echo "$PGPASSFILE"'),
  });
  await silence.reached;
  running.signal('SIGTERM');
  silence.end();
  const { code, stdout } = await running.ended;
  const [line, file = ''] = stdout.split('\n');
  assert.equal(code, 0);
  assert.match(line ?? '', /^127\.0\.0\.1:\d+:\*:ada:secret$/);
  assert.equal(existsSync(file), false);
});

test('a target that there is not is named', async () => {
  for (const [way, name] of [
    [['nowhere.internal'], 'nowhere.internal'],
    [['-target-name', 'a b', '-target-scope-id', connecting.project.id], 'a b'],
  ] as const) {
    const { code, stderr } = await runProgram(['connect', ...way], { env });
    const words = `gatehouse: target "${name}": the server answered 404: Resource not found\n`;
    assert.deepEqual([code, stderr], [1, words]);
  }
});

test('one client has a session: another with the same token is told so', async (t) => {
  const folder = newDirectory(t);
  const file = join(folder, 'answer');
  writeFileSync(file, (await call('POST', `targets/${target}:authorize-session`, {})).text);
  // Without an address and a token: nothing but the worker is asked.
  const nothing = { GATEHOUSE_ADDR: 'http://127.0.0.1:1' };
  const first = await startListening(t, ['-authz-token', `file://${file}`], nothing);
  assert.equal(await say(await reach(first), 'mine'), 'mine');
  const second = await startListening(t, ['-authz-token', `file://${file}`], nothing);
  await closed(await reach(second));
  const { code, stderr } = await second.ended;
  assert.deepEqual([code, stderr], [2, 'gatehouse: the session is in use by another client\n']);
  assert.equal(await say(await reach(first), 'still mine'), 'still mine');
  first.signal('SIGTERM');
  assert.equal((await first.ended).code, 0);
  assert.equal(await statusOf(first.session_id), 'active', 'whoever made it ends it');
});

test('a target that does not answer is told of, and the next connection is tried', async (t) => {
  let isThere = false;
  const moody = await startEndpoint(t, (socket) =>
    isThere ? echo(socket) : socket.resetAndDestroy(),
  );
  const away = await makeTarget('away', 1);
  const proxy = await startListening(t, [away], env);
  await closed(await reach(proxy));
  while (proxy.stderr() === '') await wait(10);
  assert.equal(proxy.stderr(), 'gatehouse: the worker cannot reach the target\n');
  isThere = true;
  const there = await startListening(t, [await makeTarget('moody', moody)], env);
  assert.equal(await say(await reach(there), 'in'), 'in');
});

test('a client that reads slowly loses nothing of what was sent before the end', async (t) => {
  const sent = Buffer.alloc(48 << 20, 'all of it ');
  const sending = await startEndpoint(t, (socket) => socket.end(sent));
  const proxy = await startListening(t, [await makeTarget('sending', sending)], env);
  const socket = await reach(proxy);
  await wait(1_500);
  let length = 0;
  for await (const bytes of socket) {
    assert.ok((bytes as Buffer).equals(sent.subarray(length, length + (bytes as Buffer).length)));
    length += (bytes as Buffer).length;
    if (length < 4 << 20) await wait(5);
  }
  assert.equal(length, sent.length);
});

test('an endpoint that reads slowly gets all that a client has sent before it left', async (t) => {
  const sent = Buffer.alloc(48 << 20, 'all of it ');
  const got = Promise.withResolvers<number>();
  const slow = await startEndpoint(t, async (socket) => {
    let length = 0;
    await wait(1_500);
    for await (const bytes of socket) {
      length += (bytes as Buffer).length;
      if (length < 4 << 20) await wait(5);
    }
    got.resolve(length);
  });
  const proxy = await startListening(t, [await makeTarget('slow', slow)], env);
  const socket = await reach(proxy);
  socket.end(sent);
  assert.equal(await got.promise, sent.length);
});

/** Authorizes a session, and leads its client to these addresses instead. @returns a file for -authz-token */
async function authorizeBy(
  t: Parameters<typeof newDirectory>[0],
  addressesOf: (own: string) => string[],
): Promise<string> {
  const answer = await call('POST', `targets/${target}:authorize-session`, {});
  const authorization = decodeAuthorizationToken(answer.textAt('authorization_token'));
  assert.ok(authorization);
  const worker_addresses = addressesOf(authorization.worker_addresses[0] ?? '');
  const file = join(newDirectory(t), 'token');
  writeFileSync(file, encodeAuthorizationToken({ ...authorization, worker_addresses }));
  return file;
}

/** What buffers of the system and of both programs on the way may hold, in bytes. */
const ON_THE_WAY = 40 << 20;

for (const way of ['up', 'down']) {
  test(`nobody is read from faster than the other side takes it, on the way ${way}`, async (t) => {
    const piece = Buffer.alloc(1 << 16);
    let taken = 0;
    let isOver = false;
    /** Writes as long as it is let. */
    const pour = (socket: Socket): void => {
      if (isOver) return;
      taken += piece.length;
      if (socket.write(piece)) setImmediate(pour, socket);
      else socket.once('drain', () => pour(socket));
    };
    const port = await startEndpoint(t, (socket) => (way === 'down' ? pour(socket) : undefined));
    const proxy = await startListening(t, [await makeTarget(`pouring ${way}`, port)], env);
    const socket = await reach(proxy);
    if (way === 'up') pour(socket);
    let before = -1;
    for (let still = 0; still < 5; still = taken === before ? still + 1 : 0) {
      before = taken;
      await wait(200);
      assert.ok(taken < ON_THE_WAY, `${taken} bytes`);
    }
    isOver = true;
    socket.destroy();
  });
}

test('a connection whose way to the worker is cut is broken off, not ended, and the next one is made', async (test) => {
  const t = inReverse(test);
  let worker = '';
  await authorizeBy(t, (own) => {
    worker = own;
    return [own];
  });
  const cut = await startCutProxy(`http://${worker}`);
  t.after(() => cut.close());
  const file = await authorizeBy(t, () => [new URL(cut.url).host]);
  const proxy = await startListening(t, ['-authz-token', `file://${file}`], env);
  const socket = await reach(proxy);
  assert.equal(await say(socket, 'in'), 'in');
  const error = once(socket, 'error');
  cut.block(true);
  const [{ code }] = await error;
  assert.equal(code, 'ECONNRESET');
  await closed(await reach(proxy));
  while (proxy.stderr().split('\n').length < 3) await wait(10);
  assert.match(
    proxy.stderr(),
    /^gatehouse: the connection to the worker was broken off\ngatehouse: no conn/,
  );
  cut.block(false);
  assert.equal(await say(await reach(proxy), 'in again'), 'in again');
});

test('a worker that is not there is passed over for the next one that the session names', async (t) => {
  const file = await authorizeBy(t, (own) => ['127.0.0.1:1', own]);
  const proxy = await startListening(t, ['-authz-token', `file://${file}`], env);
  assert.equal(await say(await reach(proxy), 'in'), 'in');
  assert.equal(proxy.stderr(), '');
});

test('hundreds of short connections, one after the other and 16 at once, are all carried', async (t) => {
  const proxy = await startListening(t, [target], env);
  const once = async (text: string): Promise<void> => {
    const socket = await reach(proxy);
    assert.equal(await say(socket, text), text);
    socket.destroy();
  };
  // A session that nobody has used is the harder one: the first of them activate it.
  await Promise.all(Array.from({ length: 16 }, (_, n) => once(`cold ${n}`)));
  const rounds = async (lane: number): Promise<void> => {
    for (let round = 0; round < 20; round += 1) await once(`${lane}:${round}`);
  };
  await Promise.all(Array.from({ length: 16 }, (_, lane) => rounds(lane)));
  for (let round = 0; round < 50; round += 1) await once(`round ${round}`);
  assert.equal(proxy.stderr(), '');
});

test('on a terminal a line shows what is carried, and the table what is listened at', async (t) => {
  // In the shell's place: one that waits for it would die of the same Ctrl-C.
  const command = ['exec', process.execPath, MAIN, 'connect', target].join(' ');
  const terminal = spawn('script', ['-qfec', command, '/dev/null'], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  t.after(() => terminal.kill('SIGKILL'));
  let shown = '';
  terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  const found = async (pattern: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const match = pattern.exec(shown);
      if (match) return match;
      await wait(20);
    }
  };
  const [, port] = await found(/^Address +127\.0\.0\.1:(\d+)\r$/m);
  const socket = await reach({ port: Number(port) });
  assert.equal(await say(socket, 'twelve bytes'), 'twelve bytes');
  await found(/\[K1 connection \(1 in all\) · 12 B up · 12 B down · \d+ h \d+ min left/);
  const ended = new Promise((resolve) => terminal.once('close', resolve));
  terminal.stdin.write('\x03');
  assert.equal(await ended, 0, shown);
});

test('what is at the worker’s address and is not the worker is sent nothing', async (t) => {
  const heard: Buffer[] = [];
  const stranger = await startEndpoint(t, (socket) => {
    socket.on('data', (bytes: Buffer) => heard.push(bytes));
    socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
  });
  const file = await authorizeBy(t, () => [`127.0.0.1:${stranger}`]);
  const proxy = await startListening(t, ['-authz-token', `file://${file}`], env);
  const socket = await reach(proxy);
  socket.write('canary');
  await closed(socket);
  while (proxy.stderr() === '') await wait(10);
  assert.match(
    proxy.stderr(),
    /^gatehouse: no connection to the worker at 127\.0\.0\.1:\d+: it does not speak TLS\n$/,
  );
  assert.ok(!Buffer.concat(heard).includes('canary'));
});

test('over standard input and output nothing but the connection’s bytes is written', async (t) => {
  const ok = startCommand(t, ['connect', '-proxy-command', target], env);
  const all = Buffer.from(Array.from({ length: 100_000 }, (_, n) => n % 256));
  ok.stdin.write(all);
  let heard = 0;
  while (heard < all.length) heard += ((await once(ok.stdout, 'data')) as [Buffer])[0].length;
  ok.stdin.end();
  const { code, stdout, stderr } = await ok.ended;
  assert.deepEqual([code, stderr], [0, '']);
  assert.ok(Buffer.from(stdout, 'latin1').equals(all));
  const away = await makeTarget('away too', 1);
  const cut = startCommand(t, ['connect', '-stdio', target], env);
  cut.stdin.write('in');
  await once(cut.stdout, 'data');
  const listed = await call('GET', `sessions?scope_id=${connecting.project.id}`);
  const open = (listed.field('items') as { id: string; status: string; version: number }[]).filter(
    ({ status }) => status === 'active',
  );
  for (const { id, version } of open) await call('POST', `sessions/${id}:cancel`, { version });
  const told = await cut.ended;
  assert.deepEqual([told.code, told.stderr], [1, 'gatehouse: the session was canceled\n']);
  const failed = await startCommand(t, ['connect', '-stdio', away], env).ended;
  assert.deepEqual(failed, {
    code: 1,
    stdout: '',
    stderr: 'gatehouse: the worker cannot reach the target\n',
  });
  const { code: refused, stdout: nothing } = await runProgram(['connect', '-stdio', 'no.such'], {
    env,
  });
  assert.deepEqual([refused, nothing], [1, '']);
});

test('over standard output a slow reader loses nothing of what was sent before the end', async (t) => {
  const sent = Buffer.alloc(16 << 20, 'all of it ');
  const sending = await startEndpoint(t, (socket) => socket.end(sent));
  const id = await makeTarget('sending by stdio', sending);
  const command = `"$0" "$1" connect -stdio ${id} | { sleep 2; sha256sum; }`;
  const shell = spawn('/bin/sh', ['-c', command, process.execPath, MAIN], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [sum] = await once(shell.stdout, 'data');
  assert.equal(String(sum).split(' ')[0], createHash('sha256').update(sent).digest('hex'));
});

test('when nobody reads standard output any more, the connection ends, whoever goes on writing', async (t) => {
  const left = startCommand(t, ['connect', '-stdio', target], env);
  left.stdin.write('in');
  await once(left.stdout, 'data');
  left.stdout.destroy();
  left.stdin.write('and more');
  const { code, stderr } = await left.ended;
  assert.deepEqual([code, stderr], [0, '']);
});

test('over standard streams whoever writes everything before reading anything is served', async (t) => {
  const all = Buffer.alloc(16 << 20, 'all of it ');
  const got = Promise.withResolvers<number>();
  const both = await startEndpoint(t, async (socket) => {
    socket.write(all);
    let length = 0;
    for await (const bytes of socket) {
      length += (bytes as Buffer).length;
      if (length < all.length) continue;
      got.resolve(length);
      socket.end();
    }
  });
  const id = await makeTarget('both by stdio', both);
  // With pipes of the system's own between: a command line's.
  const command = `"$0" "$1" connect -stdio ${id} | { cat "$2" >/dev/null; sha256sum; }`;
  const folder = newDirectory(t);
  const fifo = join(folder, 'sent');
  execFileSync('mkfifo', [fifo]);
  const shell = spawn('/bin/sh', ['-c', command, process.execPath, MAIN, fifo], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  shell.stdin.write(all);
  assert.equal(await got.promise, all.length);
  writeFileSync(fifo, '');
  const [sum] = await once(shell.stdout, 'data');
  assert.equal(String(sum).split(' ')[0], createHash('sha256').update(all).digest('hex'));
});

const refusals: [what: string, args: string[], more: Record<string, string>, line: RegExp][] = [
  ['no target', [], {}, /name one target/],
  ['an alias of nothing', ['no.such.alias'], {}, /the server answered 404: Resource not found$/],
  ['no token', [target], { GATEHOUSE_TOKEN: '' }, /not permitted: give a token/],
  ['a token that is none', [target], { GATEHOUSE_TOKEN: 'at_x_y' }, /the token is not valid/],
  ['a token as an argument', [target, '-token', 'canary'], {}, /not the secret itself/],
  ['two tokens', [target, '-token=env://A', '-token-file=b'], {}, /either -token or -token-file/],
  ['a server that is away', [target, '-addr=http://127.0.0.1:1'], {}, /nothing listens there/],
  ['an address that is none', [target, '-listen=x'], {}, /-listen must be HOST:PORT/],
  ['a tool that is not there', ['psql', target], { PATH: '/nonexistent' }, /psql cannot be run: /],
  ['arguments for no tool', [target, '--', 'canary'], {}, /too many arguments/],
  [
    'a tool that there is no command for',
    ['canary', target],
    {},
    /or gatehouse connect ssh, gatehouse connect psql, gatehouse connect http, and for any other tool gatehouse connect TARGET -listen /,
  ],
  [
    'flags, and then one argument too many',
    ['-format', 'json', target, 'canary'],
    {},
    /too many arguments: gatehouse connect \[TARGET\] \[flags\]$/,
  ],
];
for (const [what, args, more, line] of refusals) {
  test(`${what} is told in one line`, async () => {
    const outcome = await runProgram(['connect', ...args], { env: { ...env, ...more } });
    assert.deepEqual([outcome.code, outcome.stdout], [1, ''], outcome.stderr);
    const [first = '', ...rest] = outcome.stderr.split('\n');
    assert.match(first, line);
    assert.deepEqual(rest, ['']);
    assert.doesNotMatch(outcome.stderr, /canary/);
  });
}
