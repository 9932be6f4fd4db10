// Reads of the certificate authority that any of several threads answers, by both listeners; what is exact stays so.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { eachPlace, type Place } from '../support/engines.ts';
import { Everywhere, watchHandedOn } from '../support/everywhere.ts';
import { PUBLIC_LISTENER } from '../support/public-listener.ts';
import { storageOf } from '../support/seeded-broker.ts';
import { startTestServer } from '../support/server.ts';
import { type Scope, sharedStart } from '../support/shared-start.ts';

async function start(scope: Scope, place: Place) {
  const client = await startTestServer(scope, {
    config: {
      threads: 4,
      storage: storageOf(place),
      public_listener: PUBLIC_LISTENER,
    },
    jobs: [],
  });
  const { call, running } = client;
  const newRoot = async (common_name: string): Promise<string> => {
    const body = { common_name, key_type: 'ec', issuer_name: common_name };
    return (await call('POST', 'pki/root/generate/internal', body)).textAt('data.issuer_id');
  };
  await call('POST', 'sys/mounts/pki', { type: 'pki' });
  const root = await newRoot('one');
  await call('POST', 'pki/roles/web', { allow_any_name: true, key_type: 'ec' });
  const leaf = await call('POST', 'pki/issue/web', { common_name: 'www.example.com', ttl: '1h' });
  assert.equal(leaf.status, 200, leaf.text);
  const other = await call('POST', 'pki/issue/web', { common_name: 'gone.example.com', ttl: '1h' });
  const gone = { serial_number: other.textAt('data.serial_number') };
  assert.equal((await call('POST', 'pki/revoke', gone)).status, 200);
  const url = `http://127.0.0.1:${running.public_address?.port}`;
  return {
    ...client,
    newRoot,
    root,
    serial: leaf.textAt('data.serial_number'),
    everywhere: new Everywhere(scope, client),
    open: new Everywhere(scope, { url }),
  };
}

eachPlace('the certificate authority on several threads', (newPlace) => {
  const shared = sharedStart(newPlace, start);

  test('any of them answers what needs nothing that is in one place', async () => {
    const { running, everywhere, open, serial } = await shared();
    const handed = watchHandedOn(running.app);
    const cases: [path: string, handedOn: string, isOpen?: true][] = [
      ['ca', '', true],
      ['ca/pem', '', true],
      ['ca_chain', '', true],
      ['cert/ca', '', true],
      ['cert/ca_chain', '', true],
      ['cert/ca/raw', '', true],
      ['cert/ca_chain/raw/pem', '', true],
      [`cert/${serial}`, ''],
      [`cert/${serial}/raw/pem`, ''],
      ['certs?list=true', ''],
      ['certs/detailed?list=true', ''],
      ['certs/search?name=www.example.com', ''],
      ['issuers?list=true', ''],
      ['issuer/default', ''],
      ['issuer/one/json', '', true],
      ['issuer/one/der', '', true],
      ['keys?list=true', ''],
      ['roles?list=true', ''],
      ['config/urls', ''],
      ['config/issuers', ''],
      ['config/keys', ''],
      ['config/cluster', ''],
      ['config/crl', ''],
      ['config/auto-tidy', ''],
      ['config/expiration-warnings', ''],
      ['certs/revoked?list=true', ''],
      ['certs/unified-revoked?list=true', ''],
      ['certs/export/csv', ''],
      ['certs/export/jsonl', ''],
      // What one does for all, or has seen.
      ['config/external-policy', 'pki-read-external-policy-configuration'],
      ['tidy-status', 'pki-tidy-status'],
    ];
    for (const [path, route, isOpen] of cases) {
      handed.length = 0;
      assert.deepEqual(await everywhere.statuses('GET', `pki/${path}`), [200], path);
      if (isOpen) assert.deepEqual(await open.statuses('GET', `pki/${path}`), [200], path);
      // The date of a chain is asked of one, and nothing is handed on.
      assert.deepEqual([...new Set(handed)], route === '' ? [] : [route], path);
    }
  });

  test('a default issuer, a name and settings that are changed are so on all of them', async () => {
    const { everywhere, open, call, newRoot } = await shared();
    const other = await newRoot(`other-${Date.now()}`);
    const before = new Set((await everywhere.ask('GET', 'pki/ca/pem')).map(({ body }) => body));
    assert.equal(before.size, 1);
    await call('POST', 'pki/config/issuers', { default: other });
    for (const way of [everywhere, open]) {
      const pems = new Set((await way.ask('GET', 'pki/ca/pem')).map(({ body }) => body));
      assert.equal(pems.size, 1);
      assert.notDeepEqual(pems, before);
    }
    const config = await everywhere.ask('GET', 'pki/config/issuers');
    for (const { body } of config) assert.equal(JSON.parse(body).data.default, other);
    await call('PATCH', `pki/issuer/${other}`, { issuer_name: 'renamed' });
    assert.deepEqual(await open.statuses('GET', 'pki/issuer/renamed/pem'), [200]);
    await call('POST', 'pki/config/urls', { ocsp_servers: ['http://ocsp.example.com'] });
    for (const { body } of await everywhere.ask('GET', 'pki/config/urls')) {
      assert.deepEqual(JSON.parse(body).data.ocsp_servers, ['http://ocsp.example.com']);
    }
    await call('DELETE', `pki/issuer/${other}`);
    assert.deepEqual(await open.statuses('GET', 'pki/issuer/renamed/pem'), [500]);
    await call('POST', 'pki/config/issuers', { default: 'one' });
    assert.deepEqual(await everywhere.statuses('GET', 'pki/cert/ca'), [200]);
  });

  test('how lists are made, and mounts tidied, is by now on all of them what one was told', async () => {
    const { everywhere, call } = await shared();
    await call('POST', 'sys/mounts/near', { type: 'pki' });
    const read = async (path: string) =>
      (await everywhere.ask('GET', path)).map(({ body }) => JSON.parse(body).data);
    const [near] = await read('near/config/crl');
    for (const expiry of ['48h', '50h', '72h']) {
      assert.equal((await call('POST', 'pki/config/crl', { expiry })).status, 200);
      for (const config of await read('pki/config/crl')) assert.equal(config.expiry, expiry);
      for (const config of await read('near/config/crl')) assert.deepEqual(config, near);
      const tidied = { safety_buffer: expiry, tidy_cert_store: true };
      assert.equal((await call('POST', 'pki/config/auto-tidy', tidied)).status, 200);
      for (const config of await read('pki/config/auto-tidy')) {
        assert.equal(config.safety_buffer, 3600 * Number.parseInt(expiry, 10));
      }
    }
  });

  test('what is revoked is listed, and exported, as revoked by all of them, and what is beside it is not', async () => {
    const { everywhere, call, serial } = await shared();
    for (let round = 0; round < 3; round += 1) {
      const issued = await call('POST', 'pki/issue/web', {
        common_name: `r${round}.test`,
        ttl: '1h',
      });
      const serial_number = issued.textAt('data.serial_number');
      const revoked = await everywhere.askOne(round, 'POST', 'pki/revoke', { serial_number });
      assert.equal(revoked.status, 200);
      for (const list of ['revoked', 'unified-revoked']) {
        for (const { body } of await everywhere.ask('GET', `pki/certs/${list}?list=true`)) {
          const { keys } = JSON.parse(body).data;
          assert.ok(keys.includes(serial_number), list);
          assert.ok(!keys.includes(serial), list);
        }
      }
      for (const { body } of await everywhere.ask('GET', 'pki/certs/export/jsonl')) {
        const lines = body.trim().split('\n');
        const told = lines.map((line) => JSON.parse(line));
        const isRevoked = (wanted: string): boolean =>
          told.find((one) => one.serial_number === wanted).revocation_time !== '';
        assert.equal(isRevoked(serial_number), true);
        assert.equal(isRevoked(serial), false);
      }
    }
  });

  test('what is made is listed by all of them', async () => {
    const { everywhere, call } = await shared();
    for (const name of ['a', 'b', 'c']) {
      await call('POST', `pki/roles/${name}`, { allow_any_name: true, key_type: 'ec' });
      for (const { body } of await everywhere.ask('GET', 'pki/roles?list=true')) {
        assert.ok(JSON.parse(body).data.keys.includes(name), name);
      }
      await call('DELETE', `pki/roles/${name}`);
      for (const { body } of await everywhere.ask('GET', 'pki/roles?list=true')) {
        assert.ok(!JSON.parse(body).data.keys.includes(name), name);
      }
    }
  });

  test('a chain that is again what it was is dated anew by all of them, whoever has read what it was in between', async () => {
    const { everywhere, call, newRoot } = await shared();
    const other = await newRoot(`another-${Date.now()}`);
    await call('POST', 'sys/mounts/pki/tune', { allowed_response_headers: ['Last-Modified'] });
    await call('POST', 'pki/config/issuers', { default: 'one' });
    const chain = (refs: string[]) =>
      call('PATCH', 'pki/issuer/one', { manual_chain: ['self', ...refs] });
    const dates = async (): Promise<number[]> => {
      const answered = await everywhere.ask('GET', 'pki/ca_chain');
      return answered.map(({ headers }) => Date.parse(headers['last-modified'] ?? ''));
    };
    await chain([]);
    const first = await dates();
    assert.equal(new Set(first).size, 1, `${first}`);
    await wait(1_100);
    await chain([other]);
    const between = await call('GET', 'pki/ca_chain');
    const seen = Date.parse(between.headers.get('last-modified') ?? '');
    assert.ok(seen > Number(first[0]));
    await wait(1_100);
    await chain([]);
    for (const date of await dates()) assert.ok(date > seen, `${date} ${seen}`);
  });
});
