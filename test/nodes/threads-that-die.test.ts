// What is left of a thread that answers, and what its successor begins with.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect } from 'node:tls';
import type { Worker } from 'node:worker_threads';
import { parsePem } from '../../src/core/pem.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { eachPlace } from '../support/engines.ts';
import {
  CONNECTIONS,
  Everywhere,
  ISSUE,
  startThreads as start,
  THREADS,
} from '../support/everywhere.ts';
import { newDirectory } from '../support/node-process.ts';
import { encodeOcspRequest } from '../support/ocsp-request.ts';
import { writeTlsPair } from '../support/openssl.ts';
import { type Client, startTestServer } from '../support/server.ts';
import { writeRecords } from '../support/threads.ts';

const soon = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

/** Until then a thread has begun, and failed, on a machine that is busy as well. */
const BUSY_MS = 4_000;

async function untilAllAnswer({ threads }: Client['running'], count = THREADS): Promise<void> {
  while (threads?.count !== count) await soon();
}

eachPlace('threads that die', (newPlace) => {
  test('counts go on where a thread that has counted is no more', async (t) => {
    const { everywhere, running, call } = await start(t, await newPlace());
    await everywhere.statuses('POST', 'pki/issue/web', ISSUE);
    const read = async (): Promise<number> => {
      const { text } = await call('GET', 'sys/metrics?format=prometheus');
      return Number(
        /requests_total\{route="pki-issue-with-role",status="200"\} (\d+)/.exec(text)?.[1],
      );
    };
    assert.equal(await read(), CONNECTIONS);
    await running.threads?.kill();
    assert.equal(await read(), CONNECTIONS);
    await untilAllAnswer(running);
    await call('POST', 'pki/issue/web', ISSUE);
    assert.equal(await read(), CONNECTIONS + 1);
  });

  test('one that dies takes with it what it was answering, and nothing else', async (t) => {
    const { everywhere, running, call } = await start(t, await newPlace());
    const { threads } = running;
    for (let deaths = 0; deaths < 3; deaths += 1) {
      assert.ok(await threads?.kill());
      await untilAllAnswer(running);
      const made = await call('POST', 'pki/issue/web', ISSUE);
      assert.equal(made.status, 200);
    }
    await everywhere.ask('GET', 'pki/roles/web').catch(() => []);
    assert.deepEqual(await everywhere.statuses('POST', 'pki/issue/web', ISSUE), [200]);
  });

  test('what was answered is recorded, once, however soon after that the thread was no more', async (t) => {
    const { running, url } = await start(t, await newPlace());
    const answered: string[] = [];
    for (let deaths = 0; deaths < 4; deaths += 1) {
      const everywhere = new Everywhere(t, { url });
      let isOver = false;
      const asking = Array.from({ length: CONNECTIONS }, async (_, number) => {
        const ask = () => everywhere.askOne(number, 'GET', 'pki/roles/web').catch(() => undefined);
        for (let told = await ask(); told && !isOver; told = await ask()) {
          assert.equal(told.status, 200);
          answered.push(JSON.parse(told.body).request_id);
        }
      });
      const before = answered.length;
      while (answered.length < before + CONNECTIONS) await soon();
      await running.threads?.kill();
      isOver = true;
      await Promise.all(asking);
      await untilAllAnswer(running);
    }
    await writeRecords(running);
    const stored = await running.app.db.selectFrom('audit_entry').select('record').execute();
    const recorded = stored.flatMap(({ record }) => JSON.parse(record).request?.id ?? []);
    assert.equal(new Set(recorded).size, recorded.length, 'once');
    assert.deepEqual([...new Set(answered).difference(new Set(recorded))], []);
  });

  test('one that cannot begin leaves its place to the next, which answers as the others do', async (t) => {
    const { everywhere, running, call } = await start(t, await newPlace());
    const issued = await call('POST', 'pki/issue/web', ISSUE);
    const [ca, own] = ['issuing_ca', 'certificate'].map((field) => {
      const [block] = parsePem(issued.textAt(`data.${field}`));
      return parseCertificate(block?.der ?? new Uint8Array());
    });
    assert.ok(ca && own);
    const { subject: issuer, subjectPublicKeyInfo } = ca;
    const of = { issuer, subjectPublicKeyInfo, serialNumber: own.serialNumber };
    const asked = encodeOcspRequest({ ...of, hash: 'sha1' });
    const { store } = running.app;
    const { share } = store;
    let begun = 0;
    t.mock.method(store, 'share', () => {
      begun += 1;
      return begun > 1 ? share() : { port: share().port };
    });
    await running.threads?.kill();
    while (begun < 2) await soon();
    await untilAllAnswer(running);
    // By connections that are new: those to the one that was killed are no more.
    await everywhere.ask('GET', 'pki/roles/web').catch(() => []);
    assert.deepEqual(await everywhere.statuses('POST', 'pki/ocsp', asked, ''), [200]);
  });

  test('five that die within a minute are too many', async (t) => {
    const { running } = await start(t, await newPlace());
    const died = new Promise<string>((resolve) =>
      running.onDeath(({ message }) => resolve(message)),
    );
    for (let deaths = 0; deaths < 5; deaths += 1) {
      while (!(await running.threads?.kill())) await soon();
    }
    assert.match(await died, /die one after the other/);
    // Those that die while others begin are told once all that is up.
    const late = await new Promise<Error>((resolve) => running.onDeath(resolve));
    assert.match(late.message, /die one after the other/);
  });
});

test('one that takes the place of another has the same certificate, whatever its files are by then', async (t) => {
  const directory = newDirectory(t);
  const tls = { cert_file: join(directory, 'cert.pem'), key_file: join(directory, 'key.pem') };
  writeTlsPair(tls);
  const { running } = await startTestServer(t, { config: { threads: 2, tls }, jobs: [] });
  /** Of whatever threads the connections come to. */
  const read = async (): Promise<string[]> => {
    const found = await Promise.all(
      Array.from({ length: 16 }, async () => {
        const socket = connect({ port: running.address.port, rejectUnauthorized: false });
        await once(socket, 'secureConnect');
        const { fingerprint256 } = socket.getPeerCertificate();
        socket.destroy();
        return fingerprint256;
      }),
    );
    return [...new Set(found)];
  };
  const first = await read();
  assert.equal(first.length, 1);

  writeFileSync(tls.cert_file, 'broken');
  assert.throws(() => running.reloadTls());
  for (let deaths = 0; deaths < 2; deaths += 1) {
    await running.threads?.kill();
    await untilAllAnswer(running, 2);
  }
  assert.deepEqual(await read(), first);

  writeTlsPair(tls);
  running.reloadTls();
  for (let found = await read(); found.length > 1 || found[0] === first[0]; ) found = await read();
});

test('one that dies as soon as it listens is replaced, also while nobody hears of either', async (t) => {
  const { running } = await startTestServer(t, { config: { threads: 2 }, jobs: [] });
  let begun = 0;
  const breakFirst = (worker: Worker): void => {
    if (worker.threadName !== 'answering') return;
    begun += 1;
    if (begun > 1) return;
    // No message of the supervisor's: it fails at that once it listens.
    worker.postMessage(null);
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_MS));
  };
  process.on('worker', breakFirst);
  t.after(() => process.off('worker', breakFirst));
  await running.threads?.kill();
  while (begun < 2) await soon();
  await untilAllAnswer(running, 2);
});
