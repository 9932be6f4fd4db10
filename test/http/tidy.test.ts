/** Tidying, asked of a server. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { type Reply, startTestServer } from '../support/server.ts';

let ahead_ms = 0;
const { call } = await startTestServer({ after }, { now: () => Date.now() + ahead_ms });

type Fields = Record<string, unknown>;

let mounts = 0;
async function newMount(): Promise<string> {
  const mount = `tidied${++mounts}`;
  await call('POST', `sys/mounts/${mount}`, { type: 'pki' });
  const root = { common_name: 'R', key_type: 'ec', ttl: '8760h' };
  assert.equal((await call('POST', `${mount}/root/generate/internal`, root)).status, 200);
  await call('POST', `${mount}/roles/any`, { allow_any_name: true, key_type: 'ec' });
  return mount;
}

async function issue(mount: string, ttl: string): Promise<string> {
  const answer = await call('POST', `${mount}/issue/any`, { common_name: 'a.example', ttl });
  assert.equal(answer.status, 200, answer.text);
  return answer.textAt('data.serial_number');
}

const tidy = (mount: string, body: Fields): Promise<Reply> => call('POST', `${mount}/tidy`, body);

/** The status once nothing is under way. */
async function statusOf(mount: string): Promise<Reply> {
  for (;;) {
    const answer = await call('GET', `${mount}/tidy-status`);
    if (!['Running', 'Cancelling'].includes(answer.textAt('data.state'))) return answer;
    await wait(10);
  }
}

const warnings = (answer: Reply): string => JSON.stringify(answer.field('warnings'));

test('a tidying of nothing is begun all the same, and warned of', async () => {
  const mount = await newMount();
  const answer = await tidy(mount, {});
  assert.equal(answer.status, 202);
  assert.equal(answer.field('data'), null);
  assert.match(warnings(answer), /no tidy operations were set/);
  assert.match(warnings(answer), /Tidy operation successfully started\./);
  assert.equal((await statusOf(mount)).textAt('data.state'), 'Finished');
});

test('while one tidying is under way another is 200 with a warning, and cancelling tells how it is', async () => {
  const mount = await newMount();
  await issue(mount, '10s');
  await issue(mount, '10s');
  ahead_ms += 60_000;
  const body = { tidy_cert_store: true, safety_buffer: '1s', pause_duration: '30s' };
  assert.equal((await tidy(mount, body)).status, 202);
  const second = await tidy(mount, body);
  assert.equal(second.status, 200);
  assert.match(warnings(second), /already in progress/);
  while ((await call('GET', `${mount}/tidy-status`)).field('data.processed_count') !== 1) {
    await wait(10);
  }
  const running = await call('GET', `${mount}/tidy-status`);
  assert.match(running.textAt('data.message'), /tidy_cert_store: 1 of 2 done/);
  const cancelled = await call('POST', `${mount}/tidy-cancel`, {});
  assert.equal(cancelled.status, 200);
  assert.equal(cancelled.textAt('data.state'), 'Cancelling');
  const status = await statusOf(mount);
  assert.equal(status.textAt('data.state'), 'Cancelled');
  assert.equal(status.field('data.cert_store_deleted_count'), 1);
  assert.equal(status.field('data.message'), null);
});

test('cancelling is 200 with a warning where nothing is under way', async () => {
  const mount = await newMount();
  const answer = await call('POST', `${mount}/tidy-cancel`, {});
  assert.equal(answer.status, 200);
  assert.equal(answer.field('data'), null);
  assert.match(warnings(answer), /cannot be cancelled as none is currently running/);
});

test('before the first tidying the status has every field, and nothing in it', async () => {
  const mount = await newMount();
  const answer = await call('GET', `${mount}/tidy-status`);
  const data: Fields = JSON.parse(answer.text).data;
  const { state, internal_backend_uuid, ...others } = data;
  assert.equal(state, 'Inactive');
  assert.match(String(internal_backend_uuid), /^[0-9a-f-]{36}$/);
  assert.equal(Object.hasOwn(data, 'last_auto_tidy_finished'), false);
  assert.deepEqual(
    Object.entries(others).filter(([, value]) => value !== null),
    [],
  );
  assert.ok(Object.hasOwn(data, 'cert_store_deleted_count') && Object.hasOwn(data, 'tidy_acme'));
});

test('after its end and the buffer a certificate goes, its revocation only if that is asked for', async () => {
  const mount = await newMount();
  const serial = await issue(mount, '10s');
  assert.equal((await call('POST', `${mount}/revoke`, { serial_number: serial })).status, 200);
  ahead_ms += 12_000;
  assert.equal((await tidy(mount, { tidy_cert_store: true, safety_buffer: '1s' })).status, 202);
  const first = await statusOf(mount);
  assert.equal(first.field('data.cert_store_deleted_count'), 1);
  assert.equal(first.field('data.safety_buffer'), 1);
  assert.equal(first.field('data.revoked_safety_buffer'), 1);
  assert.equal((await call('GET', `${mount}/cert/${serial}`)).status, 404);
  assert.deepEqual((await call('LIST', `${mount}/certs/revoked`)).field('data.keys'), [serial]);
  await tidy(mount, { tidy_revocation_list: true, safety_buffer: '1s' });
  assert.equal((await statusOf(mount)).field('data.revoked_cert_deleted_count'), 1);
  assert.equal((await call('LIST', `${mount}/certs/revoked`)).status, 404);
});

test('automatic tidying needs something to tidy; with it the status tells the counts', async () => {
  const mount = await newMount();
  const alone = await call('POST', `${mount}/config/auto-tidy`, { enabled: true });
  assert.equal(alone.status, 400);
  assert.match(alone.text, /Auto-tidy enabled but no tidy operations were requested/);
  const unkept = { publish_stored_certificate_count_metrics: true };
  const refused = await call('POST', `${mount}/config/auto-tidy`, unkept);
  assert.match(refused.text, /without first maintaining that count/);
  const body = { enabled: true, tidy_cert_store: true, maintain_stored_certificate_counts: true };
  const written = await call('POST', `${mount}/config/auto-tidy`, body);
  assert.equal(written.status, 200, written.text);
  const status = await call('GET', `${mount}/tidy-status`);
  assert.equal(status.field('data.current_cert_store_count'), 1);
  assert.equal(status.field('data.current_revoked_cert_count'), 0);
});

test('the configuration of automatic tidying has its defaults, is changed by parts, and durations are seconds but for the pause', async () => {
  const mount = await newMount();
  const read = async () => JSON.parse((await call('GET', `${mount}/config/auto-tidy`)).text).data;
  assert.deepEqual(await read(), {
    acme_account_safety_buffer: 2592000,
    enabled: false,
    interval_duration: 43200,
    issuer_safety_buffer: 31536000,
    maintain_stored_certificate_counts: false,
    max_startup_backoff_duration: 900,
    min_startup_backoff_duration: 300,
    page_size: 1000,
    pause_duration: '0s',
    publish_stored_certificate_count_metrics: false,
    revocation_queue_safety_buffer: 172800,
    revoked_safety_buffer: 259200,
    safety_buffer: 259200,
    tidy_acme: false,
    tidy_cert_metadata: false,
    tidy_cert_store: false,
    tidy_cmpv2_nonce_store: false,
    tidy_cross_cluster_revoked_certs: false,
    tidy_expired_issuers: false,
    tidy_invalid_certs: false,
    tidy_move_legacy_ca_bundle: false,
    tidy_revocation_queue: false,
    tidy_revoked_cert_issuer_associations: false,
    tidy_revoked_certs: false,
  });
  const first = { pause_duration: '10s', safety_buffer: '2h' };
  const answer = await call('POST', `${mount}/config/auto-tidy`, first);
  assert.equal(answer.textAt('data.pause_duration'), '10s');
  assert.equal(answer.field('data.safety_buffer'), 7200);
  assert.equal(answer.field('data.revoked_safety_buffer'), 7200);
  await call('POST', `${mount}/config/auto-tidy`, { issuer_safety_buffer: '1d' });
  const { pause_duration, safety_buffer, issuer_safety_buffer } = await read();
  assert.deepEqual(
    { pause_duration, safety_buffer, issuer_safety_buffer },
    { pause_duration: '10s', safety_buffer: 7200, issuer_safety_buffer: 86400 },
  );
});

test('the pause of a tidying is told as it was written', async () => {
  const mount = await newMount();
  await tidy(mount, { tidy_cert_store: true, pause_duration: '10s' });
  assert.equal((await statusOf(mount)).textAt('data.pause_duration'), '10s');
});

test('buffers of nothing, negative ones, and pauses that are none are refused, and nothing is begun', async () => {
  const mount = await newMount();
  const refused: [body: Fields, words: RegExp][] = [
    [{ safety_buffer: 0 }, /safety_buffer must be greater than zero/],
    [{ safety_buffer: -1 }, /cannot provide negative value/],
    [{ issuer_safety_buffer: '0s' }, /issuer_safety_buffer must be greater than zero/],
    [{ safety_buffer: '99999999999999h' }, /Field validation failed/],
    [{ pause_duration: 'a while' }, /Error parsing pause_duration/],
    [{ pause_duration: '-5s' }, /Error parsing pause_duration/],
    [{ page_size: 0 }, /page_size must be greater than zero/],
  ];
  for (const [body, words] of refused) {
    const answer = await tidy(mount, { tidy_cert_store: true, ...body });
    assert.equal(answer.status, 400, JSON.stringify(body));
    assert.match(answer.text, words);
  }
  assert.equal((await call('GET', `${mount}/tidy-status`)).textAt('data.state'), 'Inactive');
});

/** A token that may tidy, and is denied an issuer. */
async function deniedAt(mount: string, issuer: string): Promise<string> {
  const policy = `path "${mount}/*" { capabilities = ["create", "read", "update", "delete"] } path "${mount}/issuer/${issuer}" { capabilities = ["deny"] }`;
  await call('POST', `sys/policies/acl/${mount}-${issuer}`, { policy });
  const created = await call('POST', 'auth/token/create', { policies: [`${mount}-${issuer}`] });
  return created.textAt('auth.client_token');
}

async function addIssuer(mount: string, issuer_name: string, ttl: string): Promise<Reply> {
  const root = { common_name: issuer_name, issuer_name, key_type: 'ec', ttl };
  const made = await call('POST', `${mount}/root/generate/exported`, root);
  assert.equal(made.status, 200, made.text);
  return made;
}

const remove = { tidy_expired_issuers: true, issuer_safety_buffer: '1s' };

test('who is denied an issuer that has ended is denied a tidying that would remove it', async () => {
  const mount = await newMount();
  await addIssuer(mount, 'old', '10s');
  await addIssuer(mount, 'young', '8000h');
  ahead_ms += 60_000;
  const [denied, other] = [await deniedAt(mount, 'old'), await deniedAt(mount, 'young')];
  const refused = await call('POST', `${mount}/tidy`, remove, { token: denied });
  assert.equal(refused.status, 403, refused.text);
  assert.equal((await call('GET', `${mount}/issuer/old`)).status, 200);
  for (const body of [{ tidy_cert_store: true }, { ...remove, dry_run: true }]) {
    assert.equal((await call('POST', `${mount}/tidy`, body, { token: denied })).status, 202);
    await statusOf(mount);
  }
  assert.equal((await call('POST', `${mount}/tidy`, remove, { token: other })).status, 202);
  await statusOf(mount);
  assert.equal((await call('GET', `${mount}/issuer/old`)).status, 500);
  assert.equal((await call('GET', `${mount}/issuer/young`)).status, 200);
});

test('who is denied an issuer is denied to have issuers removed from time to time', async () => {
  const mount = await newMount();
  await addIssuer(mount, 'kept', '8000h');
  const token = await deniedAt(mount, 'kept');
  const set = (body: Fields, by?: string) =>
    call('POST', `${mount}/config/auto-tidy`, body, by === undefined ? {} : { token: by });
  const on = { enabled: true, tidy_expired_issuers: true, issuer_safety_buffer: 3600 };
  assert.equal((await set(on, token)).status, 403);
  assert.equal(
    (await set({ ...on, tidy_expired_issuers: false, tidy_cert_store: true }, token)).status,
    200,
  );
  assert.equal((await set({ tidy_expired_issuers: true }, token)).status, 403);
  assert.equal((await set({ enabled: false, tidy_expired_issuers: true }, token)).status, 200);
  assert.equal((await set({ enabled: true }, token)).status, 403);
  assert.equal((await set(on)).status, 200);
  assert.equal((await set({ issuer_safety_buffer: 60 }, token)).status, 403);
  assert.equal((await set({ issuer_safety_buffer: 7200, page_size: 7 }, token)).status, 200);
  const read = await call('GET', `${mount}/config/auto-tidy`);
  assert.equal(read.field('data.issuer_safety_buffer'), 7200);
});

test('a revoked issuer that was tidied away is a revoked one when it comes again', async () => {
  const mount = await newMount();
  const old = await addIssuer(mount, 'old', '10s');
  const plain = await addIssuer(mount, 'plain', '10s');
  await call('POST', `${mount}/issuer/old/revoke`, {});
  ahead_ms += 60_000;
  assert.equal((await tidy(mount, remove)).status, 202);
  assert.equal((await statusOf(mount)).field('data.issuer_deleted_count'), 2);
  const pem_bundle = [old, plain].map((one) => one.textAt('data.certificate')).join('\n');
  const reply = await call('POST', `${mount}/issuers/import/bundle`, { pem_bundle });
  const [first, second] = reply.field('data.imported_issuers') as string[];
  assert.equal((await call('GET', `${mount}/issuer/${first}`)).field('data.revoked'), true);
  assert.equal((await call('GET', `${mount}/issuer/${second}`)).field('data.revoked'), false);
});

test('tidying is begun by writing alone', async () => {
  const mount = await newMount();
  const answer = await call('DELETE', `${mount}/tidy`);
  assert.equal(answer.status, 405);
  assert.match(answer.text, /unsupported operation/);
});

test('counts of what is stored are among the metrics where the configuration says so', async () => {
  const mount = await newMount();
  const serial_number = await issue(mount, '1h');
  await call('POST', `${mount}/revoke`, { serial_number });
  const read = async () => (await call('GET', 'sys/metrics?format=prometheus')).text;
  assert.doesNotMatch(await read(), new RegExp(`secrets_pki_\\w+\\{mount="${mount}/"`));
  const body = {
    maintain_stored_certificate_counts: true,
    publish_stored_certificate_count_metrics: true,
  };
  await call('POST', `${mount}/config/auto-tidy`, body);
  const text = await read();
  const value = (name: string): string | undefined =>
    text
      .split('\n')
      .find((line) => line.startsWith(`gatehouse_secrets_pki_${name}{mount="${mount}/"} `))
      ?.split(' ')[1];
  assert.equal(value('total_certificates_stored'), '2');
  assert.equal(value('total_revoked_certificates_stored'), '1');
  assert.equal(value('tidy_cert_store_deleted_count'), '0');
});
