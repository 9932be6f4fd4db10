import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import type { TlsOptions } from 'node:tls';
import { startHostile, startHostileTls } from '../../../../test/support/hostile-vault.ts';
import { withOpenssl } from '../../../../test/support/openssl.ts';
import { DEV_DEFAULTS, devConfig } from '../../../config/config.ts';
import { type VaultConnection, VaultFault } from './answer.ts';
import { askVault, findUnusableField } from './client.ts';
import { SecureContexts } from './secure-contexts.client.ts';

const [honest, named, explicit] = makeCertificates();
const [whole, relative] = makePointed();

/** The server's own, and two beside it on the same curve: by its name, and described. */
function makeCertificates(): { cert: string; key: string }[] {
  const made: { cert: string; key: string }[] = [];
  withOpenssl(({ must, read }) => {
    for (const encoding of ['named_curve', 'named_curve', 'explicit']) {
      const parameters = ['-name', 'prime256v1', '-param_enc', encoding, '-noout'];
      must('ecparam', ...parameters, '-genkey', '-out', 'k');
      const subject = ['-subj', '/CN=vault.test', '-addext', 'subjectAltName=DNS:vault.test'];
      must('req', '-x509', '-key', 'k', ...subject, '-days', '2', '-out', 'c');
      const [cert, key] = [read('c'), read('k')].map((file) => Buffer.from(file).toString('utf8'));
      made.push({ cert: cert ?? '', key: key ?? '' });
    }
  });
  return made;
}

/** Two with a CRL distribution point: by an address, and by a name that follows the issuer's. */
function makePointed(): string[] {
  const made: string[] = [];
  withOpenssl(({ must, read, write }) => {
    must('ecparam', '-name', 'prime256v1', '-noout', '-genkey', '-out', 'k');
    for (const point of ['fullname = URI:http://ca.test/crl', 'relativename = last']) {
      const sections = [
        '[ext]',
        'crlDistributionPoints = point',
        '[point]',
        point,
        '[last]',
        'CN = a',
      ];
      write('config', ['[req]', 'distinguished_name = name', '[name]', ...sections].join('\n'));
      const subject = ['-subj', '/CN=vault.test', '-extensions', 'ext', '-config', 'config'];
      must('req', '-x509', '-key', 'k', ...subject, '-days', '2', '-out', 'c');
      made.push(Buffer.from(read('c')).toString('utf8'));
    }
  });
  return made;
}

const closers: (() => Promise<void> | void)[] = [];
const app = {
  config: devConfig(DEV_DEFAULTS),
  log: { warn() {} },
  barrier: { sealed: false, onSeal: () => {} },
  onClose: (close: () => Promise<void> | void) => void closers.push(close),
};
after(async () => {
  for (const close of closers) await close();
});

const connectionTo = (address: string): VaultConnection => ({
  address,
  namespace: '',
  ca_cert: honest?.cert ?? '',
  tls_server_name: 'vault.test',
  tls_skip_verify: false,
  client_certificate: '',
  client_certificate_key: '',
  token: 'good',
});

/** What came of asking a server: its answer, or the kind of fault. */
async function ask(at: string): Promise<string> {
  try {
    const connection = connectionTo(`https://${at}`);
    await askVault(app, connection, { method: 'GET', path: 'auth/token/lookup-self' });
    return 'answer';
  } catch (error) {
    if (error instanceof VaultFault) return error.kind;
    throw error;
  }
}

async function serve(options: TlsOptions, beside = ''): Promise<string> {
  const server = await startHostileTls(
    { key: honest?.key, cert: `${honest?.cert}\n${beside}`, ...options },
    (socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'),
  );
  closers.push(() => server.stop());
  return server.at;
}

/** Passes on what a server sends, three bytes at a time. */
async function serveInPieces(at: string): Promise<string> {
  const [host, port] = at.split(':');
  const server = await startHostile((socket) => {
    const behind = connect(Number(port), host);
    socket.setNoDelay(true);
    socket.pipe(behind).on('error', () => socket.destroy());
    behind.on('data', (come: Buffer) => {
      for (let from = 0; from < come.length; from += 3) socket.write(come.subarray(from, from + 3));
    });
    behind.on('end', () => socket.end());
    socket.on('close', () => behind.destroy());
  });
  closers.push(() => server.stop());
  return server.at;
}

const only13 = { minVersion: 'TLSv1.3' } as const;
const WAYS: [how: string, options: TlsOptions][] = [
  ['in TLS 1.3 by AES-128', { ...only13, ciphers: 'TLS_AES_128_GCM_SHA256' }],
  ['in TLS 1.3 by AES-256', { ...only13, ciphers: 'TLS_AES_256_GCM_SHA384' }],
  ['in TLS 1.3 by ChaCha20', { ...only13, ciphers: 'TLS_CHACHA20_POLY1305_SHA256' }],
  ['after another hello in TLS 1.3', { ...only13, ecdhCurve: 'P-384' }],
  [
    'in TLS 1.3 by a server that asks for a certificate',
    { ...only13, requestCert: true, rejectUnauthorized: false },
  ],
  ['in TLS 1.2', { maxVersion: 'TLSv1.2' }],
];
for (const [how, options] of WAYS) {
  for (const inPieces of [false, true]) {
    const manner = `${how}${inPieces ? ', in pieces' : ''}`;
    const served = async (beside: string): Promise<string> => {
      const at = await serve(options, beside);
      return inPieces ? serveInPieces(at) : at;
    };
    test(`a certificate on a named curve is taken ${manner}`, async () => {
      assert.equal(await ask(await served(named?.cert ?? '')), 'answer');
    });
    test(`a certificate on a curve of its own is refused ${manner}`, async () => {
      assert.equal(await ask(await served(explicit?.cert ?? '')), 'untrusted');
    });
    test(`a certificate with the address of a list is taken ${manner}`, async () => {
      assert.equal(await ask(await served(whole ?? '')), 'answer');
    });
    test(`a certificate with a relative name of a list is refused ${manner}`, async () => {
      assert.equal(await ask(await served(relative ?? '')), 'untrusted');
    });
  }
}

test('a server that greets in another protocol, and waits, is none', async () => {
  const other = await startHostile((socket) => void socket.write('SSH-2.0-OpenSSH_9.9\r\n'));
  closers.push(() => other.stop());
  const asked = askVault(app, connectionTo(`https://${other.at}`), {
    method: 'GET',
    path: 'auth/token/lookup-self',
  });
  await assert.rejects(asked, /does not speak TLS/);
});

test('certificates of a store that take long are named before anybody is asked', () => {
  const store = connectionTo('https://vault.test');
  for (const [beside, isUsable] of [
    [whole, true],
    [relative, false],
  ] as const) {
    const both = `${honest?.cert}\n${beside}`;
    const own = { client_certificate: both, client_certificate_key: honest?.key ?? '' };
    const named = (field: string): string | undefined => (isUsable ? undefined : field);
    assert.equal(findUnusableField({ ...store, ca_cert: both }), named('ca_cert'));
    assert.equal(findUnusableField({ ...store, ...own }), named('client_certificate'));
  }
});

test('of a store that was written before, certificates that take long are not read either', () => {
  const contexts = new SecureContexts();
  const stored = connectionTo('https://vault.test');
  contexts.get({ ...stored, ca_cert: `${honest?.cert}\n${named?.cert}\n${whole}` });
  for (const field of ['ca_cert', 'client_certificate']) {
    for (const slow of [explicit?.cert, relative]) {
      assert.throws(
        () => contexts.get({ ...stored, [field]: `${honest?.cert}\n${slow}` }),
        (error) => error instanceof VaultFault && error.kind === 'untrusted',
      );
    }
  }
  assert.equal(contexts.made, 1);
});

test('as much is kept as certificates may take once they are read, 48 times the bytes of their PEM', () => {
  const stored = connectionTo('https://vault.test');
  const ROOM = (64 << 20) / 48;
  const storeOf = (at: number, characters: number) => {
    const ca_cert = `${honest?.cert}\n${'\n'.repeat(at)}`.padEnd(characters, ' ');
    return { ...stored, ca_cert };
  };
  const contexts = new SecureContexts();
  const ask = (...numbers: number[]): number => {
    for (const at of numbers) contexts.get(storeOf(at, Math.floor(ROOM / 5.1)));
    return contexts.made;
  };
  assert.equal(ask(0, 1, 2, 3, 4), 5);
  assert.equal(ask(0, 1, 2, 3, 4), 5, 'five times a fifth of the room');
  assert.equal(ask(5, 5), 6, 'one more');
  assert.equal(ask(0), 7, 'the first one had to go');
  for (let asked = 0; asked < 2; asked += 1) contexts.get(storeOf(0, Math.floor(ROOM / 2.1)));
  assert.equal(contexts.made, 8, 'one that takes nearly half of the room');
});
