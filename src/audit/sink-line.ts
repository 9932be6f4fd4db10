import {
  type ChainedRecord,
  type ChainHead,
  chainStart,
  verifyChain,
} from '../core/record-chain.ts';

/** A record as a sink holds it: whose chain it belongs to, and its place there. */
export interface SinkLine extends ChainedRecord {
  node: string;
}

const LINE =
  /^\{"node":("(?:[^"\\]|\\.)*"),"seq":(\d{1,16}),"prev_hash":"([0-9a-f]{64})","hash":"([0-9a-f]{64})","record":(\{.*\})\}$/s;

/**
 * Writes a record as one line of JSON, without the line's end. `record` comes last and byte for
 * byte as it was hashed, so that the chain can be verified from the line alone.
 *
 *     {"node":"local","seq":7,"prev_hash":"<64 hex>","hash":"<64 hex>","record":{…}}
 */
export function encodeSinkLine(line: SinkLine): string {
  return `${head(line)},"record":${line.record}}`;
}

/**
 * Stands in for a record that a sink cannot carry whole (a datagram has a greatest size). It
 * shows that there was a record and which, and is no line for {@link parseSinkLine}.
 */
export function encodeOmittedLine(line: SinkLine): string {
  return `${head(line)},"omitted_bytes":${Buffer.byteLength(line.record)}}`;
}

function head({ node, seq, prev_hash, hash }: SinkLine): string {
  return `{"node":${JSON.stringify(node)},"seq":${seq},"prev_hash":"${hex(prev_hash)}","hash":"${hex(hash)}"`;
}

/**
 * Reads a line back.
 *
 * @returns undefined for what is no such line: another program's, or one that was torn when the
 *   server or its disk stopped in the middle of it
 */
export function parseSinkLine(text: string): SinkLine | undefined {
  const [, node, seq, prev_hash, hash, record] = LINE.exec(text) ?? [];
  if (node === undefined || !prev_hash || !hash || record === undefined) return undefined;
  const name = parseJson(node);
  if (typeof name !== 'string' || parseJson(record) === undefined) return undefined;
  return {
    node: name,
    seq: Number(seq),
    record,
    prev_hash: Buffer.from(prev_hash, 'hex'),
    hash: Buffer.from(hash, 'hex'),
  };
}

/**
 * The last whole record of a node in the end of a file.
 *
 * @param tail the file's last characters; `is_whole`: they are all that it has
 */
export function findLastRecord(
  tail: string,
  { node, is_whole }: { node: string; is_whole: boolean },
): SinkLine | undefined {
  const lines = tail.split('\n');
  // The first may lack its beginning.
  for (let at = lines.length - 1; at >= (is_whole ? 0 : 1); at -= 1) {
    const line = parseSinkLine(lines[at] ?? '');
    if (line?.node === node) return line;
  }
  return undefined;
}

/** What was found in the lines so far: the head of each node's chain. Start with an empty map. */
type SinkHeads = ReadonlyMap<string, ChainHead>;

type SinkLineVerdict =
  /** The record after the head, to be put into the map; or one that came before already. */
  | { found: 'next' | 'repeated'; line: SinkLine }
  /**
   * No whole record: torn when the server stopped in the middle of it, or another program's. By
   * itself no harm: a record that should have stood here is missed at the next line.
   */
  | { found: 'no_record' }
  | { found: 'broken'; because: string };

/**
 * Checks one line of a sink against those before it. Lines come in order; one that comes a
 * second time is as it was the first time. The first line of a node is taken at its word for
 * what was before it, unless it is the first of its chain: a file may have been rotated.
 *
 * @param heads the heads so far; after `next` the caller puts the new one in with
 *   `heads.set(line.node, line)`
 */
export function judgeSinkLine(heads: SinkHeads, text: string): SinkLineVerdict {
  const line = parseSinkLine(text);
  if (!line) return { found: 'no_record' };
  const known = heads.get(line.node);
  const before = { seq: line.seq - 1, hash: line.prev_hash };
  // A line at or before the head was delivered twice; it must still be true to itself.
  const repeated = known !== undefined && line.seq <= known.seq;
  const from = repeated ? before : (known ?? (line.seq === 1 ? chainStart(line.node) : before));
  const verdict = verifyChain(from, [line]);
  if (!verdict.intact) return { found: 'broken', because: verdict.because };
  if (known?.seq === line.seq && !Buffer.from(known.hash).equals(line.hash)) {
    return { found: 'broken', because: `record ${line.seq} came before with other content` };
  }
  return { found: repeated ? 'repeated' : 'next', line };
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
