/** Issuers that are revoked, asked of a server. */

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { encodePem, parsePem } from '../../src/core/pem.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { formatSerial } from '../../src/x509/serial.ts';
import { parseCrl } from '../support/crl.ts';
import { type Authority, makeAuthority } from '../support/made-authorities.ts';
import { encodeOcspRequest } from '../support/ocsp-request.ts';
import { type OcspVerdict, readOcspVerdict } from '../support/ocsp-response.ts';
import { startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });

let mounts = 0;
async function mount(): Promise<string> {
  mounts += 1;
  const path = `ca${mounts}`;
  const config = { max_lease_ttl: '87600h' };
  assert.equal((await call('POST', `sys/mounts/${path}`, { type: 'pki', config })).status, 204);
  await call('POST', `${path}/roles/any`, { allow_any_name: true, key_type: 'ec', ttl: '1h' });
  return path;
}

/** Brings authorities, and answers their ids in the same order. */
async function bring(path: string, ...authorities: Authority[]): Promise<string[]> {
  const pem_bundle = authorities.map(({ pem, keyPem }) => pem + keyPem).join('');
  const reply = await call('POST', `${path}/issuers/import/bundle`, { pem_bundle });
  assert.equal(reply.status, 200, reply.text);
  return reply.field('data.imported_issuers') as string[];
}

const revoke = (path: string, ref: string) => call('POST', `${path}/issuer/${ref}/revoke`, {});

async function listedBy(path: string, ref: string): Promise<string[]> {
  const reply = await call('GET', `${path}/issuer/${ref}/crl/der`);
  assert.equal(reply.status, 200, reply.text);
  return [...parseCrl(reply.bytes).entries()].map(({ serialNumber }) => formatSerial(serialNumber));
}

async function askOf(
  path: string,
  issuer: Pick<Authority, 'certificate'>,
  { certificate }: Pick<Authority, 'certificate'>,
): Promise<OcspVerdict> {
  const { subject, subjectPublicKeyInfo } = issuer.certificate;
  const { serialNumber } = certificate;
  const question = { issuer: subject, subjectPublicKeyInfo, serialNumber, hash: 'sha1' } as const;
  return readOcspVerdict((await call('POST', `${path}/ocsp`, encodeOcspRequest(question))).bytes);
}

test('a revoked root issues no more for good, and is on no CRL of its own', async () => {
  const path = await mount();
  const root = { common_name: 'R', key_type: 'ec', issuer_name: 'root' };
  const made = await call('POST', `${path}/root/generate/internal`, root);
  const serial = made.textAt('data.serial_number');
  assert.equal((await call('POST', `${path}/issue/any`, { common_name: 'a.test' })).status, 200);
  const leaf = await call('POST', `${path}/issue/any`, { common_name: 'b.test' });
  const number = { serial_number: leaf.textAt('data.serial_number') };
  assert.equal((await call('POST', `${path}/revoke`, number)).status, 200);

  const revoked = await revoke(path, 'root');
  assert.equal(revoked.status, 200, revoked.text);
  assert.equal(revoked.field('data.revoked'), true);
  assert.equal(revoked.textAt('data.usage'), 'crl-signing,ocsp-signing,read-only');
  assert.equal(typeof revoked.field('data.revocation_time'), 'number');
  const warnings = revoked.field('warnings') as string[];
  assert.equal(warnings.length, 3);
  for (const [at, says] of [
    /self-signed \(potentially root\) certificate/,
    /lacks another parent issuer within the mount/,
    /currently configured as the default issuer/,
  ].entries()) {
    assert.match(warnings[at] ?? '', says);
  }

  const issued = await call('POST', `${path}/issue/any`, { common_name: 'c.test' });
  assert.equal(issued.status, 500);
  assert.match(issued.text, /requested usage issuing-certificates for issuer/);
  for (const [method, body] of [
    ['PATCH', { usage: 'issuing-certificates' }],
    ['POST', { issuer_name: 'root' }],
  ] as const) {
    const refused = await call(method, `${path}/issuer/root`, body);
    assert.equal(refused.status, 400, refused.text);
    assert.match(refused.text, /This issuer was revoked/);
  }
  assert.deepEqual(await listedBy(path, 'root'), [number.serial_number]);
  const stored = await call('GET', `${path}/cert/${serial}`);
  assert.equal(stored.field('data.revocation_time'), revoked.field('data.revocation_time'));
  const listed = await call('LIST', `${path}/certs/revoked`);
  assert.ok((listed.field('data.keys') as string[]).includes(serial));

  const again = await revoke(path, 'root');
  assert.deepEqual(again.field('data'), revoked.field('data'));
  assert.equal(again.field('warnings'), null);
});

test('a revoked authority is on the CRL of who signed it and in its OCSP answers, and on no other CRL', async () => {
  const path = await mount();
  const [root, stranger] = [makeAuthority('Root'), makeAuthority('Stranger')];
  const child = makeAuthority('Child', { by: root });
  const [rootId = '', strangerId = '', childId = ''] = await bring(path, root, stranger, child);
  const { serial } = child.certificate;
  assert.deepEqual(await listedBy(path, rootId), []);
  assert.equal(await askOf(path, root, child), 'good');

  const revoked = await revoke(path, childId);
  assert.equal(revoked.status, 200, revoked.text);
  assert.equal(revoked.field('warnings'), null);
  assert.deepEqual(await listedBy(path, rootId), [serial]);
  assert.deepEqual(await listedBy(path, childId), []);
  assert.deepEqual(await listedBy(path, strangerId), []);
  const revoked_at = revoked.field('data.revocation_time');
  assert.deepEqual(await askOf(path, root, child), { revoked_at });
  assert.equal((await call('LIST', `${path}/certs/revoked`)).status, 404, 'it is not stored');

  // Others come and go before and behind it.
  await call('POST', `${path}/config/issuers`, { default: rootId });
  const serials = [serial];
  for (let at = 0; at < 3; at++) {
    const leaf = await call('POST', `${path}/issue/any`, { common_name: `${at}.test` });
    serials.push(leaf.textAt('data.serial_number'));
    await call('POST', `${path}/revoke`, { serial_number: serials.at(-1) });
    assert.deepEqual((await listedBy(path, rootId)).sort(), serials.toSorted());
  }

  assert.equal((await call('DELETE', `${path}/issuer/${childId}`)).status, 200);
  assert.deepEqual((await listedBy(path, rootId)).sort(), serials.toSorted(), 'it stays there');
  assert.deepEqual(await askOf(path, root, child), { revoked_at });

  const [again = ''] = await bring(path, child);
  const read = await call('GET', `${path}/issuer/${again}`);
  assert.equal(read.field('data.revocation_time'), revoked_at, 'to import it anew undoes nothing');
  assert.equal(read.textAt('data.usage'), 'crl-signing,ocsp-signing,read-only');
  assert.deepEqual((await listedBy(path, rootId)).sort(), serials.toSorted());
});

for (const how of ['both, the root last', 'both, the root first', 'all at once'] as const) {
  test(`a revoked authority that is removed with its root is a revoked one when it comes again: ${how}`, async () => {
    const path = await mount();
    const root = makeAuthority('Root');
    const child = makeAuthority('Child', { by: root });
    const [rootId = '', childId = ''] = await bring(path, root, child);
    const revoked_at = (await revoke(path, childId)).field('data.revocation_time');
    const one = [childId, rootId].map((id) => `issuer/${id}`);
    const removed = how === 'all at once' ? ['root'] : one;
    if (how === 'both, the root first') removed.reverse();
    for (const ref of removed) {
      assert.ok((await call('DELETE', `${path}/${ref}`)).status < 300);
    }
    for (const authorities of [[child], [root, child]]) {
      await bring(path, ...authorities);
      const keys = (await call('LIST', `${path}/issuers`)).field('data.keys') as string[];
      const read = await Promise.all(keys.map((id) => call('GET', `${path}/issuer/${id}`)));
      const found = read.find((one) => one.textAt('data.certificate') === child.pem);
      assert.ok(found);
      assert.equal(found.field('data.revocation_time'), revoked_at);
      assert.equal(found.textAt('data.usage'), 'crl-signing,ocsp-signing,read-only');
    }
  });
}

test('it is on the CRL of one that signed it and is imported later', async () => {
  const path = await mount();
  const root = makeAuthority('Root');
  const child = makeAuthority('Child', { by: root });
  const [childId = ''] = await bring(path, child);
  const revoked = await revoke(path, childId);
  assert.match(JSON.stringify(revoked.field('warnings')), /lacks another parent issuer/);
  const [rootId = ''] = await bring(path, root);
  assert.deepEqual(await listedBy(path, rootId), [child.certificate.serial]);
});

test('where it takes the last place on the CRL, who revokes a certificate is warned that this has none', async () => {
  const path = await mount();
  const root = makeAuthority('Root');
  const child = makeAuthority('Child', { by: root });
  const [rootId = '', childId = ''] = await bring(path, root, child);
  await call('POST', `${path}/config/issuers`, { default: rootId });
  await call('POST', `${path}/config/crl`, { max_crl_entries: 1 });
  assert.equal((await revoke(path, childId)).status, 200);
  assert.deepEqual(await listedBy(path, rootId), [child.certificate.serial]);
  const leaf = await call('POST', `${path}/issue/any`, { common_name: 'a.test' });
  const serial_number = leaf.textAt('data.serial_number');
  const revoked = await call('POST', `${path}/revoke`, { serial_number });
  assert.match(revoked.text, /more than max_crl_entries \(1\) entries, and the last one stays/);
  assert.deepEqual(await listedBy(path, rootId), [child.certificate.serial]);
});

test('of two that certify each other each is on the CRL of the other', async () => {
  const path = await mount();
  const [a, b] = [makeAuthority('A'), makeAuthority('B')];
  const ring = [
    makeAuthority('A', { key: a.key, by: b }),
    makeAuthority('B', { key: b.key, by: a }),
  ] as const;
  const [first = '', second = ''] = await bring(path, ...ring);
  for (const id of [first, second]) assert.equal((await revoke(path, id)).status, 200);
  assert.deepEqual(await listedBy(path, first), [ring[1].certificate.serial]);
  assert.deepEqual(await listedBy(path, second), [ring[0].certificate.serial]);
});

test('the CRL has it also where lists are rebuilt in their own time, and nobody hears of it who cannot sign', async () => {
  const path = await mount();
  const root = makeAuthority('Root', { usage: ['CertSign'] });
  const child = makeAuthority('Child', { by: root });
  const [, childId = ''] = await bring(path, root, child);
  const silent = await revoke(path, childId);
  assert.match(
    JSON.stringify(silent.field('warnings')),
    /lacked an issuer with CRL Signing KeyUsage/,
  );

  const other = await mount();
  const [trunk, branch] = [makeAuthority('Root'), 'Branch'];
  const [trunkId = '', branchId = ''] = await bring(
    other,
    trunk,
    makeAuthority(branch, { by: trunk }),
  );
  await call('POST', `${other}/config/crl`, { auto_rebuild: true });
  assert.deepEqual(await listedBy(other, trunkId), []);
  await revoke(other, branchId);
  assert.equal((await listedBy(other, trunkId)).length, 1);
});

test('one that is not there is said not to be found', async () => {
  const path = await mount();
  const reply = await revoke(path, 'nobody');
  assert.equal(reply.status, 500);
  assert.match(reply.text, /unable to find PKI issuer for reference: nobody/);
});

test('a root that was revoked and removed is imported as a revoked one, whoever else has its number', async () => {
  const path = await mount();
  const made = await call('POST', `${path}/root/generate/exported`, {
    common_name: 'R',
    key_type: 'ec',
  });
  const certificate = made.textAt('data.certificate');
  const id = made.textAt('data.issuer_id');
  await revoke(path, id);
  await call('DELETE', `${path}/issuer/${id}`);
  const other = makeAuthority('Other', {
    serial: parseCertificate(parsePem(certificate)[0]?.der ?? Buffer.of()).serialNumber,
  });
  const pem_bundle = `${certificate}\n${other.pem}`;
  const reply = await call('POST', `${path}/issuers/import/bundle`, { pem_bundle });
  const [root, second] = reply.field('data.imported_issuers') as string[];
  assert.equal((await call('GET', `${path}/issuer/${root}`)).field('data.revoked'), true);
  assert.equal((await call('GET', `${path}/issuer/${second}`)).field('data.revoked'), false);
  assert.equal((await call('GET', `${path}/config/issuers`)).field('data.default'), '');
});

const readOf = (path: string, id: string) => call('GET', `${path}/issuer/${id}`);

for (const how of ['its own path', 'DELETE root'] as const) {
  test(`a revoked issuer that nobody of the mount signed is a revoked one when it comes again: removed by ${how}`, async () => {
    const path = await mount();
    const root = makeAuthority('Root');
    const child = makeAuthority('Child', { by: root });
    const alone = makeAuthority('Alone');
    const kept = makeAuthority('Kept', { by: root });
    // The same names, issuer and serial number, and another certificate.
    const twin = makeAuthority('Child', { by: root, serial: child.certificate.serialNumber });
    const [childId = '', aloneId = '', keptId = ''] = await bring(path, child, alone, kept);
    const body = { reason: 'superseded' };
    const revoked_at = [];
    for (const id of [childId, aloneId]) {
      const revoked = await call('POST', `${path}/issuer/${id}/revoke`, body);
      revoked_at.push(revoked.field('data.revocation_time'));
    }
    const gone = [childId, aloneId, keptId].map((id) => `issuer/${id}`);
    for (const ref of how === 'DELETE root' ? ['root'] : gone) {
      assert.ok((await call('DELETE', `${path}/${ref}`)).status < 300);
    }
    const ids = await bring(path, child, alone, kept, twin);
    const read = await Promise.all(ids.map((id) => readOf(path, id)));
    assert.deepEqual(
      read.map((one) => one.field('data.revocation_time')),
      [...revoked_at, undefined, undefined],
    );
    const [again] = read;
    assert.equal(again?.textAt('data.usage'), 'crl-signing,ocsp-signing,read-only');
    // Who signed it comes later: its CRL has it, with the reason.
    const [rootId = ''] = await bring(path, root);
    const crl = parseCrl((await call('GET', `${path}/issuer/${rootId}/crl/der`)).bytes);
    const entries = [...crl.entries()].map(({ serialNumber, reason }) => [
      formatSerial(serialNumber),
      reason,
    ]);
    assert.deepEqual(entries, [[child.certificate.serial, 4]]);
  });
}

test('revoked authorities with the same serial number, of two roots, are removed together', async () => {
  const path = await mount();
  const [a, b] = [makeAuthority('A'), makeAuthority('B')];
  const serial = Uint8Array.of(9, 9, 9);
  const children = [
    makeAuthority('Child', { by: a, serial }),
    makeAuthority('Child', { by: b, serial }),
  ];
  const [, , ...ids] = await bring(path, a, b, ...children);
  for (const id of ids) assert.equal((await revoke(path, id)).status, 200);
  assert.equal((await call('DELETE', `${path}/root`)).status, 200);
  for (const id of await bring(path, ...children)) {
    assert.equal((await readOf(path, id)).field('data.revoked'), true);
  }
});

test('a revoked issuer is known by what it certifies, whatever its signature is written like', async () => {
  const path = await mount();
  const child = makeAuthority('Child', { by: makeAuthority('Root') });
  const raw = Uint8Array.from(child.certificate.raw);
  raw[raw.length - 1] = (raw.at(-1) ?? 0) ^ 1;
  const pem = encodePem('CERTIFICATE', raw, { trailingNewline: true });
  const [childId = ''] = await bring(path, child);
  assert.equal((await revoke(path, childId)).status, 200);
  for (const isThere of [true, false]) {
    if (!isThere) await call('DELETE', `${path}/issuer/${childId}`);
    const [id = ''] = await bring(path, { ...child, pem, keyPem: '' });
    assert.equal((await readOf(path, id)).field('data.revoked'), true);
    await call('DELETE', `${path}/issuer/${id}`);
  }
});

/** An old root and a new one, generated here, and what the old one makes of the new one's certificate. */
async function crossed(path: string) {
  const made = await Promise.all(
    ['Old', 'New'].map((common_name) =>
      call('POST', `${path}/issuers/generate/root/internal`, { common_name, key_type: 'ec' }),
    ),
  );
  const [old, young] = made.map((one) => ({
    id: one.textAt('data.issuer_id'),
    pem: one.textAt('data.certificate'),
    certificate: read(one.textAt('data.certificate')),
  }));
  assert.ok(old && young);
  const place = `${path}/issuer/${old.id}/sign-self-issued`;
  const signed = await call('POST', place, { certificate: young.pem });
  assert.equal(signed.status, 200, signed.text);
  assert.match(
    JSON.stringify(signed.field('warnings')),
    /serial number of the certificate, which is kept/,
  );
  const pem = signed.textAt('data.certificate');
  return { old, young, cross: { pem, certificate: read(pem) } };
}

const read = (pem: string) => parseCertificate(parsePem(pem)[0]?.der ?? Buffer.of());
const importOne = async (path: string, pem_bundle: string): Promise<string> => {
  const reply = await call('POST', `${path}/issuers/import/cert`, { pem_bundle });
  return (reply.field('data.imported_issuers') as string[])[0] ?? '';
};

for (const revoked of ['the root', 'the cross-signed one', 'both'] as const) {
  test(`a root and what another root of the mount has made of it are told apart: ${revoked} revoked`, async () => {
    const path = await mount();
    const { old, young, cross } = await crossed(path);
    const { serial } = young.certificate;
    assert.equal(cross.certificate.serial, serial, 'it is kept');
    assert.equal(await askOf(path, old, cross), 'good');
    const isOld = revoked !== 'the cross-signed one';
    const isCross = revoked !== 'the root';
    if (isOld) await revoke(path, young.id);
    const presented = await call('POST', `${path}/revoke`, { certificate: cross.pem });
    assert.equal(presented.status, 400);
    assert.match(presented.text, /can be imported, and revoked as an issuer/);
    const crossId = await importOne(path, cross.pem);
    if (isCross) assert.equal((await revoke(path, crossId)).status, 200);
    assert.equal(typeof (await askOf(path, old, cross)), isCross ? 'object' : 'string');
    assert.equal(typeof (await askOf(path, young, young)), isOld ? 'object' : 'string');
    assert.deepEqual(await listedBy(path, old.id), isCross ? [serial] : []);
    assert.deepEqual(await listedBy(path, young.id), []);
    for (const [id, is] of [
      [young.id, isOld],
      [crossId, isCross],
    ] as const) {
      assert.equal((await readOf(path, id)).field('data.revoked'), is);
    }
    // By its number there is one entry, which is the root's where that is revoked.
    const removed = await call('DELETE', `${path}/issuer/${crossId}`);
    assert.equal(removed.status, revoked === 'both' ? 400 : 200, removed.text);
    assert.deepEqual(await listedBy(path, old.id), isCross ? [serial] : []);
  });
}

test('of what nobody has imported nothing is known where the root of its number is revoked', async () => {
  const path = await mount();
  const { old, young, cross } = await crossed(path);
  await revoke(path, young.id);
  assert.equal(await askOf(path, old, cross), 'unknown');
});

test('what another root has made of an imported one is revoked by its certificate, and the root is not', async () => {
  const path = await mount();
  const [old, young] = [makeAuthority('Old'), makeAuthority('New')];
  const { key } = young;
  const serial = young.certificate.serialNumber;
  const cross = makeAuthority('New', { key, by: old, serial });
  const [oldId = '', youngId = ''] = await bring(path, old, young);
  const own = await call('POST', `${path}/revoke`, { certificate: young.pem });
  assert.match(own.text, /to its own CRL is not allowed/);
  const byNumber = { serial_number: young.certificate.serial };
  assert.equal((await call('POST', `${path}/revoke`, byNumber)).status, 400);
  assert.equal((await call('POST', `${path}/revoke`, { certificate: cross.pem })).status, 200);
  assert.deepEqual(await listedBy(path, oldId), [cross.certificate.serial]);
  assert.deepEqual(await listedBy(path, youngId), []);
  assert.equal(typeof (await askOf(path, old, cross)), 'object');
  assert.equal(await askOf(path, young, young), 'good');
});

const COMPROMISED = ['keyCompromise', 'cACompromise'] as const;

for (const reason of COMPROMISED) {
  for (const first of [reason, 'superseded']) {
    test(`the key of an issuer that is revoked for ${first}, and then for ${reason}, is in no new root`, async () => {
      const path = await mount();
      const root = { common_name: 'R', key_type: 'ec', issuer_name: 'root' };
      const made = await call('POST', `${path}/root/generate/internal`, root);
      const again = { common_name: 'R2', key_ref: made.textAt('data.key_id') };
      const generate = () => call('POST', `${path}/root/generate/existing`, again);
      assert.equal((await generate()).status, 200, 'as long as nobody says so');
      for (const said of [first, reason]) {
        const revoked = await call('POST', `${path}/issuer/root/revoke`, { reason: said });
        assert.equal(revoked.status, 200, revoked.text);
      }
      const refused = await generate();
      assert.equal(refused.status, 400, refused.text);
      assert.match(refused.text, /refusing to certify a blocked key/);
    });
  }
}

test('the key of an issuer that is revoked for another reason is in a new root', async () => {
  const path = await mount();
  const root = { common_name: 'R', key_type: 'ec', issuer_name: 'root' };
  const made = await call('POST', `${path}/root/generate/internal`, root);
  const again = { common_name: 'R2', key_ref: made.textAt('data.key_id') };
  for (const reason of [undefined, 'superseded', 'aACompromise']) {
    const revoked = await call('POST', `${path}/issuer/root/revoke`, { reason });
    assert.equal(revoked.status, 200, revoked.text);
    assert.equal((await call('POST', `${path}/root/generate/existing`, again)).status, 200);
  }
});

test('a reason that is none revokes no issuer', async () => {
  const path = await mount();
  const root = { common_name: 'R', key_type: 'ec', issuer_name: 'root' };
  await call('POST', `${path}/root/generate/internal`, root);
  for (const reason of ['lost', 7, 'removeFromCRL']) {
    const refused = await call('POST', `${path}/issuer/root/revoke`, { reason });
    assert.equal(refused.status, 400, refused.text);
  }
  assert.equal((await call('GET', `${path}/issuer/root`)).field('data.revoked'), false);
});

test('the reason of an issuer is on the CRL of who signed it, also once it is removed and imported anew', async () => {
  const path = await mount();
  const root = makeAuthority('Root');
  const [child, plain] = [
    makeAuthority('Child', { by: root }),
    makeAuthority('Plain', { by: root }),
  ];
  const [rootId = '', childId = '', plainId = ''] = await bring(path, root, child, plain);
  const reasons = async () => {
    const reply = await call('GET', `${path}/issuer/${rootId}/crl/der`);
    return new Map(
      [...parseCrl(reply.bytes).entries()].map(({ serialNumber, reason }) => [
        formatSerial(serialNumber),
        reason,
      ]),
    );
  };
  const expected = new Map([
    [child.certificate.serial, 2],
    [plain.certificate.serial, undefined],
  ]);
  await call('POST', `${path}/issuer/${childId}/revoke`, { reason: 'cACompromise' });
  await call('POST', `${path}/issuer/${plainId}/revoke`, {});
  // What stands is what was said first.
  await call('POST', `${path}/issuer/${childId}/revoke`, { reason: 'superseded' });
  assert.deepEqual(await reasons(), expected);
  assert.equal((await call('DELETE', `${path}/issuer/${childId}`)).status, 200);
  assert.deepEqual(await reasons(), expected);
  await bring(path, child);
  assert.deepEqual(await reasons(), expected);
});

describe('a policy that denies an issuer', () => {
  test('denies revoking it by another of its names', async () => {
    const path = await mount();
    const root = { common_name: 'R', key_type: 'ec', issuer_name: 'root' };
    const made = await call('POST', `${path}/root/generate/internal`, root);
    const id = made.textAt('data.issuer_id');
    const policy = `path "${path}/*" { capabilities = ["update"] } path "${path}/issuer/${id}" { capabilities = ["deny"] }`;
    await call('POST', 'sys/policies/acl/p', { policy });
    const created = await call('POST', 'auth/token/create', { policies: ['p'] });
    const token = created.textAt('auth.client_token');
    for (const ref of [id, 'root', 'default']) {
      const reply = await call('POST', `${path}/issuer/${ref}/revoke`, {}, { token });
      assert.equal(reply.status, 403, ref);
    }
    assert.equal((await call('GET', `${path}/issuer/root`)).field('data.revoked'), false);
  });
});
