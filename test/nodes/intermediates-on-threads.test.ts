// Intermediates are signed by whichever thread is asked: what one of them was told is in force on all.

import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { eachPlace, type Place } from '../support/engines.ts';
import {
  assertWhoAnswers,
  CONNECTIONS,
  startThreads,
  watchHandedOn,
} from '../support/everywhere.ts';
import { makeCsr } from '../support/leaves.ts';
import { type Scope, sharedStart } from '../support/shared-start.ts';

async function start(scope: Scope, place: Place) {
  const threads = await startThreads(scope, place);
  /** What all threads say to a request for an intermediate. */
  const sign = (csr: string, path = 'pki/root/sign-intermediate') =>
    threads.everywhere.ask('POST', path, { csr, common_name: 'Intermediate' });
  return { ...threads, sign };
}

const statusesOf = (answers: readonly { status: number }[]): number[] => [
  ...new Set(answers.map(({ status }) => status)),
];

eachPlace('intermediates on several threads', (newPlace) => {
  const shared = sharedStart(newPlace, start);

  test('each signs, none hands it on, and every certificate is another one that is kept', async () => {
    const { everywhere, running, call, sign } = await shared();
    const handed = watchHandedOn(running.app);
    const csr = makeCsr();
    const body = { csr, common_name: 'Intermediate' };
    await assertWhoAnswers(everywhere, handed, [
      ['POST', 'pki/root/sign-intermediate', body],
      ['POST', 'pki/issuer/default/sign-intermediate', body],
    ]);
    const answers = await sign(csr);
    const root = new X509Certificate((await call('GET', 'pki/ca/pem')).text);
    const serials = answers.map(({ body: text }) => {
      const { certificate, serial_number } = JSON.parse(text).data;
      const signed = new X509Certificate(certificate);
      assert.ok(signed.ca && signed.verify(root.publicKey));
      return serial_number;
    });
    assert.equal(new Set(serials).size, CONNECTIONS);
    const kept = await call('LIST', 'pki/certs');
    const { keys } = JSON.parse(kept.text).data;
    for (const serial of serials) assert.ok(keys.includes(serial), serial);
  });

  test('another default issuer signs on all of them, and no removed one on any', async () => {
    const { call, sign } = await shared();
    const made = await call('POST', 'pki/root/generate/internal', {
      common_name: 'Other',
      key_type: 'ec',
      issuer_name: 'other',
    });
    const before = (await call('GET', 'pki/config/issuers')).textAt('data.default');
    const nameOfIssuer = (text: string) =>
      new X509Certificate(JSON.parse(text).data.certificate).issuer;
    await call('POST', 'pki/config/issuers', { default: made.textAt('data.issuer_id') });
    const csr = makeCsr();
    for (const { body } of await sign(csr)) assert.equal(nameOfIssuer(body), 'CN=Other');
    await call('POST', 'pki/config/issuers', { default: before });
    for (const { body } of await sign(csr)) assert.equal(nameOfIssuer(body), 'CN=Root');
    const ofOther = 'pki/issuer/other/sign-intermediate';
    assert.deepEqual(statusesOf(await sign(csr, ofOther)), [200]);
    await call('DELETE', 'pki/issuer/other');
    assert.deepEqual(statusesOf(await sign(csr, ofOther)), [500]);
  });

  test('a key that is compromised is certified by none of them, another one by all', async () => {
    const { sign, everywhere } = await shared();
    const csr = makeCsr();
    const [first] = await sign(csr);
    const { serial_number } = JSON.parse(first?.body ?? '').data;
    const revoke = { serial_number, reason: 'keyCompromise' };
    assert.equal((await everywhere.askOne(1, 'POST', 'pki/revoke', revoke)).status, 200);
    assert.deepEqual(statusesOf(await sign(csr)), [400]);
    assert.deepEqual(statusesOf(await sign(makeCsr())), [200]);
  });
});
