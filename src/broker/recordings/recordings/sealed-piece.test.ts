import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import {
  FileFault,
  MOST_CONTENT,
  openPieces,
  type PieceHead,
  pieceStart,
  sealPiece,
} from './sealed-piece.ts';

const FILE = { recording_id: 'sr_1', id: 'chr_1' };
const KEY = randomBytes(32);

function seal(texts: readonly string[], file = FILE): { pieces: Buffer[]; end: PieceHead } {
  let end = pieceStart(file);
  const pieces = texts.map((text, at) => {
    const content = Buffer.from(text);
    const is_last = at === texts.length - 1;
    const sealed = sealPiece(file, end, { key: KEY, nonce: randomBytes(12), content, is_last });
    end = sealed.head;
    return Buffer.from(sealed.bytes);
  });
  return { pieces, end };
}

async function* inParts(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function open(
  pieces: readonly Buffer[],
  more: { end: PieceHead; is_closed?: boolean; key?: Buffer; size?: number; id?: string },
): Promise<string> {
  const { end, is_closed = true, key = KEY, size = 7, id = FILE.id } = more;
  const parts: Uint8Array[] = [];
  const bytes = inParts(Buffer.concat(pieces), size);
  for await (const part of openPieces(bytes, { ...FILE, id, key, end, is_closed }))
    parts.push(part);
  return Buffer.concat(parts).toString();
}

const THREE = ['one\n', 'two\n', ''];

for (const size of [1, 3, 50, 4096]) {
  test(`a file reads as it was written, in parts of ${size} bytes`, async () => {
    const { pieces, end } = seal(THREE);
    assert.equal(await open(pieces, { end, size }), 'one\ntwo\n');
  });
}

type Change = (pieces: Buffer[]) => Buffer[];
const flip = (piece: Buffer, at: number): Buffer => {
  const changed = Buffer.from(piece);
  changed[at] = (changed[at] ?? 0) ^ 1;
  return changed;
};
const changes: [what: string, change: Change, piece: number][] = [
  ['a bit of the content', ([a, b, c]) => [a, flip(b as Buffer, 60), c] as Buffer[], 1],
  [
    'a bit of the seal',
    ([a, b, c]) => [a, flip(b as Buffer, -1 + (b as Buffer).length), c] as Buffer[],
    1,
  ],
  ['what it follows from', ([a, b, c]) => [a, flip(b as Buffer, 10), c] as Buffer[], 1],
  ['that it is not the last', ([a, b, c]) => [a, flip(b as Buffer, 5), c] as Buffer[], 1],
  ['its version', ([a, b, c]) => [a, flip(b as Buffer, 4), c] as Buffer[], 1],
  ['a piece is left out', ([a, , c]) => [a, c] as Buffer[], 1],
  ['two changed places', ([a, b, c]) => [b, a, c] as Buffer[], 0],
  ['one comes twice', ([a, b, c]) => [a, b, b, c] as Buffer[], 2],
  ['the end is cut off', ([a, b]) => [a, b] as Buffer[], 2],
  ['it is cut within a piece', ([a, b]) => [a, (b as Buffer).subarray(0, 20)] as Buffer[], 1],
  ['everything is gone', () => [], 0],
  ['something follows the end', (all) => [...all, all[0] as Buffer], 3],
];

for (const [what, change, piece] of changes) {
  test(`a file is told from itself: ${what}`, async () => {
    const { pieces, end } = seal(THREE);
    await assert.rejects(
      open(change(pieces), { end }),
      (error) => error instanceof FileFault && error.piece === piece,
    );
  });
}

test('a file of another channel is told, and one of another key', async () => {
  const { pieces, end } = seal(THREE, { ...FILE, id: 'chr_2' });
  await assert.rejects(open(pieces, { end }), FileFault);
  assert.equal(await open(pieces, { end, id: 'chr_2' }), 'one\ntwo\n');
  await assert.rejects(open(pieces, { end, id: 'chr_2', key: randomBytes(32) }), FileFault);
});

test('one that was never closed reads as far as it goes, and must be as long as was noted', async () => {
  const { pieces } = seal(THREE);
  const { end: afterOne } = seal(['one\n']);
  const [first, second] = pieces as [Buffer, Buffer];
  const noted = { ...afterOne, pieces: 1 };
  assert.equal(
    await open([first], { end: { pieces: 1, hash: noted.hash }, is_closed: false }).catch(
      () => 'x',
    ),
    'one\n',
  );
  // A piece more than was noted: the server was killed in between.
  assert.equal(await open([first, second], { end: noted, is_closed: false }), 'one\ntwo\n');
  // And while it wrote it.
  const half = second.subarray(0, second.length - 5);
  assert.equal(await open([first, half], { end: noted, is_closed: false }), 'one\n');
  const cut = first.subarray(0, first.length - 5);
  await assert.rejects(open([cut], { end: noted, is_closed: false }), /it was cut/);
  await assert.rejects(open([first, half], { end: noted, is_closed: true }), /it was cut/);
  await assert.rejects(
    open([first], { end: { ...noted, pieces: 2 }, is_closed: false }),
    FileFault,
  );
});

test('a length that no piece has is refused before anything is kept for it', async () => {
  for (const length of [0, 3, MOST_CONTENT * 2, 0xffffffff]) {
    const bytes = Buffer.alloc(100);
    bytes.writeUInt32BE(length);
    await assert.rejects(open([bytes], { end: pieceStart(FILE) }), /no length/);
  }
});
