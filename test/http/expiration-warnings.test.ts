/** Warnings before certificates end, from a real server to an HTTPS receiver and an SMTP server that are real, too. */

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import type { Job } from '../../src/app/job.ts';
import { listRecordsAfter } from '../../src/audit/store.ts';
import { DEV_DEFAULTS, devConfig } from '../../src/config/config.ts';
import type { SmtpServer } from '../../src/config/outgoing.ts';
import { readMounts } from '../../src/mounts/operations.ts';
import { insertCertificate } from '../../src/pki/certificates/store.ts';
import { expirationJobs } from '../../src/pki/expiration/jobs.ts';
import type { Message } from '../../src/pki/expiration/message.ts';
import { runIfFree } from '../../src/start/jobs.ts';
import type { Store } from '../../src/store/store.ts';
import { personWith } from '../support/denied.ts';
import { until } from '../support/raw-talk.ts';
import { makeServerPair, startReceiver } from '../support/receiver.ts';
import { type Reply, startTestServer } from '../support/server.ts';
import { startSmtpServer } from '../support/smtp-server.ts';

const DAY = 86_400_000;
const directory = mkdtempSync(join(tmpdir(), 'gatehouse-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const pair = makeServerPair();
const receiver = await startReceiver({ after }, pair);
const mail = await startSmtpServer({ after }, pair);
const file = (name: string, content: string): string => {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
};
const smtp: SmtpServer = {
  host: '127.0.0.1',
  port: mail.port,
  from: 'ca@example.com',
  username: 'gatehouse',
  password_file: file('password', 'hunter2 hunter2\n'),
  tls: 'starttls',
  tls_ca_file: file('ca.pem', pair.ca),
};
let ahead_ms = 0;
/** Whether that a message was taken cannot be written. */
let isLost = false;
const failing = (real: Store): Store =>
  new Proxy(real, {
    get(of, name) {
      const value: unknown = Reflect.get(of, name, of);
      if (typeof value !== 'function') return value;
      if (name !== 'commit') return value.bind(of);
      return async (effects: Parameters<Store['commit']>[0]) => {
        const text = JSON.stringify(effects);
        if (isLost && /delete from .{0,4}pki_expiration_message/.test(text)) {
          throw new Error('the database is lost');
        }
        return of.commit(effects);
      };
    },
  });
const { call, running } = await startTestServer(
  { after },
  { config: { smtp }, jobs: [], now: () => Date.now() + ahead_ms, store: failing },
);
const { app } = running;
const lines: string[] = [];
app.log.warn = (...told: unknown[]) => void lines.push(JSON.stringify(told));

const CONFIG = 'config/expiration-warnings';
const SECRET = 'a secret of the receiver';
type Fields = Record<string, unknown>;
let mounts = 0;
let mount = '';

const configure = (fields: Fields): Promise<Reply> => call('POST', `${mount}/${CONFIG}`, fields);
const configured = async (fields: Fields): Promise<Reply> => {
  const set = await configure({ enabled: true, webhook_ca: pair.ca, ...fields });
  assert.equal(set.status, 200, set.text);
  return set;
};
const issue = async (fields: Fields): Promise<Reply> => {
  const issued = await call('POST', `${mount}/issue/web`, fields);
  assert.equal(issued.status, 200, issued.text);
  return issued;
};
const webhook = { webhook_url: `${receiver.url}/hook?key=hidden-in-the-url` };

/** Looks ahead and delivers, as the timers do. */
async function work(): Promise<void> {
  for (const job of expirationJobs) await runIfFree(app, job);
}
const messages = (): Message[] => receiver.posted.map(({ body }) => JSON.parse(body));
const namesTold = (): string[] =>
  messages().flatMap(({ certificates }) => certificates.map(({ common_name }) => common_name));

beforeEach(async () => {
  if (mount !== '') assert.equal((await call('DELETE', `sys/mounts/${mount}`)).status, 204);
  mount = `pki${++mounts}`;
  const usual = { status: 204, headers: {}, silent: false, refuses: undefined };
  Object.assign(receiver, { posted: [], ...usual });
  Object.assign(mail, { received: [], said: [], answer: () => undefined });
  lines.length = 0;
  const max_lease_ttl = '87600h';
  await call('POST', `sys/mounts/${mount}`, { type: 'pki', config: { max_lease_ttl } });
  const root = { common_name: 'Root', key_type: 'ec', ttl: '87600h', issuer_name: 'root' };
  assert.equal((await call('POST', `${mount}/root/generate/internal`, root)).status, 200);
  const role = { allow_any_name: true, enforce_hostnames: false, key_type: 'ec', max_ttl: '8760h' };
  assert.equal((await call('POST', `${mount}/roles/web`, role)).status, 200);
});

test('the settings read back, without the secret, and keep what is left out', async () => {
  const first = await call('GET', `${mount}/${CONFIG}`);
  assert.equal(first.field('data.enabled'), false);
  assert.deepEqual(first.field('data.before'), [30 * 86_400, 7 * 86_400, 86_400]);
  await configured({ ...webhook, webhook_secret: SECRET, before: '1d,2h', issuers: 'root' });
  await configured({ roles: ['web'] });
  const read = await call('GET', `${mount}/${CONFIG}`);
  assert.equal(read.field('data.webhook_secret_set'), true);
  assert.deepEqual(read.field('data.before'), [86_400, 7_200]);
  assert.deepEqual(read.field('data.roles'), ['web']);
  const issuers = read.field('data.issuers') as string[];
  assert.match(issuers[0] ?? '', /^[0-9a-f-]{36}$/);
  assert.ok(!read.text.includes(SECRET));
  const records = JSON.stringify(
    await listRecordsAfter(app.db, { node: 'local', seq: 0, limit: 1_000 }),
  );
  assert.ok(!records.includes(SECRET) && !records.includes('hidden-in-the-url'));
});

test('an issuer that is denied at its own path is not named here either', async () => {
  const stanza = `path "+/issuer/root" { capabilities = ["deny"] }`;
  const ask = await personWith({ url: '', running, call }, `no-root-${mount}`, stanza);
  const path = `${mount}/${CONFIG}`;
  assert.equal(await ask('POST', path, { ...webhook, issuers: 'root' }), 403);
  const read = await call('GET', `${mount}/issuer/root`);
  assert.equal(await ask('POST', path, { issuers: read.textAt('data.issuer_id') }), 403);
  assert.equal(await ask('POST', path, webhook), 200);
});

const refused: [fields: Fields, field: string, why: string][] = [
  [{ enabled: true }, 'enabled', 'nobody to tell'],
  [{ before: '59m' }, 'before', 'less than an hour'],
  [{ before: '' }, 'before', 'none at all'],
  [{ before: Array.from({ length: 11 }, (_, at) => `${at + 1}d`) }, 'before', 'too many'],
  [{ webhook_url: 'http://receiver.test/' }, 'webhook_url', 'no TLS'],
  [
    { webhook_url: 'http://localhost/' },
    'webhook_url',
    'a name that may lead elsewhere, without TLS',
  ],
  [{ webhook_url: 'https://user:pass@receiver.test/' }, 'webhook_url', 'a password'],
  [{ webhook_url: 'file:///etc/passwd' }, 'webhook_url', 'a file'],
  [{ webhook_url: 'https://receiver.test/\r\nX: y' }, 'webhook_url', 'the end of a line'],
  [{ webhook_ca: 'nonsense' }, 'webhook_ca', 'no PEM'],
  [{ webhook_secret: 'short' }, 'webhook_secret', 'too short'],
  [{ mail_to: ['a@example.com\r\nBcc: b@example.com'] }, 'mail_to', 'the end of a line'],
  [{ mail_to: ['"A, B" <a@example.com>'] }, 'mail_to', 'a name beside the address'],
  [{ issuers: ['nobody'] }, 'issuers', 'an issuer that is not there'],
];
test('what cannot be used is refused by its name', async () => {
  for (const [fields, field, why] of refused) {
    const reply = await configure(fields);
    assert.equal(reply.status, 400, `${why}: ${reply.text}`);
    assert.ok(reply.text.includes(field), why);
  }
});

test('mail is refused where the server has no smtp, and loopback where it is not allowed', async () => {
  const webhooks = { ...devConfig(DEV_DEFAULTS).webhooks, allow_loopback: false };
  const other = await startTestServer({ after }, { config: { webhooks } });
  await other.call('POST', 'sys/mounts/pki', { type: 'pki' });
  const set = (fields: Fields) => other.call('POST', `pki/${CONFIG}`, fields);
  const mailed = await set({ enabled: true, mail_to: 'ops@example.com' });
  assert.equal(mailed.status, 400);
  assert.match(mailed.text, /smtp/);
  assert.equal((await set({ webhook_url: 'http://127.0.0.1:1/' })).status, 400);
});

test('a webhook is told of an end, signed, once for each time ahead', async () => {
  await configured({ ...webhook, webhook_secret: SECRET });
  await issue({ common_name: 'a.example.com', alt_names: 'b.example.com', ttl: '720h' });
  await work();
  assert.equal(receiver.posted.length, 0);
  ahead_ms += 24 * DAY;
  await work();
  await work();
  assert.equal(receiver.posted.length, 1);
  const [posted] = receiver.posted;
  const [message] = messages();
  assert.ok(posted && message);
  assert.equal(posted.path, '/hook?key=hidden-in-the-url');
  assert.equal(posted.headers['content-type'], 'application/json');
  assert.equal(posted.headers['gatehouse-message'], message.id);
  const [, time, signature] =
    /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(posted.headers['gatehouse-signature'])) ?? [];
  assert.equal(
    signature,
    createHmac('sha256', SECRET).update(`${time}.${posted.body}`).digest('hex'),
  );
  assert.equal(message.type, 'certificates.ending');
  assert.equal(message.mount, `${mount}/`);
  assert.equal(message.before, 7 * 86_400);
  const [told] = message.certificates;
  assert.equal(told?.common_name, 'a.example.com');
  assert.deepEqual([...(told?.names ?? [])].sort(), ['a.example.com', 'b.example.com']);
  assert.equal(told?.role, 'web');
  assert.equal(told?.kind, 'certificate');
  ahead_ms += 5.5 * DAY;
  await work();
  assert.deepEqual(
    messages().map(({ before }) => before / 86_400),
    [7, 1],
  );
});

test('there is silence where a successor was issued, and where the certificate was revoked', async () => {
  await configured(webhook);
  await issue({ common_name: 'renewed.example.com', ttl: '264h' });
  const revoked = await issue({ common_name: 'revoked.example.com', ttl: '264h' });
  await issue({ common_name: 'told.example.com', ttl: '264h' });
  ahead_ms += 5 * DAY;
  await issue({ common_name: 'renewed.example.com', ttl: '264h' });
  const serial_number = revoked.textAt('data.serial_number');
  assert.equal((await call('POST', `${mount}/revoke`, { serial_number })).status, 200);
  await work();
  assert.deepEqual(namesTold(), ['told.example.com']);
});

test('what an authority beneath a revoked one has signed is no successor', async () => {
  await configured(webhook);
  const must = async (path: string, fields: Fields): Promise<Reply> => {
    const reply = await call('POST', `${mount}/${path}`, fields);
    assert.equal(reply.status, 200, reply.text);
    return reply;
  };
  const asking = await must('intermediate/generate/internal', { common_name: 'Sub' });
  const csr = asking.textAt('data.csr');
  const signed = await must('root/sign-intermediate', { csr, common_name: 'Sub', ttl: '8760h' });
  const certificate = signed.textAt('data.certificate');
  const set = await must('intermediate/set-signed', { certificate });
  const [sub] = set.field('data.imported_issuers') as string[];
  const common_name = 'a.example.com';
  await issue({ common_name, ttl: '264h' });
  await must(`issuer/${sub}/issue/web`, { common_name, ttl: '700h' });
  ahead_ms += 5 * DAY;
  await work();
  assert.deepEqual(namesTold(), []);
  await must('issuer/root/revoke', {});
  ahead_ms += 5.5 * DAY;
  await work();
  assert.deepEqual(namesTold(), [common_name]);
});

test('an issuer is told of as one, and not when another of the same subject ends later', async () => {
  await configured({ ...webhook, before: '365d' });
  ahead_ms += 3_300 * DAY;
  await work();
  const told = messages().flatMap(({ certificates }) => certificates);
  assert.deepEqual(
    told.map(({ kind, common_name }) => [kind, common_name]),
    [['issuer', 'CN=Root']],
  );
  await configured({ before: '370d' });
  const root = { common_name: 'Root', key_type: 'ec', ttl: '87600h', issuer_name: 'next' };
  assert.equal((await call('POST', `${mount}/root/rotate/internal`, root)).status, 200);
  await work();
  assert.equal(receiver.posted.length, 1);
});

test('mail is sent over TLS after a log-in, whatever the names in certificates are', async () => {
  await configured({ mail_to: ['ops@example.com', 'ca.team@example.org'] });
  await issue({ common_name: 'Bücher 🔐 Größe', ttl: '264h', exclude_cn_from_sans: true });
  ahead_ms += 5 * DAY;
  await work();
  assert.equal(mail.received.length, 1, lines.join('\n'));
  const [got] = mail.received;
  assert.ok(got);
  assert.deepEqual(got.to, ['ops@example.com', 'ca.team@example.org']);
  assert.equal(got.from, 'ca@example.com');
  assert.ok(got.secured);
  assert.match(got.user, /gatehouse hunter2 hunter2/);
  const [head = ''] = got.data.split('\r\n\r\n');
  assert.match(head, /^Subject: =\?UTF-8\?/m);
  assert.match(head, /^Auto-Submitted: auto-generated$/m);
  assert.match(head, /^Message-ID: <[0-9a-f-]{36}@example\.com>$/m);
  assert.ok(!/[^\r\n -~]/.test(got.data), 'ASCII on the wire');
  assert.match(got.data.replaceAll('=\r\n', ''), /serial number [0-9a-f:]{20}/);
});

test('a name cannot add a header, a receiver or the end of a mail', async () => {
  await configured({ mail_to: 'ops@example.com' });
  const evil = 'x\r\nBcc: victim@example.com\r\n\r\n.\r\nRCPT TO:<victim@example.com>';
  // What the API refuses may lie in a certificate that was stored before.
  const mount_id = (await readMounts(app)).get(`${mount}/`)?.id ?? '';
  const now = Math.floor(app.now() / 1000);
  const store = async (serial: string, subject_cn: string, days: number): Promise<void> => {
    const validity = { not_before: now - 300 * 86_400, not_after: now + days * 86_400 };
    const row = { serial, subject_cn, issuer_id: 'i', role: 'r\r\nX-Evil: 1', ...validity };
    const names = [`${subject_cn.slice(0, 500)}.test`];
    await app.store.commit(insertCertificate(mount_id, { ...row, der: new Uint8Array() }, names));
  };
  await store('0a', evil, 20);
  await work();
  await store('0b', evil.repeat(2), 36);
  await store('0c', 'x'.repeat(65_536), 36);
  ahead_ms += 7 * DAY;
  await work();
  assert.equal(mail.received.length, 2, lines.join('\n'));
  for (const { to, data } of mail.received) {
    assert.deepEqual(to, ['ops@example.com']);
    const [head = ''] = data.split('\r\n\r\n');
    assert.doesNotMatch(head, /^(?:Bcc|X-Evil|RCPT)/m);
    assert.ok(data.length < 8_000);
  }
  assert.deepEqual(
    mail.said.filter((line) => line.startsWith('RCPT')),
    ['RCPT TO:<ops@example.com>', 'RCPT TO:<ops@example.com>'],
  );
});

test('a receiver that refuses, redirects, is silent or is not trusted hears again, with the same id', async () => {
  await configured({ ...webhook, webhook_ca: '' });
  await issue({ common_name: 'a.example.com', ttl: '264h' });
  ahead_ms += 5 * DAY;
  await work();
  assert.equal(receiver.posted.length, 0, 'its CA is not trusted');
  await configured({});
  const again = async (wait_ms: number): Promise<void> => {
    ahead_ms += wait_ms;
    await work();
  };
  receiver.status = 503;
  await again(30_000);
  assert.equal(receiver.posted.length, 0, 'not yet');
  await again(31_000);
  assert.equal(receiver.posted.length, 1);
  Object.assign(receiver, { status: 302, headers: { location: `${receiver.url}/elsewhere` } });
  await again(121_000);
  assert.deepEqual(
    receiver.posted.map(({ path }) => path.slice(0, 5)),
    ['/hook', '/hook'],
  );
  receiver.status = 200;
  await again(241_000);
  await again(3_600_000);
  assert.equal(receiver.posted.length, 3);
  assert.equal(new Set(messages().map(({ id }) => id)).size, 1);
  assert.equal(lines.length, 3);
  assert.match(lines.join('\n'), /SELF_SIGNED|UNABLE_TO|answered status 503/);
  assert.ok(!lines.join('\n').includes('hidden-in-the-url'));
  const metrics = await call('GET', 'sys/metrics?format=prometheus');
  assert.match(
    metrics.text,
    /^gatehouse_expiration_warnings_failed_total\{channel="webhook"\} [1-9]/m,
  );
  assert.match(metrics.text, /^gatehouse_expiration_warnings_waiting\{channel="webhook"\} 0$/m);
});

test('a message that is refused again and again keeps none of the others waiting for ever', async () => {
  await configured(webhook);
  const names = ['a.example.com', 'b.example.com', 'c.example.com', 'd.example.com'];
  for (const [at, common_name] of names.entries()) {
    await issue({ common_name, ttl: `${264 + 2 * at}h` });
  }
  const again = async (hours: number): Promise<string> => {
    ahead_ms += hours * 3_600_000;
    receiver.posted = [];
    await work();
    return namesTold()
      .map((name) => name.slice(0, 1))
      .join('');
  };
  receiver.status = 503;
  assert.equal(await again(97), 'a');
  assert.equal(await again(2), 'a');
  assert.equal(await again(2), 'a', 'three times it alone');
  assert.equal(await again(2), 'ab', 'one that takes nothing is not sent all of them');
  Object.assign(receiver, { status: 204, refuses: 'a.example.com' });
  assert.equal(await again(2), 'acd', 'each time a further one, and what is behind it');
  assert.equal(await again(2), 'ab');
  receiver.refuses = undefined;
  assert.equal(await again(2), 'a', 'it keeps its turn');
  assert.equal(await again(2), '');
});

test('what is stored is switched off where its loopback address is not allowed any more', async () => {
  const { webhooks } = app.config;
  const set = await call('POST', `${mount}/${CONFIG}`, { webhook_url: 'http://127.0.0.1:1/' });
  assert.equal(set.status, 200, set.text);
  try {
    Object.assign(app.config, { webhooks: { ...webhooks, allow_loopback: false } });
    assert.equal((await configure({ enabled: false })).status, 200);
    assert.equal((await configure({ enabled: true })).status, 400);
  } finally {
    Object.assign(app.config, { webhooks });
  }
});

test('a message that was taken, of which the database did not hear, comes again with the same id', async () => {
  await configured(webhook);
  await issue({ common_name: 'a.example.com', ttl: '264h' });
  ahead_ms += 5 * DAY;
  isLost = true;
  await work();
  isLost = false;
  await work();
  await work();
  assert.deepEqual(namesTold(), ['a.example.com', 'a.example.com']);
  assert.equal(new Set(messages().map(({ id }) => id)).size, 1);
});

test('a mail server that is down delays no webhook, and a refusal repeats nothing that was sent', async () => {
  mail.answer = (line) =>
    line.startsWith('EHLO') ? '554 no hunter2 for ops@example.com' : undefined;
  await configured({ ...webhook, mail_to: 'ops@example.com' });
  await issue({ common_name: 'a.example.com', ttl: '264h' });
  ahead_ms += 5 * DAY;
  await work();
  assert.equal(receiver.posted.length, 1);
  assert.equal(mail.received.length, 0);
  assert.equal(lines.length, 1);
  assert.doesNotMatch(lines.join('\n'), /hunter2|ops@/);
  mail.answer = () => undefined;
  ahead_ms += 61_000;
  await work();
  assert.equal(mail.received.length, 1);
  assert.equal(receiver.posted.length, 1);
});

test('a mail server that says nothing keeps no webhook waiting, nor those of the next run', async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => void sockets.push(socket.on('error', () => {})));
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  Object.assign(app.config, { smtp: { ...smtp, port } });
  // A timer each, as on a server: none waits for the run of another.
  const isMail = ({ name }: Job): boolean => name.endsWith('-mail');
  const issueAndTell = async (common_name: string): Promise<void> => {
    await issue({ common_name, ttl: '264h' });
    ahead_ms += 5 * DAY;
    for (const job of expirationJobs.filter((one) => !isMail(one))) await runIfFree(app, job);
  };
  await configured({ ...webhook, mail_to: 'ops@example.com', before: '7d' });
  await issueAndTell('a.example.com');
  const mailing = expirationJobs.filter(isMail).map((job) => runIfFree(app, job));
  try {
    await until(() => sockets.length === 1);
    await issueAndTell('b.example.com');
    assert.deepEqual(namesTold(), ['a.example.com', 'b.example.com']);
  } finally {
    for (const socket of sockets) socket.destroy();
    await Promise.all(mailing);
    silent.close();
    Object.assign(app.config, { smtp });
  }
  assert.match(lines.join('\n'), /a warning was not taken by its receiver/);
  // What it was to have is not lost, nor told twice.
  ahead_ms += 61_000;
  await work();
  assert.deepEqual(namesTold(), ['a.example.com', 'b.example.com']);
  assert.equal(mail.received.length, 2);
});

test('no password is sent without TLS', async () => {
  mail.answer = (line) => (line === 'STARTTLS' ? '454 not now' : undefined);
  await configured({ mail_to: 'ops@example.com' });
  await issue({ common_name: 'a.example.com', ttl: '264h' });
  ahead_ms += 5 * DAY;
  await work();
  assert.equal(mail.received.length, 0);
  assert.ok(!mail.said.some((line) => /^(?:AUTH|MAIL)/.test(line)), mail.said.join('\n'));
});

test('of an answer nothing but its head is read, and a head that has no end is given up', async () => {
  await configured(webhook);
  await issue({ common_name: 'a.example.com', ttl: '264h' });
  ahead_ms += 5 * DAY;
  receiver.headers = { 'x-long': 'x'.repeat(20_000) };
  await work();
  assert.match(lines.join(''), /HPE_HEADER_OVERFLOW/);
  receiver.headers = { 'content-length': '1000000000' };
  ahead_ms += 61_000;
  await work();
  await work();
  assert.equal(receiver.posted.length, 2);
});

test('an address that is not to be reached is not connected to', async () => {
  await configured({ webhook_url: 'https://169.254.169.254/latest/' });
  await issue({ common_name: 'a.example.com', ttl: '264h' });
  ahead_ms += 5 * DAY;
  await work();
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? '', /none that a server of somebody else has/);
});
