/** CRLs as they are sent, piece by piece: a CRL in PEM or JSON is never held whole. */

import { PassingRoom } from '../../core/fairness/passing.ts';
import { WorkedOut } from '../../core/fairness/worked-out.ts';
import { memoizeWeak } from '../../core/memoize-weak.ts';
import { ROOMS } from '../../core/rooms.ts';

interface Body {
  length: number;
  pieces(): Generator<Uint8Array, void, undefined>;
}

const DER_PIECE = 256 << 10;

/** The bytes themselves. */
export function derBody(der: Uint8Array): Body {
  return {
    length: der.length,
    *pieces() {
      for (let at = 0; at < der.length; at += DER_PIECE) yield der.subarray(at, at + DER_PIECE);
    },
  };
}

/** Bytes in a line of PEM (RFC 7468 §2). */
const LINE = 48;
const PEM_PIECE = 1024 * LINE;

/**
 * PEM (RFC 7468), label `X509 CRL`.
 *
 * @param newline between lines, e.g. an escaped one inside a JSON text
 * @param end after the last line
 */
export function pemBody(der: Uint8Array, newline: string, end: string): Body {
  const bytes = Buffer.from(der.buffer, der.byteOffset, der.byteLength);
  const head = `-----BEGIN X509 CRL-----${newline}`;
  const foot = `-----END X509 CRL-----${end}`;
  const lines = Math.ceil(der.length / LINE);
  const text = Math.ceil(der.length / 3) * 4 + lines * newline.length;
  return {
    length: head.length + text + foot.length,
    *pieces() {
      yield Buffer.from(head);
      yield* der.length <= KEPT_DER ? keptText(der, newline) : encodePieces(bytes, newline);
      yield Buffer.from(foot);
    },
  };
}

function* encodePieces(bytes: Buffer, newline: string): Generator<Uint8Array, void, undefined> {
  for (let at = 0; at < bytes.length; at += PEM_PIECE) {
    yield Buffer.from(encodeLines(bytes.subarray(at, at + PEM_PIECE), newline), 'latin1');
  }
}

/** Longest CRL of which the texts are kept; of longer ones they would take too much memory. */
const KEPT_DER = 1 << 20;
const TEXTS = new PassingRoom({ all: ROOMS.list_texts, one: ROOMS.list_texts });
/** By CRL and newline, and gone with the CRL: anybody may read it as often as they like. */
const textsOf = memoizeWeak((_der: Uint8Array) => new Map<string, WorkedOut<Uint8Array[]>>());

function keptText(der: Uint8Array, newline: string): readonly Uint8Array[] {
  const text = textsOf(der).getOrInsertComputed(newline, () => new WorkedOut<Uint8Array[]>(TEXTS));
  if (text.value) return text.value;
  const made = [...encodePieces(Buffer.from(der.buffer, der.byteOffset, der.byteLength), newline)];
  return text.keep(
    made,
    made.reduce((sum, { length }) => sum + length, TEXT_BYTES),
  );
}

/** What a text takes besides. */
const TEXT_BYTES = 512;

function encodeLines(bytes: Buffer, newline: string): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += LINE) {
    text += bytes.toString('base64', at, at + LINE) + newline;
  }
  return text;
}
