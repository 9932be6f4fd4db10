import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { pino } from 'pino';
import { startTestServer } from '../support/server.ts';
import { writeRecords } from '../support/threads.ts';

/** A secret and every form in which it could lie about. */
interface Canary {
  what: string;
  forms: Buffer[];
}

function textCanary(what: string, secret: string): Canary {
  assert.ok(secret.length >= 8, `${what} was not planted`);
  return { what, forms: formsOf(Buffer.from(secret)) };
}

/** Raw, hex, and base64 in both alphabets. */
function formsOf(bytes: Buffer): Buffer[] {
  // Without the padding and the last character, which depends on what follows.
  const base64 = (alphabet: 'base64' | 'base64url') =>
    bytes.toString(alphabet).replace(/=+$/, '').slice(0, -1);
  return [
    bytes,
    ...[bytes.toString('hex'), bytes.toString('hex').toUpperCase()].map((s) => Buffer.from(s)),
    ...(['base64', 'base64url'] as const).map((alphabet) => Buffer.from(base64(alphabet))),
  ];
}

/** The PEM text's middle, the DER, and the private number by itself. */
function keyCanary(what: string, pem: string): Canary {
  const key = createPrivateKey(pem);
  const { d } = key.export({ format: 'jwk' });
  assert.ok(d, `${what} was not planted`);
  const der = key.export({ format: 'der', type: 'pkcs8' });
  const line = pem.split('\n')[1] ?? '';
  assert.ok(line.length >= 32);
  return {
    what,
    forms: [...formsOf(Buffer.from(d, 'base64url')), ...formsOf(der), Buffer.from(line)],
  };
}

test('no planted secret is found in logs, audit records, sinks, answers or the database', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-canary-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const data = join(directory, 'data');
  const sink = join(directory, 'audit.log');
  let logged = '';
  const log = pino(
    { level: 'trace' },
    new Writable({
      write(chunk, _encoding, done) {
        logged += String(chunk);
        done();
      },
    }),
  );
  const ROOT = 'canary-root-token-7f3a91';
  const { call, running } = await startTestServer(t, {
    directory: data,
    log,
    config: {
      dev_root_token: ROOT,
      audit: {
        wait_for_reads: false,
        record_public_reads: true,
        retention_days: 0,
        sinks: [{ type: 'file', path: sink }],
      },
    },
  });
  const canaries: Canary[] = [textCanary('the root token', ROOT)];
  const plant = (what: string, secret: string): string => {
    canaries.push(textCanary(what, secret));
    return secret;
  };
  /** Answers to requests that did not make the secret in question. */
  const answers: string[] = [];
  const as = { token: ROOT };
  const send: typeof call = async (method, path, body, options = as) => {
    const reply = await call(method, path, body, options);
    answers.push(reply.text);
    return reply;
  };
  const make = async (path: string, body: unknown): Promise<(field: string) => string> => {
    const reply = await call('POST', path, body, as);
    assert.ok(reply.status < 300, `${path}: ${reply.text}`);
    return (field) => reply.textAt(field);
  };

  const child = plant(
    'a child token',
    (await make('auth/token/create', { ttl: '1h' }))('auth.client_token'),
  );
  const own = plant('a token of its own text', 'canary-own-id-token-55d1');
  await make('auth/token/create', { id: own, ttl: '1h' });
  const batch = (
    await make('auth/token/create', { type: 'batch', policies: ['default'], ttl: '1h' })
  )('auth.client_token');
  plant('a batch token', batch);

  await send('POST', 'sys/auth/userpass', { type: 'userpass' });
  const password = plant('a password', 'canary-password-1b44e0');
  await send('POST', 'auth/userpass/users/ann', { password });
  const login = await call('POST', 'auth/userpass/login/ann', { password }, { token: '' });
  assert.equal(login.status, 200, login.text);
  plant('the token of a log-in', login.textAt('auth.client_token'));
  const wrong = plant('a wrong password', 'canary-wrong-password-90aa');
  await send('POST', 'auth/userpass/login/ann', { password: wrong }, { token: '' });
  await send('POST', 'auth/userpass/login/nobody', { password: wrong }, { token: '' });

  await send('POST', 'sys/auth/approle', { type: 'approle' });
  await send('POST', 'auth/approle/role/app', { token_ttl: '1h' });
  const role_id = (await send('GET', 'auth/approle/role/app/role-id')).textAt('data.role_id');
  const secret_id = plant(
    'a secret ID',
    (await make('auth/approle/role/app/secret-id', {}))('data.secret_id'),
  );
  const machine = await call('POST', 'auth/approle/login', { role_id, secret_id }, { token: '' });
  plant('the token of a machine', machine.textAt('auth.client_token'));
  const wrongId = plant('a wrong secret ID', 'canary-wrong-secret-id-3c77');
  await send('POST', 'auth/approle/login', { role_id, secret_id: wrongId }, { token: '' });
  const custom = plant('a secret ID of choice', 'canary-custom-secret-id-e21f');
  await call('POST', 'auth/approle/role/app/custom-secret-id', { secret_id: custom }, as);
  await send('POST', 'auth/approle/role/app/secret-id/lookup', { secret_id: custom });

  const root = await make('demo/root/generate/exported', {
    common_name: 'Root',
    key_type: 'ec',
    ttl: '8760h',
  });
  canaries.push(keyCanary('the key of an exported root', root('data.private_key')));
  const request = await make('demo/intermediate/generate/exported', {
    common_name: 'Sub',
    key_type: 'ec',
    format: 'pem_bundle',
  });
  canaries.push(keyCanary('the key of an intermediate', request('data.private_key')));
  await send('POST', 'demo/roles/web', { allow_any_name: true, key_type: 'ec', ttl: '1h' });
  const issued = await make('demo/issue/web', { common_name: 'a.test' });
  canaries.push(keyCanary('the key of a certificate', issued('data.private_key')));
  await send('POST', 'sys/mounts/rsa', { type: 'pki' });
  const rsa = await make('rsa/root/generate/exported', {
    common_name: 'RSA',
    key_type: 'rsa',
    ttl: '1h',
  });
  canaries.push(keyCanary('the key of an RSA root', rsa('data.private_key')));

  const wrapped = await call('GET', 'demo/roles/web', undefined, {
    ...as,
    headers: { 'x-vault-wrap-ttl': '60' },
  });
  plant('a wrapping token', wrapped.textAt('wrap_info.token'));
  const share = plant('an unseal share', 'Y2FuYXJ5LXVuc2VhbC1zaGFyZS0wMTIzNDU2Nzg5YWI=');
  await send('PUT', 'sys/unseal', { key: share }, { token: '' });
  await send('PUT', 'sys/rekey/update', { key: share, nonce: 'x' }, { token: '' });
  await send('PUT', 'sys/generate-root/update', { key: share, nonce: 'x' }, { token: '' });

  // Requests that are broken or refused, with secrets where they do not belong.
  const astray = (what: string) =>
    plant(`a secret ${what}`, `canary-astray-${canaries.length}-c0ffee`);
  await call(
    'POST',
    'demo/issue/web',
    { common_name: 'b.test', pasword: astray('in an unknown field') },
    as,
  );
  await call('POST', 'demo/roles/web2', { max_ttl: astray('in a field of another kind') }, as);
  await call('POST', 'demo/issue/none', { private_key: astray('sent to no role') }, as);
  await call(
    'POST',
    'demo/issue/web',
    Buffer.from(`{"common_name": "${astray('in broken JSON')}`),
    as,
  );
  await call('POST', 'demo/sign/web', { csr: astray('in place of a request') }, as);
  await call('GET', `demo/roles/web?x=${astray('in a query')}`, undefined, as);
  await call('GET', `sys/nowhere/${astray('in a path')}`, undefined, as);
  await call('GET', `nowhere/${astray('in a path of nobody')}`, undefined, { token: '' });
  await call('GET', 'sys/mounts', undefined, { token: astray('as a token') });
  const header = { authorization: `Bearer ${astray('as a bearer')}` };
  await call('GET', 'sys/mounts', undefined, { token: '', headers: header });
  const basic = { authorization: `Basic ${astray('in another header')}` };
  await call('GET', 'sys/mounts', undefined, { token: '', headers: basic });
  for (const token of [child, own, batch]) {
    await send('GET', 'sys/mounts', undefined, { token });
    await send('POST', 'demo/roles/web', { ttl: 'x' }, { token });
  }
  await call('POST', 'auth/token/lookup', { token: child }, as);
  await call('POST', 'auth/token/revoke', { token: child }, as);
  await send('GET', 'auth/token/lookup-self', undefined, { token: child });
  await send('LIST', 'auth/token/accessors');
  await send('GET', 'sys/mounts');
  await send('GET', 'demo/cert/ca', undefined, { token: '' });
  await send('LIST', 'demo/keys');

  await writeRecords(running);
  // Copied while it is open: what is not yet moved to the main file lies in the log beside it.
  const database = readdirSync(data)
    .filter((name) => name.startsWith('gatehouse.db'))
    .map((name) => readFileSync(join(data, name)));
  assert.ok(database.length >= 2, 'the database and its log');
  await running.stop();

  const places: [name: string, bytes: Buffer][] = [
    ['the log', Buffer.from(logged)],
    ['the file sink', readFileSync(sink)],
    ['other answers', Buffer.from(answers.join('\n'))],
    // The audit table is among these bytes.
    ['the open database', Buffer.concat(database)],
    ['the closed database', readFileSync(join(data, 'gatehouse.db'))],
  ];
  for (const [name, bytes] of places.slice(1)) assert.ok(bytes.length > 1000, `${name} is empty`);
  const found = places.flatMap(([name, bytes]) =>
    canaries
      .filter((canary) => canary.forms.some((form) => bytes.includes(form)))
      .map((canary) => `${canary.what} in ${name}`),
  );
  assert.ok(canaries.length >= 27, 'every secret was planted');
  assert.deepEqual(found, []);
});

test('the search would find what is there', () => {
  const secret = 'canary-of-the-search';
  const { forms } = textCanary('x', secret);
  const bytes = Buffer.from(secret);
  for (const text of [
    secret,
    bytes.toString('hex'),
    bytes.toString('base64'),
    bytes.toString('base64url'),
  ]) {
    assert.ok(
      forms.some((form) => Buffer.from(`…${text}…`).includes(form)),
      text,
    );
  }
});
