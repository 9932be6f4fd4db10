import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  boolean,
  generalizedTime,
  octetString,
  oid,
  sequence,
  time,
  unsignedInteger,
} from './der.ts';
import { RevokedEntriesWriter, type RevokedEntry } from './revoked-certificates.ts';

const seconds = (text: string): number => Date.parse(text) / 1000;
const hex = (...parts: Uint8Array[]): string => Buffer.concat(parts).toString('hex');

function write(...entries: RevokedEntry[]): string {
  const writer = new RevokedEntriesWriter();
  for (const entry of entries) writer.append(entry);
  assert.equal(writer.count, entries.length);
  const chunks = writer.chunks();
  assert.equal(
    writer.length,
    chunks.reduce((sum, { length }) => sum + length, 0),
  );
  return hex(...chunks);
}

const NOON = seconds('2026-11-21T12:00:00Z');

const times = [
  '0000-01-01T00:00:00Z',
  '1949-12-31T23:59:59Z',
  '1950-01-01T00:00:00Z',
  '1969-12-31T23:59:59Z',
  '1970-01-01T00:00:00Z',
  '2024-02-29T09:08:07Z',
  '2049-12-31T23:59:59Z',
  '2050-01-01T00:00:00Z',
  '9999-12-31T23:59:59Z',
];

for (const text of times) {
  test(`an entry revoked at ${text} has the time that the DER writer gives`, () => {
    const revocationTime = seconds(text);
    const encoded = write({ serialNumber: Uint8Array.of(5), revocationTime });
    assert.equal(encoded, hex(sequence(unsignedInteger(Uint8Array.of(5)), time(revocationTime))));
  });
}

test('years that UTCTime cannot say are in GeneralizedTime', () => {
  const encoded = write({ serialNumber: Uint8Array.of(5), revocationTime: 2524608000 });
  assert.ok(encoded.includes(hex(generalizedTime(2524608000))));
});

const serials: [magnitude: number[], why: string][] = [
  [[1], 'one byte'],
  [[0x7f], 'the largest byte without a sign byte'],
  [[0x80], 'a top bit, which takes a sign byte'],
  [[0, 0, 1], 'leading zeros are dropped'],
  [[0, 0x80], 'a leading zero that is wanted after all'],
  [[0], 'zero'],
  [[], 'no bytes at all are zero'],
  [new Array<number>(20).fill(0xff), 'twenty bytes'],
  [new Array<number>(64).fill(0xff), 'the longest'],
];

for (const [magnitude, why] of serials) {
  test(`a serial number is written as the DER writer does: ${why}`, () => {
    const serialNumber = Uint8Array.from(magnitude);
    assert.equal(
      write({ serialNumber, revocationTime: NOON }),
      hex(sequence(unsignedInteger(serialNumber), time(NOON))),
    );
  });
}

test('a reason becomes a reasonCode extension, and "unspecified" none', () => {
  const entry = { serialNumber: Uint8Array.of(5), revocationTime: NOON };
  const code = Buffer.from('300c300a0603551d1504030a0101', 'hex');
  assert.equal(
    write({ ...entry, reason: 1 }, { ...entry, reason: 1 }),
    hex(sequence(unsignedInteger(Uint8Array.of(5)), time(NOON), code)).repeat(2),
  );
  assert.equal(write({ ...entry, reason: 0 }), write(entry));
  assert.equal(write({ ...entry, extensions: [] }), write(entry));
});

test('other extensions follow the reason, long ones in long form', () => {
  const value = new Uint8Array(3000);
  const encoded = write(
    {
      serialNumber: Uint8Array.of(5),
      revocationTime: NOON,
      reason: 4,
      extensions: [{ oid: '1.2.3', critical: true, value }],
    },
    { serialNumber: Uint8Array.of(6), revocationTime: NOON },
  );
  const extension = sequence(oid('1.2.3'), boolean(true), octetString(value));
  assert.ok(encoded.includes(`300a0603551d1504030a0104${hex(extension)}`));
  assert.ok(encoded.endsWith(write({ serialNumber: Uint8Array.of(6), revocationTime: NOON })));
});

const refused: [entry: Partial<RevokedEntry>, why: string][] = [
  [{ serialNumber: new Uint8Array(65).fill(1) }, 'a serial number of 65 bytes'],
  [{ revocationTime: 1.5 }, 'half a second'],
  [{ revocationTime: Number.NaN }, 'a time that is no number'],
  [{ revocationTime: seconds('0000-01-01T00:00:00Z') - 1 }, 'a time before the year 0'],
  [{ revocationTime: seconds('9999-12-31T23:59:59Z') + 1 }, 'the year 10000'],
  [{ reason: 7 }, 'the reason that is not used'],
  [{ reason: 11 }, 'a reason beyond the last'],
];

for (const [part, why] of refused) {
  test(`an entry with ${why} is refused and leaves no trace`, () => {
    const writer = new RevokedEntriesWriter();
    const entry = { serialNumber: Uint8Array.of(5), revocationTime: NOON, ...part };
    assert.throws(() => writer.append(entry), RangeError);
    assert.equal(writer.length, 0);
    assert.equal(writer.count, 0);
  });
}

test('a CRL of many chunks is the concatenation of its entries', () => {
  const entries = Array.from({ length: 40_000 }, (_, i) => ({
    serialNumber: Uint8Array.of(1, i >> 16, i >> 8, i),
    revocationTime: NOON + i * 977,
  }));
  const one = ({ serialNumber, revocationTime }: RevokedEntry): Uint8Array =>
    sequence(unsignedInteger(serialNumber), time(revocationTime));
  assert.equal(write(...entries), hex(...entries.map(one)));
});

test('chunks taken earlier are not changed by later entries', () => {
  const writer = new RevokedEntriesWriter();
  writer.append({ serialNumber: Uint8Array.of(5), revocationTime: NOON });
  const before = hex(...writer.chunks());
  const [chunk] = writer.chunks();
  writer.append({ serialNumber: Uint8Array.of(6), revocationTime: NOON + 1 });
  assert.equal(hex(chunk ?? new Uint8Array()), before);
});
