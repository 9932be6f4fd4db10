// Servers of several clusters at one database: each has a CRL of its own, and all have the unified ones.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parsePem } from '../../src/core/pem.ts';
import { nameShard, shardOf } from '../../src/pki/crl/shards.ts';
import { findExtension } from '../../src/x509/extensions.ts';
import {
  type Call,
  Clusters,
  issue,
  newMount,
  read,
  revokeOne,
  rotate,
  serialsAt,
  serialsOf,
  statusRequest,
} from '../support/clusters.ts';
import type { Crl } from '../support/crl.ts';
import { eachPlace } from '../support/engines.ts';
import { inReverse } from '../support/node-process.ts';
import { readOcspVerdict } from '../support/ocsp-response.ts';
import { callAs, must } from '../support/racing.ts';

/** Every address of one kind of unified CRL, and where its bytes are in the answer. */
const addressesOf = (raw: string, cert: string, issuer: string): string[] => [
  raw,
  `${raw}/pem`,
  cert,
  `${cert}/raw`,
  `${cert}/raw/pem`,
  issuer,
  `${issuer}/der`,
  `${issuer}/pem`,
];

eachPlace('clusters at one database', (newPlace, engine) => {
  test('a CRL has what its cluster revoked, the unified one what any has, and delta and list likewise', async (t) => {
    const scope = inReverse(t);
    const clusters = new Clusters(scope, await newPlace(), engine);
    await newMount(await clusters.at('east'));
    const health = await must((await clusters.at('east'))('GET', 'sys/health'));
    assert.equal(health.textAt('cluster_name'), 'east');
    const ofEast = await revokeOne(await clusters.at('east'));
    const ofWest = await revokeOne(await clusters.at('west'));
    const both = [ofEast, ofWest].sort();
    const west = await clusters.at('west');
    await rotate(west);
    assert.deepEqual(await serialsAt(west, 'crl'), [ofWest]);
    assert.deepEqual(await serialsAt(west, 'unified-crl'), both);
    const number = (await read(west, 'unified-crl')).crlNumber ?? 0n;
    const revoked = async (call: Call, list: string) =>
      (await must(call('LIST', `pki/certs/${list}`))).field('data');
    assert.deepEqual(await revoked(west, 'revoked'), { keys: [ofWest] });
    assert.deepEqual(await revoked(west, 'unified-revoked'), {
      keys: both,
      key_info: {
        [ofEast]: { revoking_clusters: ['east'] },
        [ofWest]: { revoking_clusters: ['west'] },
      },
    });

    const east = await clusters.at('east');
    // One list for all: what the other cluster built is what is read here.
    assert.equal((await read(east, 'unified-crl')).crlNumber, number);
    await rotate(east);
    assert.ok(((await read(east, 'unified-crl')).crlNumber ?? 0n) > number);
    assert.deepEqual(await serialsAt(east, 'crl'), [ofEast]);
    const later = await revokeOne(east);
    await must(east('GET', 'pki/crl/rotate-delta'));
    assert.deepEqual(await serialsAt(east, 'crl/delta'), [later]);
    assert.deepEqual(await serialsAt(east, 'unified-crl/delta'), [later]);
    const again = await clusters.at('west');
    await must(again('GET', 'pki/crl/rotate-delta'));
    assert.deepEqual(await serialsAt(again, 'crl/delta'), []);
    assert.deepEqual(await serialsAt(again, 'unified-crl/delta'), [later]);
    await must(again('POST', 'pki/config/crl', { unified_crl_on_existing_paths: true }));
    assert.deepEqual(await serialsAt(again, 'crl'), both);
    assert.deepEqual(await serialsAt(again, 'crl/delta'), [later]);
  });

  test('unified CRLs are read by everybody in all forms, and nowhere while they are off', async (t) => {
    const clusters = new Clusters(inReverse(t), await newPlace(), engine);
    const call = await clusters.at('');
    await newMount(call);
    const paths = [
      ...addressesOf('unified-crl', 'cert/unified-crl', 'issuer/first/unified-crl'),
      ...addressesOf(
        'unified-crl/delta',
        'cert/unified-delta-crl',
        'issuer/first/unified-crl/delta',
      ),
    ];
    for (const path of paths) {
      const answer = await callAs(call, '')('GET', `pki/${path}`);
      assert.equal(answer.status, 200, path);
      assert.notEqual(answer.bytes.length, 0, path);
    }
    await must(call('POST', 'pki/config/crl', { unified_crl: false }));
    assert.equal((await call('GET', 'pki/unified-crl')).status, 204);
    assert.equal((await call('GET', 'pki/cert/unified-crl')).status, 500);
  });

  test('a certificate that two clusters revoke is on the CRL of both, from its first time on', async (t) => {
    const clusters = new Clusters(inReverse(t), await newPlace(), engine);
    const east = await clusters.at('east');
    await newMount(east);
    const { serial_number, certificate } = await issue(east);
    const west = await clusters.at('west');
    const first = await must(west('POST', 'pki/revoke', { certificate }));
    await rotate(west);
    const owner = await clusters.at('east');
    await rotate(owner);
    assert.deepEqual(await serialsAt(owner, 'crl'), []);
    const second = await must(owner('POST', 'pki/revoke', { serial_number }));
    assert.equal(second.field('data.revocation_time'), first.field('data.revocation_time'));
    await rotate(owner);
    assert.deepEqual(await serialsAt(owner, 'crl'), [serial_number]);
    assert.deepEqual(await serialsAt(owner, 'unified-crl'), [serial_number]);
    const other = await clusters.at('west');
    await rotate(other);
    assert.deepEqual(await serialsAt(other, 'crl'), [serial_number]);
  });

  test('ocsp answers for its cluster, unified-ocsp for all, and both do on existing paths', async (t) => {
    const clusters = new Clusters(inReverse(t), await newPlace(), engine);
    const east = await clusters.at('east');
    const root = await newMount(east);
    const { serial_number } = await issue(east);
    await must(east('POST', 'pki/revoke', { serial_number }));
    const request = statusRequest(root, serial_number);
    const west = await clusters.at('west');
    const ask = async (name: string, call: Call) =>
      readOcspVerdict((await must(call('POST', `pki/${name}`, request))).bytes);
    const get = `pki/unified-ocsp/${encodeURIComponent(Buffer.from(request).toString('base64'))}`;
    assert.equal(await ask('ocsp', west), 'good');
    assert.notEqual(await ask('unified-ocsp', west), 'good');
    assert.notEqual(readOcspVerdict((await must(west('GET', get))).bytes), 'good');
    await must(west('POST', 'pki/config/crl', { unified_crl_on_existing_paths: true }));
    assert.notEqual(await ask('ocsp', west), 'good');
    const off = { unified_crl: false, unified_crl_on_existing_paths: false };
    await must(west('POST', 'pki/config/crl', off));
    assert.equal(await ask('ocsp', west), 'good');
    assert.equal((await west('POST', 'pki/unified-ocsp', request)).status, 401);
  });

  test('a unified CRL says where its deltas are as whoever built it knows, and no cluster builds it anew for that', async (t) => {
    const clusters = new Clusters(inReverse(t), await newPlace(), engine);
    await newMount(await clusters.at('east'));
    for (const name of ['east', 'west']) {
      const urls = { path: `https://${name}.test/v1/pki`, aia_path: `http://${name}.test/v1/pki` };
      await must((await clusters.at(name))('POST', 'pki/config/cluster', urls));
    }
    const east = await clusters.at('east');
    await must(
      east('POST', 'pki/config/urls', {
        enable_templating: true,
        delta_crl_distribution_points: '{{cluster_aia_path}}/crl/delta',
      }),
    );
    await must(east('POST', 'pki/config/crl', { unified_crl_on_existing_paths: true }));
    const { crlNumber } = await read(east, 'unified-crl');
    const west = await clusters.at('west');
    assert.equal((await read(west, 'unified-crl')).crlNumber, crlNumber);
    const again = await read(await clusters.at('east'), 'unified-crl');
    assert.equal(again.crlNumber, crlNumber);
  });

  test('a server that is given a name, or another cluster, takes back nothing that was revoked before there were names', async (t) => {
    const clusters = new Clusters(inReverse(t), await newPlace(), engine);
    const unnamed = await clusters.at('');
    const root = await newMount(unnamed);
    const { serial_number } = await issue(unnamed);
    const request = statusRequest(root, serial_number);
    await must(unnamed('POST', 'pki/revoke', { serial_number }));
    assert.deepEqual(await serialsAt(unnamed, 'crl'), [serial_number]);
    const kept = (await must(unnamed('LIST', 'pki/certs'))).field('data.keys');
    for (const name of ['east', 'west']) {
      const call = await clusters.at(name);
      assert.deepEqual(await serialsAt(call, 'crl'), [serial_number], name);
      const listed = await must(call('LIST', 'pki/certs/revoked'));
      assert.deepEqual(listed.field('data.keys'), [serial_number], name);
      await must(call('GET', `pki/cert/${serial_number}`));
      const all = await must(call('LIST', 'pki/certs'));
      assert.deepEqual(all.field('data.keys'), kept, name);
      const answer = await must(call('POST', 'pki/ocsp', request));
      assert.notEqual(readOcspVerdict(answer.bytes), 'good', name);
      // Revoked again it keeps its time, and is there once.
      await must(call('POST', 'pki/revoke', { serial_number }));
      await rotate(call);
      assert.deepEqual(await serialsAt(call, 'crl'), [serial_number], name);
    }
    // What has a name is of that cluster alone, as ever.
    const later = await revokeOne(await clusters.at('east'));
    await rotate(await clusters.at('west'));
    assert.ok(!(await serialsAt(await clusters.at('west'), 'crl')).includes(later));
  });

  test('a local mount has one cluster alone', async (t) => {
    const clusters = new Clusters(inReverse(t), await newPlace(), engine);
    const call = await clusters.at('');
    await must(call('POST', 'sys/mounts/here', { type: 'pki', local: true }));
    for (const name of ['unified_crl', 'cross_cluster_revocation']) {
      const body = { auto_rebuild: true, [name]: true };
      const refused = await call('POST', 'here/config/crl', body);
      assert.equal(refused.status, 400);
      assert.match(refused.text, /local mount/);
    }
  });

  test('config/cluster is of one cluster: templates are filled in with its own, and fail where there is none', async (t) => {
    const clusters = new Clusters(inReverse(t), await newPlace(), engine);
    const east = await clusters.at('east');
    await newMount(east);
    const none = { path: '', aia_path: '' };
    assert.deepEqual((await must(east('GET', 'pki/config/cluster'))).field('data'), none);
    const urls = {
      enable_templating: true,
      ocsp_servers: '{{cluster_aia_path}}/ocsp',
      issuing_certificates: '{{cluster_path}}/issuer/{{issuer_id}}/der',
    };
    const warned = await must(east('POST', 'pki/config/urls', urls));
    assert.match(warned.text, /issuance may fail/);
    for (const path of ['no URL', 'east.test/v1/pki', 'https://ann:secret@east.test/']) {
      const refused = await east('POST', 'pki/config/cluster', { path });
      assert.equal(refused.status, 400, path);
      assert.match(refused.text, /invalid, non-URL path given to cluster/);
      assert.doesNotMatch(refused.text, /secret/);
    }
    await must(east('POST', 'pki/config/cluster', { path: 'https://east.test/v1/pki/' }));
    const set = await must(east('POST', 'pki/config/cluster', { aia_path: 'http://east.test' }));
    const own = { path: 'https://east.test/v1/pki/', aia_path: 'http://east.test' };
    assert.deepEqual(set.field('data'), own);
    const [block] = parsePem((await issue(east)).certificate);
    const text = Buffer.from(block?.der ?? []).toString('latin1');
    assert.match(text, /http:\/\/east\.test\/ocsp/);
    assert.match(text, /https:\/\/east\.test\/v1\/pki\/issuer\//);

    const west = await clusters.at('west');
    assert.deepEqual((await must(west('GET', 'pki/config/cluster'))).field('data'), none);
    const failed = await west('POST', 'pki/issue/any', { common_name: 'a.test' });
    assert.equal(failed.status, 500);
    assert.match(
      failed.text,
      /unable to template AIA URLs as we lack local cluster address information/,
    );
    await must(west('POST', 'pki/config/cluster', { path: 'https://west.test' }));
    const again = await clusters.at('east');
    assert.deepEqual((await must(again('GET', 'pki/config/cluster'))).field('data'), own);
  });

  test('a shard is of one cluster and names its certificates alone, or of all with unified_crl_on_existing_paths', async (t) => {
    const scope = inReverse(t);
    const clusters = new Clusters(scope, await newPlace(), engine);
    const east = await clusters.at('east');
    await newMount(east);
    const urls = {
      crl_distribution_points: '{{cluster_path}}/{{crl_shard}}',
      enable_templating: true,
    };
    await must(east('POST', 'pki/config/urls', urls));
    await must(east('POST', 'pki/config/cluster', { path: 'http://east.test' }));
    await must(east('POST', 'pki/config/crl', { crl_shards: 2 }));
    const ofEast = await revokeOne(east);
    const shard = `crl/shard/${nameShard(shardOf(ofEast, 2))}`;
    assert.deepEqual(await serialsAt(east, shard), [ofEast]);
    const west = await clusters.at('west');
    await must(west('POST', 'pki/config/cluster', { path: 'http://west.test' }));
    assert.equal((await west('GET', `pki/${shard}`)).status, 404, 'west has issued none');
    let ofWest = await revokeOne(west);
    while (!shard.endsWith(nameShard(shardOf(ofWest, 2)))) ofWest = await revokeOne(west);
    const crl = await read(west, shard);
    assert.ok(serialsOf(crl).includes(ofWest) && !serialsOf(crl).includes(ofEast));
    const named = (one: Crl): string =>
      Buffer.from(findExtension(one.extensions, '2.5.29.28')?.value ?? []).toString('latin1');
    assert.ok(named(crl).includes('http://west.test') && !named(crl).includes('http://east.test'));
    await must(west('POST', 'pki/config/crl', { unified_crl_on_existing_paths: true }));
    const unified = await read(west, shard);
    assert.ok([ofEast, ofWest].every((serial) => serialsOf(unified).includes(serial)));
    assert.ok(named(unified).includes('http://west.test'));
    assert.ok(named(unified).includes('http://east.test'));
  });
});
