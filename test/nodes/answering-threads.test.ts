// Several threads answer on one port: whatever one of them, or the one that supervises, has changed is in force on all of
// them before the request that did it is answered.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachPlace } from '../support/engines.ts';
import { CONNECTIONS, ISSUE, startThreads as start, THREADS } from '../support/everywhere.ts';
import { PUBLIC_LISTENER } from '../support/public-listener.ts';
import { storageOf } from '../support/seeded-broker.ts';
import { startTestServer } from '../support/server.ts';

eachPlace('answering threads', (newPlace) => {
  test('all of them answer, and write what the others read', async (t) => {
    const { everywhere, call } = await start(t, await newPlace());
    const issued = await everywhere.ask('POST', 'pki/issue/web', ISSUE);
    const serials = issued.map(({ body }) => JSON.parse(body).data.serial_number as string);
    assert.equal(new Set(serials).size, CONNECTIONS);
    for (const serial of serials.slice(0, 5)) {
      assert.deepEqual(await everywhere.statuses('GET', `pki/cert/${serial}`), [200]);
    }
    const certs = (await call('LIST', 'pki/certs')).field('data.keys');
    assert.equal(Object(certs).length, CONNECTIONS + 1);
  });

  test('a token that is revoked is refused by all of them', async (t) => {
    const { everywhere, call } = await start(t, await newPlace());
    for (let round = 0; round < 5; round += 1) {
      const made = await call('POST', 'auth/token/create', { policies: ['root'] });
      const token = made.textAt('auth.client_token');
      assert.deepEqual(await everywhere.statuses('GET', 'pki/roles/web', undefined, token), [200]);
      await call('POST', 'auth/token/revoke', { token });
      assert.deepEqual(await everywhere.statuses('GET', 'pki/roles/web', undefined, token), [403]);
    }
  });

  test('a policy that is written holds on all of them', async (t) => {
    const { everywhere, call } = await start(t, await newPlace());
    const allow = async (capability: string): Promise<void> => {
      const policy = `path "pki/roles/*" { capabilities = ["${capability}"] }`;
      await call('POST', 'sys/policies/acl/reader', { policy });
    };
    await allow('read');
    const made = await call('POST', 'auth/token/create', { policies: ['reader'] });
    const token = made.textAt('auth.client_token');
    for (const [capability, status] of [
      ['read', 200],
      ['deny', 403],
      ['read', 200],
      ['list', 403],
    ] as const) {
      await allow(capability);
      const statuses = await everywhere.statuses('GET', 'pki/roles/web', undefined, token);
      assert.deepEqual(statuses, [status], capability);
    }
  });

  test('a role that is changed is changed on all of them', async (t) => {
    const { everywhere, call } = await start(t, await newPlace());
    for (const allowed of [true, false, true]) {
      await call('POST', 'pki/roles/web', { allow_any_name: allowed, key_type: 'ec' });
      const statuses = await everywhere.statuses('POST', 'pki/issue/web', ISSUE);
      assert.deepEqual(statuses, [allowed ? 200 : 400]);
    }
    await call('DELETE', 'pki/roles/web');
    assert.deepEqual(await everywhere.statuses('GET', 'pki/roles/web'), [404]);
  });

  test('a mount that is removed is gone on all of them', async (t) => {
    const { everywhere, call } = await start(t, await newPlace());
    assert.deepEqual(await everywhere.statuses('POST', 'pki/issue/web', ISSUE), [200]);
    await call('DELETE', 'sys/mounts/pki');
    assert.deepEqual(await everywhere.statuses('POST', 'pki/issue/web', ISSUE), [404]);
    assert.deepEqual(await everywhere.statuses('GET', 'pki/roles/web'), [404]);
  });

  test('a certificate that is revoked is so for all of them', async (t) => {
    const { everywhere, call } = await start(t, await newPlace());
    const issued = await call('POST', 'pki/issue/web', ISSUE);
    const serial_number = issued.textAt('data.serial_number');
    const before = await everywhere.ask('GET', `pki/cert/${serial_number}`);
    assert.ok(before.every(({ body }) => JSON.parse(body).data.revocation_time === 0));
    await call('POST', 'pki/revoke', { serial_number });
    const after = await everywhere.ask('GET', `pki/cert/${serial_number}`);
    assert.ok(after.every(({ body }) => JSON.parse(body).data.revocation_time > 0));
  });

  test('a rotation of keys and a sealing hold on all of them', async (t) => {
    const { everywhere, call, running } = await start(t, await newPlace());
    await everywhere.statuses('POST', 'pki/issue/web', ISSUE);
    for (let round = 0; round < 3; round += 1) {
      assert.equal((await call('POST', 'sys/rotate', {})).status, 204);
      // What is sealed with the new keys on one of them opens on the others.
      await call('POST', 'pki/root/rotate/internal', { common_name: `R${round}`, key_type: 'ec' });
      assert.deepEqual(await everywhere.statuses('POST', 'pki/issue/web', ISSUE), [200]);
    }
    assert.equal((await call('PUT', 'sys/seal')).status, 204);
    assert.deepEqual(await everywhere.statuses('POST', 'pki/issue/web', ISSUE), [503]);
    assert.ok(running.app.barrier.sealed);
  });

  test('by the listener for relying parties nothing is asked of one that is not for them', async (t) => {
    const place = await newPlace();
    const { running, call } = await startTestServer(t, {
      config: {
        threads: THREADS,
        storage: storageOf(place),
        public_listener: PUBLIC_LISTENER,
      },
      jobs: [],
    });
    await call('POST', 'sys/mounts/pki', { type: 'pki' });
    await call('POST', 'pki/root/generate/internal', { common_name: 'Root', key_type: 'ec' });
    const url = `http://127.0.0.1:${running.public_address?.port}/v1`;
    for (const [path, status] of [
      ['pki/ca/pem', 200],
      ['pki/crl/pem', 200],
      ['pki/cert/ca', 200],
      ['pki/certs?list=true', 404],
      ['scopes', 404],
      ['sys/health', 404],
      ['sys/seal-status', 404],
      ['sys/internal/ui/mounts', 404],
      ['nothing', 404],
    ] as const) {
      const asked = Array.from({ length: 16 }, () =>
        fetch(`${url}/${path}`).then((one) => one.status),
      );
      assert.deepEqual([...new Set(await Promise.all(asked))], [status], path);
    }
  });

  test('metrics are of all of them together, and tell of the loop of each', async (t) => {
    const { everywhere, call } = await start(t, await newPlace());
    await everywhere.statuses('POST', 'pki/issue/web', ISSUE);
    await everywhere.statuses('GET', 'sys/health');
    const { text } = await call('GET', 'sys/metrics?format=prometheus');
    const read = (name: string): number => {
      const line = text.split('\n').find((one) => one.startsWith(`${name} `)) ?? '';
      return Number(line.slice(name.length + 1) || Number.NaN);
    };
    const issued = 'route="pki-issue-with-role"';
    assert.equal(read(`gatehouse_http_requests_total{${issued},status="200"}`), CONNECTIONS);
    const timed = read(`gatehouse_http_request_duration_seconds_count{${issued}}`);
    assert.equal(timed, CONNECTIONS);
    const health = 'route="read-health-status",status="200"';
    assert.equal(read(`gatehouse_http_requests_total{${health}}`), CONNECTIONS);
    assert.ok(read('gatehouse_store_write_sets_total') > CONNECTIONS);
    for (let thread = 0; thread <= THREADS; thread += 1) {
      const labels = `quantile="0.99",thread="${thread}"`;
      assert.ok(read(`gatehouse_event_loop_delay_seconds{${labels}}`) > 0);
    }
  });

  test('what is sealed with a key is counted on all of them together', async (t) => {
    const { everywhere, call } = await start(t, await newPlace());
    const count = async (): Promise<number> =>
      Number((await call('GET', 'sys/key-status')).field('encryptions'));
    await call('POST', 'sys/rotate', {});
    const before = await count();
    assert.deepEqual(await everywhere.statuses('POST', 'pki/issue/web', ISSUE), [200]);
    assert.equal(await count(), before);
    const headers = { 'x-vault-wrap-ttl': '60' };
    const wrapped = Array.from({ length: 8 }, () =>
      call('POST', 'pki/issue/web', ISSUE, { headers }),
    );
    for (const { status, text } of await Promise.all(wrapped)) assert.equal(status, 200, text);
    assert.ok((await count()) >= before + 8);
    await call('POST', 'sys/rotate', {});
    assert.equal(await count(), 0);
  });

  test('ports that another server has are not shared with it', async (t) => {
    const { running } = await start(t, await newPlace());
    const taken = startTestServer(t, {
      config: { threads: 2, listen: running.address, storage: storageOf(await newPlace()) },
      jobs: [],
    });
    await assert.rejects(taken, { code: 'EADDRINUSE' });
  });
});
