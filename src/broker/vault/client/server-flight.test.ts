import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { startHostileTls } from '../../../../test/support/hostile-vault.ts';
import { withOpenssl } from '../../../../test/support/openssl.ts';
import { VaultFault } from './answer.ts';
import { findHandshakeSecret, type HandshakeSecret, ServerFlight } from './server-flight.ts';

const MOST = 32 << 10;

/** Bytes that a server sent until hands were shaken, and its secret. */
interface Flight {
  bytes: Buffer;
  secret: HandshakeSecret;
}

async function record(encoding: 'named_curve' | 'explicit'): Promise<Flight> {
  let [cert, key] = ['', ''];
  withOpenssl(({ must, read }) => {
    must(
      'ecparam',
      '-name',
      'prime256v1',
      '-param_enc',
      encoding,
      '-noout',
      '-genkey',
      '-out',
      'k',
    );
    must('req', '-x509', '-key', 'k', '-subj', '/CN=a', '-days', '2', '-out', 'c');
    must('ecparam', '-name', 'prime256v1', '-noout', '-genkey', '-out', 'own');
    must('req', '-x509', '-key', 'own', '-subj', '/CN=b', '-days', '2', '-out', 'first');
    cert = ['first', 'c'].map((name) => Buffer.from(read(name)).toString('utf8')).join('\n');
    key = Buffer.from(read('own')).toString('utf8');
  });
  const server = await startHostileTls({ cert, key, minVersion: 'TLSv1.3' }, () => {});
  const [host, port] = server.at.split(':');
  const raw = connect(Number(port), host);
  const come: Buffer[] = [];
  // The library reads a socket itself, and any other stream as it comes.
  const socket = new Duplex({
    read: () => {},
    write: (part, _encoding, done) => void raw.write(part, done),
  });
  raw.on('data', (part: Buffer) => {
    come.push(part);
    socket.push(part);
  });
  const secured = connectTls({ socket, rejectUnauthorized: false });
  // Given up below, which is none of the server's.
  secured.on('error', () => {});
  let secret: HandshakeSecret | undefined;
  secured.on('keylog', (line) => {
    secret ??= findHandshakeSecret(line, () => secured.getCipher().standardName);
  });
  await new Promise((resolve) => secured.once('secureConnect', resolve));
  secured.destroy();
  raw.destroy();
  await server.stop();
  assert.ok(secret);
  return { bytes: Buffer.concat(come), secret };
}

const NOTHING = Buffer.alloc(0);
const APPLICATION_DATA = 23;
const honest = await record('named_curve');
const costly = await record('explicit');

/** Where the first record of a type begins. */
function beginOf(type: number, bytes: Buffer): number {
  let at = 0;
  while (bytes[at] !== type) at += 5 + bytes.readUInt16BE(at + 3);
  return at;
}
const isUntrusted = (error: unknown): boolean =>
  error instanceof VaultFault && error.kind === 'untrusted';
const isMalformed = (error: unknown): boolean =>
  error instanceof VaultFault && error.kind === 'malformed';

for (const piece of [1, 7, 1_000, MOST]) {
  test(`in pieces of ${piece}, nothing encrypted is handed on before its key is known, and then all`, () => {
    const flight = new ServerFlight(MOST);
    const clear: Buffer[] = [];
    for (let at = 0; at < honest.bytes.length; at += piece) {
      clear.push(flight.clear(honest.bytes.subarray(at, at + piece)));
    }
    const begin = beginOf(APPLICATION_DATA, honest.bytes);
    assert.deepEqual(Buffer.concat(clear), honest.bytes.subarray(0, begin));
    flight.learn(honest.secret);
    assert.deepEqual(flight.clear(NOTHING), honest.bytes.subarray(begin));
  });

  test(`in pieces of ${piece}, a certificate on a curve of its own is refused before its end`, () => {
    const flight = new ServerFlight(MOST);
    const begin = beginOf(APPLICATION_DATA, costly.bytes);
    assert.equal(flight.clear(costly.bytes.subarray(0, begin)).length, begin);
    flight.learn(costly.secret);
    const rest = costly.bytes.subarray(begin);
    assert.throws(() => {
      for (let at = 0; at < rest.length; at += piece) flight.clear(rest.subarray(at, at + piece));
    }, isUntrusted);
  });
}

test('what comes after hands were shaken is not looked at', () => {
  const flight = new ServerFlight(MOST);
  flight.learn(honest.secret);
  flight.clear(honest.bytes);
  const later = Buffer.concat([Buffer.of(APPLICATION_DATA, 3, 3, 0, 1), Buffer.alloc(100_000)]);
  assert.deepEqual(flight.clear(later), later);
});

const refusals: [why: string, secret: Partial<HandshakeSecret>, bytes: Buffer][] = [
  ['another key', { secret: costly.secret.secret }, honest.bytes],
  ['a cipher that was not offered', { suite: 'TLS_AES_128_CCM_SHA256' }, honest.bytes],
  ['a changed byte', {}, Buffer.from(honest.bytes).fill(1, honest.bytes.length - 9)],
  [
    'one that is shorter than its tag',
    {},
    Buffer.concat([
      honest.bytes.subarray(0, beginOf(APPLICATION_DATA, honest.bytes)),
      Buffer.of(APPLICATION_DATA, 3, 3, 0, 1, 22),
    ]),
  ],
];
for (const [why, secret, bytes] of refusals) {
  test(`what cannot be decrypted is refused: ${why}`, () => {
    const flight = new ServerFlight(MOST);
    flight.learn({ ...honest.secret, ...secret });
    assert.throws(() => flight.clear(bytes), isMalformed);
  });
}

const HANDSHAKE = 22;
/** A record of one message that has a byte. */
const messageOf = (type: number): Buffer => Buffer.of(HANDSHAKE, 3, 3, 0, 5, type, 0, 0, 1, 0);

const firsts: [why: string, bytes: Buffer, kind: string | undefined][] = [
  ['an alert', Buffer.of(21, 3, 3, 0, 2, 2, 40), undefined],
  ['an alert of an older version', Buffer.of(21, 3, 1, 0, 2, 2, 70), undefined],
  ['HTTP', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'), 'unreachable'],
  ['the greeting of another protocol', Buffer.from('SSH-2.0-a\r\n'), 'unreachable'],
  ['HTTP behind an alert', Buffer.from('\x15\x03\x03\0\x02\x01\0HTTP/'), 'unreachable'],
  ['the status of a certificate', messageOf(22), undefined],
  ['a compressed certificate', messageOf(25), 'malformed'],
];
for (const [why, bytes, kind] of firsts) {
  test(`what a server begins with is ${kind ?? 'handed on'} as soon as it comes: ${why}`, () => {
    const flight = new ServerFlight(MOST);
    if (kind === undefined) assert.deepEqual(flight.clear(bytes), bytes);
    else
      assert.throws(
        () => flight.clear(bytes),
        (error) => error instanceof VaultFault && error.kind === kind,
      );
  });
}

test('no more than a bound is held', () => {
  const flight = new ServerFlight(MOST);
  const long = Buffer.from([APPLICATION_DATA, 3, 3, 0xff, 0xff]);
  assert.equal(flight.clear(long).length, 0);
  assert.equal(flight.clear(Buffer.alloc(MOST - long.length)).length, 0);
  assert.throws(() => flight.clear(Buffer.alloc(1)), isMalformed);
});

test('the server’s secret of the handshake is told from others', () => {
  const secret = 'ab'.repeat(32);
  const find = (name: string) =>
    findHandshakeSecret(Buffer.from(`${name} ${'00'.repeat(32)} ${secret}\n`), () => 'SUITE');
  assert.deepEqual(find('SERVER_HANDSHAKE_TRAFFIC_SECRET'), {
    suite: 'SUITE',
    secret: Buffer.from(secret, 'hex'),
  });
  for (const other of [
    'CLIENT_HANDSHAKE_TRAFFIC_SECRET',
    'SERVER_TRAFFIC_SECRET_0',
    'CLIENT_RANDOM',
  ]) {
    assert.equal(find(other), undefined);
  }
});
