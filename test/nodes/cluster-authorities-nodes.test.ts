// Authorities are everybody's, and so is that one is revoked: whichever of several clusters at one database did it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Call, Clusters, read, rotate, serialsOf } from '../support/clusters.ts';
import { eachPlace } from '../support/engines.ts';
import { makeAuthority } from '../support/made-authorities.ts';
import { inReverse } from '../support/node-process.ts';
import { encodeOcspRequest } from '../support/ocsp-request.ts';
import { readOcspVerdict } from '../support/ocsp-response.ts';
import { must } from '../support/racing.ts';

const root = makeAuthority('R');
const sub = makeAuthority('Sub', { by: root });
const SERIAL = sub.certificate.serial;

/** What a cluster tells of the authority: whether its CRLs have it, and its answers say that it is revoked. */
async function look(call: Call): Promise<boolean[]> {
  await rotate(call);
  const crls = ['crl', 'unified-crl'].map(async (path) =>
    serialsOf(await read(call, `${path}`)).includes(SERIAL),
  );
  const { subject, subjectPublicKeyInfo } = root.certificate;
  const { serialNumber } = sub.certificate;
  const question = { issuer: subject, subjectPublicKeyInfo, serialNumber, hash: 'sha1' } as const;
  const answers = ['ocsp', 'unified-ocsp'].map(async (path) => {
    const { bytes } = await must(call('POST', `pki/${path}`, encodeOcspRequest(question)));
    return readOcspVerdict(bytes) !== 'good';
  });
  return Promise.all([...crls, ...answers]);
}

const EVERYWHERE = [true, true, true, true];

/** A mount with both authorities. @returns the id of the lower one */
async function openMount(call: Call): Promise<string> {
  await must(call('POST', 'sys/mounts/pki', { type: 'pki' }));
  const bundles = [root, sub].map(({ pem, keyPem }) => ({ pem_bundle: pem + keyPem }));
  for (const bundle of bundles) await must(call('POST', 'pki/issuers/import/bundle', bundle));
  const crl = { auto_rebuild: true, enable_delta: true, unified_crl: true };
  await must(call('POST', 'pki/config/crl', crl));
  const again = await must(call('POST', 'pki/issuers/import/bundle', bundles[1]));
  const [id] = again.field('data.existing_issuers') as string[];
  assert.ok(id);
  return id;
}

/** How it comes to be revoked, all of it at one cluster; and of which that is told once it is removed. */
const WAYS: [
  how: string,
  by: string[] | undefined,
  revoke: (call: Call, id: string) => Promise<unknown>,
][] = [
  ['as an issuer', undefined, (call, id) => must(call('POST', `pki/issuer/${id}/revoke`))],
  [
    'as a certificate, before it was imported',
    ['west'],
    async (call, id) => {
      await must(call('DELETE', `pki/issuer/${id}`));
      await must(call('POST', 'pki/revoke', { certificate: sub.pem }));
      await must(call('POST', 'pki/issuers/import/cert', { pem_bundle: sub.pem }));
    },
  ],
];

eachPlace('authorities of clusters', (newPlace, engine) => {
  for (const [how, by, revoke] of WAYS) {
    test(`one that is revoked ${how} is on the CRLs of all clusters, also once another cluster has removed it`, async (t) => {
      const clusters = new Clusters(inReverse(t), await newPlace(), engine);
      const west = await clusters.at('west');
      const id = await openMount(west);
      await revoke(west, id);
      for (const name of ['west', 'east']) {
        assert.deepEqual(await look(await clusters.at(name)), EVERYWHERE, name);
      }
      const east = await clusters.at('east');
      const { existing_issuers } = (
        await must(east('POST', 'pki/issuers/import/cert', { pem_bundle: sub.pem }))
      ).field('data') as { existing_issuers: string[] };
      await must(east('DELETE', `pki/issuer/${existing_issuers[0]}`));
      for (const name of ['east', 'west', 'north']) {
        assert.deepEqual(await look(await clusters.at(name)), EVERYWHERE, `${name}, removed`);
      }
      const listed = await must((await clusters.at('east'))('LIST', 'pki/certs/unified-revoked'));
      const told = listed.field(`data.key_info.${SERIAL}.revoking_clusters`);
      assert.deepEqual(by === undefined ? undefined : told, by);
    });
  }
});
