import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { judgeSinkLine, type SinkLine } from '../../audit/sink-line.ts';
import { Failure } from '../../core/failure.ts';
import { addRecord, type ChainFinding, newFinding } from './finding.ts';

export interface FileFindings {
  chains: ChainFinding[];
  /** Lines that hold no whole record. */
  other_lines: number;
}

/**
 * Checks the chains in a file that an audit sink wrote. A file that was rotated begins where
 * the one before it ended, and that is taken at its word.
 *
 * @param sought is shown each record's hash, to find one that was kept elsewhere
 * @throws Failure `unavailable` when the file cannot be read, or holds no record
 */
export async function checkFileChains(
  path: string,
  sought: (hash: Uint8Array) => void,
): Promise<FileFindings> {
  const chains = new Map<string, ChainFinding>();
  const heads = new Map<string, SinkLine>();
  let other_lines = 0;
  let number = 0;
  try {
    const lines = createInterface({ input: createReadStream(path), crlfDelay: Infinity });
    for await (const text of lines) {
      number += 1;
      const verdict = judgeSinkLine(heads, text);
      if (verdict.found === 'no_record') {
        other_lines += 1;
      } else if (verdict.found === 'broken') {
        // The chains are one stream: what follows a broken line is not looked at.
        return { chains: [...chains.values(), brokenAt(number, verdict.because)], other_lines };
      } else if (verdict.found === 'next') {
        const { line } = verdict;
        heads.set(line.node, line);
        const before = { seq: line.seq - 1, hash: line.prev_hash };
        const finding = chains.getOrInsert(line.node, newFinding(line.node, before));
        addRecord(finding, line, timeOf(line.record));
        sought(line.hash);
      }
    }
  } catch (cause) {
    throw new Failure('unavailable', `the file "${path}" cannot be read`, { cause });
  }
  if (chains.size === 0) {
    throw new Failure('unavailable', `the file "${path}" holds no audit record`);
  }
  return { chains: [...chains.values()], other_lines };
}

function brokenAt(line: number, because: string): ChainFinding {
  const finding = newFinding('', { seq: 0, hash: new Uint8Array(32) });
  return { ...finding, broken: { seq: 0, because: `line ${line}: ${because}` } };
}

function timeOf(record: string): number | undefined {
  const value: unknown = JSON.parse(record);
  const time = typeof value === 'object' && value !== null ? Reflect.get(value, 'time') : undefined;
  const ms = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
