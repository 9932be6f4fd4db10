import assert from 'node:assert/strict';
import { request } from 'node:http';
import type { Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { parsePem } from '../../src/core/pem.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { type Crowd, gatherCrowd } from '../support/crowd.ts';
import { encodeOcspRequest } from '../support/ocsp-request.ts';
import { reset } from '../support/reset.ts';
import { callOver } from '../support/server.ts';
import { isTooLong, startWatched, type Watched } from '../worst-cases/measure.ts';

/** As many as one address may have. */
const CROWD = 1_000;

let server: Watched;
let ocsp: Uint8Array;
before(async () => {
  server = await startWatched();
  const call = callOver(server.url, 'root');
  await call('POST', 'sys/auth/userpass', { type: 'userpass' });
  const root = await call('POST', 'demo/root/generate/internal', {
    common_name: 'Root',
    key_type: 'ec',
  });
  assert.equal(root.status, 200, root.text);
  const [pem] = parsePem(root.textAt('data.certificate'));
  assert.ok(pem);
  const { subject, subjectPublicKeyInfo, serialNumber } = parseCertificate(pem.der);
  ocsp = encodeOcspRequest({ issuer: subject, subjectPublicKeyInfo, serialNumber, hash: 'sha1' });
});
after(() => server.stop());

const head = (line: string, ...fields: string[]): string =>
  [line, 'Host: localhost', ...fields, '\r\n'].join('\r\n');
const get = (path: string): string => head(`GET ${path} HTTP/1.1`);
const post = (path: string, body: string | Uint8Array, type = 'application/json'): Uint8Array =>
  Buffer.concat([
    Buffer.from(
      head(`POST ${path} HTTP/1.1`, `Content-Type: ${type}`, `Content-Length: ${body.length}`),
    ),
    Buffer.from(body),
  ]);
const wrong = JSON.stringify({ attributes: { login_name: 'admin', password: 'wrong password' } });
const LOG_IN = '/v1/auth-methods/ampw_1234567890:authenticate';

/** What each of a crowd says, all of them at once; the steps one after the other. */
const SAYINGS: [what: string, steps: () => (string | Uint8Array)[]][] = [
  ['GET sys/health', () => [get('/v1/sys/health')]],
  ['GET targets without a token', () => [get('/v1/targets?scope_id=global')]],
  ['GET a CRL', () => [get('/v1/demo/crl')]],
  ['GET what is not there', () => [get('/v1/none/at/all')]],
  ['GET /health', () => [get('/health')]],
  ['OPTIONS of a page', () => [head('OPTIONS /v1/targets HTTP/1.1', 'Origin: https://a.test')]],
  ['OCSP by GET', () => [get(`/v1/demo/ocsp/${Buffer.from(ocsp).toString('base64url')}`)]],
  ['OCSP by POST', () => [post('/v1/demo/ocsp', ocsp, 'application/ocsp-request')]],
  ['wrong log-ins to the broker', () => [post(LOG_IN, wrong)]],
  ['wrong log-ins to userpass', () => [post('/v1/auth/userpass/login/ann', '{"password":"x"}')]],
  ['two requests, one behind the other', () => [get('/v1/sys/health').repeat(2)]],
  ['32 requests, one behind the other', () => [get('/v1/sys/health').repeat(32)]],
  ['what is no request', () => ['\r\n\0'.repeat(300)]],
  [
    'heads that never end, a piece at a time',
    () => [
      'GET /v1/sys/health HTTP/1.1\r\n',
      ...Array.from({ length: 4 }, () => 'A: b\r\n'.repeat(150)),
    ],
  ],
  [
    'bodies in chunks of a byte',
    () => [
      head('POST /v1/sys/unseal HTTP/1.1', 'Transfer-Encoding: chunked'),
      ...Array.from({ length: 4 }, () => '1\r\n \r\n'.repeat(165)),
    ],
  ],
];

/** The status of an answer to somebody at another address. */
function askFromElsewhere(): Promise<number> {
  return new Promise((resolve, reject) => {
    const url = new URL('/v1/sys/health', server.url);
    request(url, { agent: false, localAddress: '127.0.0.3' }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    })
      .once('error', reject)
      .end();
  });
}

/** The longest that the loop was held, while a crowd comes, says all of it, and goes. */
async function watch(steps: readonly (string | Uint8Array)[], measured: string[]): Promise<void> {
  const look = async (phase: string): Promise<void> => {
    assert.equal(await askFromElsewhere(), 200);
    const pause = await server.takeLongest();
    if (isTooLong(pause)) measured.push(`${phase}: ${pause.toFixed(0)} ms`);
  };
  await server.takeLongest();
  const crowd: Crowd = await gatherCrowd(server.port, CROWD);
  await look('coming');
  for (const [n, step] of steps.entries()) {
    crowd.say(step);
    if (n === steps.length - 1 && steps.length === 1) await crowd.answered();
    await look(`step ${n + 1}`);
  }
  crowd.leave();
  await look('leaving');
}

/** Only what every time is long counts. */
const ATTEMPTS = 3;

for (const [what, steps] of SAYINGS) {
  test(`a thousand connections of one address hold nobody up: ${what}`, async () => {
    let found: string[] = [];
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      found = [];
      await watch(steps(), found);
      if (found.length === 0) return;
    }
    assert.deepEqual(found, []);
  });
}

/** All that a listener has, of one network. */
const NETWORK = 8_000;
const ADDRESSES = Array.from({ length: 250 }, (_, n) => `127.0.77.${n + 1}`);

const GOINGS: [what: string, said: string, go: (socket: Socket) => void][] = [
  ['silent ones are reset', '', reset],
  ['silent ones end', '', (socket) => void socket.destroy()],
  ['half a head was said', get('/v1/none').slice(0, -2), reset],
  [
    'a body is not whole',
    head('POST /v1/auth/userpass/login/x HTTP/1.1', 'Content-Length: 100').concat('{'),
    reset,
  ],
];

for (const [what, said, go] of GOINGS) {
  test(`eight thousand connections of a network that go at once hold nobody up: ${what}`, async () => {
    let found: number[] = [];
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const crowds: Crowd[] = [];
      for (const address of ADDRESSES) {
        crowds.push(await gatherCrowd(server.port, NETWORK / ADDRESSES.length, address));
      }
      for (const crowd of crowds) crowd.say(said);
      assert.equal(await askFromElsewhere(), 200);
      await server.takeLongest();
      for (const crowd of crowds) crowd.sockets.forEach(go);
      assert.equal(await askFromElsewhere(), 200);
      found = [await server.takeLongest()].filter(isTooLong);
      if (found.length === 0) return;
    }
    assert.deepEqual(found, []);
  });
}
