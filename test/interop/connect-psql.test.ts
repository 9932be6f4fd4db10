/** `gatehouse connect psql`, with PostgreSQL's own client and server at both ends. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { startCommand, startConnecting } from '../support/connect.ts';
import { inReverse, newDirectory } from '../support/node-process.ts';
import { startPostgres } from '../support/postgres.ts';
import { runProgram } from '../support/program.ts';
import { findCommand } from '../support/tools.ts';

const { skip } = findCommand('psql');
/** With all that would end a field of a password file, or a word of a shell. */
const PASSWORD = 'a:b\\c "d" $e \'f';

describe('psql through a session', { skip }, async () => {
  if (skip) return;
  const scope = inReverse({ after });
  const folder = newDirectory(scope);
  // The server may run as another user.
  chmodSync(folder, 0o755);
  const postgres = await startPostgres(join(folder, 'postgres'));
  scope.after(() => postgres.stop());
  const certificate = await requirePasswords(postgres.url, folder);
  const connecting = await startConnecting(scope);
  const { env } = connecting;
  const port = Number(new URL(postgres.url).port);
  const withPassword = async (name: string, password: string): Promise<string> => {
    const target = await connecting.makeTarget(name, port, { address: 'localhost' });
    const attributes = { username: 'reader', password };
    await connecting.broker(target, [{ type: 'username_password', attributes }]);
    return target;
  };
  const target = await withPassword('right', PASSWORD);
  const psql = (args: readonly string[], more: Record<string, string> = {}) =>
    runProgram(['connect', 'psql', '-dbname', 'postgres', ...args], { env: { ...env, ...more } });
  const ASK = ['-Atc', 'select current_user, ssl from pg_stat_ssl where pid = pg_backend_pid()'];

  test('a brokered user logs in, over TLS whose certificate is verified by the name of the target', async () => {
    const verified = { PGSSLMODE: 'verify-full', PGSSLROOTCERT: certificate };
    const { code, stdout, stderr } = await psql([target, '--', ...ASK], verified);
    assert.deepEqual([code, stdout], [0, 'reader|t\n'], stderr);
  });

  test('a service, a password and a password file of one’s own do not get in the way', async () => {
    const own = join(folder, 'own');
    writeFileSync(own, '*:*:*:*:wrong\n', { mode: 0o600 });
    const more = { PGSERVICE: 'other', PGPASSWORD: 'wrong', PGPASSFILE: own };
    const { code, stderr } = await psql([target, '--', ...ASK], more);
    assert.equal(code, 0, stderr);
  });

  test('another user’s name does not go with the brokered password', async () => {
    const { code, stderr } = await psql(['-username', 'writer', target, '--', '-w', ...ASK]);
    assert.equal(code, 2);
    assert.match(stderr, /no password supplied/);
  });

  test('the exit code is psql’s: 2 for a wrong password, 3 for a script that fails', async () => {
    const wrong = await psql([await withPassword('wrong', 'wrong'), '--', '-w', ...ASK]);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /password authentication failed/);
    const failing = ['-v', 'ON_ERROR_STOP=1', '-f', '-'];
    const script = await runProgram(
      ['connect', 'psql', '-dbname=postgres', target, '--', ...failing],
      { env, input: 'select 1;\nselect nonsense;\n' },
    );
    assert.equal(script.code, 3, script.stderr);
  });

  test('a result of many rows comes whole, and so does what is sent', async () => {
    const rows = await psql([
      target,
      '--',
      '-Atc',
      "select repeat('x', 1000) from generate_series(1, 20000)",
    ]);
    assert.equal(rows.stdout.length, 20_000 * 1001, rows.stderr);
    const sent = 'y'.repeat(999);
    const copied = await runProgram(
      ['connect', 'psql', '-dbname', 'postgres', target, '--', '-q', '-f', '-'],
      {
        env,
        input: `create temp table t (c text);\n\\copy t from stdin\n${`${sent}\n`.repeat(20_000)}\\.\nselect sum(length(c)) from t;\n`,
      },
    );
    assert.match(copied.stdout, /19980000/, copied.stderr);
  });

  test('the password stands among no arguments and in no environment, and its file goes', async (t) => {
    const runtime = newDirectory(t);
    const args = ['connect', 'psql', '-dbname=postgres', target, '--', '-c', 'select pg_sleep(60)'];
    const running = startCommand(t, args, { ...env, XDG_RUNTIME_DIR: runtime });
    const client = new pg.Client(postgres.url);
    await client.connect();
    t.after(() => client.end());
    const asleep = `select count(*)::int as n from pg_stat_activity where usename = 'reader' and query like '%pg_sleep%'`;
    while ((await client.query(asleep)).rows[0].n === 0) await wait(50);
    const [secrets = ''] = readdirSync(runtime);
    assert.equal(statSync(join(runtime, secrets, 'pgpass')).mode & 0o777, 0o600);
    const processes = execFileSync('ps', ['axewww', '-o', 'args']).toString();
    assert.match(processes, /pg_sleep/);
    assert.ok(!processes.includes(PASSWORD));
    running.signal('SIGINT');
    const { code, stderr } = await running.ended;
    assert.equal(code, 1, stderr);
    assert.match(stderr, /canceling statement due to user request/);
    assert.deepEqual(readdirSync(runtime), []);
  });
});

/** Has the server ask `reader` for a password, and speak TLS. @returns the certificate's file */
async function requirePasswords(url: string, folder: string): Promise<string> {
  const data = join(folder, 'postgres/data');
  const [key, certificate] = [join(folder, 'server.key'), join(folder, 'server.crt')];
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
      ...['-subj', '/CN=server', '-addext', 'subjectAltName=DNS:localhost', '-days', '2'],
      ...['-keyout', key, '-out', certificate],
    ],
    { stdio: 'ignore' },
  );
  const owner = statSync(data);
  for (const name of ['server.key', 'server.crt']) {
    copyFileSync(join(folder, name), join(data, name));
    chownSync(join(data, name), owner.uid, owner.gid);
  }
  writeFileSync(
    join(data, 'pg_hba.conf'),
    [
      'local all all trust',
      'host all postgres all trust',
      'host all all all scram-sha-256',
      '',
    ].join('\n'),
  );
  const client = new pg.Client(url);
  await client.connect();
  for (const user of ['reader', 'writer']) {
    await client.query(`create role ${user} login password ${client.escapeLiteral(PASSWORD)}`);
  }
  await client.query('alter system set ssl = on');
  await client.query('select pg_reload_conf()');
  await client.end();
  return certificate;
}
