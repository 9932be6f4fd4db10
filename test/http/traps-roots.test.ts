/** Roots, issuers and keys, asked of a server. */

import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { after, before, test } from 'node:test';
import { parsePem } from '../../src/core/pem.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });
interface Fields {
  key_type?: string;
  [name: string]: unknown;
}

let mounts = 0;
/** A mount of its own for a test, with its path. */
async function mount(): Promise<string> {
  mounts += 1;
  const path = `ca${mounts}`;
  const config = { max_lease_ttl: '87600h' };
  assert.equal((await call('POST', `sys/mounts/${path}`, { type: 'pki', config })).status, 204);
  return path;
}

const generate = (path: string, fields: Fields = {}, type = 'internal') =>
  call('POST', `${path}/root/generate/${type}`, { common_name: 'R', key_type: 'ec', ...fields });

let shared = '';
before(async () => {
  shared = await mount();
});

const refusals: [what: string, type: string, fields: Fields, says: RegExp][] = [
  [
    'a key that exists has its type',
    'existing',
    { key_type: 'ec' },
    /key_type nor key_bits arguments can be set in this mode/,
  ],
  [
    'a key that exists has its size',
    'existing',
    { key_bits: 256 },
    /key_type nor key_bits arguments can be set in this mode/,
  ],
  ['a reserved name', 'internal', { issuer_name: 'Default' }, /reserved keyword 'default'/],
  ['an empty name', 'internal', { issuer_name: '' }, /expected non-empty issuer name/],
  ['a name with a slash', 'internal', { issuer_name: 'a/b' }, /contained invalid characters/],
  ['an empty key name', 'internal', { key_name: '' }, /expected non-empty key name/],
  ['a reserved key name', 'internal', { key_name: 'DEFAULT' }, /reserved keyword 'default'/],
  ['a type that does not exist', 'external', {}, /the \\"exported\\" path parameter must be/],
  [
    'a format that does not exist',
    'internal',
    { format: 'zip' },
    /the \\"format\\" path parameter/,
  ],
  ['a small RSA key', 'internal', { key_type: 'rsa', key_bits: 1024 }, /key/],
  ['an odd RSA key', 'internal', { key_type: 'rsa', key_bits: 2047 }, /key/],
  [
    'a curve that does not exist',
    'internal',
    { key_type: 'ec', key_bits: 255 },
    /bit length for EC/,
  ],
  ['a key type that does not exist', 'internal', { key_type: 'dsa' }, /unknown key type/],
  ['a key type for roles', 'internal', { key_type: 'any' }, /key type/],
  ['no subject', 'internal', { common_name: '' }, /common_name/],
  [
    'two ends',
    'internal',
    { ttl: '1h', not_after: '2030-01-01T00:00:00Z' },
    /Either ttl or not_after/,
  ],
  [
    'an end in the past',
    'internal',
    { not_after: '2020-01-01T00:00:00Z' },
    /not_after|Not After|past/,
  ],
  [
    'a constraint that is none',
    'internal',
    { permitted_ip_ranges: '10.0.0.0/33' },
    /permitted_ip_ranges/,
  ],
];
test('a root that was asked for wrongly is refused by what is wrong, and not made', async () => {
  for (const [what, type, fields, says] of refusals) {
    const body = {
      common_name: 'R',
      ...(type === 'existing' ? {} : { key_type: 'ec' }),
      ...fields,
    };
    const answer = await call('POST', `${shared}/root/generate/${type}`, body);
    assert.equal(answer.status, 400, `${what}: ${answer.text}`);
    assert.match(answer.text, says, what);
  }
  assert.equal((await call('LIST', `${shared}/issuers`)).status, 404);
  assert.equal((await call('LIST', `${shared}/keys`)).status, 404);
});

const keys: [fields: Fields, details: Fields][] = [
  [{ key_type: 'ec', key_bits: 224 }, { namedCurve: 'secp224r1' }],
  [{ key_type: 'ec' }, { namedCurve: 'prime256v1' }],
  [{ key_type: 'ec', key_bits: 384 }, { namedCurve: 'secp384r1' }],
  [{ key_type: 'ec', key_bits: 521 }, { namedCurve: 'secp521r1' }],
  [{ key_type: 'ed25519' }, {}],
  [{ key_type: 'rsa' }, { modulusLength: 2048 }],
  [{ key_type: 'rsa', key_bits: 3072 }, { modulusLength: 3072 }],
  [{ key_type: 'rsa', key_bits: 4096, use_pss: true }, { modulusLength: 4096 }],
];
test('a root has the key that was asked for, signs itself, and gives the key away only where exported', async () => {
  const path = await mount();
  for (const [fields, details] of keys) {
    const why = JSON.stringify(fields);
    const answer = await generate(
      path,
      { ...fields, not_after: '9999-12-31T23:59:59Z' },
      'exported',
    );
    assert.equal(answer.status, 200, `${why}: ${answer.text}`);
    const root = new X509Certificate(answer.textAt('data.certificate'));
    assert.ok(root.ca && root.verify(root.publicKey), why);
    for (const [name, value] of Object.entries(details)) {
      assert.equal(Reflect.get(root.publicKey.asymmetricKeyDetails ?? {}, name), value, why);
    }
    assert.ok(root.checkPrivateKey(createPrivateKey(answer.textAt('data.private_key'))), why);
    assert.equal(answer.field('data.private_key_type'), fields.key_type);
    assert.equal(answer.field('data.expiration'), 253_402_300_799, 'the last second of 9999');
    assert.equal(answer.field('data.issuing_ca'), answer.field('data.certificate'));
    const { raw } = parseCertificate(parsePem(root.toString())[0]?.der ?? new Uint8Array());
    assert.ok(Buffer.from(raw).includes('99991231235959Z'), why);
  }
  const internal = await generate(path);
  assert.equal(internal.field('data.private_key'), undefined);
  const names = Object.keys(internal.field('data') ?? {}).sort();
  assert.deepEqual(names, [
    'certificate',
    'expiration',
    'issuer_id',
    'issuer_name',
    'issuing_ca',
    'key_id',
    'key_name',
    'serial_number',
  ]);
});

test('both paths of root generation and every format make the same kind of answer', async () => {
  const path = await mount();
  for (const [format, labels] of [
    ['pem', ['CERTIFICATE']],
    ['pem_bundle', ['EC PRIVATE KEY', 'CERTIFICATE']],
    ['der', undefined],
  ] as const) {
    const answer = await call('POST', `${path}/issuers/generate/root/exported`, {
      common_name: 'R',
      key_type: 'ec',
      format,
    });
    assert.equal(answer.status, 200, answer.text);
    const text = answer.textAt('data.certificate');
    if (labels === undefined) {
      assert.equal(new X509Certificate(Buffer.from(text, 'base64')).subject, 'CN=R');
      assert.match(answer.textAt('data.private_key'), /^[A-Za-z0-9+/]+=*$/);
    } else {
      assert.deepEqual(
        parsePem(text).map(({ label }) => label),
        labels,
      );
    }
  }
});

test('a root of a key that is there already uses that key', async () => {
  const path = await mount();
  const made = await call('POST', `${path}/keys/generate/internal`, {
    key_type: 'ed25519',
    key_name: 'k',
  });
  assert.equal(made.status, 200, made.text);
  const root = await call('POST', `${path}/root/generate/existing`, {
    common_name: 'R',
    key_ref: 'k',
  });
  assert.equal(root.status, 200, root.text);
  assert.equal(root.field('data.key_id'), made.field('data.key_id'));
  const other = await call('POST', `${path}/root/generate/existing`, {
    common_name: 'R',
    key_ref: 'none',
  });
  assert.ok(other.status >= 400, other.text);
  assert.match(other.text, /unable to find PKI key for reference: none/);
});

test('a second root leaves the default where it is, unless the default follows the latest', async () => {
  const path = await mount();
  const ids: string[] = [];
  const more = async () => ids.push((await generate(path)).textAt('data.issuer_id'));
  const defaultIs = async () =>
    (await call('GET', `${path}/config/issuers`)).textAt('data.default');
  await more();
  await more();
  assert.equal(await defaultIs(), ids[0]);
  await call('POST', `${path}/config/issuers`, {
    default: ids[0],
    default_follows_latest_issuer: true,
  });
  await more();
  assert.equal(await defaultIs(), ids[2]);
  await call('POST', `${path}/config/issuers`, { default: ids[1] });
  await more();
  assert.equal(await defaultIs(), ids[1], 'not following was the default of that write');
});

test('replacing the root makes the issuer named next the default, if there is one', async () => {
  const path = await mount();
  const first = await generate(path, { issuer_name: 'first' });
  const none = await call('POST', `${path}/root/replace`, {});
  assert.equal(none.status, 400, none.text);
  const next = await generate(path, { issuer_name: 'next' });
  const replaced = await call('POST', `${path}/root/replace`, {});
  assert.equal(replaced.field('data.default'), next.field('data.issuer_id'), replaced.text);
  const back = await call('POST', `${path}/root/replace`, { default: 'first' });
  assert.equal(back.field('data.default'), first.field('data.issuer_id'));
});

test('without issuers there is no CA, and certificates are still listed', async () => {
  const path = await mount();
  const root = await generate(path);
  assert.equal((await call('DELETE', `${path}/root`)).status, 200);
  assert.equal((await call('DELETE', `${path}/root`)).status, 200, 'and once more');
  for (const raw of ['ca', 'ca/pem', 'cert/ca/raw']) {
    const answer = await call('GET', `${path}/${raw}`);
    assert.deepEqual([answer.status, answer.text], [204, ''], raw);
  }
  assert.equal((await call('GET', `${path}/cert/ca`)).status, 400);
  const listed = await call('LIST', `${path}/certs`);
  assert.deepEqual(listed.field('data.keys'), [root.textAt('data.serial_number')]);
  assert.equal((await call('LIST', `${path}/keys`)).status, 404);
});

test('a manual chain begins with the issuer itself', async () => {
  const path = await mount();
  const [a = '', b = ''] = await Promise.all(
    ['a', 'b'].map(async (issuer_name) => {
      const made = await generate(path, { issuer_name });
      return made.textAt('data.issuer_id');
    }),
  );
  const set = (manual_chain: string[]) => call('PATCH', `${path}/issuer/a`, { manual_chain });
  const other = await set(['b']);
  assert.equal(other.status, 400);
  assert.match(other.text, /expected first cert in chain to be a self-reference/);
  const own = await set(['self', 'b']);
  assert.equal(own.status, 200, own.text);
  assert.deepEqual(own.field('data.manual_chain'), [a, b]);
  assert.equal(parsePem((await call('GET', `${path}/ca_chain`)).text).length >= 1, true);
  const automatic = await set([]);
  assert.equal(automatic.field('data.manual_chain'), null);
});

test('an issuer can be deleted twice, and the default goes with it', async () => {
  const path = await mount();
  const id = (await generate(path)).textAt('data.issuer_id');
  const first = await call('DELETE', `${path}/issuer/${id}`);
  assert.equal(first.status, 200, first.text);
  assert.match(first.textAt('warnings'), /this was configured as the default issuer/);
  assert.equal((await call('DELETE', `${path}/issuer/${id}`)).status, 200);
  assert.equal((await call('GET', `${path}/config/issuers`)).field('data.default'), '');
  const read = await call('GET', `${path}/issuer/${id}`);
  assert.equal(read.status, 500);
  assert.match(read.text, new RegExp(`unable to find PKI issuer for reference: ${id}`));
  const unnamed = await call('GET', `${path}/issuer/default`);
  assert.equal(unnamed.status, 500);
  assert.match(unnamed.text, /no default issuer currently configured/);
});

test('a key that an issuer uses stays, any other can be deleted, and twice', async () => {
  const path = await mount();
  const root = await generate(path);
  const key = root.textAt('data.key_id');
  const used = await call('DELETE', `${path}/key/${key}`);
  assert.equal(used.status, 400, used.text);
  await call('DELETE', `${path}/issuer/default`);
  const gone = await call('DELETE', `${path}/key/${key}`);
  assert.equal(gone.status, 200, 'it was the default key');
  assert.ok(gone.textAt('warnings') !== '');
  assert.equal((await call('DELETE', `${path}/key/${key}`)).status, 204);
  const read = await call('GET', `${path}/key/${key}`);
  assert.equal(read.status, 500);
  assert.match(read.text, /unable to find PKI key for reference/);
});

test('renaming or deleting an issuer that roles name warns of them', async () => {
  const path = await mount();
  await generate(path, { issuer_name: 'old' });
  for (const role of ['a', 'b']) await call('POST', `${path}/roles/${role}`, { issuer_ref: 'old' });
  await call('POST', `${path}/roles/c`, {});
  const renamed = await call('PATCH', `${path}/issuer/old`, { issuer_name: 'new' });
  assert.equal(renamed.status, 200, renamed.text);
  assert.match(renamed.textAt('warnings'), /2 roles reference old/);
  const again = await call('PATCH', `${path}/issuer/new`, { issuer_name: 'new' });
  assert.doesNotMatch(again.textAt('warnings'), /roles reference/);
  await call('POST', `${path}/roles/a`, { issuer_ref: 'new' });
  const deleted = await call('DELETE', `${path}/issuer/new`);
  assert.equal(deleted.status, 200, deleted.text);
  assert.match(deleted.textAt('warnings'), /1 roles reference new/);
  assert.match(deleted.textAt('warnings'), /1 roles reference default/, 'it was the default');
});

test('POST clears the name that it does not send, PATCH keeps it', async () => {
  const path = await mount();
  const id = (await generate(path, { issuer_name: 'named' })).textAt('data.issuer_id');
  const patched = await call('PATCH', `${path}/issuer/${id}`, {
    leaf_not_after_behavior: 'permit',
  });
  assert.equal(patched.field('data.issuer_name'), 'named', patched.text);
  const posted = await call('POST', `${path}/issuer/${id}`, {});
  assert.equal(posted.field('data.issuer_name'), '');
  assert.equal(posted.field('data.leaf_not_after_behavior'), 'err');
  assert.equal(
    posted.field('data.usage'),
    'crl-signing,issuing-certificates,ocsp-signing,read-only',
  );
});

test('the default issuer cannot be "default", nor nothing, nor one that is not there', async () => {
  const path = await mount();
  await generate(path, { issuer_name: 'a' });
  for (const [body, says] of [
    [
      { default: 'default' },
      /Invalid issuer specification; must be non-empty and can't be 'default'/,
    ],
    [{ default: '' }, /Invalid issuer specification/],
    [{}, /Invalid issuer specification/],
    [{ default: 'none' }, /Error resolving issuer reference/],
  ] as const) {
    const answer = await call('POST', `${path}/config/issuers`, body);
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.text, says);
  }
  const byName = await call('POST', `${path}/config/issuers`, { default: 'a' });
  assert.match(byName.textAt('data.default'), /^[0-9a-f-]{36}$/);
});

test('a URL that is none is refused by the name of its parameter, and changes nothing', async () => {
  const path = await mount();
  await call('POST', `${path}/config/urls`, { ocsp_servers: 'http://o.test' });
  for (const field of ['issuing_certificates', 'crl_distribution_points', 'ocsp_servers']) {
    const bad = await call('POST', `${path}/config/urls`, { [field]: 'no url' });
    assert.equal(bad.status, 400);
    assert.match(
      bad.text,
      new RegExp(`Authority Information Access \\(AIA\\) parameter ${field}: no url`),
    );
  }
  const urls = await call('GET', `${path}/config/urls`);
  assert.deepEqual(urls.field('data.ocsp_servers'), ['http://o.test']);
});

test('a weak key that was imported is in no root', async () => {
  const path = await mount();
  for (const [options, says] of [
    [{ modulusLength: 1024 }, /RSA keys < 2048 bits are unsafe/],
    [{ modulusLength: 2048, publicExponent: 3 }, /refusing to certify a weak key/],
  ] as const) {
    const { privateKey } = generateKeyPairSync('rsa', options);
    const pem_bundle = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const imported = await call('POST', `${path}/keys/import`, { pem_bundle });
    const asked = { common_name: 'R', key_ref: imported.textAt('data.key_id') };
    const refused = await call('POST', `${path}/root/generate/existing`, asked);
    assert.equal(refused.status, 400, refused.text);
    assert.match(refused.text, says);
  }
});
