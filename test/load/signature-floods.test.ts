import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import { after, before, test } from 'node:test';
import { signInTurn } from '../../src/access/concurrency/signatures.operations.ts';
import { parsePem } from '../../src/core/pem.ts';
import { type Certificate, parseCertificate } from '../../src/x509/certificate.ts';
import { requireTestMount, testCaller } from '../support/app.ts';
import { encodeOcspRequest } from '../support/ocsp-request.ts';
import { startTestServer } from '../support/server.ts';

// Signatures with RSA take the pool's threads for milliseconds each; anybody may ask for one by OCSP.
const FLOOD = '127.0.0.2';
const ELSEWHERE = '127.0.0.3';
const CONNECTIONS = 150;
/** Answers to others while one waits; first come, first served would be all connections. */
const MOST_BEFORE = CONNECTIONS / 3;

const server = await startTestServer({ after });
const { port } = server.running.address;
let root: Certificate;

before(async () => {
  await server.call('POST', 'sys/mounts/rsa', { type: 'pki' });
  const made = await server.call('POST', 'rsa/root/generate/internal', {
    common_name: 'R',
    key_type: 'rsa',
    key_bits: 4096,
  });
  const [block] = parsePem(made.textAt('data.certificate'));
  assert.ok(block);
  root = parseCertificate(block.der);
  await server.call('POST', 'sys/mounts/ec', { type: 'pki' });
  await server.call('POST', 'ec/root/generate/internal', { common_name: 'E', key_type: 'ec' });
  for (const mount of ['rsa', 'ec']) {
    const role = { allow_any_name: true, key_type: 'ec', ttl: '1h' };
    await server.call('POST', `${mount}/roles/any`, role);
  }
  await server.call('POST', 'sys/auth/userpass', { type: 'userpass' });
  await server.call('POST', 'auth/userpass/users/ann', { password: 'correct horse' });
});

function post(agent: Agent, path: string, body: Buffer | object): Promise<number> {
  const headers = { 'x-vault-token': 'root' };
  const options = { agent, host: '127.0.0.1', port, path: `/v1/${path}`, method: 'POST', headers };
  return new Promise((resolve, reject) => {
    const asked = request(options, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode ?? 0));
    });
    asked.on('error', reject);
    asked.end(Buffer.isBuffer(body) ? body : JSON.stringify(body));
  });
}

/** About a certificate that nobody has asked about before: its answer is signed anew. */
function newQuestion(): Buffer {
  const { subject, subjectPublicKeyInfo } = root;
  const serialNumber = Buffer.concat([Buffer.of(1), randomBytes(15)]);
  const asked = { issuer: subject, subjectPublicKeyInfo, serialNumber, hash: 'sha1' } as const;
  return Buffer.from(encodeOcspRequest(asked));
}

test('while one address has RSA signatures made without end, others wait for a few of them at most', async () => {
  const flooding = new Agent({ keepAlive: true, localAddress: FLOOD });
  const elsewhere = new Agent({ keepAlive: true, localAddress: ELSEWHERE });
  const heard: number[] = [];
  let isOver = false;
  const underWay = Promise.withResolvers<void>();
  const floods = Array.from({ length: CONNECTIONS }, async () => {
    while (!isOver) {
      heard.push(await post(flooding, 'rsa/ocsp', newQuestion()));
      if (heard.length > CONNECTIONS) underWay.resolve();
    }
  });
  await underWay.promise;
  // The first one's connection is opened beside 150 others in this process.
  assert.equal(await post(elsewhere, 'rsa/ocsp', newQuestion()), 200);
  const waited: number[] = [];
  const signed = () => heard.filter((status) => status === 200).length;
  for (const ask of [
    () => post(elsewhere, 'rsa/ocsp', newQuestion()),
    () => post(elsewhere, 'ec/issue/any', { common_name: 'a.test' }),
    () => post(elsewhere, 'rsa/issue/any', { common_name: 'a.test' }),
  ]) {
    let least = CONNECTIONS;
    // The client is this process, too, and may come late to an answer.
    for (let attempt = 0; attempt < 3 && least >= MOST_BEFORE; attempt += 1) {
      const before = signed();
      assert.equal(await ask(), 200);
      least = Math.min(least, signed() - before);
    }
    waited.push(least);
  }
  // A hash takes as long as many signatures; it waits for none of them all the same.
  assert.equal(
    await post(elsewhere, 'auth/userpass/login/ann', { password: 'correct horse' }),
    200,
  );
  isOver = true;
  await Promise.all(floods);
  flooding.destroy();
  elsewhere.destroy();
  // First come, first served would be all connections of the flood each time.
  assert.ok(
    waited.every((count) => count < MOST_BEFORE),
    `${waited}`,
  );
  assert.ok(heard.includes(200));
  assert.deepEqual(
    heard.filter((status) => status !== 200 && status !== 503),
    [],
  );
});

test('a key is proved by a signature in turn, as certificates are signed', async () => {
  const role = { allow_any_name: true, key_type: 'rsa', key_bits: 2048, ttl: '1h' };
  await server.call('POST', 'ec/roles/long', role);
  const issued = await server.call('POST', 'ec/issue/long', { common_name: 'a.test' });
  const { promise, resolve } = Promise.withResolvers<void>();
  const caller = testCaller(await requireTestMount(server.running.app, 'ec/'));
  const long = { key_type: 'rsa', key_bits: 8192 } as const;
  const held = [1, 2].map(() => signInTurn(server.running.app, caller, long, () => promise));
  let isOver = false;
  const proved = server
    .call('POST', 'ec/revoke-with-key', {
      certificate: issued.textAt('data.certificate'),
      private_key: issued.textAt('data.private_key'),
    })
    .finally(() => {
      isOver = true;
    });
  // Others are answered meanwhile.
  for (let at = 0; at < 20; at++) await server.call('GET', 'ec/ca/pem');
  assert.equal(isOver, false);
  resolve();
  assert.equal((await proved).status, 200);
  await Promise.all(held);
});
