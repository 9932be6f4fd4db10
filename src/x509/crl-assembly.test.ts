import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeTbsCertList, parseCrl, type TbsCertList } from '../../test/support/crl.ts';
import { encodeCrlFrame } from './crl.ts';
import { layOutCrl } from './crl-assembly.ts';
import { RevokedEntriesWriter, type RevokedEntry } from './revoked-certificates.ts';
import { formatSerial } from './serial.ts';
import { signatureRoom } from './signature-costs.ts';

const facts: Omit<TbsCertList, 'entries'> = {
  issuer: Uint8Array.of(0x30, 0),
  signatureAlgorithm: 'ECDSAWithSHA256',
  thisUpdate: 1_800_000_000,
  nextUpdate: 1_800_086_400,
  crlNumber: 77n,
  authorityKeyId: new Uint8Array(20).fill(9),
};
const frame = encodeCrlFrame(facts);
const allocate = (length: number): Uint8Array => new Uint8Array(length);
const signature = new Uint8Array(70).fill(5);
const room = signatureRoom('ECDSAWithSHA256');

/** The same numbers at every run. */
function dice(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function entriesOf(count: number, roll: (below: number) => number): RevokedEntry[] {
  const entries = new Map<string, RevokedEntry>();
  while (entries.size < count) {
    // Short ones and few values, so that one is often the beginning of another.
    const serialNumber = Uint8Array.from(
      { length: 1 + roll(4) },
      () => [1, 0x7f, 0x80, 0xff][roll(4)] ?? 1,
    );
    const reason = roll(3) === 0 ? { reason: 1 } : {};
    const revocationTime = 1_700_000_000 + roll(1000);
    entries.set(formatSerial(serialNumber), { serialNumber, revocationTime, ...reason });
  }
  return [...entries.values()].sort(bySerialText);
}

const bySerialText = (a: RevokedEntry, b: RevokedEntry): number =>
  formatSerial(a.serialNumber) < formatSerial(b.serialNumber) ? -1 : 1;

function write(entries: readonly RevokedEntry[]): RevokedEntriesWriter {
  const writer = new RevokedEntriesWriter();
  for (const entry of entries) writer.append(entry);
  return writer;
}

function assemble(entries: readonly RevokedEntry[]) {
  return layOutCrl(frame, write(entries), undefined, allocate, room);
}

test('a CRL grown by any steps has the bytes of the CRL made at once', () => {
  const roll = dice(1);
  for (let round = 0; round < 200; round++) {
    const all = entriesOf(roll(60), roll);
    const steps = 1 + roll(4);
    const step = new Map(all.map((entry) => [entry, roll(steps)]));
    let crl = assemble(all.filter((entry) => step.get(entry) === 0)).attachSignature(
      'ECDSAWithSHA256',
      signature,
    );
    for (let next = 1; next < steps; next++) {
      const added = write(all.filter((entry) => step.get(entry) === next));
      const basis = { crl, removed: write([]) };
      crl = layOutCrl(frame, added, basis, allocate, room).attachSignature(
        'ECDSAWithSHA256',
        signature,
      );
    }
    const whole = assemble(all).attachSignature('ECDSAWithSHA256', signature);
    assert.equal(crl.count, all.length);
    assert.deepEqual(Buffer.from(crl.der), Buffer.from(whole.der), `round ${round}`);
  }
});

test('what is signed is the TBSCertList that is written at once', () => {
  const entries = entriesOf(40, dice(2));
  assert.deepEqual(
    Buffer.from(assemble(entries).tbs),
    Buffer.from(encodeTbsCertList({ ...facts, entries })),
  );
  assert.deepEqual(
    Buffer.from(assemble([]).tbs),
    Buffer.from(encodeTbsCertList({ ...facts, entries: [] })),
  );
});

test('the longest signature of a classical key has room', () => {
  const longest = signatureRoom('SHA512WithRSA');
  const rsaFrame = encodeCrlFrame({ ...facts, signatureAlgorithm: 'SHA512WithRSA' });
  const unsigned = layOutCrl(rsaFrame, write([]), undefined, allocate, longest);
  const { der } = unsigned.attachSignature('SHA512WithRSA', new Uint8Array(1_024).fill(5));
  assert.equal(parseCrl(der).signature.length, 1_024);
});

test('a signed CRL is read back with all its entries and its signature', () => {
  const entries = entriesOf(40, dice(3));
  const { der } = assemble(entries).attachSignature('ECDSAWithSHA256', signature);
  const crl = parseCrl(der);
  assert.deepEqual([...crl.signature], [...signature]);
  assert.equal(crl.crlNumber, 77n);
  assert.deepEqual(
    [...crl.entries()].map(({ serialNumber }) => formatSerial(serialNumber)),
    entries.map(({ serialNumber }) => formatSerial(serialNumber)),
  );
});

test('a CRL from which entries are taken has the bytes of the CRL made without them', () => {
  const roll = dice(4);
  for (let round = 0; round < 200; round++) {
    const all = entriesOf(roll(60), roll);
    const fate = new Map(all.map((entry) => [entry, roll(4)]));
    const having = (...fates: number[]) =>
      all.filter((entry) => fates.includes(fate.get(entry) ?? -1));
    const crl = assemble(having(0, 1)).attachSignature('ECDSAWithSHA256', signature);
    const basis = { crl, removed: write(having(1)) };
    const next = layOutCrl(frame, write(having(2)), basis, allocate, room);
    const whole = assemble(having(0, 2));
    assert.deepEqual(Buffer.from(next.tbs), Buffer.from(whole.tbs), `round ${round}`);
    assert.equal(next.attachSignature('ECDSAWithSHA256', signature).count, having(0, 2).length);
  }
});
