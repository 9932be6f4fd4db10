// A certificate is its cluster's: others do not have it, and ask that cluster to revoke it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { parsePem } from '../../src/core/pem.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { formatSerial } from '../../src/x509/serial.ts';
import {
  type Call,
  Clusters,
  issue,
  newMount,
  read,
  rotate,
  serialsAt,
  statusRequest,
} from '../support/clusters.ts';
import { eachPlace } from '../support/engines.ts';
import { makeCsr } from '../support/leaves.ts';
import { inReverse } from '../support/node-process.ts';
import { readOcspVerdict } from '../support/ocsp-response.ts';
import { callAs, must } from '../support/racing.ts';

const QUEUE = 'pki/certs/revocation-queue';

async function askEachOther(call: Call): Promise<string> {
  const root = await newMount(call);
  await must(call('POST', 'pki/config/crl', { cross_cluster_revocation: true }));
  return root;
}

/** A certificate of a role whose certificates end soon. */
async function issueFor(call: Call, ttl: string): Promise<string> {
  const made = await must(call('POST', 'pki/issue/any', { common_name: 'a.test', ttl }));
  return made.textAt('data.serial_number');
}

const ask = (call: Call, serial_number: string, more: object = {}) =>
  must(call('POST', 'pki/revoke', { serial_number, ...more }));

async function requireOpen(call: Call, open: Record<string, string>): Promise<void> {
  const listed = await call('LIST', QUEUE);
  const serials = Object.keys(open).sort();
  assert.equal(listed.status, serials.length > 0 ? 200 : 404, listed.text);
  if (serials.length === 0) return;
  assert.deepEqual(listed.field('data'), {
    keys: serials,
    key_info: Object.fromEntries(
      serials.map((serial) => [serial, { requesting_cluster: open[serial], state: 'pending' }]),
    ),
  });
}

async function listedAt(call: Call, list: string): Promise<unknown> {
  const listed = await call('LIST', `pki/${list}`);
  return listed.status === 404 ? [] : listed.field('data.keys');
}

eachPlace('certificates of clusters', (newPlace, engine) => {
  const open = async (t: { after(stop: () => Promise<void>): void }) =>
    new Clusters(inReverse(t), await newPlace(), engine);

  /** Clusters of which "west" has asked "east", which is away, to revoke what it issued. */
  async function openAsked(t: Parameters<typeof open>[0]) {
    const clusters = await open(t);
    const east = await clusters.at('east');
    await askEachOther(east);
    const { serial_number } = await issue(east);
    await clusters.leave('east');
    const west = await clusters.at('west');
    await ask(west, serial_number);
    return { clusters, west };
  }

  for (const [owner, other] of [
    ['east', 'west'],
    ['west', 'east'],
  ] as const) {
    test(`a certificate is read and listed where it was issued, at "${owner}" and not at "${other}"`, async (t) => {
      const clusters = await open(t);
      const east = await clusters.at(owner);
      const name = (await must(east('GET', 'sys/health'))).textAt('cluster_name');
      const root = await newMount(east);
      const { serial_number, certificate } = await issue(east);
      const own = await listedAt(east, 'certs');
      assert.ok(Array.isArray(own) && own.includes(serial_number));
      assert.deepEqual(await listedAt(east, 'certs/detailed'), own);
      const found = await must(east('GET', `pki/cert/${serial_number}`));
      assert.equal(found.textAt('data.certificate').trim(), certificate.trim());

      const west = await clusters.at(other);
      assert.deepEqual(await listedAt(west, 'certs'), []);
      assert.deepEqual(await listedAt(west, 'certs/detailed'), []);
      const its = (await issue(west)).serial_number;
      assert.deepEqual(await listedAt(west, 'certs'), [its]);
      assert.deepEqual(await listedAt(west, 'certs/detailed'), [its]);
      assert.deepEqual(await listedAt(west, 'certs?limit=1'), [its]);
      assert.equal((await west('GET', `pki/cert/${serial_number}`)).status, 404);
      assert.equal((await west('GET', `pki/cert/${serial_number}/raw`)).status, 204);
      assert.equal((await west('GET', `pki/cert/${serial_number}/raw/pem`)).status, 204);
      // What every cluster has, as it has the issuers.
      assert.equal((await must(west('GET', 'pki/cert/ca'))).textAt('data.certificate'), root);
      // The search goes through those of all.
      const searched = await must(west('GET', `pki/certs/search?serial_number=${serial_number}`));
      assert.deepEqual(searched.field('data.keys'), [serial_number]);
      assert.equal(searched.field(`data.key_info.${serial_number}.cluster`), name);

      // Presented, it is revoked where it is presented, which has it from then on.
      await must(west('POST', 'pki/revoke', { certificate }));
      await must(west('GET', `pki/cert/${serial_number}`));
      assert.deepEqual(await listedAt(west, 'certs'), [its, serial_number].sort());
      assert.deepEqual(await listedAt(west, 'certs/revoked'), [serial_number]);
      assert.equal((await ask(west, serial_number)).textAt('data.state'), 'revoked');
      const again = await clusters.at(owner);
      assert.deepEqual(await listedAt(again, 'certs'), own);
      await must(again('GET', `pki/cert/${serial_number}`));
    });
  }

  test('what no named cluster issued is read and listed on each; what a named one issued is not where there is no name', async (t) => {
    const clusters = await open(t);
    const nameless = await clusters.at('');
    await newMount(nameless);
    const before = await listedAt(nameless, 'certs');
    assert.ok(Array.isArray(before));
    const { serial_number } = await issue(nameless);
    const east = await clusters.at('east');
    assert.deepEqual(await listedAt(east, 'certs'), [...before, serial_number].sort());
    assert.deepEqual(await listedAt(east, 'certs/detailed'), [...before, serial_number].sort());
    await must(east('GET', `pki/cert/${serial_number}`));
    const its = (await issue(east)).serial_number;
    assert.deepEqual(await listedAt(east, 'certs'), [...before, serial_number, its].sort());
    const again = await clusters.at('');
    assert.deepEqual(await listedAt(again, 'certs'), [...before, serial_number].sort());
    assert.equal((await again('GET', `pki/cert/${its}`)).status, 404);
  });

  test('what a cluster is asked to revoke while it is not there it revokes by itself once it is back', async (t) => {
    const clusters = await open(t);
    const east = await clusters.at('east');
    const root = await askEachOther(east);
    const { serial_number } = await issue(east);
    await rotate(east);
    await clusters.leave('east');

    const west = await clusters.at('west');
    await rotate(west);
    const pending = await ask(west, serial_number);
    assert.deepEqual(pending.field('data'), { state: 'pending' });
    assert.match(pending.text, /pending until a node of that cluster has done so/);
    await requireOpen(west, { [serial_number]: 'west' });
    await rotate(west);
    assert.deepEqual(await serialsAt(west, 'unified-crl'), []);
    assert.deepEqual(await listedAt(west, 'certs/unified-revoked'), []);

    const back = await clusters.at('east');
    const until = Date.now() + 30_000;
    while ((await back('LIST', QUEUE)).status !== 404) {
      assert.ok(Date.now() < until, 'the request is carried out');
      await wait(100);
    }
    assert.deepEqual(await listedAt(back, 'certs/revoked'), [serial_number]);
    const told = await must(back('LIST', 'pki/certs/unified-revoked'));
    assert.deepEqual(told.field(`data.key_info.${serial_number}`), { revoking_clusters: ['east'] });
    await must(back('GET', 'pki/crl/rotate-delta'));
    assert.deepEqual(await serialsAt(back, 'crl/delta'), [serial_number]);
    assert.deepEqual(await serialsAt(back, 'unified-crl/delta'), [serial_number]);
    await rotate(back);
    assert.deepEqual(await serialsAt(back, 'crl'), [serial_number]);

    const asker = await clusters.at('west');
    assert.deepEqual(await serialsAt(asker, 'unified-crl'), [serial_number]);
    assert.deepEqual(await serialsAt(asker, 'crl'), []);
    assert.deepEqual(await listedAt(asker, 'certs/revoked'), []);
    const request = statusRequest(root, serial_number);
    const status = await must(asker('POST', 'pki/unified-ocsp', request));
    assert.notEqual(readOcspVerdict(status.bytes), 'good');
    // Asked again, it is revoked by now, and was at that time.
    const done = await ask(asker, serial_number);
    assert.equal(done.textAt('data.state'), 'revoked');
    assert.equal(typeof done.field('data.revocation_time'), 'number');
    await requireOpen(asker, {});
  });

  test('what is asked for twice, or by many at once, is queued once, and done for the weightier reason', async (t) => {
    const clusters = await open(t);
    const east = await clusters.at('east');
    await askEachOther(east);
    const csr = makeCsr({ subject: { common_name: 'a.test' } });
    const made = await must(east('POST', 'pki/sign/any', { csr }));
    const serial_number = made.textAt('data.serial_number');
    await clusters.leave('east');
    const west = await clusters.at('west');
    const asked = await Promise.all(Array.from({ length: 8 }, () => ask(west, serial_number)));
    for (const one of asked) assert.equal(one.textAt('data.state'), 'pending');
    await requireOpen(west, { [serial_number]: 'west' });
    const north = await clusters.at('north');
    await ask(north, serial_number, { reason: 'keyCompromise' });
    await ask(north, serial_number, { reason: 'superseded' });
    await requireOpen(north, { [serial_number]: 'west' });
    const owner = await clusters.carryOut('east');
    await requireOpen(owner, {});
    await rotate(owner);
    const [entry] = [...(await read(owner, 'crl')).entries()];
    assert.equal(entry && formatSerial(entry.serialNumber), serial_number);
    assert.equal(entry?.reason, 1);
    // Nobody has a certificate made for that key any more.
    const blocked = await owner('POST', 'pki/sign/any', { csr });
    assert.equal(blocked.status, 400);
    assert.match(blocked.text, /refusing to certify a blocked key/);
  });

  test('a list of requests goes by pages, and each cluster carries out its own alone', async (t) => {
    const clusters = await open(t);
    const east = await clusters.at('east');
    await askEachOther(east);
    const ofEast = [await issue(east), await issue(east)].map((one) => one.serial_number).sort();
    await clusters.leave('east');
    const north = await clusters.at('north');
    const ofNorth = (await issue(north)).serial_number;
    const name = 'north';
    for (const serial of ofEast) await ask(north, serial);
    await clusters.leave('north');
    const west = await clusters.at('west');
    await ask(west, ofNorth);
    const [first = '', second = ''] = ofEast;
    const all = { [first]: name, [second]: name, [ofNorth]: 'west' };
    await requireOpen(west, all);
    const keys = Object.keys(all).sort();
    assert.deepEqual(await listedAt(west, 'certs/revocation-queue?limit=2'), keys.slice(0, 2));
    assert.deepEqual(
      await listedAt(west, `certs/revocation-queue?limit=2&after=${keys[1]}`),
      keys.slice(2),
    );
    await requireOpen(await clusters.carryOut('west'), all);
    await requireOpen(await clusters.carryOut('east'), { [ofNorth]: 'west' });
    await requireOpen(await clusters.carryOut('north'), {});
    const told = await must((await clusters.at('west'))('LIST', 'pki/certs/unified-revoked'));
    assert.deepEqual(told.field(`data.key_info.${ofNorth}`), { revoking_clusters: [name] });
  });

  test('a revocation that is asked of another cluster is refused, or told at once, and nothing is queued', async (t) => {
    const clusters = await open(t);
    const east = await clusters.at('east');
    const root = await askEachOther(east);
    const { serial_number, certificate } = await issue(east);
    const key = (await must(east('POST', 'pki/issue/any', { common_name: 'b.test' }))).textAt(
      'data.private_key',
    );
    const revoked = (await issue(east)).serial_number;
    await ask(east, revoked);
    const ended = await issueFor(east, '1s');
    const [block] = parsePem(root);
    const ofRoot = parseCertificate(block?.der ?? new Uint8Array()).serial;
    await wait(1_000);
    const west = await clusters.at('west');
    const unknown = '01:02:03:04';
    const notFound = /certificate with serial .* not found/;
    const rows: [why: string, path: string, body: object, status: number, says: RegExp][] = [
      ['nobody has it', 'revoke', { serial_number: unknown }, 400, notFound],
      ['an issuer', 'revoke', { serial_number: ofRoot }, 400, /its own CRL is not allowed/],
      ['no serial number', 'revoke', { serial_number: 'zz' }, 400, /is no serial number/],
      ['an unknown reason', 'revoke', { serial_number, reason: '7' }, 400, /none of RFC 5280/],
      ['both', 'revoke', { serial_number, certificate }, 400, /not both/],
      [
        'by a key',
        'revoke-with-key',
        { serial_number, private_key: key },
        400,
        /not found, and another cluster cannot be asked to revoke by a private key/,
      ],
      [
        'by a key, of nobody',
        'revoke-with-key',
        { serial_number: unknown, private_key: key },
        400,
        notFound,
      ],
      ['it has ended', 'revoke', { serial_number: ended }, 200, /already expired/],
      ['it is revoked there', 'revoke', { serial_number: revoked }, 200, /"state":"revoked"/],
    ];
    for (const [why, path, body, status, says] of rows) {
      const answer = await west('POST', `pki/${path}`, body);
      assert.equal(answer.status, status, `${why}: ${answer.text}`);
      assert.match(answer.text, says, why);
      await requireOpen(west, {});
    }
    await must(west('POST', 'pki/config/crl', { cross_cluster_revocation: false }));
    const off = await west('POST', 'pki/revoke', { serial_number });
    assert.equal(off.status, 400);
    assert.match(off.text, notFound);
    await requireOpen(west, {});
    assert.deepEqual(await listedAt(west, 'certs/unified-revoked'), [revoked]);
  });

  test('what was asked for ends, though the owner or the asker revoked it, its issuer or the setting is gone, or it has ended', async (t) => {
    const clusters = await open(t);
    const east = await clusters.at('east');
    await askEachOther(east);
    const [byOwner, byAsker, plain] = [await issue(east), await issue(east), await issue(east)];
    const ending = await issueFor(east, '4s');
    await clusters.leave('east');
    const west = await clusters.at('west');
    for (const { serial_number } of [byOwner, byAsker, plain]) await ask(west, serial_number);
    await ask(west, ending);
    await must(west('POST', 'pki/revoke', { certificate: byAsker.certificate }));
    await must(west('POST', 'pki/config/crl', { cross_cluster_revocation: false }));
    await must(west('DELETE', 'pki/issuer/first'));
    await wait(4_000);
    const owner = await clusters.at('east');
    await owner('POST', 'pki/revoke', { serial_number: byOwner.serial_number });
    await clusters.carryOut('east');
    await requireOpen(owner, {});
    const told = await must(owner('LIST', 'pki/certs/unified-revoked'));
    assert.deepEqual(told.field('data.key_info'), {
      [byOwner.serial_number]: { revoking_clusters: ['east'] },
      [byAsker.serial_number]: { revoking_clusters: ['west', 'east'] },
      [plain.serial_number]: { revoking_clusters: ['east'] },
    });
  });

  test('with a mount its requests go, and another cluster revokes nothing in it', async (t) => {
    const { clusters, west } = await openAsked(t);
    await must(west('DELETE', 'sys/mounts/pki'));
    const owner = await clusters.carryOut('east');
    await newMount(owner);
    assert.equal((await owner('LIST', QUEUE)).status, 404);
    assert.equal((await owner('LIST', 'pki/certs/unified-revoked')).status, 404);
  });

  test('metrics tell for which cluster requests wait, and how many, until it has done them', async (t) => {
    const { clusters, west } = await openAsked(t);
    const waiting = async (call: Call) => {
      const { text } = await must(call('GET', 'sys/metrics?format=prometheus'));
      return text.match(/^gatehouse_revocation_requests_waiting.*$/gm);
    };
    assert.deepEqual(await waiting(west), [
      'gatehouse_revocation_requests_waiting{cluster="east"} 1',
    ]);
    const owner = await clusters.carryOut('east');
    assert.equal(await waiting(owner), null);
  });

  /** What a cluster issued with a lease. */
  const openLeased = async (t: Parameters<typeof open>[0]) => {
    const clusters = await open(t);
    const east = await clusters.at('east');
    await newMount(east);
    const role = { allow_any_name: true, key_type: 'ec', ttl: '1h', generate_lease: true };
    await must(east('POST', 'pki/roles/leased', role));
    const made = await must(east('POST', 'pki/issue/leased', { common_name: 'a.test' }));
    return { clusters, made };
  };

  test('a lease that ends on another cluster revokes as the cluster that issued the certificate', async (t) => {
    const { clusters, made } = await openLeased(t);
    const west = await clusters.at('west');
    await must(west('PUT', 'sys/leases/revoke', { lease_id: made.textAt('lease_id'), sync: true }));
    const told = await must(west('LIST', 'pki/certs/unified-revoked'));
    const serial = made.textAt('data.serial_number');
    assert.deepEqual(told.field(`data.key_info.${serial}`), { revoking_clusters: ['east'] });
  });

  test('a lease that ends revokes for the cluster that issued the certificate what another one has revoked', async (t) => {
    const { clusters, made } = await openLeased(t);
    const certificate = made.textAt('data.certificate');
    const west = await clusters.at('west');
    const first = await must(west('POST', 'pki/revoke', { certificate }));
    const owner = await clusters.at('east');
    const lease_id = made.textAt('lease_id');
    await must(owner('PUT', 'sys/leases/revoke', { lease_id, sync: true }));
    await rotate(owner);
    const serial = made.textAt('data.serial_number');
    assert.deepEqual(await serialsAt(owner, 'crl'), [serial]);
    const told = await must(owner('GET', `pki/cert/${serial}`));
    assert.equal(
      told.field('data.revocation_time'),
      first.field('data.revocation_time'),
      'from its first time on',
    );
  });

  test('the lists of requests may be denied by that of certificates', async (t) => {
    const { west } = await openAsked(t);
    const policy =
      'path "pki/certs/revocation-queue" { capabilities = ["list"] } path "pki/certs" { capabilities = ["deny"] }';
    await must(west('PUT', 'sys/policies/acl/queue', { policy }));
    const made = await must(west('POST', 'auth/token/create', { policies: ['queue'] }));
    const restricted = callAs(west, made.textAt('auth.client_token'));
    assert.equal((await restricted('LIST', QUEUE)).status, 403);
    const granted = 'path "pki/certs/revocation-queue" { capabilities = ["list"] }';
    await must(west('PUT', 'sys/policies/acl/queue', { policy: granted }));
    assert.equal((await restricted('LIST', QUEUE)).status, 200);
  });
});
