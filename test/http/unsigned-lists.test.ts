// Where no issuer of a subject and key may sign CRLs, the old CRL is served on: whoever revokes is told.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Reply, startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });

const done = async (reply: Promise<Reply>): Promise<Reply> => {
  const answer = await reply;
  assert.ok(answer.status < 300, answer.text);
  return answer;
};

const UNSIGNED = /^Warning 1 during CRL rebuild: .* lacked an issuer with CRL Signing KeyUsage/;
const isTold = (reply: Reply): boolean => {
  const warnings = reply.field('warnings');
  return Array.isArray(warnings) && warnings.some((one) => UNSIGNED.test(one));
};

let mounts = 0;

/** A mount whose issuers `a` and `b` have one subject and key, and `c` another, each with a role. */
async function newMount() {
  mounts += 1;
  const mount = `ca${mounts}`;
  await done(call('POST', `sys/mounts/${mount}`, { type: 'pki' }));
  const root = { common_name: 'R', key_type: 'ec' };
  const a = await done(
    call('POST', `${mount}/root/generate/internal`, { ...root, issuer_name: 'a' }),
  );
  const twin = { common_name: 'R', key_ref: a.textAt('data.key_id'), issuer_name: 'b' };
  await done(call('POST', `${mount}/issuers/generate/root/existing`, twin));
  const other = { ...root, common_name: 'Other', issuer_name: 'c' };
  await done(call('POST', `${mount}/root/generate/internal`, other));
  for (const name of ['a', 'b', 'c']) {
    const role = { allow_any_name: true, key_type: 'ec', ttl: '1h', issuer_ref: name };
    await done(call('POST', `${mount}/roles/${name}`, role));
  }
  const usage = (name: string, list: string, method = 'PATCH') =>
    done(call(method, `${mount}/issuer/${name}`, { issuer_name: name, usage: list }));
  const issue = (by: string) =>
    done(call('POST', `${mount}/issue/${by}`, { common_name: 'a.example' }));
  const revoke = (serial_number: string) =>
    done(call('POST', `${mount}/revoke`, { serial_number }));
  const revokeNew = async (by: string): Promise<boolean> =>
    isTold(await revoke((await issue(by)).textAt('data.serial_number')));
  return { mount, usage, issue, revoke, revokeNew };
}

const ISSUES = 'read-only,issuing-certificates';
const ALL = `${ISSUES},crl-signing,ocsp-signing`;

test('a revocation that no CRL will show is answered with what keeps it from there, and no other', async () => {
  const { mount, usage, issue, revoke, revokeNew } = await newMount();
  assert.equal(await revokeNew('a'), false);
  await usage('a', ISSUES);
  assert.equal(await revokeNew('a'), false, 'the twin may sign');
  await usage('b', ISSUES);
  assert.equal(await revokeNew('a'), true);
  assert.equal(await revokeNew('b'), true);
  assert.equal(await revokeNew('c'), false, 'another CRL');
  const serial = (await issue('a')).textAt('data.serial_number');
  for (const which of ['first', 'again']) assert.ok(isTold(await revoke(serial)), which);
  const { certificate, private_key } = (await issue('a')).field('data') as Record<string, string>;
  assert.ok(
    isTold(await done(call('POST', `${mount}/revoke-with-key`, { certificate, private_key }))),
  );
  assert.ok(isTold(await done(call('GET', `${mount}/crl/rotate`))));
  await done(call('POST', `${mount}/config/crl`, { auto_rebuild: true }));
  assert.equal(await revokeNew('a'), true, 'CRLs that are built by the clock');
  await done(call('POST', `${mount}/config/crl`, { auto_rebuild: false, disable: true }));
  assert.equal(await revokeNew('a'), false, 'CRLs that are not wanted');
  await done(call('POST', `${mount}/config/crl`, { disable: false }));
  await usage('b', ALL);
  assert.equal(await revokeNew('a'), false, 'the twin may sign again');
});

test('what an issuer that is gone had issued is told of by the CRL that it goes on', async () => {
  const { mount, usage, issue, revoke } = await newMount();
  const [ofA, ofC, later] = [await issue('a'), await issue('c'), await issue('c')];
  await done(call('DELETE', `${mount}/issuer/a`));
  await done(call('DELETE', `${mount}/issuer/c`));
  await done(call('POST', `${mount}/config/issuers`, { default: 'b' }));
  assert.equal(isTold(await revoke(later.textAt('data.serial_number'))), false);
  await usage('b', ISSUES);
  assert.equal(isTold(await revoke(ofA.textAt('data.serial_number'))), true, "its twin's");
  assert.equal(isTold(await revoke(ofC.textAt('data.serial_number'))), true, "the default's");
});

for (const [method, usual] of [
  ['PATCH', { leaf_not_after_behavior: 'truncate' }],
  ['POST', { usage: ISSUES, leaf_not_after_behavior: 'truncate' }],
] as const) {
  test(`a ${method} that leaves a CRL without anybody to sign it says so, and no other`, async () => {
    const { mount, usage } = await newMount();
    assert.equal(isTold(await usage('a', ISSUES, method)), false, 'the twin may sign');
    assert.equal(isTold(await usage('b', ISSUES, method)), true);
    const other = await call(method, `${mount}/issuer/b`, { issuer_name: 'b', ...usual });
    assert.equal(isTold(other), false, 'nobody could before');
    assert.equal(isTold(await usage('b', ALL, method)), false);
  });
}

test('the removal of the issuer that signs a CRL says so where others stay, and only there', async () => {
  const { mount, usage } = await newMount();
  await usage('a', ISSUES);
  assert.equal(isTold(await done(call('DELETE', `${mount}/issuer/c`))), false, 'nobody stays');
  assert.equal(isTold(await done(call('DELETE', `${mount}/issuer/b`))), true);
  assert.equal(isTold(await done(call('DELETE', `${mount}/issuer/a`))), false);
});
