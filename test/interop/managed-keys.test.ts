/** Authorities whose keys SoftHSM has, from the API to OpenSSL. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, renameSync } from 'node:fs';
import { test } from 'node:test';
import { inReverse, newDirectory } from '../support/node-process.ts';
import { withOpenssl } from '../support/openssl.ts';
import { startTestServer } from '../support/server.ts';
import { findSoftHsm, makeSoftToken, PIN } from '../support/softhsm.ts';

const { path: library, skip } = findSoftHsm();

const kinds: [name: string, key: object][] = [
  ['rsa', { mechanism: '0x0001', key_bits: '2048' }],
  ['pss', { mechanism: '0x000d', key_bits: '2048' }],
  ['pss of a token that hashes', { mechanism: '0x44', key_bits: '2048' }],
  ['p256', { mechanism: '4161', curve: 'P256' }],
  ['p384', { mechanism: '0x1041', curve: 'P384' }],
  ['p521', { mechanism: '0x1041', curve: 'P521' }],
  ['ed25519', { mechanism: '0x1057' }],
];

async function openServer(t: Parameters<typeof inReverse>[0]) {
  const scope = inReverse(t);
  const token = makeSoftToken(scope);
  const kms_library = [{ name: 'soft', type: 'pkcs11' as const, library, timeout_ms: 20_000 }];
  const { call } = await startTestServer(scope, { config: { kms_library } });
  return { call, token };
}

for (const [name, key] of kinds) {
  test(`${name}: root, leaf, CRL and OCSP of a key in a token verify with OpenSSL`, {
    skip,
  }, async (t) => {
    const { call, token } = await openServer(t);
    const at = name.replaceAll(' ', '-');
    const written = await call('POST', `sys/managed-keys/pkcs11/${at}`, {
      ...{ library: 'soft', slot: token.slot, pin: PIN, key_label: name, key_id: '0x0a0b' },
      ...{ allow_generate_key: true, any_mount: true, ...key },
    });
    assert.equal(written.status, 204, written.text);
    assert.equal((await call('POST', `sys/managed-keys/pkcs11/${at}/test/sign`)).status, 204);
    await call('POST', 'sys/mounts/hsm', { type: 'pki' });
    const root = await call('POST', 'hsm/root/generate/kms', {
      ...{ common_name: `Root ${name}`, managed_key_name: at },
      ...{ key_usage: 'CertSign,CRLSign,DigitalSignature' },
    });
    assert.equal(root.status, 200, root.text);
    await call('POST', 'hsm/roles/any', { allow_any_name: true, key_type: 'ec', key_bits: 256 });
    const issue = { common_name: 'a.test', ttl: '1h' };
    const [leaf, revoked] = [
      await call('POST', 'hsm/issue/any', issue),
      await call('POST', 'hsm/issue/any', issue),
    ];
    assert.equal(leaf.status, 200, leaf.text);
    const serial_number = revoked.textAt('data.serial_number');
    assert.equal((await call('POST', 'hsm/revoke', { serial_number })).status, 200);
    const crl = await call('GET', 'hsm/crl/pem');
    const responses: [string, Uint8Array][] = [];
    withOpenssl((openssl) => {
      openssl.write('root.pem', root.textAt('data.certificate'));
      openssl.write('leaf.pem', leaf.textAt('data.certificate'));
      openssl.write('revoked.pem', revoked.textAt('data.certificate'));
      openssl.write('crl.pem', crl.text);
      openssl.must('verify', '-CAfile', 'root.pem', 'root.pem');
      const checked = ['-CAfile', 'root.pem', '-CRLfile', 'crl.pem', '-crl_check'];
      openssl.must('verify', ...checked, 'leaf.pem');
      assert.match(openssl.run('verify', ...checked, 'revoked.pem').text, /certificate revoked/);
      assert.match(openssl.must('crl', '-in', 'crl.pem', '-CAfile', 'root.pem'), /verify OK/);
      for (const one of ['leaf', 'revoked']) {
        const asked = ['-issuer', 'root.pem', '-cert', `${one}.pem`, '-reqout', `${one}.req`];
        openssl.must('ocsp', ...asked);
        responses.push([one, openssl.read(`${one}.req`)]);
      }
    });
    for (const [one, body] of responses) {
      const answer = await call('POST', 'hsm/ocsp', body, {
        headers: { 'content-type': 'application/ocsp-request' },
      });
      withOpenssl((openssl) => {
        openssl.write('root.pem', root.textAt('data.certificate'));
        openssl.write('cert.pem', (one === 'leaf' ? leaf : revoked).textAt('data.certificate'));
        openssl.write('answer.der', answer.bytes);
        const asked = ['-issuer', 'root.pem', '-cert', 'cert.pem', '-CAfile', 'root.pem'];
        const told = openssl.must('ocsp', '-respin', 'answer.der', ...asked, '-no_nonce');
        assert.match(told, one === 'leaf' ? /cert.pem: good/ : /cert.pem: revoked/);
      });
    }
  });
}

test('many first uses at once leave one key in the token', { skip }, async (t) => {
  const { call, token } = await openServer(t);
  for (const name of ['first', 'also-first']) {
    await call('POST', `sys/managed-keys/pkcs11/${name}`, {
      ...{ library: 'soft', slot: token.slot, pin: PIN, key_label: 'first', any_mount: true },
      ...{ mechanism: '0x1041', curve: 'P256', allow_generate_key: true },
    });
  }
  const use = (name: string) => call('POST', `sys/managed-keys/pkcs11/${name}/test/sign`);
  const names = ['first', 'also-first', 'first', 'also-first', 'first'];
  for (const { status, text } of await Promise.all(names.map(use))) assert.equal(status, 204, text);
  const after = await use('first');
  assert.equal(after.status, 204, after.text);
});

test('an authority goes on with its key of SoftHSM beside others of its label', {
  skip,
}, async (t) => {
  const { call, token } = await openServer(t);
  const write = (name: string, more: object) =>
    call('POST', `sys/managed-keys/pkcs11/${name}`, {
      ...{ library: 'soft', slot: token.slot, pin: PIN, key_label: 'one', any_mount: true },
      ...{ allow_generate_key: true, ...more },
    });
  await write('used', { mechanism: '0x1041', curve: 'P521' });
  await call('POST', 'sys/mounts/hsm', { type: 'pki' });
  const take = () =>
    call('POST', 'hsm/root/generate/kms', { common_name: 'r', managed_key_name: 'used' });
  assert.equal((await take()).status, 200);
  for (const [at, more] of [
    { mechanism: '0x1041', curve: 'P521' },
    { mechanism: '0x1041', curve: 'P256' },
    { mechanism: '0x1', key_bits: '2048' },
    { mechanism: '0x1057' },
  ].entries()) {
    await write(`other-${at}`, { ...more, key_id: `0x0${at}` });
    const made = await call('POST', `sys/managed-keys/pkcs11/other-${at}/test/sign`);
    assert.equal(made.status, 204, made.text);
  }
  // So that what the key was found as is forgotten: another PIN ends what the module has open.
  await write('wrong', { mechanism: '0x1057', pin: '0000' });
  assert.equal((await call('POST', 'sys/managed-keys/pkcs11/wrong/test/sign')).status, 503);
  const again = await call('POST', 'hsm/root/generate/existing', { common_name: 'r' });
  assert.equal(again.status, 200, again.text);
  const refused = await take();
  assert.equal(refused.status, 503, refused.text);
  assert.match(refused.text, /several keys .*CKA_ID: (?:0x[0-9a-f]+, ){3}0x[0-9a-f]+\).*key_id/);
});

test('an RSA key of PSS signs with every hash, and nothing else', { skip }, async (t) => {
  const { call, token } = await openServer(t);
  await call('POST', 'sys/managed-keys/pkcs11/pss', {
    ...{ library: 'soft', slot: token.slot, pin: PIN, key_label: 'pss', any_mount: true },
    ...{ mechanism: '0x000d', key_bits: '2048', allow_generate_key: true },
  });
  for (const hash_algorithm of ['sha2-256', 'sha2-384', 'sha2-512']) {
    const asked = { hash_algorithm, use_pss: true };
    const tested = await call('POST', 'sys/managed-keys/pkcs11/pss/test/sign', asked);
    assert.equal(tested.status, 204, tested.text);
  }
  await call('POST', 'sys/mounts/hsm', { type: 'pki' });
  const body = { common_name: 'Root', managed_key_name: 'pss', use_pss: false };
  const root = await call('POST', 'hsm/root/generate/kms', body);
  assert.equal(algorithmOf('x509', root.textAt('data.certificate')), 'sha256 PSS');
  const issuer = 'hsm/issuer/default';
  const other = { revocation_signature_algorithm: 'SHA256WithRSA' };
  const refused = await call('PATCH', issuer, other);
  assert.equal(refused.status, 400, refused.text);
  assert.match(refused.text, /its device signs PSS alone/);
  const longer = { revocation_signature_algorithm: 'SHA512WithRSAPSS' };
  assert.equal((await call('PATCH', issuer, longer)).status, 200);
  assert.equal((await call('GET', 'hsm/crl/rotate')).status, 200);
  assert.equal(algorithmOf('crl', (await call('GET', 'hsm/crl/pem')).text), 'sha512 PSS');
  await call('POST', 'hsm/roles/long', { allow_any_name: true, signature_bits: 384 });
  const leaf = await call('POST', 'hsm/issue/long', { common_name: 'a.test', ttl: '1h' });
  assert.equal(algorithmOf('x509', leaf.textAt('data.certificate')), 'sha384 PSS');
});

/** As OpenSSL tells it. */
function algorithmOf(kind: 'x509' | 'crl' | 'req', pem: string): string {
  let found = '';
  withOpenssl((openssl) => {
    openssl.write('it.pem', pem);
    const text = openssl.must(kind, '-in', 'it.pem', '-noout', '-text');
    const [, named = ''] = /Signature Algorithm: (\S+)/.exec(text) ?? [];
    const [, hash = ''] = /Hash Algorithm: (\S+)/.exec(text) ?? [];
    found = named === 'rsassaPss' ? `${hash} PSS` : named;
  });
  return found;
}

test('an intermediate of a PSS key in a token below a root of another verifies with OpenSSL', {
  skip,
}, async (t) => {
  const { call, token } = await openServer(t);
  for (const name of ['above', 'below']) {
    await call('POST', `sys/managed-keys/pkcs11/${name}`, {
      ...{ library: 'soft', slot: token.slot, pin: PIN, key_label: name, any_mount: true },
      ...{ mechanism: '0xd', key_bits: '2048', allow_generate_key: true },
    });
    await call('POST', `sys/mounts/${name}`, { type: 'pki' });
  }
  const root = await call('POST', 'above/root/generate/kms', {
    ...{ common_name: 'Root', managed_key_name: 'above', ttl: '99h' },
  });
  const made = await call('POST', 'below/intermediate/generate/kms', {
    ...{ common_name: 'Below', managed_key_name: 'below' },
  });
  const csr = made.textAt('data.csr');
  assert.equal(algorithmOf('req', csr), 'sha256 PSS');
  const signed = await call('POST', 'above/root/sign-intermediate', {
    ...{ csr, ttl: '90h', use_csr_values: true },
  });
  assert.equal(signed.status, 200, signed.text);
  const certificate = signed.textAt('data.certificate');
  assert.equal(algorithmOf('x509', certificate), 'sha256 PSS');
  const set = await call('POST', 'below/intermediate/set-signed', { certificate });
  assert.equal(set.status, 200, set.text);
  await call('POST', 'below/roles/any', { allow_any_name: true });
  const leaf = await call('POST', 'below/issue/any', { common_name: 'a.test', ttl: '1h' });
  assert.equal(leaf.status, 200, leaf.text);
  const crl = await call('GET', 'below/crl/pem');
  let request: Uint8Array = new Uint8Array();
  withOpenssl((openssl) => {
    openssl.write('root.pem', root.textAt('data.certificate'));
    openssl.write('below.pem', certificate);
    openssl.write('leaf.pem', leaf.textAt('data.certificate'));
    openssl.write('crl.pem', crl.text);
    openssl.write('below.csr', csr);
    openssl.must('req', '-in', 'below.csr', '-verify', '-noout');
    openssl.must('verify', '-CAfile', 'root.pem', '-untrusted', 'below.pem', 'leaf.pem');
    assert.match(openssl.must('crl', '-in', 'crl.pem', '-CAfile', 'below.pem'), /verify OK/);
    const asked = ['-issuer', 'below.pem', '-cert', 'leaf.pem', '-reqout', 'leaf.req'];
    openssl.must('ocsp', ...asked);
    request = openssl.read('leaf.req');
  });
  const delegated = await call('POST', 'below/config/crl', { ocsp_delegated_responder: true });
  assert.equal(delegated.status, 200, delegated.text);
  const headers = { 'content-type': 'application/ocsp-request' };
  const answer = await call('POST', 'below/ocsp', request, { headers });
  withOpenssl((openssl) => {
    openssl.write('above.pem', `${certificate}\n${root.textAt('data.certificate')}`);
    openssl.write('below.pem', certificate);
    openssl.write('leaf.pem', leaf.textAt('data.certificate'));
    openssl.write('answer.der', answer.bytes);
    const asked = ['-issuer', 'below.pem', '-cert', 'leaf.pem', '-CAfile', 'above.pem'];
    const told = openssl.must('ocsp', '-respin', 'answer.der', ...asked, '-no_nonce');
    assert.match(told, /leaf.pem: good/);
  });
});

test('an authority whose key is said to sign PSS from now on does so, and the other way around', {
  skip,
}, async (t) => {
  const { call, token } = await openServer(t);
  const say = async (mechanism: string): Promise<void> => {
    const written = await call('POST', 'sys/managed-keys/pkcs11/both', {
      ...{ library: 'soft', slot: token.slot, pin: PIN, key_label: 'both', any_mount: true },
      ...{ mechanism, key_bits: '2048', allow_generate_key: true },
    });
    assert.equal(written.status, 204, written.text);
  };
  await say('0x1');
  await call('POST', 'sys/mounts/hsm', { type: 'pki' });
  const body = { common_name: 'Root', managed_key_name: 'both' };
  assert.equal((await call('POST', 'hsm/root/generate/kms', body)).status, 200);
  await call('POST', 'hsm/roles/any', { allow_any_name: true });
  const signs = async (): Promise<string[]> => {
    const leaf = await call('POST', 'hsm/issue/any', { common_name: 'a.test', ttl: '1h' });
    assert.equal((await call('GET', 'hsm/crl/rotate')).status, 200);
    const crl = (await call('GET', 'hsm/crl/pem')).text;
    return [algorithmOf('x509', leaf.textAt('data.certificate')), algorithmOf('crl', crl)];
  };
  const v15 = 'sha256WithRSAEncryption';
  assert.deepEqual(await signs(), [v15, v15]);
  await call('POST', 'hsm/roles/pss', { allow_any_name: true, use_pss: true });
  const never = await call('POST', 'hsm/issue/pss', { common_name: 'a.test', ttl: '1h' });
  assert.equal(never.status, 400);
  assert.match(never.text, /does not sign SHA256WithRSAPSS: its mechanism is 0x1/);
  await say('0xd');
  assert.deepEqual(await signs(), ['sha256 PSS', 'sha256 PSS']);
  await say('0x45');
  assert.deepEqual(await signs(), ['sha512 PSS', 'sha512 PSS']);
  await say('0x1');
  assert.deepEqual(await signs(), [v15, v15]);
});

test('the key of a seal is in a token, and the data opens with it alone', { skip }, async (t) => {
  const scope = inReverse(t);
  const token = makeSoftToken(scope, 'seals');
  const directory = newDirectory(scope);
  const ends: (() => Promise<void>)[] = [];
  const start = () =>
    startTestServer(
      { after: (end) => void ends.push(end) },
      {
        directory,
        config: {
          ...{ mode: 'server', dev_root_token: undefined },
          kms_library: [{ name: 'soft', type: 'pkcs11', library, timeout_ms: 20_000 }],
          seal: {
            ...{ type: 'pkcs11', library: 'soft', slot: undefined, token_label: 'seals' },
            ...{ pin: PIN, key_label: 'seal', generate_key: true },
          },
        },
      },
    );
  scope.after(async () => {
    for (const end of ends.splice(0)) await end();
  });
  const first = await start();
  const made = await first.call('PUT', 'sys/init', {});
  assert.equal(made.status, 200, made.text);
  for (const end of ends.splice(0)) await end();
  const second = await start();
  assert.equal((await second.call('GET', 'sys/seal-status')).field('sealed'), false);
  for (const end of ends.splice(0)) await end();
  renameSync(token.folder, `${token.folder}-gone`);
  await assert.rejects(start(), { kind: 'unavailable' });
});

/** The processes that this one has started with the module in them. */
function modulesOf(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').trim().split(' '),
  );
  return children
    .filter((one) => one !== '' && readFileSync(`/proc/${one}/cmdline`, 'utf8').includes(library))
    .map(Number);
}

test('a module whose process is killed is loaded anew, and has its PIN in no argument or variable', {
  skip: skip || (process.platform !== 'linux' && 'there is no /proc'),
}, async (t) => {
  const { call, token } = await openServer(t);
  await call('POST', 'sys/managed-keys/pkcs11/killed', {
    ...{ library: 'soft', token_label: token.token_label, pin: PIN, key_label: 'killed' },
    ...{ mechanism: '0xd', key_bits: '2048', allow_generate_key: true, any_mount: true },
  });
  await call('POST', 'sys/mounts/hsm', { type: 'pki' });
  const body = { common_name: 'Root', managed_key_name: 'killed', ttl: '10h' };
  assert.equal((await call('POST', 'hsm/root/generate/kms', body)).status, 200);
  await call('POST', 'hsm/roles/any', { allow_any_name: true });
  for (let round = 0; round < 2; round += 1) {
    const [module, ...others] = modulesOf(process.pid);
    assert.ok(module !== undefined && others.length === 0);
    for (const file of ['cmdline', 'environ']) {
      const words: string[] = readFileSync(`/proc/${module}/${file}`, 'utf8').split(/[\0=]/);
      assert.ok(words.length > 1 && !words.includes(PIN), file);
    }
    process.kill(module, 'SIGKILL');
    const leaf = await call('POST', 'hsm/issue/any', { common_name: 'a.test', ttl: '1h' });
    assert.equal(leaf.status, 200, leaf.text);
    assert.notEqual(modulesOf(process.pid)[0], module);
  }
});

test('a token that goes away is 503, and its return is found without anybody’s doing', {
  skip,
}, async (t) => {
  const { call, token } = await openServer(t);
  await call('POST', 'sys/managed-keys/pkcs11/gone', {
    ...{ library: 'soft', token_label: token.token_label, pin: PIN, key_label: 'gone' },
    ...{ mechanism: '0x1041', curve: 'P256', allow_generate_key: true, any_mount: true },
  });
  await call('POST', 'sys/mounts/hsm', { type: 'pki' });
  const body = { common_name: 'Root', managed_key_name: 'gone', ttl: '10h' };
  assert.equal((await call('POST', 'hsm/root/generate/kms', body)).status, 200);
  await call('POST', 'hsm/roles/any', { allow_any_name: true });
  const issue = () => call('POST', 'hsm/issue/any', { common_name: 'a.test', ttl: '1h' });
  assert.equal((await issue()).status, 200);
  renameSync(token.folder, `${token.folder}-gone`);
  const gone = await issue();
  assert.equal(gone.status, 503, gone.text);
  assert.ok(!gone.text.includes(PIN));
  renameSync(`${token.folder}-gone`, token.folder);
  for (let tries = 0; (await issue()).status !== 200; tries += 1) {
    assert.ok(tries < 50);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
});
