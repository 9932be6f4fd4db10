/** A device that is slow, stuck or gone holds up those who need its keys, and nobody else; its PIN is in no list of processes. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { FAKE_PIN, type FakeToken, makeFakeToken } from '../support/fake-token.ts';
import { inReverse } from '../support/node-process.ts';
import { type Client, type Reply, startTestServer } from '../support/server.ts';

interface Bench {
  device: FakeToken;
  client: Client;
  issue(mount: 'hsm' | 'own'): Promise<Reply>;
}

/** A mount with a key of the device, and one with a key of its own. */
async function openBench(t: TestContext, timeout_ms: number): Promise<Bench> {
  const scope = inReverse(t);
  const device = makeFakeToken(scope);
  const kms_library = [{ ...device.library, timeout_ms }];
  const client = await startTestServer(scope, { config: { kms_library } });
  const { call } = client;
  const done = async (path: string, body: object): Promise<void> => {
    const answer = await call('POST', path, body);
    assert.ok(answer.status < 300, `${path}: ${answer.text}`);
  };
  await done('sys/managed-keys/pkcs11/root', {
    ...{ library: 'fake', token_label: 'a', pin: FAKE_PIN, key_label: 'root', any_mount: true },
    ...{ mechanism: '0x1041', curve: 'P256', allow_generate_key: true },
  });
  for (const [mount, source] of [
    ['hsm', { managed_key_name: 'root' }],
    ['own', { key_type: 'ec' }],
  ] as const) {
    await done(`sys/mounts/${mount}`, { type: 'pki' });
    const how = mount === 'hsm' ? 'kms' : 'internal';
    await done(`${mount}/root/generate/${how}`, { common_name: 'Root', ttl: '10h', ...source });
    await done(`${mount}/roles/any`, { allow_any_name: true, key_type: 'ec', ttl: '1h' });
  }
  const issue: Bench['issue'] = (mount) =>
    call('POST', `${mount}/issue/any`, { common_name: 'a.test' });
  return { device, client, issue };
}

/** Requests that have nothing to do with the device. */
async function askOthers({ client, issue }: Bench): Promise<void> {
  for (let round = 0; round < 10; round += 1) {
    assert.equal((await issue('own')).status, 200);
    assert.equal((await client.call('GET', 'sys/health')).status, 200);
    assert.equal((await client.call('GET', 'hsm/ca/pem')).status, 200);
    assert.equal((await client.call('GET', 'sys/managed-keys/pkcs11/root')).status, 200);
  }
}

test('others go on while many wait for a device, and those are served one after the other', async (t) => {
  const bench = await openBench(t, 60_000);
  bench.device.slowDown(400);
  process.kill(bench.device.pid(), 'SIGSTOP');
  const waiting = Array.from({ length: 6 }, () => bench.issue('hsm'));
  const first = Promise.race(waiting).then(() => 'one that needs the device');
  const others = askOthers(bench).then(() => 'others');
  assert.equal(await Promise.race([first, others]), 'others');
  process.kill(bench.device.pid(), 'SIGCONT');
  const begun = performance.now();
  const answers = await Promise.all(waiting);
  assert.deepEqual(
    answers.map(({ status }) => status),
    answers.map(() => 200),
  );
  assert.ok(performance.now() - begun > 6 * 400 - 50, 'one at a time');
});

test('a device that is stuck is 503 after its time, and works again by itself', async (t) => {
  const bench = await openBench(t, 1_500);
  const stuck = bench.device.pid();
  process.kill(stuck, 'SIGSTOP');
  const waiting = [bench.issue('hsm'), bench.issue('hsm')];
  for (const answer of await Promise.all(waiting)) assert.equal(answer.status, 503, answer.text);
  while ((await bench.issue('hsm')).status !== 200) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.throws(() => process.kill(stuck, 0), { code: 'ESRCH' }, 'its process is gone');
});

test('a device whose process is killed has another one, and nobody notices', async (t) => {
  const bench = await openBench(t, 10_000);
  for (let round = 0; round < 3; round += 1) {
    const before = bench.device.pid();
    process.kill(before, 'SIGKILL');
    const answer = await bench.issue('hsm');
    assert.equal(answer.status, 200, answer.text);
    assert.notEqual(bench.device.pid(), before);
  }
  bench.device.slowDown(500);
  const during = bench.issue('hsm');
  await new Promise((resolve) => setTimeout(resolve, 250));
  process.kill(bench.device.pid(), 'SIGKILL');
  assert.equal((await during).status, 200, 'also while it signs');
});

test('neither arguments nor environment of a process have the PIN', {
  skip: existsSync('/proc/self/environ') ? false : 'there is no /proc',
}, async (t) => {
  const bench = await openBench(t, 10_000);
  assert.equal((await bench.issue('hsm')).status, 200);
  for (const pid of [bench.device.pid(), process.pid]) {
    for (const file of ['cmdline', 'environ']) {
      const text = readFileSync(`/proc/${pid}/${file}`, 'utf8');
      assert.ok(text.length > 0 && !text.includes(FAKE_PIN), `${pid} ${file}`);
    }
  }
});
