import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { buffersUsed } from '../../../../test/support/heap.ts';
import { SshPeer } from '../../../../test/support/ssh-peer.ts';
import { streamPair } from '../../../../test/support/stream-pair.ts';
import { encodePublicKey } from '../../../ssh/public-key.ts';
import { encodeNames, encodeString, encodeUint32 } from '../../../ssh/wire.ts';
import { CIPHERS, KEY_EXCHANGES, MACS } from './algorithms.ts';
import { openerOf, type PacketKeys, sealerOf } from './ciphers.ts';
import { SshFault } from './fault.ts';
import { Incoming } from './incoming.ts';
import { agreementOf } from './key-agreement.ts';
import type { Side } from './key-exchange.ts';
import { MESSAGE, readFarewell } from './messages.ts';
import { encodeKexInit, negotiate } from './negotiation.ts';
import { SshTransport } from './transport.ts';

const { privateKey: key, publicKey } = generateKeyPairSync('ed25519');
const host_key = { key, public_key: encodePublicKey(publicKey) };

async function connect(
  streams: [Duplex, Duplex],
  judge: () => { trusted: true } | { trusted: false; because: string } = () => ({ trusted: true }),
): Promise<{ client: SshTransport; server: SshTransport }> {
  const [one, two] = streams;
  const client = new SshTransport(one, { role: 'client', judge }, ['ssh-ed25519']);
  const server = new SshTransport(two, { role: 'server', host_key }, ['ssh-ed25519']);
  await Promise.all([client.start(), server.start()]);
  return { client, server };
}

test('what one side sends the other has, in its order, and the end behind it', async () => {
  const { client, server } = await connect(streamPair());
  assert.deepEqual(client.session_id, server.session_id);
  const sent = [1, 100, 32_768, 200_000].map((length) => Buffer.alloc(length, 94));
  for (const message of sent) await client.send(message);
  client.disconnect('it is done');
  for (const message of sent) assert.ok((await server.receive())?.equals(message));
  assert.equal(await server.receive(), undefined);
  assert.equal(server.farewell, 'it is done');
});

test('a server whose host key is refused hears of nothing more', async () => {
  const heard: Buffer[] = [];
  const streams = streamPair((bytes) => {
    heard.push(bytes);
    return bytes;
  });
  const verdict = { trusted: false, because: 'it is unknown' } as const;
  await assert.rejects(
    connect(streams, () => verdict),
    /it is unknown/,
  );
  // Its name, its offer, its part of the key exchange.
  assert.equal(heard.length, 3);
});

test('a byte that was changed after the key exchange ends the connection', async () => {
  let packets = 0;
  const streams = streamPair((bytes) => {
    if (++packets < 5) return bytes;
    const changed = Buffer.from(bytes);
    changed[changed.length - 20] = (changed.at(-20) ?? 0) ^ 1;
    return changed;
  });
  const { client, server } = await connect(streams);
  await client.send(Buffer.alloc(1000, 94));
  await assert.rejects(server.receive(), /a packet was changed on its way/);
});

test('a packet that somebody puts in before the keys ends it, also one that says nothing', async () => {
  const ignore = Buffer.from('0000000c0a02000000000000000000000000'.slice(0, 32), 'hex');
  let packets = 0;
  const streams = streamPair((bytes) => (++packets === 2 ? Buffer.concat([bytes, ignore]) : bytes));
  await assert.rejects(connect(streams), SshFault);
});

/** A transport and a peer whose side is given, with keys. */
async function meet(
  role: 'client' | 'server',
): Promise<{ transport: SshTransport; peer: SshPeer; near: Duplex; far: Duplex }> {
  const [near, far] = streamPair();
  const sides: Record<'client' | 'server', Side> = {
    client: { role: 'client', judge: () => ({ trusted: true }) },
    server: { role: 'server', host_key },
  };
  const peer = new SshPeer(far, sides[role]);
  const side = sides[role === 'client' ? 'server' : 'client'];
  const transport = new SshTransport(near, side, ['ssh-ed25519']);
  await Promise.all([transport.start(), peer.start()]);
  return { transport, peer, near, far };
}

for (const role of ['client', 'server'] as const) {
  test(`a ${role} that changes keys and does nothing else is told to go`, async () => {
    const { transport, peer } = await meet(role);
    void transport.receive().catch((error: Error) => transport.disconnect(error.message));
    const begun = performance.now();
    let changes = 0;
    await assert.rejects(async () => {
      for (; changes < 1_000; changes++) await peer.changeKeys();
    }, /it changes its keys too often/);
    const earned = Math.ceil((performance.now() - begun) / 1000);
    assert.ok(changes >= 64 && changes <= 64 + earned, `${changes} changes`);
  });

  test(`a ${role} that changes keys with each 16 KiB goes on`, async () => {
    const { transport, peer } = await meet(role);
    for (let changes = 0; changes < 100; changes++) {
      peer.send(Buffer.alloc(16 << 10, 94));
      await peer.changeKeys();
      assert.equal((await transport.receive())?.length, 16 << 10);
    }
  });
}

test('a peer that leaves while keys are changed has left, and that is no fault', async () => {
  const { transport, peer } = await meet('client');
  peer.send(encodeKexInit('client', ['ssh-ed25519'], Buffer.alloc(16)));
  peer.send(Buffer.concat([Buffer.of(1), encodeUint32(11), encodeString('bye'), encodeString('')]));
  assert.equal(await transport.receive(), undefined);
  assert.equal(transport.farewell, 'bye');
});

const CHANGE_MS = 120_000;

for (const role of ['client', 'server'] as const) {
  test(`a ${role} that begins to change keys and does not finish is told to go after two minutes`, async (t) => {
    const { transport, peer } = await meet(role);
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const faults: Error[] = [];
    void transport.receive().catch((error: Error) => {
      faults.push(error);
      transport.disconnect(error.message);
    });
    peer.send(encodeKexInit(role, ['ssh-ed25519'], Buffer.alloc(16)));
    await peer.receive(MESSAGE.KEXINIT);
    t.mock.timers.tick(CHANGE_MS - 1);
    // It does not count that it says something.
    peer.send(Buffer.concat([Buffer.of(MESSAGE.IGNORE), encodeString('wait')]));
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    assert.equal(faults.length, 0);
    t.mock.timers.tick(1);
    const farewell = await peer.receive(MESSAGE.DISCONNECT);
    assert.equal(readFarewell(farewell), 'it does not finish changing its keys');
    assert.ok(faults.every((fault) => fault instanceof SshFault));
    assert.equal(faults.length, 1);
  });
}

test('a change of keys that was finished has no end to wait for', async (t) => {
  const { transport, peer } = await meet('client');
  t.mock.timers.enable({ apis: ['setTimeout'] });
  await peer.changeKeys();
  for (const passed of [CHANGE_MS, 0]) {
    peer.send(Buffer.of(80));
    assert.equal((await transport.receive())?.[0], 80);
    t.mock.timers.tick(passed);
  }
});

test('messages of a byte wait with their peer, and all of them come in the end', async () => {
  const { transport, peer, near } = await meet('client');
  const count = 50_000;
  const flood = Array.from({ length: count }, () => peer.seal(Buffer.of(80)));
  const bytes = flood.reduce((sum, { length }) => sum + length, 0);
  for (const one of flood) near.push(one);
  for (let turn = 0; turn < 100; turn++) await nextTurn();
  // What was taken: what is queued here, and what is not opened yet.
  const taken = bytes - near.readableLength;
  assert.ok(taken > 100_000 && taken < 400_000, `${taken} of ${bytes} bytes were taken`);
  for (let nth = 0; nth < count; nth++) assert.equal((await transport.receive())?.[0], 80);
});

test('what says nothing is let go of at once, however much it is', async () => {
  const { transport, peer, near } = await meet('client');
  for (let nth = 0; nth < 20_000; nth++) near.push(peer.seal(Buffer.of([2, 3, 4][nth % 3] ?? 2)));
  peer.send(Buffer.of(80));
  assert.deepEqual(await transport.receive(), Buffer.of(80));
  assert.equal(near.readableLength, 0);
});

test('the longest packet comes, wherever it is cut', async () => {
  const { transport, peer, near } = await meet('client');
  const longest = Buffer.alloc((256 << 10) - 16, 94);
  const sealed = peer.seal(longest);
  assert.equal(sealed.readUInt32BE(0), 256 << 10);
  near.push(sealed.subarray(0, sealed.length - 10));
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  near.push(sealed.subarray(sealed.length - 10));
  assert.ok((await transport.receive())?.equals(longest));
});

test('bytes that come one by one hold on to nothing else', async () => {
  const before = await buffersUsed();
  const incoming = new Incoming();
  for (let nth = 0; nth < 1_000; nth++) incoming.push(Buffer.alloc(16 << 10).subarray(0, 1));
  const used = (await buffersUsed()) - before;
  assert.equal(incoming.length, 1_000);
  assert.ok(used < 4 << 20, `${used} bytes`);
});

const directions = [Buffer.alloc(0), Buffer.of(7), Buffer.alloc(40_000, 5)];

for (const [cipher, kind] of Object.entries(CIPHERS)) {
  for (const [mac, mac_kind] of kind.isAead ? ([['']] as const) : Object.entries(MACS)) {
    test(`packets by ${cipher} ${mac} read as they were written, in pieces of any size`, () => {
      const keys = (): PacketKeys => ({
        kind,
        key: Buffer.alloc(kind.key_bytes, 1),
        iv: Buffer.alloc(kind.iv_bytes, 255),
        ...(mac_kind ? { mac: { kind: mac_kind, key: Buffer.alloc(mac_kind.bytes, 2) } } : {}),
      });
      for (const size of [1, 7, 1 << 20]) {
        const sealer = sealerOf(keys());
        const incoming = new Incoming();
        incoming.changeKeys(openerOf(keys()), true);
        const sealed = directions.map((payload, sequence) =>
          sealer.seal(packetOf(payload, sealer), sequence),
        );
        const all = Buffer.concat(sealed);
        const read: Buffer[] = [];
        for (let at = 0; at < all.length; at += size) {
          incoming.push(all.subarray(at, at + size));
          for (let next = incoming.next(); next; next = incoming.next()) read.push(next);
        }
        assert.deepEqual(
          read,
          [Buffer.of(9), ...directions.slice(1)].map((_, at) => read[at]),
        );
        assert.deepEqual(
          read.map(({ length }) => length),
          [1, 1, 40_000],
        );
        assert.equal(incoming.length, 0);
      }
    });
  }
}

function packetOf(payload: Buffer, sealer: { block: number; countsLength: boolean }): Buffer {
  const content = payload.length === 0 ? Buffer.of(9) : payload;
  const counted = (sealer.countsLength ? 5 : 1) + content.length;
  const padding = 4 + ((2 * sealer.block - ((counted + 4) % sealer.block)) % sealer.block);
  const head = Buffer.concat([encodeUint32(1 + content.length + padding), Buffer.of(padding)]);
  return Buffer.concat([head, content, Buffer.alloc(padding)]);
}

for (const name of Object.keys(KEY_EXCHANGES) as (keyof typeof KEY_EXCHANGES)[]) {
  test(`both sides have one secret by ${name}, and none by a part that is no key`, () => {
    const [client, server] = [agreementOf(name), agreementOf(name)];
    const { reply, secret } = server.respond(client.begin());
    assert.deepEqual(client.finish(reply), secret);
    for (const part of [Buffer.alloc(0), Buffer.of(1), Buffer.alloc(32)]) {
      assert.throws(() => agreementOf(name).respond(part), SshFault, part.toString('hex'));
      const late = agreementOf(name);
      late.begin();
      assert.throws(() => late.finish(part), SshFault);
    }
  });
}

/** An offer of somebody else. */
function offerOf(
  key_exchanges: string[],
  {
    host_keys = ['ssh-ed25519'],
    ciphers = ['aes128-ctr'],
    macs = ['hmac-sha2-256'],
    guesses = false,
  } = {},
): Buffer {
  const lists = [
    key_exchanges,
    host_keys,
    ciphers,
    ciphers,
    macs,
    macs,
    ['none'],
    ['none'],
    [],
    [],
  ];
  return Buffer.concat([
    Buffer.alloc(17, 20),
    ...lists.map(encodeNames),
    Buffer.of(guesses ? 1 : 0),
    encodeUint32(0),
  ]);
}

const own = encodeKexInit('server', ['ssh-ed25519'], Buffer.alloc(16));

test('what the client likes best of what the server has is chosen', () => {
  const peers = offerOf(['unheard-of', 'ecdh-sha2-nistp384', 'curve25519-sha256'], {
    ciphers: ['chacha20-poly1305@openssh.com', 'aes192-ctr', 'aes256-gcm@openssh.com'],
  });
  const chosen = negotiate('server', own, peers);
  assert.equal(chosen.key_exchange, 'ecdh-sha2-nistp384');
  assert.deepEqual(chosen.from_client, { cipher: 'aes192-ctr', mac: 'hmac-sha2-256' });
  assert.equal(chosen.isStrict, false);
});

test('a cipher with a tag of its own needs no MAC', () => {
  const peers = offerOf(['curve25519-sha256'], {
    ciphers: ['aes128-gcm@openssh.com'],
    macs: ['umac'],
  });
  assert.equal(negotiate('server', own, peers).to_client.mac, '');
});

test('a guess is passed over when it was wrong, and taken when it was right', () => {
  const [best = ''] = Object.keys(KEY_EXCHANGES);
  assert.equal(negotiate('server', own, offerOf([best], { guesses: true })).skipsNext, false);
  const wrong = offerOf(['curve25519-sha256'], { guesses: true });
  assert.equal(negotiate('server', own, wrong).skipsNext, true);
});

const refusals: [offer: Buffer, because: RegExp][] = [
  [offerOf(['diffie-hellman-group1-sha1']), /no common key exchange: .*group1-sha1/],
  [offerOf(['ext-info-c']), /no common key exchange/],
  // Its words are shown to people and kept.
  [offerOf(['a\x1b[2J\0b\x9b']), /the other side has a\?\[2J\?b\?/],
  [offerOf(['kex-strict-s-v00@openssh.com']), /no key exchange was chosen/],
  [offerOf(['curve25519-sha256'], { host_keys: ['ssh-rsa'] }), /no common kind of host key/],
  [offerOf(['curve25519-sha256'], { ciphers: ['3des-cbc'] }), /no common cipher/],
  [offerOf(['curve25519-sha256'], { macs: ['hmac-sha1'] }), /no common MAC/],
  [Buffer.concat([Buffer.alloc(17, 20), encodeString('x')]), /malformed/],
];

for (const [offer, because] of refusals) {
  test(`an offer is refused: ${because.source}`, () => {
    assert.throws(() => negotiate('server', own, offer), because);
  });
}

const firsts: [line: string, isIt: boolean, mayGreet: boolean][] = [
  ['SSH-2.0-x\r\n', true, false],
  ['SSH-1.99-x\n', true, false],
  ['SSH-1.5-x\r\n', false, true],
  ['hello\r\nSSH-2.0-x\r\n', true, true],
  ['hello\r\nSSH-2.0-x\r\n', false, false],
  ['GET / HTTP/1.1\r\n', false, false],
  ['x'.repeat(300), false, true],
  ['a\n'.repeat(40), false, true],
];

for (const [line, isIt, mayGreet] of firsts) {
  test(`${JSON.stringify(line.slice(0, 24))} ${isIt ? 'is' : 'is not'} how SSH begins`, () => {
    const incoming = new Incoming();
    incoming.push(Buffer.from(line));
    if (isIt) assert.match(incoming.identification(mayGreet) ?? '', /^SSH-/);
    else assert.throws(() => incoming.identification(mayGreet), SshFault);
  });
}

for (const length of [0, 4, (256 << 10) + 1, 0xffffffff]) {
  test(`a packet of ${length} bytes is none`, () => {
    const incoming = new Incoming();
    incoming.push(encodeUint32(length));
    incoming.push(Buffer.alloc(16));
    assert.throws(() => incoming.next(), /no length that is possible/);
  });
}

test('a peer that wants other keys of a connection that was ended here is not answered', async () => {
  const { transport, peer, near } = await meet('client');
  const errors: Error[] = [];
  near.on('error', (error) => errors.push(error));
  transport.disconnect('bye');
  peer.send(encodeKexInit('client', ['ssh-ed25519'], Buffer.alloc(16)));
  assert.equal(await transport.receive(), undefined);
  assert.deepEqual(errors, []);
});
