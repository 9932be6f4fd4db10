import { createHash, type Hash } from 'node:crypto';
import type { ChannelExit, ChannelFacts } from '../ssh/watching.ts';
import { TextPieces } from './text-pieces.ts';

/** What is taken for a terminal whose size nobody told. */
const USUAL = { columns: 80, rows: 24 };
/** Of what is no text, so many bytes of a channel are kept; of all that is more, the number and a hash. */
const KEPT_BINARY = 1 << 20;

type Source = 'stdout' | 'stderr' | 'stdin';

/** Whether what flows through a channel is kept, or only how much that was. */
export function isKept({ type, program }: ChannelFacts): boolean {
  return type === 'session' && program !== 'subsystem';
}

/** The first line of a channel's file. @param timestamp Unix milliseconds */
export function castHeader({ pty, program, command }: ChannelFacts, timestamp: number): string {
  const { columns, rows } = pty ?? USUAL;
  return lineOf({
    version: 2,
    // One that was told as 0 has no size: players want one.
    width: columns || USUAL.columns,
    height: rows || USUAL.rows,
    timestamp: Math.floor(timestamp / 1000),
    ...(command === undefined
      ? {}
      : { command: program === 'subsystem' ? `subsystem:${command}` : command }),
    env: pty ? { TERM: pty.term } : {},
  });
}

/**
 * One channel as a file of asciicast v2: JSON lines, a header and events, each with the seconds since the channel was
 * opened.
 *
 * - `o`: what the other side wrote, on stdout or stderr; `i`: what the user did, where that is kept;
 * - `r`: the terminal has another size;
 * - `b`, which players pass over: bytes of a channel without a terminal that are no text, as
 *   `STREAM:BASE64`; of more than a mebibyte only their number is kept, and their hash;
 * - `m`: how the channel ended, and what went through it.
 *
 * @see https://docs.asciinema.org/manual/asciicast/v2/
 */
export class Asciicast {
  readonly #isKept: boolean;
  readonly #hasPty: boolean;
  readonly #began: number;
  readonly #keepsInput: boolean;
  readonly #streams: Readonly<Record<Source, Stream>>;
  #binary = KEPT_BINARY;

  /** @param began by the clock that events are told by, in milliseconds */
  constructor(facts: ChannelFacts, { began, keepsInput }: { began: number; keepsInput: boolean }) {
    // Not the facts: a command may be as long as a packet, and channels are many.
    this.#isKept = isKept(facts);
    this.#hasPty = facts.pty !== undefined;
    this.#began = began;
    this.#keepsInput = keepsInput;
    this.#streams = { stdout: newStream(), stderr: newStream(), stdin: newStream() };
  }

  /** Bytes of a stream as events; none where they are not kept. */
  take(bytes: Uint8Array, source: Source, now: number): string {
    const stream = this.#streams[source];
    stream.bytes += bytes.length;
    stream.sha256.update(bytes);
    if (!this.#isKept || (source === 'stdin' && !this.#keepsInput)) return '';
    const { text, is_text, bytes: whole } = stream.text.take(bytes);
    if (whole.length === 0) return '';
    if (this.#hasPty || is_text) return this.#event(source === 'stdin' ? 'i' : 'o', text, now);
    return this.#binaryEvent(source, whole, now);
  }

  resize(columns: number, rows: number, now: number): string {
    return this.#event('r', `${columns || USUAL.columns}x${rows || USUAL.rows}`, now);
  }

  /** What is left, and how it ended. */
  finish(exit: ChannelExit, now: number): string {
    const { stdout, stderr, stdin } = this.#streams;
    const sources = ['stdout', 'stderr', ...(this.#keepsInput ? ['stdin'] : [])] as Source[];
    const left = this.#isKept ? sources.map((source) => this.#leftOver(source, now)) : [];
    const counts = [
      ['to the client', stdout],
      ['on stderr', stderr],
      ['from the client', stdin],
    ] as const;
    const told = counts.flatMap(([words, { bytes, sha256 }]) =>
      bytes > 0 ? [`${bytes} bytes ${words} (sha256 ${sha256.copy().digest('hex')})`] : [],
    );
    return left.join('') + this.#event('m', [howOf(exit), ...told].join(', '), now);
  }

  #leftOver(source: Source, now: number): string {
    const { text } = this.#streams[source].text.finish();
    return text === '' ? '' : this.#event(source === 'stdin' ? 'i' : 'o', text, now);
  }

  #binaryEvent(source: Source, bytes: Buffer, now: number): string {
    const kept = bytes.subarray(0, this.#binary);
    this.#binary -= kept.length;
    if (kept.length === 0) return '';
    return this.#event('b', `${source}:${kept.toString('base64')}`, now);
  }

  /** Times with microseconds, as other recorders write them; never before the beginning. */
  #event(code: 'o' | 'i' | 'r' | 'm' | 'b', data: string, now: number): string {
    const seconds = Math.max(0, now - this.#began) / 1000;
    return lineOf([Number(seconds.toFixed(6)), code, data]);
  }
}

function howOf({ status, signal, refused }: ChannelExit): string {
  if (refused) return 'refused';
  if (signal !== undefined) return `signal ${signal}`;
  return status === undefined ? 'closed' : `exit status ${status}`;
}

interface Stream {
  bytes: number;
  sha256: Hash;
  text: TextPieces;
}

const newStream = (): Stream => ({
  bytes: 0,
  sha256: createHash('sha256'),
  text: new TextPieces(),
});

const lineOf = (value: unknown): string => `${JSON.stringify(value)}\n`;
