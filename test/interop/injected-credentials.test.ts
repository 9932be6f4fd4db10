import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { inReverse, newDirectory } from '../support/node-process.ts';
import { type Broker, startBroker } from '../support/seeded-broker.ts';
import { openSessionPort } from '../support/session-port.ts';
import {
  certify,
  clientOptions,
  findSshd,
  type KeyPair,
  makeKeyPair,
  type Ran,
  runProgram,
  SSH_USER,
  type Sshd,
  startSshd,
} from '../support/sshd.ts';

const { skip } = findSshd();
describe('credentials that a worker logs in with', { skip }, () => {
  const suite = inReverse({ after });
  let broker: Broker;
  let folder: string;
  let store: string;
  let user: KeyPair;
  let sshd: Sshd;

  before(async () => {
    const listen = { host: '127.0.0.1', port: 0 };
    broker = await startBroker(suite, { config: { proxy_listen: listen } });
    folder = newDirectory(suite);
    user = makeKeyPair(folder, 'user');
    sshd = await startSshd(suite, { keys: [user.public_line] });
    store = await broker.make('credential-stores', {
      scope_id: broker.project,
      type: 'static',
      attributes: {},
    });
  });

  const keyOf = ({ private_text }: KeyPair, passphrase = ''): Promise<string> =>
    broker.make('credentials', {
      credential_store_id: store,
      type: 'ssh_private_key',
      attributes: {
        username: SSH_USER,
        private_key: private_text,
        ...(passphrase === '' ? {} : { private_key_passphrase: passphrase }),
      },
    });

  let count = 0;
  /** A session's authorization token, of a new target. */
  async function authorize(credential: string, at: Sshd, attributes: object): Promise<string> {
    const target = await broker.make('targets', {
      scope_id: broker.project,
      type: 'ssh',
      name: `target ${++count}`,
      address: '127.0.0.1',
      session_connection_limit: -1,
      attributes: { default_port: at.port, ...attributes },
    });
    const added = await broker.admin('POST', `targets/${target}:add-credential-sources`, {
      version: 1,
      injected_application_credential_source_ids: [credential],
    });
    assert.equal(added.status, 200, added.text);
    const answer = await broker.admin('POST', `targets/${target}:authorize-session`, {});
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.field('credentials'), undefined);
    return answer.textAt('authorization_token');
  }

  let known = 0;
  const options = (...more: string[]): string[] =>
    clientOptions(join(folder, `known-${++known}`), ...more);
  const ssh = (port: number, ...command: string[]): Promise<Ran> =>
    runProgram('ssh', [...options(), '-p', `${port}`, 'whoever@127.0.0.1', ...command], 'typed');

  test('a private key logs in, and the client has none', async (t) => {
    const pinned = { host_keys: [sshd.host_key.public_line] };
    const port = await openSessionPort(t, await authorize(await keyOf(user), sshd, pinned));
    const ran = await ssh(port, 'id -un; cat; echo oops >&2; exit 7');
    assert.deepEqual([ran.status, ran.stdout], [7, `${SSH_USER}\ntyped`], ran.stderr);
    assert.match(ran.stderr, /^oops$/m);
  });

  for (const [type, bits] of [
    ['ed25519', ''],
    ['rsa', '3072'],
    ['ecdsa', '521'],
  ] as const) {
    test(`a ${type} key that a passphrase locks logs in`, async (t) => {
      const locked = makeKeyPair(folder, `locked-${type}`, {
        type,
        bits,
        passphrase: 'open sesame',
      });
      const server = await startSshd(t, { keys: [locked.public_line] });
      const pinned = { host_keys: [server.host_key.public_line] };
      const credential = await keyOf(locked, 'open sesame');
      const port = await openSessionPort(t, await authorize(credential, server, pinned));
      const ran = await ssh(port, 'echo in');
      assert.deepEqual([ran.status, ran.stdout], [0, 'in\n'], ran.stderr);
    });
  }

  test('files go both ways by scp and sftp, whole', async (t) => {
    const pinned = { host_keys: [sshd.host_key.public_line] };
    const port = await openSessionPort(t, await authorize(await keyOf(user), sshd, pinned));
    const content = randomBytes(8 << 20);
    const [here, there, back] = ['here', 'there', 'back'].map((name) => join(folder, name));
    assert.ok(here && there && back);
    writeFileSync(here, content);
    const to = await runProgram('scp', [
      ...options(),
      '-P',
      `${port}`,
      here,
      `x@127.0.0.1:${there}`,
    ]);
    assert.equal(to.status, 0, to.stderr);
    const job = `get ${there} ${back}\n`;
    const sftp = await runProgram(
      'sftp',
      [...options('-b', '-'), '-P', `${port}`, 'x@127.0.0.1'],
      job,
    );
    assert.equal(sftp.status, 0, sftp.stderr);
    const digest = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');
    assert.equal(digest(back), digest(here));
  });

  for (const [path, key_type, key_bits] of [
    ['sign', 'ed25519', 0],
    ['sign', 'ecdsa', 384],
    ['sign', 'rsa', 2048],
    ['issue', 'ed25519', 0],
    ['issue', 'rsa', 2048],
  ] as const) {
    test(`a certificate of this server's own authority logs in: ${path}, ${key_type}`, async (t) => {
      const { call, url } = broker.client;
      const mount = `ssh-${path}-${key_type}`;
      const must = async (method: string, at: string, body: object) => {
        const reply = await call(method, at, body);
        assert.ok(reply.status < 300, reply.text);
        return reply;
      };
      await must('POST', `sys/mounts/${mount}`, { type: 'ssh' });
      const authority = await must('POST', `${mount}/config/ca`, { key_type: 'ssh-ed25519' });
      await must('POST', `${mount}/roles/ops`, {
        ...{ key_type: 'ca', allow_user_certificates: true, allowed_users: SSH_USER },
        ...{ default_extensions: { 'permit-pty': '' }, allow_user_key_ids: true, ttl: '5m' },
      });
      await must('PUT', `sys/policies/acl/${mount}`, {
        policy: ['sys/leases/revoke', `${mount}/${path}/ops`]
          .map((one) => `path "${one}" { capabilities = ["update"] }`)
          .join('\n'),
      });
      const token = await must('POST', 'auth/token/create', {
        ...{ no_parent: true, period: '1h', policies: [mount] },
      });
      const vault = await broker.make('credential-stores', {
        scope_id: broker.project,
        type: 'vault',
        attributes: { address: url, token: token.textAt('auth.client_token') },
      });
      const library = await broker.make('credential-libraries', {
        credential_store_id: vault,
        type: 'vault-ssh-certificate',
        attributes: {
          ...{ path: `${mount}/${path}/ops`, username: SSH_USER },
          ...{ key_type, ...(key_bits > 0 ? { key_bits } : {}) },
          key_id: 'for-{{.Account.LoginName}}',
        },
      });
      const file = join(folder, `${mount}.pub`);
      writeFileSync(file, `${authority.textAt('data.public_key')}\n`);
      const server = await startSshd(t, { lines: [`TrustedUserCAKeys ${file}`] });
      const pinned = { host_keys: [server.host_key.public_line] };
      const port = await openSessionPort(t, await authorize(library, server, pinned));
      const ran = await ssh(port, 'id -un');
      assert.deepEqual([ran.status, ran.stdout], [0, `${SSH_USER}\n`], ran.stderr + server.log());
      assert.match(server.log(), /Accepted publickey .* ID for-admin \(serial \d+\) CA ED25519/);
    });
  }

  // The last is less than a packet has in it: keys are changed with each.
  for (const [limit, mebibytes] of [
    ['1M', 6],
    ['64K', 4],
    ['16K', 2],
  ] as const) {
    test(`keys are changed on both sides with each ${limit} while much flows`, async (t) => {
      const lines = [`RekeyLimit ${limit}`];
      const server = await startSshd(t, { keys: [user.public_line], lines });
      const pinned = { host_keys: [server.host_key.public_line] };
      const port = await openSessionPort(t, await authorize(await keyOf(user), server, pinned));
      const args = [...options('-o', `RekeyLimit=${limit}`), '-p', `${port}`, 'x@127.0.0.1'];
      const text = randomBytes(mebibytes << 20).toString('base64');
      const ran = await runProgram('ssh', [...args, 'cat'], text);
      assert.equal(ran.status, 0, ran.stderr);
      assert.ok(ran.stdout === text);
    });
  }

  test('an endpoint with another host key is refused, and hears of no user', async (t) => {
    const other = makeKeyPair(folder, 'other-host');
    const pinned = { host_keys: [other.public_line] };
    const token = await authorize(await keyOf(user), sshd, pinned);
    const before = sshd.log().length;
    const ran = await ssh(await openSessionPort(t, token), 'true');
    assert.equal(ran.status, 255);
    assert.match(ran.stderr, /the endpoint: its host key is none of attributes\.host_keys/);
    assert.doesNotMatch(sshd.log().slice(before), /user |publickey|for \S+ from|authenticating/i);
    const connection = await newestConnection();
    assert.equal(connection?.closed_reason, 'host key refused');
  });

  test('a credential that the endpoint does not take shows as that, and not as itself', async (t) => {
    const stranger = makeKeyPair(folder, 'stranger');
    const pinned = { host_keys: [sshd.host_key.public_line] };
    const token = await authorize(await keyOf(stranger), sshd, pinned);
    const ran = await ssh(await openSessionPort(t, token), 'true');
    assert.equal(ran.status, 255);
    assert.match(ran.stderr, /it does not let user ".*" in by the injected credentials \(key\)/);
    assert.equal((await newestConnection())?.closed_reason, 'log-in refused');
  });

  async function newestConnection(): Promise<{ closed_reason?: string } | undefined> {
    const list = await broker.admin(
      'GET',
      `sessions?scope_id=${broker.project}&include_terminated=true`,
    );
    const [{ id } = { id: '' }] = (
      list.field('items') as { id: string; created_time: string }[]
    ).toSorted((a, b) => (a.created_time < b.created_time ? 1 : -1));
    for (let tries = 0; ; tries++) {
      const read = await broker.admin('GET', `sessions/${id}`);
      const [newest] = (read.field('connections') ?? []) as { closed_reason?: string }[];
      if (newest?.closed_reason || tries > 100) return newest;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  test('a host certificate of a known authority is trusted, and one that names another host is not', async (t) => {
    const authority = makeKeyPair(folder, 'host-ca');
    const trusted = { host_ca_keys: [authority.public_line] };
    for (const [name, status] of [
      ['127.0.0.1', 0],
      ['127.0.0.2', 255],
    ] as const) {
      const host_key = makeKeyPair(folder, `certified-${name}`, { type: 'rsa', bits: '3072' });
      certify(authority, host_key, '-h', '-I', 'host', '-n', name);
      const lines = [`HostCertificate ${host_key.path}-cert.pub`];
      const server = await startSshd(t, { keys: [user.public_line], host_key, lines });
      const token = await authorize(await keyOf(user), server, trusted);
      const ran = await ssh(await openSessionPort(t, token), 'true');
      assert.equal(ran.status, status, ran.stderr);
      if (status !== 0) assert.match(ran.stderr, /its host certificate does not name it/);
    }
  });

  test('a target keeps its key towards clients, and no two targets have the same', async (t) => {
    const pinned = { host_keys: [sshd.host_key.public_line] };
    const credential = await keyOf(user);
    const seen: string[] = [];
    for (let target = 0; target < 2; target++) {
      const port = await openSessionPort(t, await authorize(credential, sshd, pinned));
      for (let again = 0; again < 2; again++) {
        const file = join(folder, `keys-${target}-${again}`);
        const args = [...clientOptions(file), '-o', 'HostKeyAlias=the-target', '-p', `${port}`];
        const ran = await runProgram('ssh', [...args, 'x@127.0.0.1', 'true']);
        assert.equal(ran.status, 0, ran.stderr);
        seen.push(readFileSync(file, 'utf8'));
      }
    }
    assert.equal(seen[0], seen[1]);
    assert.equal(seen[2], seen[3]);
    assert.notEqual(seen[0], seen[2]);
  });

  test('ports are forwarded both ways, and sockets', async (t) => {
    const pinned = { host_keys: [sshd.host_key.public_line] };
    const port = await openSessionPort(t, await authorize(await keyOf(user), sshd, pinned));
    // To the endpoint's own server, and back to it from there.
    const ran = await runProgram('ssh', [
      ...options('-W', `127.0.0.1:${sshd.port}`),
      ...['-p', `${port}`, 'x@127.0.0.1'],
    ]);
    assert.match(ran.stdout, /^SSH-2\.0-OpenSSH/, ran.stderr);
    mkdirSync(join(folder, 'sockets'), { recursive: true });
    const socket = join(folder, 'sockets', 's');
    const remote = `python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.connect("${socket}"); print(s.recv(3))'`;
    const back = await runProgram('ssh', [
      ...options('-R', `${socket}:127.0.0.1:${sshd.port}`, '-o', 'ExitOnForwardFailure=yes'),
      ...['-p', `${port}`, 'x@127.0.0.1', remote],
    ]);
    assert.match(back.stdout, /SSH/, back.stderr);
  });

  test('a terminal has its kind and size, and an exit by signal is told', async (t) => {
    const pinned = { host_keys: [sshd.host_key.public_line] };
    const port = await openSessionPort(t, await authorize(await keyOf(user), sshd, pinned));
    const ran = await runProgram('ssh', [
      ...options('-tt', '-o', 'SetEnv=TERM=vt220'),
      ...['-p', `${port}`, 'x@127.0.0.1', 'echo $TERM; kill -TERM $$'],
    ]);
    assert.match(ran.stdout, /vt220/);
    assert.notEqual(ran.status, 0);
  });
});
