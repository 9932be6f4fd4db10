import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { after, before, test } from 'node:test';
import { csrOf, keyOf, newPrime } from '../support/rsa-numbers.ts';
import { startTestServer } from '../support/server.ts';
import { TEST_THREADS } from '../support/threads.ts';

// A flood comes from one address of the loopback network, the others from another.
const FLOOD = '127.0.0.2';
const ELSEWHERE = '127.0.0.3';

const server = await startTestServer({ after });
const { port } = server.running.address;

before(async () => {
  await server.call('POST', 'sys/mounts/pki', { type: 'pki' });
  await server.call('POST', 'pki/root/generate/internal', { common_name: 'R', key_type: 'ec' });
  await server.call('POST', 'pki/roles/any', { allow_any_name: true, key_type: 'any', ttl: '1h' });
  await server.call('POST', 'pki/roles/names', { allow_any_name: true, key_type: 'ec', ttl: '1h' });
  await server.call('POST', 'pki/roles/ec', { allowed_domains: 'a.test', key_type: 'ec' });
});

interface Heard {
  status: number;
  retry_after: string | undefined;
}

function ask(agent: Agent, path: string, body: object): Promise<Heard> {
  const headers = { 'x-vault-token': 'root' };
  return new Promise((resolve, reject) => {
    const options = {
      agent,
      host: '127.0.0.1',
      port,
      path: `/v1/${path}`,
      method: 'POST',
      headers,
    };
    const asked = request(options, (response) => {
      response.resume();
      response.on('end', () => {
        const { statusCode = 0, headers: heard } = response;
        resolve({ status: statusCode, retry_after: heard['retry-after'] });
      });
    });
    asked.on('error', reject);
    asked.end(JSON.stringify(body));
  });
}

test('while one address floods with long requests, keys and names from elsewhere are decided on', async () => {
  const long = { common_name: 'a.test', alt_names: 'b.a.test,'.repeat(1000) };
  const names = Array.from({ length: 1000 }, (_, n) => `n${n}.a.test`).join();
  const heard: Heard[] = [];
  const flooding = new Agent({ keepAlive: true, localAddress: FLOOD });
  const elsewhere = new Agent({ keepAlive: true, localAddress: ELSEWHERE });
  let isOver = false;
  const refused = Promise.withResolvers<void>();
  const floods = Array.from({ length: 80 * TEST_THREADS }, async () => {
    while (!isOver) {
      const one = await ask(flooding, 'pki/issue/ec', long);
      heard.push(one);
      if (one.status !== 400) refused.resolve();
    }
  });
  // From here on it waits for itself: it has all the places that one address may have, of each thread.
  await refused.promise;
  const key = keyOf([newPrime(1024), newPrime(1024)]);
  const others = [
    await ask(elsewhere, 'pki/sign/any', { csr: csrOf(key, 'a.test') }),
    await ask(elsewhere, 'pki/issue/names', { common_name: 'a.test', alt_names: names }),
    await ask(elsewhere, 'pki/root/generate/internal', {
      common_name: 'a.test',
      key_type: 'ec',
      permitted_dns_domains: names,
    }),
  ];
  isOver = true;
  await Promise.all(floods);
  flooding.destroy();
  elsewhere.destroy();
  assert.deepEqual(
    others.map(({ status }) => status),
    [200, 200, 200],
  );
  assert.equal(heard.find(({ status }) => status === 429)?.retry_after, '1');
  assert.deepEqual(
    heard.filter(({ status }) => status >= 500),
    [],
  );
});
