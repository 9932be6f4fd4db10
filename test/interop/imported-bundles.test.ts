/** Authorities and keys as OpenSSL makes them, brought to a server; OpenSSL judges what it then issues. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Openssl, withOpenssl } from '../support/openssl.ts';
import { startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });

const KINDS: [what: string, genpkey: string[], key_type: string, key_bits: number][] = [
  ['RSA of 2048 bits', ['RSA', '-pkeyopt', 'rsa_keygen_bits:2048'], 'rsa', 2048],
  ['RSA of 3072 bits', ['RSA', '-pkeyopt', 'rsa_keygen_bits:3072'], 'rsa', 3072],
  ...[
    ['P-224', 224],
    ['P-256', 256],
    ['P-384', 384],
    ['P-521', 521],
  ].map(([curve, bits]): [string, string[], string, number] => [
    `EC on ${curve}`,
    ['EC', '-pkeyopt', `ec_paramgen_curve:${curve}`],
    'ec',
    Number(bits),
  ]),
  ['Ed25519', ['ED25519'], 'ed25519', 0],
];

const decode = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

/** A root with its key in every form that OpenSSL writes it in. */
function makeRoot(openssl: Openssl, genpkey: readonly string[]): { pem: string; keys: string[] } {
  openssl.must('genpkey', '-algorithm', ...genpkey, '-out', 'pkcs8.pem');
  openssl.must(
    ...['req', '-x509', '-new', '-key', 'pkcs8.pem', '-out', 'root.pem', '-days', '3650'],
    ...['-subj', '/CN=Brought Root', '-addext', 'basicConstraints=critical,CA:TRUE'],
    ...['-addext', 'keyUsage=critical,keyCertSign,cRLSign'],
  );
  const keys = [decode(openssl.read('pkcs8.pem'))];
  if (genpkey[0] === 'RSA') {
    openssl.must('rsa', '-in', 'pkcs8.pem', '-traditional', '-out', 'pkcs1.pem');
    keys.push(decode(openssl.read('pkcs1.pem')));
  } else if (genpkey[0] === 'EC') {
    openssl.must('ec', '-in', 'pkcs8.pem', '-out', 'sec1.pem');
    openssl.must(
      ...['ecparam', '-name', String(genpkey[2]).split(':')[1] ?? '', '-out', 'parameters.pem'],
    );
    keys.push(decode(openssl.read('parameters.pem')) + decode(openssl.read('sec1.pem')));
  }
  // With the text that tools put before a block.
  openssl.must('x509', '-in', 'root.pem', '-text', '-out', 'text.pem');
  return { pem: decode(openssl.read('text.pem')), keys };
}

before(async () => {
  for (const [at] of KINDS.entries()) {
    const config = { max_lease_ttl: '87600h' };
    await call('POST', `sys/mounts/ca${at}`, { type: 'pki', config });
    await call('POST', `ca${at}/roles/any`, { allow_any_name: true, key_type: 'ec', ttl: '1h' });
  }
});

for (const [at, [what, genpkey, key_type, key_bits]] of KINDS.entries()) {
  test(`an authority with ${what} from OpenSSL issues what OpenSSL verifies, its key read in each form`, async () => {
    const made: { root?: ReturnType<typeof makeRoot> } = {};
    withOpenssl((openssl) => {
      made.root = makeRoot(openssl, genpkey);
    });
    const { pem, keys } = made.root ?? { pem: '', keys: [] };
    const path = `ca${at}`;
    const first = await call('POST', `${path}/config/ca`, { pem_bundle: keys[0] + pem });
    assert.equal(first.status, 200, first.text);
    const [key_id] = first.field('data.imported_keys') as string[];
    const all = await call('POST', `${path}/issuers/import/bundle`, {
      pem_bundle: [pem, ...keys].join('\n'),
    });
    assert.equal(all.status, 200, all.text);
    assert.deepEqual(all.field('data.existing_keys'), [key_id]);
    assert.equal(all.field('data.imported_keys'), null);
    const key = await call('GET', `${path}/key/${key_id}`);
    assert.equal(key.textAt('data.key_type'), key_type);
    assert.equal(key.field('data.key_bits'), key_bits);

    const issued = await call('POST', `${path}/issue/any`, { common_name: 'a.test' });
    assert.equal(issued.status, 200, issued.text);
    const crl = await call('GET', `${path}/crl/pem`);
    withOpenssl((openssl) => {
      openssl.write('root.pem', pem);
      openssl.write('leaf.pem', issued.textAt('data.certificate'));
      openssl.write('crl.pem', crl.text);
      openssl.must(
        'verify',
        '-CAfile',
        'root.pem',
        '-CRLfile',
        'crl.pem',
        '-crl_check',
        'leaf.pem',
      );
    });
  });
}

/** A key and a certificate of a kind that is not supported. */
function makeForeign(openssl: Openssl, kind: readonly string[]): { key: string; pem: string } {
  if (kind[0] === 'DSA') {
    openssl.must('dsaparam', '-out', 'dsa.param', '2048');
    openssl.must('gendsa', '-out', 'k.pem', 'dsa.param');
  } else {
    openssl.must('ecparam', '-name', kind[1] ?? '', '-genkey', '-noout', '-out', 'k.pem');
  }
  openssl.must('req', '-x509', '-new', '-key', 'k.pem', '-out', 'c.pem', '-subj', '/CN=Foreign');
  return { key: decode(openssl.read('k.pem')), pem: decode(openssl.read('c.pem')) };
}

for (const kind of [
  ['EC', 'secp192k1'],
  ['EC', 'prime192v1'],
  ['EC', 'brainpoolP384r1'],
  ['EC', 'secp256k1'],
  ['DSA'],
]) {
  test(`an authority of ${kind.join(' ')} is refused where it comes in`, async () => {
    const made = { key: '', pem: '' };
    withOpenssl((openssl) => Object.assign(made, makeForeign(openssl, kind)));
    const certificate = await call('POST', 'ca0/issuers/import/cert', { pem_bundle: made.pem });
    assert.equal(certificate.status, 400, certificate.text);
    assert.match(certificate.text, /Error parsing issuer 0: public key not supported/);
    const key = await call('POST', 'ca0/issuers/import/bundle', { pem_bundle: made.key });
    assert.equal(key.status, 400, key.text);
    assert.match(
      key.text,
      /RSA, EC, Ed25519, ML-DSA and SLH-DSA keys are accepted|DSA PRIVATE KEY/,
    );
  });
}
