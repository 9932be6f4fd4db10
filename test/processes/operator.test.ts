import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { formatSerial } from '../../src/x509/serial.ts';
import { parseCrl } from '../support/crl.ts';
import { eachPlace } from '../support/engines.ts';
import {
  initialiseNode,
  inReverse,
  newDirectory,
  settingsOf,
  startNodeProcess,
} from '../support/node-process.ts';
import { runProgram, startProgram } from '../support/program.ts';
import type { Client } from '../support/server.ts';
import { TEST_THREADS } from '../support/threads.ts';

// The real program, in processes of its own.

test('an operator initialises a server, unseals it share by share, and seals it again', async (t) => {
  const directory = newDirectory(t);
  const config = configFile(directory, { type: 'sqlite', path: join(directory, 'data') });
  const server = await startProgram(t, ['server', '-config', config]);
  const address = `-address=${server.url.origin}`;
  const status = () => runProgram(['operator', 'status', address]);
  assert.equal((await status()).code, 2, 'not initialised');

  const init = await runProgram([
    'operator',
    'init',
    '-key-shares=3',
    '--key-threshold',
    '2',
    address,
  ]);
  assert.equal(init.code, 0, init.stderr);
  const shares = [...init.stdout.matchAll(/^Unseal share \d +(\S+)$/gm)].map(
    ([, share]) => share ?? '',
  );
  const token = /^Root token +(\S+)$/m.exec(init.stdout)?.[1] ?? '';
  assert.equal(shares.length, 3);
  assert.match(init.stdout, /shown now and never again/);
  const again = await runProgram(['operator', 'init', address]);
  assert.deepEqual([again.code, again.stdout], [1, '']);
  assert.match(again.stderr, /initialised already/);

  const unseal = (input: string, ...flags: string[]) =>
    runProgram(['operator', 'unseal', address, ...flags], { input });
  const first = await unseal(`${shares[0]}\n`);
  assert.match(first.stdout, /^Given so far +1 of 2$/m);
  assert.equal(
    (await unseal('', '-reset')).code,
    1,
    'without a share nobody is made to forget anything',
  );
  assert.match((await unseal(`${shares[2]}\n`, '-reset')).stdout, /^Given so far +0 of 2$/m);
  assert.equal((await unseal('')).code, 1, 'an empty input is no share');
  await unseal(shares[1] ?? '');
  const opened = await unseal(shares[2] ?? '', '-format=json');
  assert.equal(JSON.parse(opened.stdout).sealed, false);
  assert.equal((await status()).code, 0);

  // The nearest no: no token, and one that is none.
  const seal = (env: Record<string, string>, ...flags: string[]) =>
    runProgram(['operator', 'seal', address, ...flags], { env });
  for (const env of [{}, { GATEHOUSE_TOKEN: 'hvs.canary' }]) {
    const refused = await seal(env);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^gatehouse: permission denied: [^\n]+\n$/);
    assert.doesNotMatch(refused.stderr + refused.stdout, /canary/);
  }
  assert.equal((await status()).code, 0);
  const file = join(directory, 'token');
  writeFileSync(file, `${token}\n`);
  assert.equal((await seal({}, '-token-file', file)).code, 0);
  assert.equal((await status()).code, 2);

  for (const share of shares.slice(0, 2)) await unseal(share);
  assert.equal((await seal({ VAULT_TOKEN: token })).code, 0, 'the known variable works as well');
});

test('an operator moves the data from shares to a key file, share by share', async (t) => {
  const directory = newDirectory(t);
  const storage = { type: 'sqlite', path: join(directory, 'data') };
  const path = join(directory, 'seal.key');
  writeFileSync(path, new Uint8Array(32).fill(3), { mode: 0o600 });
  const first = await startProgram(t, ['server', '-config', configFile(directory, storage)]);
  const made = await runProgram([
    ...['operator', 'init', '-key-shares=2', '-key-threshold=2', '-format=json'],
    `-address=${first.url.origin}`,
  ]);
  const shares: string[] = JSON.parse(made.stdout).unseal_keys_b64;
  first.signal('SIGTERM');
  await first.ended;
  const seals = { seal: { type: 'keyfile', path }, former_seal: { type: 'shamir' } };
  const moving = await startProgram(t, [
    ...['server', '-config', configFile(directory, storage, seals)],
  ]);
  const give = (input: string, ...flags: string[]) =>
    runProgram(['operator', 'unseal', `-address=${moving.url.origin}`, ...flags], { input });
  const silent = await give(shares[0] ?? '');
  assert.equal(silent.code, 1);
  assert.match(silent.stderr, /migrate option not provided/);
  await give(shares[0] ?? '', '-migrate');
  const moved = JSON.parse((await give(shares[1] ?? '', '-migrate', '-format=json')).stdout);
  assert.deepEqual([moved.type, moved.sealed, moved.migration], ['keyfile', false, false]);
});

const refusedCommands: [what: string, args: string[], code: number, line: RegExp][] = [
  [
    'a server that is not there',
    ['operator', 'status', '-address=http://127.0.0.1:1'],
    1,
    /nothing listens there/,
  ],
  [
    'an address that is none',
    ['operator', 'status', '-address=127.0.0.1:8200'],
    1,
    /must be a URL/,
  ],
  ['a command that is not known', ['operator', 'unsael'], 1, /unknown command "unsael"/],
  ['a share on the command line', ['operator', 'unseal', 'canary'], 1, /too many arguments/],
  ['a format that is not known', ['operator', 'status', '-format=yaml'], 1, /json or table/],
  [
    'a backup of nothing',
    ['operator', 'backup', '-data=/nonexistent', '/tmp/x'],
    1,
    /no database in/,
  ],
  [
    'a backup of two',
    ['operator', 'backup', '-data=a', '-config=b', '/tmp/x'],
    1,
    /either -config/,
  ],
  ['a check of nothing', ['audit', 'verify', '-data=/nonexistent'], 2, /no database in/],
  ['a check of no file', ['audit', 'verify', '-file=/nonexistent'], 2, /cannot be read/],
  ['a check without a place', ['audit', 'verify'], 2, /either -config/],
];
for (const [what, args, code, line] of refusedCommands) {
  test(`${what} is told in one line`, async () => {
    const outcome = await runProgram(args);
    assert.match(outcome.stderr, line);
    assert.match(outcome.stderr, /^gatehouse: [^\n]+\n$/);
    assert.doesNotMatch(outcome.stderr, /canary/);
    assert.deepEqual([outcome.code, outcome.stdout], [code, '']);
  });
}

const helps: [flag: string, words: string[]][] = [
  ['-h', []],
  ['-help', ['operator']],
  ['--help', ['operator', 'backup']],
  ['--h', ['operator', 'init']],
  ['help', ['audit']],
  ['-help', ['audit', 'verify']],
  ['--help', ['server']],
];
for (const [flag, words] of helps) {
  test(`gatehouse ${[...words, flag].join(' ')} explains itself`, async () => {
    const { code, stdout, stderr } = await runProgram([...words, flag]);
    assert.deepEqual([code, stderr], [0, '']);
    assert.ok(stdout.startsWith(`Usage: ${['gatehouse', ...words].join(' ')} `), stdout);
  });
}

test('gatehouse operator alone explains itself as well', async () => {
  const { code, stdout } = await runProgram(['operator']);
  assert.equal(code, 0);
  assert.match(stdout, /^ {2}backup /m);
});

eachPlace('a backup of a running server', (newSource, from) => {
  eachPlace(`on ${from}, restored`, (newTarget) => {
    test('keeps every revocation that was acknowledged before it, and repeats no number', async (test) => {
      const t = inReverse(test);
      const directory = newDirectory(t);
      const source = await newSource();
      const settings = settingsOf(source, directory);
      const before = await startNodeProcess(t, settings);
      const token = await initialiseNode(before);
      const call = before.as(token);
      await makeAuthority(call);
      const revokedBefore = await issue(call);
      assert.equal((await call('POST', 'ca/revoke', { serial_number: revokedBefore })).status, 200);
      await call('GET', 'ca/crl');

      const file = join(directory, 'backup');
      const config = configFile(directory, settings.storage);
      const backup = await runProgram(['operator', 'backup', '-config', config, file]);
      assert.equal(backup.code, 0, backup.stderr);
      assert.match(backup.stdout, /Not in it: what opens the seal/);
      assert.equal(statSync(file).mode & 0o777, 0o600);
      assert.equal(readFileSync(file).indexOf(new Uint8Array(32).fill(7)), -1, 'the key file');
      assert.equal(readFileSync(file).indexOf(token), -1, 'a token');

      const revokedAfter = await issue(call);
      await call('POST', 'ca/revoke', { serial_number: revokedAfter });
      for (let n = 0; n < 3; n += 1) await call('GET', 'ca/crl/rotate');
      const last = await readList(call);
      assert.ok(last.serials.includes(revokedAfter));

      const running = await runProgram(['operator', 'restore', '-force', '-config', config, file]);
      assert.equal(running.code, 1);
      assert.match(
        running.stderr,
        /^gatehouse: (another process has|the database is in use)[^\n]+\n$/,
      );
      await before.stop();
      const full = await runProgram(['operator', 'restore', '-config', config, file]);
      assert.equal(full.code, 1);
      assert.match(full.stderr, /^gatehouse: [^\n]+-force replaces everything[^\n]+\n$/);

      const target = settingsOf(await newTarget(), directory);
      const into = configFile(directory, target.storage);
      const restored = await runProgram(['operator', 'restore', '-config', into, file]);
      assert.equal(restored.code, 0, restored.stderr);
      const after = await startNodeProcess(t, target);
      const callAfter = after.as(token);
      const certificate = await callAfter('GET', `ca/cert/${revokedBefore}`);
      assert.notEqual(certificate.field('data.revocation_time'), 0, certificate.text);
      const list = await readList(callAfter);
      assert.deepEqual(list.serials, [revokedBefore]);
      assert.ok(list.number > last.number, `${list.number} comes after ${last.number}`);
      assert.ok(![revokedBefore, revokedAfter].includes(await issue(callAfter)));

      const verified = await runProgram(['audit', 'verify', '-config', into, '-format', 'json']);
      assert.equal(verified.code, 0, verified.stdout + verified.stderr);
      await after.stop();
    });
  });
});

describe('of audit records', () => {
  /** A stopped server's folder, with a few records, and what its file sink wrote. */
  async function recorded(test: TestContext) {
    const t = inReverse(test);
    const directory = newDirectory(t);
    const data = join(directory, 'data');
    mkdirSync(data);
    const file = join(directory, 'audit.log');
    const config = configFile(
      directory,
      { type: 'sqlite', path: data },
      {
        audit: { sinks: [{ type: 'file', path: file }] },
      },
    );
    const server = await startProgram(t, ['server', '-config', config]);
    await runProgram(['operator', 'init', '-key-shares=1', `-address=${server.url.origin}`]);
    const head = async (): Promise<string> => {
      const { stdout } = await runProgram(['audit', 'verify', '-config', config, '-format=json']);
      return String(JSON.parse(stdout).nodes[0].head);
    };
    // What was kept while the server worked is an earlier record by the time it has ended.
    const kept = await head();
    const share = 'AA==';
    await runProgram(['operator', 'unseal', `-address=${server.url.origin}`], { input: share });
    server.signal('SIGTERM');
    assert.equal((await server.ended).code, 0);
    return { config, file, kept, database: join(data, 'gatehouse.db') };
  }

  const verify = (...flags: string[]) => runProgram(['audit', 'verify', ...flags]);

  test('what is intact is said of the database and of a sink, and a head kept elsewhere is found', async (t) => {
    const { config, file, kept } = await recorded(t);
    const stored = await verify('-config', config, '-head', kept);
    assert.equal(stored.code, 0, stored.stdout + stored.stderr);
    const inFile = await verify('-file', file, '-head', kept);
    assert.equal(inFile.code, 0, inFile.stdout + inFile.stderr);
    const heads = [stored, inFile].map(({ stdout }) => /^head +(\w+)$/m.exec(stdout)?.[1]);
    assert.equal(heads[0], heads[1]);
    const strange = await verify('-config', config, '-head', '00'.repeat(32));
    assert.equal(strange.code, 1);
    assert.match(strange.stdout, /no record has the hash given with -head/);
  });

  test('a changed record is named, and one that was cut off is missed by the kept head', async (t) => {
    const { config, file, kept, database } = await recorded(t);
    const change = (statement: string): void => {
      const opened = new DatabaseSync(database);
      opened.exec(statement);
      opened.close();
    };
    change("update audit_entry set record = '{}' where seq = 1");
    const changed = await verify('-config', config);
    assert.equal(changed.code, 1);
    assert.match(changed.stdout, /^BROKEN +node local: record 1 was changed$/m);

    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    writeFileSync(
      file,
      `${lines.map((line, at) => (at === 0 ? line.replace('"done"', '"d0ne"') : line)).join('\n')}\n`,
    );
    const changedLine = await verify('-file', file);
    assert.equal(changedLine.code, 1);
    assert.match(changedLine.stdout, /^BROKEN +line 1: record 1 was changed$/m);

    change('delete from audit_entry');
    assert.equal((await verify('-config', config)).code, 0);
    assert.equal((await verify('-config', config, '-head', kept)).code, 1);
  });
});

function configFile(
  directory: string,
  storage: unknown,
  more: Record<string, unknown> = {},
): string {
  const file = join(directory, `config-${Math.random()}.json`);
  const own = {
    listener: { address: '127.0.0.1:0', tls_disable: true },
    proxy_listener: { address: '127.0.0.1:0' },
    threads: TEST_THREADS,
  };
  writeFileSync(file, JSON.stringify({ ...own, storage, log_level: 'silent', ...more }));
  return file;
}

async function makeAuthority(call: Client['call']): Promise<void> {
  await call('POST', 'sys/mounts/ca', { type: 'pki' });
  const root = { common_name: 'Test Root', key_type: 'ec' };
  assert.equal((await call('POST', 'ca/root/generate/internal', root)).status, 200);
  const role = { allow_any_name: true, key_type: 'ec', max_ttl: '1h' };
  assert.equal((await call('POST', 'ca/roles/any', role)).status, 200);
}

async function issue(call: Client['call']): Promise<string> {
  const issued = await call('POST', 'ca/issue/any', { common_name: 'a.example.com' });
  assert.equal(issued.status, 200, issued.text);
  return issued.textAt('data.serial_number');
}

async function readList(call: Client['call']) {
  const crl = parseCrl((await call('GET', 'ca/crl')).bytes);
  const serials = [...crl.entries()].map(({ serialNumber }) => formatSerial(serialNumber));
  return { number: crl.crlNumber ?? 0n, serials };
}
