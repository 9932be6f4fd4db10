import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { decodeBase58, encodeBase58 } from '../../core/base58.ts';
import { ProtobufWriter } from '../../core/protobuf.ts';
import {
  ed25519Info,
  ed25519Key,
  type FirstMeeting,
  formatActivationToken,
  formatWorkerToken,
  isProof,
  parseActivationToken,
  parseWorkerToken,
  serverProof,
  workerProof,
} from './proof.ts';

const MEETING: FirstMeeting = {
  secret: new Uint8Array(32).fill(1),
  public_key: new Uint8Array(44).fill(2),
  server_certificate: new Uint8Array(300).fill(3),
};
const ANSWERED = [new Uint8Array(280).fill(4), new Uint8Array(200).fill(5)];

/** The same with its last bit changed. */
function changed(bytes: Uint8Array): Uint8Array {
  const other = bytes.slice();
  other[other.length - 1] = (other.at(-1) ?? 0) ^ 1;
  return other;
}

test('each side’s proof holds for the same meeting', () => {
  assert.ok(isProof(workerProof(MEETING), workerProof({ ...MEETING })));
  assert.ok(isProof(serverProof(MEETING, ANSWERED), serverProof({ ...MEETING }, [...ANSWERED])));
});

const CHANGES: [what: string, meeting: FirstMeeting][] = [
  ['another secret', { ...MEETING, secret: changed(MEETING.secret) }],
  ['another key of the worker', { ...MEETING, public_key: changed(MEETING.public_key) }],
  [
    'another certificate of the server, as whoever stands in between has',
    { ...MEETING, server_certificate: changed(MEETING.server_certificate) },
  ],
  [
    'key and certificate the other way round',
    { ...MEETING, public_key: MEETING.server_certificate, server_certificate: MEETING.public_key },
  ],
];
for (const [what, meeting] of CHANGES) {
  test(`no proof holds with ${what}`, () => {
    assert.ok(!isProof(workerProof(MEETING), workerProof(meeting)));
    assert.ok(!isProof(serverProof(MEETING, ANSWERED), serverProof(meeting, ANSWERED)));
  });
}

const [certificate = MEETING.secret, root = MEETING.secret] = ANSWERED;
const ANSWERS: [what: string, answered: Uint8Array[]][] = [
  ['another certificate', [changed(certificate), root]],
  ['another root', [certificate, changed(root)]],
  ['a root more', [certificate, root, root]],
  ['no root', [certificate]],
  ['both in another order', [root, certificate]],
  ['both in one', [Buffer.concat([certificate, root])]],
];
for (const [what, answered] of ANSWERS) {
  test(`the server’s proof does not hold for ${what}`, () => {
    assert.ok(!isProof(serverProof(MEETING, ANSWERED), serverProof(MEETING, answered)));
  });
}

test('the proof of one side is none of the other, and a part of one is none', () => {
  assert.ok(!isProof(workerProof(MEETING), serverProof(MEETING, [])));
  assert.ok(!isProof(workerProof(MEETING), workerProof(MEETING).subarray(0, 31)));
  assert.ok(!isProof(workerProof(MEETING), new Uint8Array(0)));
});

test('tokens are read as they were written', () => {
  for (let round = 0; round < 20; round += 1) {
    const nonce = new Uint8Array(randomBytes(32));
    const secret = new Uint8Array(randomBytes(32));
    const token = formatActivationToken({ nonce, secret });
    assert.match(token, /^neslat_[1-9A-HJ-NP-Za-km-z]{90,100}$/);
    assert.deepEqual(parseActivationToken(token), { nonce, secret });
    const shown = formatWorkerToken({ public_key: nonce, secret });
    assert.deepEqual(parseWorkerToken(shown), { public_key: nonce, secret });
  }
});

const of = (nonce: number, secret: number): string =>
  encodeBase58(
    new ProtobufWriter().bytes(1, new Uint8Array(nonce)).bytes(2, new Uint8Array(secret)).finish(),
  );
const GOOD = of(32, 32);
const TEXTS: [what: string, text: string][] = [
  ['nothing', ''],
  ['what is not base58', `${GOOD.slice(0, -1)}0`],
  ['a shorter nonce', of(31, 32)],
  ['a longer nonce', of(33, 32)],
  ['a shorter secret', of(32, 31)],
  ['a longer secret', of(32, 33)],
  ['no secret', of(32, 0)],
  ['another message', encodeBase58(Buffer.from('something else'))],
  ['half of it', encodeBase58((decodeBase58(GOOD) ?? new Uint8Array()).slice(0, 40))],
  ['far too much', GOOD.repeat(10_000)],
];
for (const [what, text] of TEXTS) {
  test(`${what} is no token`, () => {
    assert.equal(parseActivationToken(`neslat_${text}`), undefined);
    assert.equal(parseWorkerToken(text), undefined);
  });
}

test('a token is told from one of the other kind', () => {
  assert.ok(parseWorkerToken(GOOD));
  assert.equal(parseActivationToken(GOOD), undefined);
  assert.equal(parseWorkerToken(`neslat_${GOOD}`), undefined);
});

test('a key of Ed25519 is told from others', () => {
  const key = new Uint8Array(32).fill(9);
  const info = ed25519Info(key);
  assert.deepEqual(new Uint8Array(ed25519Key(info) ?? []), key);
  for (const other of [
    info.subarray(1),
    info.subarray(0, -1),
    Buffer.concat([info, key]),
    Buffer.from(info).fill(0x71, 8, 9),
    new Uint8Array(0),
  ]) {
    assert.equal(ed25519Key(other), undefined);
  }
});
