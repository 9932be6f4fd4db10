import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { openStore } from '../../src/store/store.ts';
import { freePort } from '../support/free-port.ts';
import { newDirectory } from '../support/node-process.ts';
import { launchProgram, type Outcome, runProgram, startProgram } from '../support/program.ts';
import { startTestServer } from '../support/server.ts';
import { TEST_THREADS } from '../support/threads.ts';

/** One line for the operator, and no stack. */
function assertRefused(outcome: Outcome, line: RegExp): void {
  assert.match(outcome.stderr, line);
  assert.match(outcome.stderr, /^gatehouse: [^\n]+\n$/);
  assert.equal(outcome.code, 1);
}

const devArgs = (data: string): string[] => ['dev', '-data', data, '-listen', '127.0.0.1:0'];

function configFile(directory: string, config: object): string {
  const file = join(directory, 'gatehouse.json');
  const proxy_listener = { address: '127.0.0.1:0' };
  writeFileSync(file, JSON.stringify({ threads: TEST_THREADS, proxy_listener, ...config }));
  return file;
}

test('a port that is taken is told in one line', async (t) => {
  const other = createServer().listen(0, '127.0.0.1');
  t.after(() => other.close());
  await once(other, 'listening');
  const address = other.address();
  assert.ok(address !== null && typeof address === 'object');
  const outcome = await runProgram([
    'dev',
    '--data',
    newDirectory(t),
    `--listen=127.0.0.1:${address.port}`,
  ]);
  assertRefused(outcome, new RegExp(`port ${address.port} of 127.0.0.1 is in use`));
});

test('a data folder that cannot be written is told in one line', async (t) => {
  const file = join(newDirectory(t), 'file');
  writeFileSync(file, '');
  for (const data of [file, join(file, 'below'), '/proc/nope', '/proc/nope/below']) {
    const line = new RegExp(`the directory "${data}" cannot be used: E`);
    assertRefused(await runProgram(devArgs(data)), line);
    assertRefused(await runProgram(['operator', 'restore', '-data', data, file]), line);
  }
});

test('a data folder of a later version is told in one line', async (t) => {
  const directory = newDirectory(t);
  await (await openStore({ engine: 'sqlite', directory })).close();
  const database = new DatabaseSync(join(directory, 'gatehouse.db'));
  database.exec("insert into schema_migration values (9999, 'later', 0)");
  database.close();
  assertRefused(await runProgram(devArgs(directory)), /is at schema 9999 .* a later one/);
});

const badConfigs: [what: string, config: object, line: RegExp][] = [
  [
    'a key that is not known',
    { storage: { type: 'sqlite', path: 'x' }, listner: {} },
    /unknown key "listner"/,
  ],
  [
    'one that is not known deeper down',
    { listener: { tls_disable: true }, storage: { type: 'sqlite', pth: 'x' } },
    /unknown key "storage\.pth"/,
  ],
  [
    'a path that is empty',
    { storage: { type: 'sqlite', path: '' }, listener: { tls_disable: true } },
    /storage\.path must be a text/,
  ],
];
for (const [what, config, line] of badConfigs) {
  test(`of a configuration, ${what} is told by its name`, async (t) => {
    const outcome = await runProgram(['server', '-config', configFile(newDirectory(t), config)]);
    assertRefused(outcome, line);
  });
}

test('a TLS certificate that cannot be read keeps the server from starting, in one line', async (t) => {
  const directory = newDirectory(t);
  const pem = join(directory, 'broken.pem');
  const start = (tls_cert_file: string, tls_key_file = pem) =>
    runProgram([
      'server',
      '--config',
      configFile(directory, {
        listener: { address: '127.0.0.1:0', tls_cert_file, tls_key_file },
        storage: { type: 'sqlite', path: join(directory, 'data') },
      }),
    ]);
  writeFileSync(pem, 'not PEM');
  assertRefused(await start('/none.pem'), /listener\.tls_cert_file: .*none\.pem/);
  assertRefused(await start(pem, '/none.key'), /listener\.tls_key_file: .*none\.key/);
  assertRefused(await start(pem), /no TLS certificate and its key/);
});

test('flags are written with one dash or two, with or without a sign of equality', async (t) => {
  const one = await startProgram(t, devArgs(newDirectory(t)));
  const two = await startProgram(t, [
    'dev',
    `--data=${newDirectory(t)}`,
    '--listen',
    '127.0.0.1:0',
    '--proxy-listen=127.0.0.1:0',
    '--root-token=other',
  ]);
  const ask = async (url: URL, token: string): Promise<number> =>
    (await fetch(new URL('/v1/sys/mounts', url), { headers: { 'x-vault-token': token } })).status;
  assert.equal(await ask(one.url, 'root'), 200);
  assert.equal(await ask(two.url, 'other'), 200);
  assert.equal(await ask(two.url, 'root'), 403);
});

test('SIGTERM answers the request under way, takes no new one, and ends with 0', async (t) => {
  const program = await startProgram(t, devArgs(newDirectory(t)));
  const port = Number(program.url.port);
  const body = '{"policy":"path \\"a/*\\" { capabilities = [\\"read\\"] }"}';
  const socket = connect(port, '127.0.0.1').setEncoding('utf8');
  t.after(() => socket.destroy());
  let answer = '';
  socket.on('data', (text: string) => {
    answer += text;
  });
  socket.write(
    [
      'POST /v1/sys/policies/acl/drained HTTP/1.1',
      'host: 127.0.0.1',
      'x-vault-token: root',
      'expect: 100-continue',
      `content-length: ${body.length}`,
      '\r\n',
    ].join('\r\n'),
  );
  await until(() => answer.includes('100 Continue'));
  program.signal('SIGTERM');
  await until(() => refused(port));
  socket.write(body);
  const { code, stderr } = await program.ended;
  assert.match(answer, /HTTP\/1\.1 204/);
  assert.equal(code, 0, stderr);
});

for (const threads of ['1', '4']) {
  test(`SIGTERM ends with 0 from the first answer on, of ${threads} threads`, async (t) => {
    for (let round = 0; round < 3; round += 1) {
      const port = await freePort();
      const where = ['-data', newDirectory(t), '-listen', `127.0.0.1:${port}`];
      const program = launchProgram(t, ['dev', ...where, '-threads', threads]);
      await until(() => isAnswered(port));
      program.signal('SIGTERM');
      const { code, stderr } = await program.ended;
      assert.equal(code, 0, stderr);
    }
  });
}

const isAnswered = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/v1/sys/health`).then(
    ({ ok }) => ok,
    () => false,
  );

// An idle connection ends by itself after 75 seconds.
const soon = { timeout: 120_000 };

test(
  'SIGTERM does not wait for a connection that was refused before its body came',
  soon,
  async (t) => {
    const program = await startProgram(t, devArgs(newDirectory(t)));
    const socket = connect(Number(program.url.port), '127.0.0.1').setEncoding('utf8');
    t.after(() => socket.destroy());
    let answer = '';
    socket.on('data', (text: string) => {
      answer += text;
    });
    socket.write('POST /v1/sys/mounts/x HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 2\r\n\r\n');
    await until(() => answer.includes('403'));
    program.signal('SIGTERM');
    await until(() => refused(Number(program.url.port)));
    socket.write('{}');
    const { code, stderr } = await program.ended;
    assert.equal(code, 0, stderr);
  },
);

test('SIGHUP takes the new TLS certificate, and keeps the old one if the new is broken', async (t) => {
  const directory = newDirectory(t);
  const files = { tls_cert_file: join(directory, 'a.pem'), tls_key_file: join(directory, 'a.key') };
  const issue = await tlsIssuer(t);
  const place = async () => {
    const pair = await issue();
    writeFileSync(files.tls_cert_file, pair.certificate);
    writeFileSync(files.tls_key_file, pair.key, { mode: 0o600 });
    return pair.serial;
  };
  const first = await place();
  const data = join(directory, 'data');
  mkdirSync(data);
  const config = configFile(directory, {
    listener: { address: '127.0.0.1:0', ...files },
    storage: { type: 'sqlite', path: data },
  });
  const program = await startProgram(t, ['server', `-config=${config}`]);
  const port = Number(program.url.port);
  assert.equal(await serialAt(port), first);

  const second = await place();
  assert.equal(await serialAt(port), first, 'not before the signal');
  program.signal('SIGHUP');
  await until(async () => (await serialAt(port)) === second);

  writeFileSync(files.tls_cert_file, 'broken');
  program.signal('SIGHUP');
  await until(() => program.stderr().includes('the old one stays'));
  assert.equal(await serialAt(port), second);
});

test('a command trusts a server by the authority it is given, and by no other', async (t) => {
  const directory = newDirectory(t);
  const pair = await (await tlsIssuer(t))();
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  const config = configFile(directory, {
    listener: {
      address: '127.0.0.1:0',
      tls_cert_file: file('a.pem', pair.certificate),
      tls_key_file: file('a.key', pair.key),
    },
    storage: { type: 'sqlite', path: join(directory, 'data') },
  });
  const { url } = await startProgram(t, ['server', `-config=${config}`]);
  const status = (origin: string, ...flags: string[]) =>
    runProgram(['operator', 'status', '-address', origin, ...flags]);
  const ca = file('ca.pem', pair.issuing_ca);
  const trusted = await status(url.origin, '-ca-cert', ca);
  assert.deepEqual([trusted.code, trusted.stderr], [2, '']);
  assertRefused(await status(url.origin), /not trusted: name the authority .* -ca-cert/);
  const otherName = url.origin.replace('127.0.0.1', '127.0.0.2');
  assertRefused(
    await status(otherName, '-ca-cert', ca),
    /is for another name|nothing listens there/,
  );
  const plain = url.origin.replace('https', 'http');
  assertRefused(await status(plain), /should the address begin with https:/);
});

/** Makes certificates for 127.0.0.1, each with its key. */
async function tlsIssuer(t: TestContext) {
  const { call } = await startTestServer(t);
  const made = await call('POST', 'demo/root/generate/internal', {
    common_name: 'Test Root',
    key_type: 'ec',
  });
  assert.equal(made.status, 200, made.text);
  await call('POST', 'demo/roles/tls', {
    allow_any_name: true,
    allow_ip_sans: true,
    key_type: 'ec',
  });
  return async () => {
    const pair = await call('POST', 'demo/issue/tls', {
      common_name: 'localhost',
      ip_sans: '127.0.0.1',
      ttl: '1h',
    });
    assert.equal(pair.status, 200, pair.text);
    return {
      certificate: pair.textAt('data.certificate'),
      key: pair.textAt('data.private_key'),
      issuing_ca: pair.textAt('data.issuing_ca'),
      serial: pair.textAt('data.serial_number').replaceAll(':', '').toUpperCase(),
    };
  };
}

/** The serial number of the certificate that is shown to a new connection. */
async function serialAt(port: number): Promise<string> {
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { serialNumber } = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber.padStart(40, '0');
}

function refused(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => {
      socket.destroy();
      resolve(false);
    });
    socket.on('error', () => resolve(true));
  });
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await holds())) {
    assert.ok(performance.now() < deadline, 'it never came');
    // The other process needs the processor more than this loop does.
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
