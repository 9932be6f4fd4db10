/** OpenSSL judges the CRLs of all clusters, and of each, when one has asked another to revoke. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { encodePem } from '../../src/core/pem.ts';
import { type Call, Clusters, issue, newMount, rotate } from '../support/clusters.ts';
import { sqlitePlace } from '../support/engines.ts';
import { inReverse } from '../support/node-process.ts';
import { type Openssl, WITH_DELTAS, withOpenssl } from '../support/openssl.ts';
import { must } from '../support/racing.ts';

const readPem = async (call: Call, path: string): Promise<string> =>
  `${encodePem('X509 CRL', (await must(call('GET', `pki/${path}`))).bytes)}\n`;

const REVOKED = /certificate revoked/;
const GOOD = /leaf.pem: OK/;

test('OpenSSL finds what one cluster had another revoke on its CRLs and on those of all, complete and delta', async (t) => {
  const place = sqlitePlace();
  const scope = inReverse(t);
  scope.after(() => place.remove());
  const clusters = new Clusters(scope, place, 'sqlite');
  const east = await clusters.at('east');
  const root = await newMount(east);
  const urls = { delta_crl_distribution_points: 'http://a.example/d' };
  await must(east('POST', 'pki/config/urls', urls));
  await must(east('POST', 'pki/config/crl', { cross_cluster_revocation: true }));
  const [early, late, never] = [await issue(east), await issue(east), await issue(east)];

  const askWest = async ({ serial_number }: { serial_number: string }) => {
    const asked = await must((await clusters.at('west'))('POST', 'pki/revoke', { serial_number }));
    assert.equal(asked.textAt('data.state'), 'pending');
    return clusters.carryOut('east');
  };
  const owner = await askWest(early);
  await rotate(owner);
  const ofEast = await readPem(owner, 'crl');
  const west = await clusters.at('west');
  await rotate(west);
  const own = await readPem(west, 'crl');
  // A list says where its delta is if that is at the addresses of deltas.
  await must(west('POST', 'pki/config/crl', { unified_crl_on_existing_paths: true }));
  await rotate(west);
  const complete = await readPem(west, 'unified-crl');
  // Of another second.
  await wait(1_000);
  const back = await askWest(late);
  await must(back('GET', 'pki/crl/rotate-delta'));
  const delta = await readPem(back, 'unified-crl/delta');

  withOpenssl((openssl) => {
    openssl.write('ca.pem', `${root}\n`);
    const judge = ({ certificate }: { certificate: string }, ...options: string[]): string => {
      openssl.write('leaf.pem', `${certificate}\n`);
      const files = ['-CAfile', 'ca.pem', '-CRLfile', 'crls.pem', 'leaf.pem'];
      return openssl.run('verify', '-crl_check', ...options, ...files).text;
    };
    openssl.write('crls.pem', complete + delta);
    assert.match(judge(early, ...WITH_DELTAS), REVOKED);
    assert.match(judge(late, ...WITH_DELTAS), REVOKED);
    assert.match(judge(never, ...WITH_DELTAS), GOOD);
    for (const list of [complete, ofEast]) {
      openssl.write('crls.pem', list);
      assert.match(judge(early), REVOKED);
      assert.match(judge(late), GOOD);
    }
    requireVerified(openssl, complete, /X509v3 CRL Number/);
    requireVerified(openssl, ofEast, /X509v3 CRL Number/);
    requireVerified(openssl, delta, /Delta CRL Indicator: critical/);
    // The cluster that asked has revoked nothing by itself.
    openssl.write('crls.pem', own);
    assert.match(judge(early), GOOD);
    requireVerified(openssl, own, /No Revoked Certificates/);
  });
});

function requireVerified(openssl: Openssl, crl: string, says: RegExp): void {
  openssl.write('crl.pem', crl);
  const text = openssl.must(
    ...['crl', '-in', 'crl.pem', '-noout', '-text', '-verify', '-CAfile', 'ca.pem'],
  );
  assert.match(text, /verify OK/);
  assert.match(text, says);
}
