// A PostgreSQL server of this file's own, with TLS in all its forms. Runs where the rest of the
// store's tests find PostgreSQL.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { inspect } from 'node:util';
import { Client } from 'pg';
import { type Openssl, withOpenssl } from '../../test/support/openssl.ts';
import { type PostgresServer, startPostgres } from '../../test/support/postgres.ts';
import { Failure } from '../core/failure.ts';
import { backUp } from './backup.ts';
import { restore } from './restore.ts';
import { openStore, type StoreOptions } from './store.ts';

const skip =
  process.env.GATEHOUSE_TEST_POSTGRES === undefined &&
  'TLS needs PostgreSQL: set GATEHOUSE_TEST_POSTGRES (test/support/postgres.ts)';

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-pg-tls-'));
const fileOf = (name: string): string => join(directory, name);
const PASSWORD = 'hunter2-of-the-database';

/** What a CA of OpenSSL's needs to give certificates of chosen times. */
const AUTHORITY = `[ca]
default_ca = own
[own]
database = index
new_certs_dir = .
serial = serial
default_md = sha256
policy = any
copy_extensions = copy
[any]
commonName = supplied
`;

function makeCertificates({ must, write, read }: Openssl): void {
  const keep = (name: string, content = read(name)): void =>
    writeFileSync(fileOf(name), content, { mode: 0o600 });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  write('own.cnf', AUTHORITY);
  for (const ca of ['ca', 'other-ca']) {
    must(
      'req',
      '-x509',
      ...key,
      '-subj',
      `/CN=${ca}`,
      '-days',
      '2',
      '-keyout',
      `${ca}.key`,
      '-out',
      `${ca}.pem`,
    );
    keep(`${ca}.pem`);
  }
  const leaves: [name: string, common_name: string, san: string, end: string][] = [
    ['good', 'db', 'IP:127.0.0.1,DNS:localhost', '20491231000000Z'],
    ['other-name', 'db', 'DNS:db.test', '20491231000000Z'],
    ['expired', 'db', 'IP:127.0.0.1,DNS:localhost', '20200102000000Z'],
    ['client', 'postgres', 'DNS:client.test', '20491231000000Z'],
  ];
  for (const [name, common_name, san, end] of leaves) {
    write('index', '');
    const request = ['-subj', `/CN=${common_name}`, '-addext', `subjectAltName=${san}`];
    must('req', ...key, ...request, '-keyout', `${name}.key`, '-out', `${name}.csr`);
    const times = ['-startdate', '20200101000000Z', '-enddate', end];
    const signed = ['-cert', 'ca.pem', '-keyfile', 'ca.key', '-in', `${name}.csr`, '-notext'];
    must(
      'ca',
      '-batch',
      '-config',
      'own.cnf',
      '-rand_serial',
      ...times,
      ...signed,
      '-out',
      `${name}.pem`,
    );
    keep(`${name}.pem`);
    keep(`${name}.key`);
  }
}

let server: PostgresServer | undefined;
let port = '';

async function beside(sql: readonly string[]): Promise<unknown[]> {
  const client = new Client({ connectionString: server?.url ?? '', ssl: false });
  await client.connect();
  try {
    let rows: unknown[] = [];
    for (const one of sql) rows = (await client.query(one)).rows;
    return rows;
  } finally {
    await client.end();
  }
}

/** Has the server show a certificate from now on; undefined: it has no TLS. */
async function show(name: string | undefined): Promise<void> {
  const set = (what: string, value: string): string => `alter system set ${what} = '${value}'`;
  await beside([
    ...(name === undefined
      ? [set('ssl', 'off')]
      : [
          set('ssl_cert_file', fileOf(`${name}.pem`)),
          set('ssl_key_file', fileOf(`${name}.key`)),
          set('ssl_ca_file', fileOf('ca.pem')),
          set('ssl', 'on'),
        ]),
    'select pg_reload_conf()',
  ]);
  // Reloading is told to the processes by a signal; a new connection shows when it has arrived.
  const wanted = name === undefined ? 'off' : 'on';
  const file = name === undefined ? undefined : fileOf(`${name}.pem`);
  for (;;) {
    const [row] = await beside([
      "select current_setting('ssl') as ssl, current_setting('ssl_cert_file') as file",
    ]);
    const { ssl, file: shown } = Object(row);
    if (ssl === wanted && (file === undefined || shown === file)) return;
    await new Promise(setImmediate);
  }
}

/** The words that a store is refused with, or whether all its connections were secured. */
async function outcome(query: string): Promise<string> {
  const url = `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres${query}`;
  const lines: string[] = [];
  const log = { warn: note, error: note, info: note, debug: note };
  function note(...said: unknown[]): void {
    lines.push(JSON.stringify(said));
  }
  try {
    const store = await openStore({ engine: 'postgres', url, node_name: 'tls', log });
    try {
      await store.commit([]);
      await store.db.selectFrom('audit_sink').selectAll().execute();
      const rows = await beside([
        `select application_name, ssl from pg_stat_ssl join pg_stat_activity using (pid)
         where application_name like 'gatehouse %'`,
      ]);
      const secured = new Set(rows.map((row) => Object(row).ssl));
      assert.ok(rows.length >= 3, `reader, writer and watch: ${JSON.stringify(rows)}`);
      assert.equal(secured.size, 1, JSON.stringify(rows));
      return secured.has(true) ? 'TLS' : 'plain';
    } finally {
      await store.close();
    }
  } catch (error) {
    assert.ok(error instanceof Failure, String(error));
    assert.doesNotMatch(error.message, /\n/);
    assert.doesNotMatch(`${error.stack} ${JSON.stringify(error.detail)}`, /hunter2/);
    return error.message;
  } finally {
    assert.doesNotMatch(lines.join('\n'), /hunter2/);
  }
}

describe('connections to PostgreSQL', { skip }, () => {
  before(async () => {
    withOpenssl(makeCertificates);
    if (process.getuid?.() === 0) {
      execFileSync('sh', [
        '-c',
        `chmod 755 ${directory} && chown postgres ${directory}/*.key ${directory}/*.pem`,
      ]);
    }
    server = await startPostgres(join(directory, 'server'));
    ({ port } = new URL(server.url));
  });
  after(() => {
    server?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  const ca = `sslrootcert=${encodeURIComponent(fileOf('ca.pem'))}`;
  const otherCa = `sslrootcert=${encodeURIComponent(fileOf('other-ca.pem'))}`;
  const NO_TLS = /^the database cannot be reached: it offers no TLS/;
  const UNTRUSTED = /^the database cannot be reached: its certificate is not trusted/;
  const MISNAMED = /^the database cannot be reached: its certificate is for another name$/;
  const EXPIRED = /^the database cannot be reached: its certificate has expired$/;
  const PLAIN = /^plain$/;
  const SECURED = /^TLS$/;

  const cases: [shows: string | undefined, query: string, says: RegExp][] = [
    [undefined, '', PLAIN],
    [undefined, '?sslmode=disable', PLAIN],
    [undefined, '?sslmode=require', NO_TLS],
    [undefined, `?sslmode=verify-ca&${ca}`, NO_TLS],
    [undefined, `?sslmode=verify-full&${ca}`, NO_TLS],
    ['good', '?sslmode=disable', PLAIN],
    ['good', `?sslmode=require&${ca}`, SECURED],
    ['good', `?sslmode=verify-ca&${ca}`, SECURED],
    ['good', `?sslmode=verify-full&${ca}`, SECURED],
    ['good', '?sslmode=require', UNTRUSTED],
    ['good', '?sslmode=verify-full', UNTRUSTED],
    ['good', `?sslmode=require&${otherCa}`, UNTRUSTED],
    ['good', `?sslmode=verify-ca&${otherCa}`, UNTRUSTED],
    ['good', `?sslmode=verify-full&${otherCa}`, UNTRUSTED],
    ['other-name', `?sslmode=verify-ca&${ca}`, SECURED],
    ['other-name', `?sslmode=require&${ca}`, MISNAMED],
    ['other-name', `?sslmode=verify-full&${ca}`, MISNAMED],
    ['expired', `?sslmode=verify-ca&${ca}`, EXPIRED],
    ['expired', `?sslmode=verify-full&${ca}`, EXPIRED],
  ];

  test('each way of securing them is what it says, and none falls back', async () => {
    let shown: string | undefined = 'not known yet';
    for (const [shows, query, says] of cases) {
      if (shows !== shown) await show(shows);
      shown = shows;
      const said = await outcome(query);
      assert.match(said, says, `${shows ?? 'no TLS'}, ${query || 'nothing said'}`);
    }
  });

  test('a backup and what is restored from it are on the same terms', async () => {
    const secure = (database: string): StoreOptions => ({
      engine: 'postgres',
      url: `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/${database}?sslmode=verify-full&${ca}`,
      node_name: 'tls',
      log: { info: () => {}, warn: () => {}, error: () => {} },
    });
    const made = { now: 1_800_000_000_000, program: 'test' };
    const whole = { replace: false, finish: async () => {} };
    await show('good');
    await beside(['create database copy', 'create database spared']);
    await (await openStore(secure('postgres'))).close();
    await backUp(secure('postgres'), fileOf('good.backup'), made);
    await restore(secure('copy'), fileOf('good.backup'), whole);
    await (await openStore(secure('copy'))).close();

    for (const shows of ['other-name', 'expired', undefined]) {
      await show(shows);
      const file = fileOf(`${shows}.backup`);
      const refused = (error: unknown): boolean => {
        assert.ok(error instanceof Failure, String(error));
        assert.match(
          error.message,
          new RegExp(`${MISNAMED.source}|${EXPIRED.source}|${NO_TLS.source}`),
        );
        assert.doesNotMatch(`${error.stack} ${inspect(error.detail)}`, /hunter2/);
        return true;
      };
      await assert.rejects(backUp(secure('postgres'), file, made), refused);
      assert.equal(existsSync(file), false);
      await assert.rejects(restore(secure('spared'), fileOf('good.backup'), whole), refused);
    }
    await show('good');
    const spared = new Client({
      connectionString: (server?.url ?? '').replace(/postgres$/, 'spared'),
      ssl: false,
    });
    await spared.connect();
    const { rows } = await spared.query("select 1 from pg_tables where schemaname = 'public'");
    await spared.end();
    assert.deepEqual(rows, []);
  });

  test('a CA that is exchanged is, for each new connection, the one that is trusted', async () => {
    await show('good');
    const file = fileOf('changing.pem');
    const trust = (name: string): void => writeFileSync(file, readFileSync(fileOf(`${name}.pem`)));
    trust('ca');
    const query = `sslmode=verify-full&sslrootcert=${encodeURIComponent(file)}`;
    const store = await openStore({
      engine: 'postgres',
      url: `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres?${query}`,
      node_name: 'changing',
      log: { info: () => {}, warn: () => {}, error: () => {} },
    });
    const read = () => store.db.selectFrom('config_version').selectAll().execute();
    const cut = () =>
      beside([
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'gatehouse reader'",
      ]);
    try {
      assert.equal((await read()).length, 1);
      for (const exchange of [() => trust('other-ca'), () => rmSync(file)]) {
        exchange();
        await cut();
        await assert.rejects(read(), { kind: 'unavailable' });
        trust('ca');
        assert.equal((await read()).length, 1);
      }
    } finally {
      await store.close();
    }
  });

  test('a certificate of the client’s is shown where the server asks for it', async () => {
    await show('good');
    const hba = join(directory, 'server', 'data', 'pg_hba.conf');
    writeFileSync(hba, 'hostssl all all 127.0.0.1/32 cert\nhostnossl all all 127.0.0.1/32 trust\n');
    await beside(['select pg_reload_conf()']);
    const own = `sslcert=${encodeURIComponent(fileOf('client.pem'))}&sslkey=${encodeURIComponent(fileOf('client.key'))}`;
    assert.match(await outcome(`?sslmode=verify-full&${ca}&${own}`), SECURED);
    const without = await outcome(`?sslmode=verify-full&${ca}`);
    assert.match(
      without,
      /^the database cannot be reached: connection requires a valid client cert/,
    );
  });
});
