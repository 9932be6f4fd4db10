/** What recordings are made of, and what is read of them where somebody else may have written. */

import assert from 'node:assert/strict';
import {
  FileFault,
  openPieces,
  pieceStart,
  sealPiece,
} from '../../src/broker/recordings/recordings/sealed-piece.ts';
import { linesOf, parseEvent, parseHeader } from '../../src/cli/recordings/cast-lines.ts';
import { ScreenText } from '../../src/cli/recordings/screen-text.ts';
import { invalid } from '../../src/core/failure.ts';
import { Asciicast, castHeader } from '../../src/worker/recording/asciicast.ts';
import { TextPieces } from '../../src/worker/recording/text-pieces.ts';
import { outputOf, readCast } from '../support/asciicast.ts';
import type { FuzzTarget } from './run.ts';

const KEY = Buffer.alloc(32, 5);
const FILE = { recording_id: 'sr_1', id: 'chr_1' };
const CONTENTS = ['one\n', 'two\n', 'x'.repeat(300), ''];

/** A file as it is stored, and where its chain ends. */
const STORED = (() => {
  let head = pieceStart(FILE);
  const pieces = CONTENTS.map((content, at) => {
    const sealed = sealPiece(FILE, head, {
      key: KEY,
      nonce: Buffer.alloc(12, at),
      content: Buffer.from(content),
      is_last: at === CONTENTS.length - 1,
    });
    head = sealed.head;
    return sealed.bytes;
  });
  return { bytes: Buffer.concat(pieces), head };
})();

async function* inParts(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** What opens before there is a fault, and the fault. */
async function openStored(bytes: Uint8Array, size: number): Promise<[string, string]> {
  let opened = '';
  try {
    const file = { ...FILE, key: KEY, end: STORED.head, is_closed: true };
    for await (const content of openPieces(inParts(bytes, size), file)) {
      opened += Buffer.from(content).toString();
    }
  } catch (error) {
    if (!(error instanceof FileFault)) throw error;
    return [opened, error.message];
  }
  return [opened, ''];
}

/** Nothing opens but what was written, in its order; all of it only where nothing was changed. */
async function readStored(bytes: Uint8Array): Promise<void> {
  const whole = await openStored(bytes, Math.max(1, bytes.length));
  for (const size of bytes.length < 4096 ? [1, 7] : [100]) {
    assert.deepEqual(await openStored(bytes, size), whole);
  }
  const [opened, fault] = whole;
  assert.ok(CONTENTS.join('').startsWith(opened));
  if (fault === '') assert.ok(STORED.bytes.equals(bytes), 'a changed file opened');
  else throw invalid(fault);
}

const CAST = [
  JSON.stringify({ version: 2, width: 80, height: 24, timestamp: 1, env: { TERM: 'xterm' } }),
  ...[
    [0, 'o', 'a\u001b[31mb\u001b[0m'],
    [0.5, 'o', '\u001b]52;c;eA==\u0007\u001b[c\u001b[5n\u009b6n'],
    [1, 'i', 'typed'],
    [1.5, 'r', '132x50'],
    [2, 'm', 'exit status 0'],
  ].map((event) => JSON.stringify(event)),
]
  .map((line) => `${line}\n`)
  .join('');

/** Controls that would have a terminal answer, or act beyond its screen. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const HARMFUL = /\u001b[P\]X^_]|\u001b\[[0-?]*[ -/]*[cnxt]|[\u0080-\u009f]/;

async function readCastLines(bytes: Uint8Array, size: number): Promise<[string[], string]> {
  const lines: string[] = [];
  try {
    for await (const line of linesOf(inParts(bytes, size))) {
      if (lines.length === 0) parseHeader(line);
      else parseEvent(line);
      lines.push(line);
    }
  } catch (error) {
    return [lines, (error as Error).message];
  }
  return [lines, ''];
}

async function readPlayed(bytes: Uint8Array): Promise<void> {
  const whole = await readCastLines(bytes, Math.max(1, bytes.length));
  for (const size of bytes.length < 4096 ? [1, 5] : [500]) {
    assert.deepEqual(await readCastLines(bytes, size), whole);
  }
  const screen = new ScreenText();
  let shown = '';
  for (const line of whole[0].slice(1)) shown += screen.take(parseEvent(line).data);
  assert.doesNotMatch(shown, HARMFUL);
  if (whole[1] !== '') throw invalid(whole[1]);
}

/** What a program writes, shown as it comes: in pieces of any size. */
function readScreen(bytes: Uint8Array): void {
  const text = Buffer.from(bytes).toString('utf8');
  for (const size of text.length < 4096 ? [1, 3, text.length] : [100, text.length]) {
    const screen = new ScreenText();
    let shown = '';
    for (let at = 0; at < text.length; at += size) shown += screen.take(text.slice(at, at + size));
    assert.ok(shown.length <= text.length);
    assert.doesNotMatch(shown, HARMFUL);
  }
}

const OUTPUT = Buffer.from('aé€😀z\u001b[0m'.repeat(3));

/** Whatever a channel carries is a file that players read, with all of the text in it. */
function recordOutput(bytes: Uint8Array): void {
  const size = 1 + ((bytes[0] ?? 0) % 7);
  const facts = {
    type: 'session',
    program: 'shell',
    pty: { term: Buffer.from(bytes).toString('latin1'), columns: 0, rows: 24 },
  } as const;
  const cast = new Asciicast(facts, { began: 0, keepsInput: true });
  let file = castHeader(facts, 1_800_000_000_000);
  let now = 0;
  for (let at = 0; at < bytes.length; at += size) {
    file += cast.take(bytes.subarray(at, at + size), 'stdout', now++);
  }
  file += cast.resize(bytes[1] ?? 0, bytes[2] ?? 0, now);
  file += cast.finish({ signal: Buffer.from(bytes).toString('latin1') }, now);
  assert.equal(outputOf(readCast(file)), Buffer.from(bytes).toString('utf8'));
}

/** However a text is cut, it is the same text, and every byte is given once. */
function readText(bytes: Uint8Array): void {
  const whole = Buffer.from(bytes);
  for (const size of bytes.length < 4096 ? [1, 2, 3, 5] : [1000]) {
    const pieces = new TextPieces();
    const given: Buffer[] = [];
    let text = '';
    for (let at = 0; at < bytes.length; at += size) {
      const taken = pieces.take(bytes.subarray(at, at + size));
      text += taken.text;
      given.push(taken.bytes);
    }
    const left = pieces.finish();
    assert.equal(text + left.text, whole.toString('utf8'));
    assert.ok(Buffer.concat([...given, left.bytes]).equals(whole));
  }
}

const ESCAPES = ['\u001b', '\u001b[', '\u001b]52;c;', '\u0007', '\u001b\\', '\u009b', '6n', '5t'];

export const recordingTargets: readonly FuzzTarget[] = [
  { name: 'recording-file', corpus: [STORED.bytes], read: readStored },
  {
    name: 'asciicast-lines',
    corpus: [Buffer.from(CAST)],
    words: ['\n', '[', '"o"', '1e999', '\\u001b]', '\\u009b'],
    read: readPlayed,
  },
  {
    name: 'screen-text',
    corpus: [Buffer.from('a\u001b[31mb\u001b[0m\u001b]0;x\u0007c\u001bP1$r\u001b\\\u001b[c')],
    words: ESCAPES,
    read: readScreen,
  },
  { name: 'asciicast-output', corpus: [OUTPUT], words: ['\u0000', '"', '\n'], read: recordOutput },
  { name: 'text-pieces', corpus: [OUTPUT], words: ['é', '😀'], read: readText },
];
