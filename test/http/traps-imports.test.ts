/** Certificates of authorities and keys that are brought, asked of a server. */

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { encodePem } from '../../src/core/pem.ts';
import { encodeBareEcKey, encodePrivateKey } from '../../src/x509/private-keys.ts';
import { makeCsr } from '../support/leaves.ts';
import { type Authority, makeAuthority, newKey, pkcs8Of } from '../support/made-authorities.ts';
import { type Reply, startTestServer } from '../support/server.ts';

const client = await startTestServer({ after });
const { call } = client;

let mounts = 0;
async function mount(): Promise<string> {
  mounts += 1;
  const path = `ca${mounts}`;
  const config = { max_lease_ttl: '87600h' };
  assert.equal((await call('POST', `sys/mounts/${path}`, { type: 'pki', config })).status, 204);
  return path;
}

type ImportPath = 'config/ca' | 'issuers/import/bundle' | 'issuers/import/cert';

const send = (path: string, pem_bundle: string, at: ImportPath = 'issuers/import/bundle') =>
  call('POST', `${path}/${at}`, { pem_bundle });

async function take(path: string, pem: string, at?: ImportPath): Promise<Reply> {
  const reply = await send(path, pem, at);
  assert.equal(reply.status, 200, reply.text);
  return reply;
}

interface Told {
  mapping: Record<string, string>;
  imported_issuers: string[] | null;
  imported_keys: string[] | null;
  existing_issuers: string[] | null;
  existing_keys: string[] | null;
}
const toldBy = (reply: Reply): Told => reply.field('data') as Told;
const warningsOf = (reply: Reply): string => JSON.stringify(reply.field('warnings'));
const defaultOf = async (path: string): Promise<string> =>
  (await call('GET', `${path}/config/issuers`)).textAt('data.default');
const withKey = ({ pem, keyPem }: Authority): string => pem + keyPem;

const crl = encodePem('X509 CRL', Uint8Array.of(0x30, 0), { trailingNewline: true });
const parameters = encodePem('EC PARAMETERS', Uint8Array.of(0x06, 0), { trailingNewline: true });

describe('a bundle', () => {
  for (const at of ['config/ca', 'issuers/import/bundle'] as const) {
    test(`is taken in any order of its blocks at ${at}, and what nobody needs is passed over`, async () => {
      const path = await mount();
      const [root, key] = [makeAuthority('Root'), newKey()];
      const child = makeAuthority('Child', { by: root });
      const texts = [child.keyPem, crl, root.pem, parameters, 'a note\n', pkcs8Of(key), child.pem];
      const reply = await take(path, texts.join(''), at);
      const { mapping, imported_issuers, imported_keys, ...existing } = toldBy(reply);
      assert.deepEqual(existing, { existing_issuers: null, existing_keys: null });
      assert.equal(imported_keys?.length, 2);
      const [rootId = '', childId = ''] = imported_issuers ?? [];
      assert.deepEqual(mapping, { [rootId]: '', [childId]: imported_keys[0] });
      assert.equal(await defaultOf(path), childId);
      const read = await call('GET', `${path}/issuer/${childId}`);
      assert.deepEqual(read.field('data.ca_chain'), [child.pem, root.pem]);
      assert.equal(read.textAt('data.issuer_name'), '');
      assert.equal((await call('LIST', `${path}/certs`)).status, 404, 'they are no issued ones');
      await call('POST', `${path}/roles/r`, { allow_any_name: true, ttl: '1h', key_type: 'ec' });
      const issued = await call('POST', `${path}/issue/r`, { common_name: 'a.test' });
      assert.equal(issued.status, 200, issued.text);
    });
  }

  test('that comes again has nothing new, and tells what is there', async () => {
    const path = await mount();
    const root = makeAuthority('Root');
    const first = toldBy(await take(path, withKey(root)));
    const again = await take(path, `${root.keyPem}${root.pem}${root.pem}`);
    assert.deepEqual(toldBy(again), {
      mapping: first.mapping,
      imported_issuers: null,
      imported_keys: null,
      existing_issuers: first.imported_issuers,
      existing_keys: first.imported_keys,
    });
  });

  test('has each certificate and each key once, whatever its lines and wrapping are', async () => {
    const path = await mount();
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
    const root = makeAuthority('Root');
    const oneLine = root.pem.replaceAll('\n', '').replace(/(-----)(M.*)(-----E)/, '$1\n$2\n$3');
    const texts = [
      root.pem,
      oneLine,
      root.pem.replaceAll(' CERTIFICATE', ' X509 CERTIFICATE'),
      pkcs8Of(privateKey),
      String(privateKey.export({ type: 'sec1', format: 'pem' })),
      pkcs8Of(rsa),
      String(rsa.export({ type: 'pkcs1', format: 'pem' })),
    ];
    const { imported_issuers, imported_keys } = toldBy(await take(path, texts.join('\n')));
    assert.equal(imported_issuers?.length, 1);
    assert.equal(imported_keys?.length, 2);
    const sec1 = `${texts[4]}${texts[6]}`;
    assert.deepEqual(toldBy(await take(path, sec1)).existing_keys, imported_keys);
  });

  test('of several issuers with keys leaves the default as it is, and tells so', async () => {
    const path = await mount();
    const reply = await take(path, withKey(makeAuthority('A')) + withKey(makeAuthority('B')));
    assert.match(warningsOf(reply), /Default issuer left unchanged: could not select new issuer/);
    assert.equal(await defaultOf(path), '');
  });

  test('of one issuer with a key moves the default that follows, and no other', async () => {
    const path = await mount();
    const [a, b] = [makeAuthority('A'), makeAuthority('B')];
    const [first] = toldBy(await take(path, withKey(a))).imported_issuers ?? [];
    assert.equal(await defaultOf(path), first);
    await take(path, withKey(makeAuthority('C')));
    assert.equal(await defaultOf(path), first);
    const follow = { default: first, default_follows_latest_issuer: true };
    await call('POST', `${path}/config/issuers`, follow);
    const [second] = toldBy(await take(path, withKey(b) + a.pem)).imported_issuers ?? [];
    assert.equal(await defaultOf(path), second);
    const several = await take(path, withKey(makeAuthority('D')) + withKey(makeAuthority('E')));
    assert.match(warningsOf(several), /could not select new issuer automatically/);
    assert.equal(await defaultOf(path), second);
  });
});

describe('a key and its certificate find each other', () => {
  test('when the certificate comes later', async () => {
    const path = await mount();
    const root = makeAuthority('Root');
    const { imported_keys } = toldBy(await take(path, root.keyPem));
    const reply = await take(path, root.pem, 'issuers/import/cert');
    const { mapping, imported_issuers } = toldBy(reply);
    const [id = ''] = imported_issuers ?? [];
    assert.equal(mapping[id], imported_keys?.[0]);
    assert.equal(await defaultOf(path), id);
  });

  test('when the key comes later', async () => {
    const path = await mount();
    const root = makeAuthority('Root');
    const [id = ''] =
      toldBy(await take(path, root.pem, 'issuers/import/cert')).imported_issuers ?? [];
    assert.equal(await defaultOf(path), '');
    const { imported_keys, mapping } = toldBy(await take(path, root.keyPem));
    assert.deepEqual(mapping, {});
    const read = await call('GET', `${path}/issuer/${id}`);
    assert.equal(read.textAt('data.key_id'), imported_keys?.[0]);
    assert.equal(await defaultOf(path), '', 'it was not in the request');
  });

  test('when the certificate is that of a request signed elsewhere', async () => {
    const path = await mount();
    const fields = { key_type: 'ec', key_name: 'k' };
    const made = await call('POST', `${path}/keys/generate/exported`, fields);
    const key_id = made.textAt('data.key_id');
    // The same key as the mount's, certified by another mount.
    const other = await mount();
    await take(other, made.textAt('data.private_key'));
    const root = { common_name: 'Sub', key_ref: 'default' };
    const { text, ...signed } = await call('POST', `${other}/root/generate/existing`, root);
    assert.equal(signed.status, 200, text);
    const certificate = signed.textAt('data.certificate');
    const reply = await call('POST', `${path}/intermediate/set-signed`, { certificate });
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual(Object.values(toldBy(reply).mapping), [key_id]);
  });
});

const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const good = makeAuthority('Good');
const encrypted = String(
  RSA.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' }),
);
const oldEncrypted = String(
  RSA.export({ type: 'pkcs1', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' }),
);
const dsa = generateKeyPairSync('dsa', { modulusLength: 2048, divisorLength: 256 }).privateKey;
const curveKey = (namedCurve: string): string =>
  pkcs8Of(generateKeyPairSync('ec', { namedCurve }).privateKey);

/** A key with another's public part. */
function mismatched(): string {
  const [own, other] = [0, 1].map(() =>
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }),
  );
  const secret = Buffer.from(own?.d ?? '', 'base64url');
  const point = Buffer.concat([
    Buffer.of(4),
    Buffer.from(other?.x ?? '', 'base64url'),
    Buffer.from(other?.y ?? '', 'base64url'),
  ]);
  const { label, der } = encodeBareEcKey({ bits: 256, secret, point }, 'pkcs8');
  return encodePem(label, der, { trailingNewline: true });
}

/** A key whose last number, by which it is used in the shortest way, is another. */
function contradicting(): string {
  const { der } = encodePrivateKey(RSA, 'traditional');
  const bytes = Uint8Array.from(der);
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  return encodePem('RSA PRIVATE KEY', bytes, { trailingNewline: true });
}

const refused: [what: string, at: ImportPath, pem: string, says: RegExp][] = [
  ['a key where none is taken', 'issuers/import/cert', withKey(good), /use \/issuers\/import\/bundle/],
  ['a server', 'issuers/import/cert', makeAuthority('S', { ca: false }).pem, /Error parsing issuer 0: Refusing to import non-CA certificate/],
  ['an authority and a server', 'config/ca', good.pem + makeAuthority('S', { ca: false }).pem, /issuer 1: Refusing to import non-CA/],
  ['a path', 'config/ca', '/etc/ssl/ca.pem', /perhaps a path was passed/],
  ['no PEM', 'config/ca', 'x'.repeat(100), /error when parsing block 0: invalid PEM data/],
  ['PEM that is broken', 'config/ca', good.pem + good.pem.replace('-----END', '-----ENDE'), /error when parsing block 1: invalid PEM data/],
  ['bytes that are no certificate', 'config/ca', encodePem('CERTIFICATE', Buffer.alloc(80, 1)), /Error parsing issuer 0/],
  ['an encrypted key', 'config/ca', good.pem + encrypted, /encrypted; keys are accepted in the clear only/],
  ['a key encrypted the old way', 'config/ca', good.pem + oldEncrypted, /send it decrypted/],
  ['a DSA key', 'config/ca', good.pem + pkcs8Of(dsa), /RSA, EC, Ed25519, ML-DSA and SLH-DSA keys are accepted/],
  ['a key on brainpoolP256r1', 'config/ca', good.pem + curveKey('brainpoolP256r1'), /RSA, EC, Ed25519, ML-DSA and SLH-DSA keys are accepted/],
  ['a key on secp256k1', 'config/ca', good.pem + curveKey('secp256k1'), /RSA, EC, Ed25519, ML-DSA and SLH-DSA keys are accepted/],
  ['a key that is not its public part', 'config/ca', good.pem + mismatched(), /Error parsing key 0: the private key does not go with the public key/],
  ['an RSA key that contradicts itself', 'config/ca', good.pem + contradicting(), /Error parsing key 0: the parts of the RSA private key do not go together: coefficient/],
  ['a request', 'config/ca', encodePem('CERTIFICATE REQUEST', Buffer.alloc(80)), /CERTIFICATE or a private key is accepted/],
  ['a public key', 'issuers/import/cert', encodePem('PUBLIC KEY', Buffer.alloc(80)), /where CERTIFICATE is accepted/],
]; // biome-ignore format: one table

for (const [what, at, pem, says] of refused) {
  test(`${what} is refused at ${at}, and nothing of its bundle is taken`, async () => {
    const path = await mount();
    const reply = await send(path, pem, at);
    assert.equal(reply.status, 400, reply.text);
    assert.match(reply.text, says);
    assert.equal((await call('LIST', `${path}/issuers`)).status, 404);
    assert.equal((await call('LIST', `${path}/keys`)).status, 404);
  });
}

test('nothing, and both of the fields, are refused by their names', async () => {
  const path = await mount();
  for (const at of ['intermediate/set-signed', 'issuers/import/cert']) {
    const none = await call('POST', `${path}/${at}`, {});
    assert.equal(none.status, 400);
    assert.match(none.text, /parameters were empty/);
    const both = await call('POST', `${path}/${at}`, {
      pem_bundle: good.pem,
      certificate: good.pem,
    });
    assert.equal(both.status, 400);
    assert.match(both.text, /were both provided/);
  }
});

test('authorities that certify each other have chains that end, themselves first', async () => {
  const path = await mount();
  const [a, b] = [makeAuthority('A'), makeAuthority('B')];
  const ring = [
    makeAuthority('A', { key: a.key, by: b }),
    makeAuthority('B', { key: b.key, by: a }),
    makeAuthority('C', { by: a }),
  ];
  const { imported_issuers } = toldBy(await take(path, ring.map(({ pem }) => pem).join('')));
  for (const [at, id] of (imported_issuers ?? []).entries()) {
    const chain = (await call('GET', `${path}/issuer/${id}`)).field('data.ca_chain') as string[];
    assert.equal(chain[0], ring[at]?.pem);
    assert.equal(chain.length, at < 2 ? 2 : 3);
    assert.equal(new Set(chain).size, chain.length);
  }
});

test('an issuer whose certificate lets it sign no CRLs does not, and cannot be made to', async () => {
  const path = await mount();
  const issuer = makeAuthority('No CRLs', { usage: ['CertSign'] });
  const reply = await take(path, withKey(issuer));
  assert.match(
    warningsOf(reply),
    /Warning 1 during CRL rebuild: .*lacked an issuer with CRL Signing/,
  );
  const read = await call('GET', `${path}/issuer/default`);
  assert.equal(read.textAt('data.usage'), 'issuing-certificates,ocsp-signing,read-only');
  const usage = 'crl-signing,issuing-certificates';
  const refusal = await call('PATCH', `${path}/issuer/default`, { usage });
  assert.equal(refusal.status, 400);
  assert.match(refusal.text, /lacks the CRLSign KeyUsage value/);
});

test('an issuer whose certificate lets it sign no certificates does not, and cannot be made to', async () => {
  const path = await mount();
  const lists = makeAuthority('Lists alone', { usage: ['CRLSign', 'DigitalSignature'] });
  const [id = ''] = toldBy(await take(path, lists.pem)).imported_issuers ?? [];
  const linked = await call('POST', `${path}/keys/import`, { pem_bundle: lists.keyPem });
  const told = /The certificate of issuer [-0-9a-f]{36} lacks the CertSign KeyUsage value/;
  assert.match(warningsOf(linked), told);
  const whole = await mount();
  assert.match(warningsOf(await take(whole, withKey(lists))), told);
  await call('POST', `${path}/config/issuers`, { default: id });
  const read = await call('GET', `${path}/issuer/${id}`);
  assert.equal(read.textAt('data.usage'), 'crl-signing,ocsp-signing,read-only');
  const refusal = await call('PATCH', `${path}/issuer/${id}`, {
    usage: 'crl-signing,issuing-certificates',
  });
  assert.equal(refusal.status, 400);
  assert.match(refusal.text, /lacks the CertSign KeyUsage value: issuing-certificates/);
  const renamed = await call('PATCH', `${path}/issuer/${id}`, { issuer_name: 'lists' });
  assert.equal(renamed.status, 200, renamed.text);

  await call('POST', `${path}/roles/any`, { allow_any_name: true, key_type: 'ec' });
  const csr = makeCsr({ subject: { common_name: 'leaf.example' } });
  const asked: [at: string, body: object][] = [
    ['issue/any', { common_name: 'leaf.example' }],
    ['sign/any', { csr, common_name: 'leaf.example' }],
    ['sign-verbatim', { csr }],
    ['root/sign-intermediate', { csr, common_name: 'Beneath' }],
  ];
  for (const [at, body] of asked) {
    const reply = await call('POST', `${path}/${at}`, body);
    assert.equal(reply.status, 400, reply.text);
    assert.match(reply.text, /issuer \[.*\] lacks the CertSign KeyUsage value: no verifier would/);
  }
  assert.equal((await call('GET', `${path}/crl/rotate`)).status, 200, 'its lists go on');
});

test('an issuer whose certificate says nothing of what its key is for issues and signs lists', async () => {
  const path = await mount();
  const reply = await take(path, withKey(makeAuthority('Anything')));
  assert.doesNotMatch(warningsOf(reply), /KeyUsage/);
  const read = await call('GET', `${path}/issuer/default`);
  assert.equal(
    read.textAt('data.usage'),
    'crl-signing,issuing-certificates,ocsp-signing,read-only',
  );
});

test('a default issuer that comes again and has no key is told', async () => {
  const path = await mount();
  const issuer = makeAuthority('Keyless');
  const [id] = toldBy(await take(path, issuer.pem)).imported_issuers ?? [];
  await call('POST', `${path}/config/issuers`, { default: id });
  assert.match(warningsOf(await take(path, issuer.pem)), /default issuer has no key associated/);
});

test('a parent that comes later is in the chain of those below, for conditional readers too', async () => {
  const path = await mount();
  const root = makeAuthority('Root');
  const middle = makeAuthority('Middle', { by: root });
  const child = makeAuthority('Child', { by: middle });
  const tune = {
    passthrough_request_headers: 'If-Modified-Since',
    allowed_response_headers: 'Last-Modified',
  };
  await call('POST', `sys/mounts/${path}/tune`, tune);
  await take(path, middle.pem);
  const [id] = toldBy(await take(path, child.pem)).imported_issuers ?? [];
  const before = await call('GET', `${path}/issuer/${id}/json`);
  const since = before.headers.get('last-modified') ?? '';
  await new Promise((resolve) => setTimeout(resolve, 1100));
  await take(path, root.pem);
  const headers = { 'if-modified-since': since };
  const later = await call('GET', `${path}/issuer/${id}/json`, undefined, { headers });
  assert.equal(later.status, 200);
  assert.deepEqual(later.field('data.ca_chain'), [child.pem, middle.pem, root.pem]);
});

describe('a policy that denies', () => {
  const tokenOf = async (policy: string): Promise<string> => {
    mounts += 1;
    await call('POST', `sys/policies/acl/p${mounts}`, { policy });
    const made = await call('POST', 'auth/token/create', { policies: [`p${mounts}`] });
    return made.textAt('auth.client_token');
  };

  test('an issuer denies giving it a key', async () => {
    const path = await mount();
    const root = makeAuthority('Root');
    const [id] = toldBy(await take(path, root.pem)).imported_issuers ?? [];
    const token = await tokenOf(
      `path "${path}/*" { capabilities = ["update"] } path "${path}/issuer/${id}" { capabilities = ["deny"] }`,
    );
    const body = { pem_bundle: root.keyPem };
    const reply = await call('POST', `${path}/config/ca`, body, { token });
    assert.equal(reply.status, 403);
    assert.equal((await call('LIST', `${path}/keys`)).status, 404);
  });

  test('a key denies making an issuer of it', async () => {
    const path = await mount();
    const root = makeAuthority('Root');
    const [id] = toldBy(await take(path, root.keyPem)).imported_keys ?? [];
    const token = await tokenOf(
      `path "${path}/*" { capabilities = ["update"] } path "${path}/key/${id}" { capabilities = ["deny"] }`,
    );
    const body = { certificate: root.pem };
    const reply = await call('POST', `${path}/intermediate/set-signed`, body, { token });
    assert.equal(reply.status, 403);
    assert.equal((await call('LIST', `${path}/issuers`)).status, 404);
  });

  test('what was there is told to nobody who is denied it', async () => {
    const path = await mount();
    const authorities = [makeAuthority('A'), makeAuthority('B'), makeAuthority('C')];
    const pem_bundle = authorities.map((one) => one.pem + one.keyPem).join('');
    const whole = toldBy(await take(path, pem_bundle));
    const [a = '', b = '', c = ''] = whole.imported_issuers ?? [];
    const keyOf = (id: string): string => whole.mapping[id] ?? '';
    await call('POST', `${path}/issuer/${b}`, { issuer_name: 'named' });
    await call('POST', `${path}/config/issuers`, { default: c });
    const deny = (at: string) => `path "${path}/${at}" { capabilities = ["deny"] }`;
    for (const [denied, issuers, keys] of [
      [`issuer/${a}`, [b, c], [a, b, c]],
      ['issuer/named', [a, c], [a, b, c]],
      ['issuer/default', [a, b], [a, b, c]],
      [`key/${keyOf(a)}`, [a, b, c], [b, c]],
      ['issuer/other', [a, b, c], [a, b, c]],
    ] as const) {
      const policy = `path "${path}/*" { capabilities = ["update"] } ${deny(denied)}`;
      const token = await tokenOf(policy);
      const fresh = makeAuthority('New');
      const body = { pem_bundle: pem_bundle + fresh.pem };
      const reply = await call('POST', `${path}/issuers/import/bundle`, body, { token });
      assert.equal(reply.status, 200, reply.text);
      const { mapping, existing_issuers, existing_keys, imported_issuers } = toldBy(reply);
      assert.deepEqual(existing_issuers, issuers, denied);
      assert.deepEqual(existing_keys, keys.map(keyOf), denied);
      const both = issuers.filter((id) => keys.some((one) => one === id));
      assert.deepEqual(Object.keys(mapping), [...both, ...(imported_issuers ?? [])], denied);
    }
  });

  test('one of the paths denies the others that do the same', async () => {
    const path = await mount();
    const token = await tokenOf(
      `path "${path}/*" { capabilities = ["update"] } path "${path}/issuers/import/*" { capabilities = ["deny"] }`,
    );
    for (const at of ['config/ca', 'intermediate/set-signed']) {
      const reply = await call('POST', `${path}/${at}`, { pem_bundle: good.pem }, { token });
      assert.equal(reply.status, 403, at);
    }
  });
});

describe('an authority with a small RSA key', () => {
  const rsa = (modulusLength: number) => generateKeyPairSync('rsa', { modulusLength }).privateKey;
  const csr = makeCsr({ subject: { common_name: 'a.test' } });
  const certificate = makeAuthority('Self').pem;
  const ways: [path: string, body: object][] = [
    ['issue/any', { common_name: 'a.test', ttl: '1h', key_type: 'ec' }],
    ['sign/any', { csr, common_name: 'a.test', ttl: '1h' }],
    ['sign-verbatim', { csr, ttl: '1h' }],
    ['root/sign-intermediate', { csr, common_name: 'Sub', ttl: '1h' }],
    ['root/sign-self-issued', { certificate }],
  ];
  for (const [bits, signs] of [
    [1024, false],
    [2047, false],
    [2048, true],
  ] as const) {
    test(`of ${bits} bits ${signs ? 'signs certificates' : 'is taken, signs no certificates, and goes on with its CRL'}`, async () => {
      const path = await mount();
      await call('POST', `${path}/roles/any`, { allow_any_name: true, key_type: 'any' });
      const root = makeAuthority('Root', { key: rsa(bits), usage: ['CertSign', 'CRLSign'] });
      assert.equal(toldBy(await take(path, withKey(root))).imported_issuers?.length, 1);
      for (const [at, body] of ways) {
        const reply = await call('POST', `${path}/${at}`, body);
        assert.equal(reply.status, signs ? 200 : 400, `${at}: ${reply.text}`);
        if (!signs) assert.match(reply.text, /RSA keys < 2048 bits are unsafe and not supported/);
      }
      assert.equal((await call('GET', `${path}/crl`)).status, 200);
    });
  }
});

describe('a single key', () => {
  const bring = (path: string, body: object) => call('POST', `${path}/keys/import`, body);

  test('is taken under its name, links its issuers, and stays what it is when it comes again', async () => {
    const path = await mount();
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' });
    const root = makeAuthority('Root');
    const [issuer = ''] = toldBy(await take(path, root.pem)).imported_issuers ?? [];
    const first = await bring(path, { pem_bundle: root.keyPem, key_name: 'a' });
    assert.equal(first.status, 200, first.text);
    const key_id = first.field('data.key_id');
    const told = { key_bits: 0, key_id, key_name: 'a', key_type: 'ed25519' };
    assert.deepEqual(first.field('data'), told);
    assert.equal((await call('GET', `${path}/issuer/${issuer}`)).field('data.key_id'), key_id);
    assert.equal((await call('GET', `${path}/config/keys`)).field('data.default'), key_id);
    for (const key_name of ['a', 'b', undefined]) {
      const again = await bring(path, { pem_bundle: root.keyPem, key_name });
      assert.deepEqual(again.field('data'), told, again.text);
    }
    const sec1 = String(privateKey.export({ type: 'sec1', format: 'pem' }));
    const second = await bring(path, { pem_bundle: parameters + sec1 });
    assert.equal(second.textAt('data.key_type'), 'ec');
    assert.equal(second.field('data.key_bits'), 384);
    assert.equal(second.textAt('data.key_name'), '');
    assert.equal((await call('GET', `${path}/config/keys`)).field('data.default'), key_id);
  });

  const key = pkcs8Of(newKey());
  const no: [what: string, body: { pem_bundle: string; key_name?: string }, says: RegExp][] = [
    ['a path', { pem_bundle: '/etc/key.pem' }, /perhaps a path was passed/],
    ['no PEM', { pem_bundle: 'x'.repeat(99) }, /invalid PEM data/],
    ['two keys', { pem_bundle: key + pkcs8Of(newKey()) }, /only a single key can be present/],
    ['a key and a certificate', { pem_bundle: withKey(good) }, /only a single key can be present/],
    ['a certificate', { pem_bundle: good.pem }, /a PEM block .*CERTIFICATE.* where PRIVATE KEY/],
    ['an encrypted key', { pem_bundle: encrypted }, /encrypted/],
    [
      'a DSA key',
      { pem_bundle: pkcs8Of(dsa) },
      /RSA, EC, Ed25519, ML-DSA and SLH-DSA keys are accepted/,
    ],
    ['an RSA key that contradicts itself', { pem_bundle: contradicting() }, /coefficient is not/],
    ['a reserved name', { pem_bundle: key, key_name: 'Default' }, /reserved keyword 'default'/],
    ['an empty name', { pem_bundle: key, key_name: '' }, /expected non-empty key name/],
    ["another key's name", { pem_bundle: key, key_name: 'taken' }, /key name already in use/],
  ];
  for (const [what, body, says] of no) {
    test(`is refused: ${what}`, async () => {
      const path = await mount();
      await bring(path, { pem_bundle: good.keyPem, key_name: 'taken' });
      const reply = await bring(path, body);
      assert.equal(reply.status, 400, reply.text);
      assert.match(reply.text, says);
      assert.equal((await call('LIST', `${path}/keys`)).field('data.keys.length'), 1);
    });
  }
});

test('issuers and keys are listed page by page', async () => {
  const path = await mount();
  const made = ['A', 'B', 'C'].map((name) => withKey(makeAuthority(name)));
  await take(path, made.join(''));
  for (const what of ['issuers', 'keys']) {
    const all = (await call('LIST', `${path}/${what}`)).field('data.keys') as string[];
    assert.deepEqual(all, [...all].sort());
    assert.equal(all.length, 3);
    const page = await call('LIST', `${path}/${what}?after=${all[0]}&limit=1`);
    assert.deepEqual(page.field('data.keys'), [all[1]]);
    assert.deepEqual(Object.keys(page.field('data.key_info') as object), [all[1]]);
    for (const limit of [0, -1, 5]) {
      const rest = await call('LIST', `${path}/${what}?after=${all[0]}&limit=${limit}`);
      assert.deepEqual(rest.field('data.keys'), all.slice(1));
    }
    assert.equal((await call('LIST', `${path}/${what}?after=${all[2]}`)).status, 404);
    assert.equal((await call('LIST', `${path}/${what}?limit=x`)).status, 400);
  }
});
