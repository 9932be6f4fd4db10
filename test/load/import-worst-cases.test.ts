// Whatever a bundle has, reading it, and working out the chains of what it brought, holds the event loop no longer than
// other requests do.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { encodePem } from '../../src/core/pem.ts';
import { makeAuthority, newKey, pkcs8Of } from '../support/made-authorities.ts';
import { type Answered, isTooLong, startWatched, type Watched } from '../worst-cases/measure.ts';

let server: Watched;
before(async () => {
  server = await startWatched();
  // What is compiled with the first requests is not what they cost.
  await bring('first', makeMany(20));
});
after(() => server.stop());

const MANY = 1000;
const headers = { 'x-vault-token': 'root', connection: 'keep-alive' };

const ask = (method: string, path: string, body?: object): Promise<Answered> =>
  server.send({
    method,
    target: `/v1/${path}`,
    headers,
    ...(body && { body: Buffer.from(JSON.stringify(body)) }),
  });

async function bring(mount: string, pem_bundle: string): Promise<Answered> {
  await ask('POST', `sys/mounts/${mount}`, { type: 'pki' });
  return ask('POST', `${mount}/issuers/import/bundle`, { pem_bundle });
}

const makeMany = (count: number): string =>
  Array.from({ length: count }, (_, at) => {
    const { pem, keyPem } = makeAuthority(`Authority ${at}`);
    return pem + keyPem;
  }).join('');

/** Two names, each certified by the other's key a hundred times and more: everybody is a parent of half of them. */
function makeDense(): string {
  const [a, b] = [makeAuthority('A'), makeAuthority('B')];
  return Array.from({ length: MANY }, (_, at) =>
    at % 2 === 0
      ? makeAuthority('A', { key: a.key, by: b })
      : makeAuthority('B', { key: b.key, by: a }),
  )
    .map(({ pem }) => pem)
    .join('');
}

/** One name and a thousand keys, none of which has signed any of them. */
function makeNamesakes(): string {
  const by = { name: 'Same', key: newKey() };
  return Array.from({ length: MANY }, () => makeAuthority('Same', { by }).pem).join('');
}

function makeSameKey(): string {
  const key = newKey();
  return Array.from({ length: 4000 }, () => pkcs8Of(key)).join('');
}

const block = (label: string, length: number): string =>
  encodePem(label, Buffer.alloc(length, 0x30), { trailingNewline: true });

const bundles: [what: string, make: () => string, status: number][] = [
  ['a thousand authorities with keys', () => makeMany(MANY), 200],
  ['a thousand that certify each other', makeDense, 200],
  ['a thousand namesakes', makeNamesakes, 200],
  ['one key thousands of times', makeSameKey, 200],
  ['one block of megabytes', () => block('CERTIFICATE', 2_200_000), 400],
  ['a CRL of megabytes', () => block('X509 CRL', 2_200_000), 200],
  ['thousands of CRLs', () => block('X509 CRL', 500).repeat(4000), 200],
  ['more blocks than may be', () => block('X509 CRL', 3).repeat(5000), 400],
  ['beginnings', () => '-----BEGIN '.repeat(270_000), 400],
  ['beginnings within lines', () => 'a-----BEGIN '.repeat(250_000), 400],
  ['no certificates', () => block('CERTIFICATE', 500).repeat(4000), 400],
  ['more authorities than a mount may have', () => makeMany(MANY + 1), 400],
];

for (const [at, [what, make, status]] of bundles.entries()) {
  test(`a bundle of ${what} holds up nobody`, async () => {
    const bundle = make();
    for (let attempt = 0; ; attempt++) {
      await server.takeLongest();
      const mount = `m${at}-${attempt}`;
      const answer = await bring(mount, bundle);
      assert.equal(answer.status, status, answer.text.slice(0, 500));
      // Its chains are worked out with the first look at it.
      const listed = await ask('GET', `${mount}/issuers?list=true`);
      assert.ok(listed.status === 200 || listed.status === 404, listed.text);
      if (!isTooLong(await server.takeLongest())) break;
      assert.ok(attempt < 2, `${what} held the event loop for too long, three times`);
    }
  });
}
