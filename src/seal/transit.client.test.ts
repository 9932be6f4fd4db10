import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startHostileTls } from '../../test/support/hostile-vault.ts';
import { inReverse, newDirectory } from '../../test/support/node-process.ts';
import { withOpenssl } from '../../test/support/openssl.ts';
import { encryptByTransit } from './transit.client.ts';

const pair = { cert: '', key: '' };
withOpenssl(({ must, read }) => {
  const key = ['-newkey', 'rsa:2048', '-nodes'];
  const subject = ['-subj', '/CN=vault.test', '-addext', 'subjectAltName=DNS:vault.test'];
  must('req', '-x509', ...key, ...subject, '-days', '2', '-keyout', 'k', '-out', 'c');
  pair.cert = Buffer.from(read('c')).toString('utf8');
  pair.key = Buffer.from(read('k')).toString('utf8');
});

const exchanges: [ciphers: string, isSpokenTo: boolean][] = [
  ['DHE-RSA-AES128-GCM-SHA256', false],
  ['ECDHE-RSA-AES128-GCM-SHA256', true],
];
for (const [ciphers, isSpokenTo] of exchanges) {
  test(`an engine whose server agrees by ${ciphers} is ${isSpokenTo ? '' : 'not '}spoken to`, async (t) => {
    const scope = inReverse(t);
    const options = { ...pair, ciphers, maxVersion: 'TLSv1.2', dhparam: 'auto' } as const;
    const body = JSON.stringify({ data: { ciphertext: 'vault:v1:AA==' } });
    const answer = `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`;
    const server = await startHostileTls(options, (socket) => void socket.end(answer));
    scope.after(() => server.stop());
    const tls_ca_cert = join(newDirectory(scope), 'ca.pem');
    writeFileSync(tls_ca_cert, pair.cert);
    const asked = encryptByTransit(
      {
        ...{ type: 'transit', address: `https://${server.at}`, token: 's.token', key_name: 'k' },
        ...{ mount_path: 'transit', namespace: undefined },
        ...{ tls_ca_cert, tls_server_name: 'vault.test' },
      },
      new Uint8Array(32),
    );
    if (isSpokenTo) assert.equal(Buffer.from(await asked).toString(), 'vault:v1:AA==');
    else await assert.rejects(asked, { kind: 'unavailable' });
  });
}
