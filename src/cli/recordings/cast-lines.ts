import { invalid } from '../../core/failure.ts';

/** What a player needs of an asciicast's header. */
export interface CastHeader {
  width: number;
  height: number;
}

export interface CastEvent {
  /** Seconds since the beginning. */
  time: number;
  code: string;
  data: string;
}

/** A longer line is none that a recorder writes. */
const LONGEST_LINE = 8 << 20;

/** The lines of a text that comes in pieces. @throws Failure `invalid` for one without end */
export async function* linesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8');
  let parts: string[] = [];
  let length = 0;
  for await (const piece of pieces) {
    const lines = decoder.decode(piece, { stream: true }).split('\n');
    const last = lines.pop() ?? '';
    for (const line of lines) {
      yield [...parts, line].join('');
      parts = [];
      length = 0;
    }
    parts.push(last);
    length += last.length;
    if (length > LONGEST_LINE) throw invalid('this is no asciicast: a line of it has no end');
  }
  const rest = parts.join('') + decoder.decode();
  if (rest !== '') yield rest;
}

/** @throws Failure `invalid` for what is no header of version 2 */
export function parseHeader(line: string): CastHeader {
  const header = parseJson(line);
  if (typeof header === 'object' && header !== null && !Array.isArray(header)) {
    const { version, width, height } = header as Record<string, unknown>;
    if (version === 2 && isSize(width) && isSize(height)) return { width, height };
  }
  throw invalid('this is no asciicast of version 2');
}

const isSize = (value: unknown): value is number => Number.isInteger(value) && Number(value) > 0;

/** @throws Failure `invalid` for what is no event */
export function parseEvent(line: string): CastEvent {
  const event = parseJson(line);
  if (Array.isArray(event)) {
    const [time, code, data] = event;
    const isTime = typeof time === 'number' && Number.isFinite(time) && time >= 0;
    if (isTime && typeof code === 'string' && typeof data === 'string') return { time, code, data };
  }
  throw invalid('this is no asciicast: a line of it is no event');
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
