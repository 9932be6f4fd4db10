import type { IncomingMessage } from 'node:http';

/** What a field of a head takes besides its characters. */
const FIELD = 96;
/** What a pair of a query takes besides its characters, once it is read. */
const PAIR = 64;
/** A shorter target is none of many pairs. */
const SHORT_TARGET = 256;

function weighTarget(url: string): number {
  if (url.length <= SHORT_TARGET) return url.length;
  let pairs = 0;
  for (let at = url.indexOf('&'); at >= 0; at = url.indexOf('&', at + 1)) pairs += 1;
  return url.length + pairs * PAIR;
}

/** About how many bytes a head takes: a field of three characters as much as one of a hundred. */
export function weighHead({ rawHeaders, url = '' }: IncomingMessage): number {
  let bytes = weighTarget(url) + (rawHeaders.length / 2) * FIELD;
  for (const text of rawHeaders) bytes += text.length;
  return bytes;
}

export const waitsForBody = ({
  headers,
}: {
  headers: Readonly<Record<string, unknown>>;
}): boolean =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
