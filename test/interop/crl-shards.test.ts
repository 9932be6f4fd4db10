/** OpenSSL judges certificates by CRLs that are for a part of them each. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { nameShard, shardOf } from '../../src/pki/crl/shards.ts';
import { withOpenssl } from '../support/openssl.ts';
import { startTestServer } from '../support/server.ts';
import { type Issued, issueOne, readCrlPem } from '../support/serving-mounts.ts';

const { call } = await startTestServer({ after });

const issue = () => issueOne(call);

const nameOf = ({ serial }: Issued): string => nameShard(shardOf(serial, 2));

async function issueIn(shard: string): Promise<Issued> {
  for (;;) {
    const one = await issue();
    if (nameOf(one) === shard) return one;
  }
}

const readPem = (path: string) => readCrlPem(call, path);

const OK = /leaf.pem: OK/;
const REVOKED = /certificate revoked/;
/** OpenSSL finds no CRL that is for the certificate. */
const ANOTHERS = /different CRL scope|unable to get certificate CRL/i;

for (const [key_type, key_bits] of [
  ['ec', 256],
  ['rsa', 2048],
  ['ed25519', 0],
] as const) {
  test(`OpenSSL takes the shard that a certificate names, and no other: ${key_type}`, async (t) => {
    await call('POST', 'sys/mounts/pki', { type: 'pki' });
    t.after(() => call('DELETE', 'sys/mounts/pki'));
    const root = { common_name: 'R', key_type, key_bits };
    const made = await call('POST', 'pki/root/generate/internal', root);
    const crl_distribution_points = 'http://crl.example/{{crl_shard}}';
    await call('POST', 'pki/config/urls', { crl_distribution_points, enable_templating: true });
    await call('POST', 'pki/roles/any', { allow_any_name: true, key_type: 'ec', max_ttl: '1h' });
    const early = await issue();
    assert.equal((await call('POST', 'pki/config/crl', { crl_shards: 2 })).status, 200);
    const [gone, good] = [await issueIn('0-of-2'), await issueIn('0-of-2')];
    const [goneBeside, beside] = [await issueIn('1-of-2'), await issueIn('1-of-2')];
    for (const { serial } of [gone, goneBeside]) {
      await call('POST', 'pki/revoke', { serial_number: serial });
    }
    const moved = { crl_distribution_points: 'http://moved.example/{{crl_shard}}' };
    assert.equal((await call('POST', 'pki/config/urls', moved)).status, 200);
    const late = await issueIn('0-of-2');
    const first = await readPem('crl/shard/0-of-2');
    const second = await readPem('crl/shard/1-of-2');
    const complete = await readPem('crl');
    const cases: [certificate: Issued, crls: string, verdict: RegExp, why: string][] = [
      [gone, first, REVOKED, 'revoked, on its shard'],
      [good, first, OK, 'the one beside it is not'],
      [late, first, OK, 'nor one that names the new address of the shard'],
      [goneBeside, second, REVOKED, 'revoked, on the other shard'],
      [beside, second, OK, 'not revoked, on the other shard'],
      [gone, second, ANOTHERS, 'the other shard is not for it'],
      [good, second, ANOTHERS, 'nor for what is not revoked'],
      [beside, first, ANOTHERS, 'nor the first for those of the second'],
      [good, first + second, OK, 'of both its own is found'],
      [gone, second + first, REVOKED, 'in any order'],
      [early, first, ANOTHERS, 'one without a shard is on none'],
      [early, complete, OK, 'but on the complete CRL'],
      [gone, complete, REVOKED, 'which has those of all shards'],
      [goneBeside, complete, REVOKED, 'of each'],
      [beside, complete, OK, 'and nothing else'],
    ];
    withOpenssl((openssl) => {
      openssl.write('ca.pem', `${made.textAt('data.certificate')}\n`);
      for (const [{ certificate }, crls, verdict, why] of cases) {
        openssl.write('leaf.pem', `${certificate}\n`);
        openssl.write('crls.pem', crls);
        for (const options of [[], ['-extended_crl'], ['-x509_strict']]) {
          const { text } = openssl.run(
            ...['verify', '-crl_check', ...options, '-CAfile', 'ca.pem', '-CRLfile', 'crls.pem'],
            'leaf.pem',
          );
          assert.match(text, verdict, `${why} ${options}`);
          if (verdict !== OK) assert.doesNotMatch(text, OK, why);
        }
      }
      openssl.write('crl.pem', first);
      const text = openssl.must(
        ...['crl', '-in', 'crl.pem', '-noout', '-text', '-verify', '-CAfile', 'ca.pem'],
      );
      assert.match(text, /verify OK/);
      assert.match(text, /Issuing Distribution Point: critical/);
      assert.match(text, /URI:http:\/\/crl\.example\/0-of-2/);
    });
  });
}
