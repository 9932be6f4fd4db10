import { invalid } from '../../core/failure.ts';
import type { Arguments } from '../arguments.ts';
import type { Command } from '../command.ts';
import { formatOf } from '../output.ts';
import { PLACE_FLAGS, readPlace } from '../place.ts';
import { checkFileChains, type FileFindings } from './file-chains.ts';
import type { ChainFinding } from './finding.ts';
import { checkStoredChains } from './stored-chains.ts';

export const verifyCommand: Command = {
  usage: 'audit verify (-config FILE | -data DIR | -file FILE) [flags]',
  summary: 'check that no audit record was changed, left out or added',
  about: `Checks the chain of every node: that no record was changed, left out, added or moved. The
servers may go on working. What was cut off at the end shows only against a head that was kept
elsewhere: give it with -head, and it is looked for among the records.

The exit code is 0 when every chain is intact, 1 when one is broken or lacks the head, and 2 when
that cannot be told.`,
  flags: {
    ...PLACE_FLAGS,
    file: { value: 'FILE', help: 'in their place: what an audit sink wrote, a record a line' },
    head: { value: 'HASH', help: 'the hash of a record that must be there, 64 hex digits' },
    format: { value: 'json|table', help: 'how the outcome is written (table)' },
  },
  failure_code: 2,
  async run({ flags }) {
    const format = formatOf(flags);
    const head = headOf(flags);
    let head_found = head === undefined;
    const findings = await check(flags, (hash) => {
      head_found ||= head?.equals(hash) === true;
    });
    const intact = head_found && findings.chains.every(({ broken }) => broken === undefined);
    const outcome = { ...findings, intact, head_found };
    console.log(format === 'json' ? jsonOf(outcome) : textOf(outcome));
    return intact ? 0 : 1;
  },
};

interface Outcome extends FileFindings {
  intact: boolean;
  head_found: boolean;
}

function headOf(flags: Arguments['flags']): Buffer | undefined {
  const head = flags.get('head');
  if (head === undefined) return undefined;
  if (!/^[0-9a-f]{64}$/i.test(head)) {
    throw invalid('flag -head must be 64 hex digits, as this command prints them');
  }
  return Buffer.from(head, 'hex');
}

async function check(
  flags: Arguments['flags'],
  sought: (hash: Uint8Array) => void,
): Promise<FileFindings> {
  const file = flags.get('file');
  if (file === undefined) {
    return { chains: await checkStoredChains(readPlace(flags), sought), other_lines: 0 };
  }
  if (flags.has('config') || flags.has('data')) {
    throw invalid('give one of -config FILE, -data DIR and -file FILE');
  }
  return checkFileChains(file, sought);
}

function textOf({ chains, other_lines, intact, head_found }: Outcome): string {
  const lines = chains.flatMap((chain) => {
    const { node, records, broken } = chain;
    const broke = broken ? [`BROKEN   ${node && `node ${node}: `}${broken.because}`] : [];
    return records === 0 ? broke : [...describe(chain), ...broke];
  });
  if (chains.length === 0) lines.push('There are no records.');
  if (other_lines > 0) lines.push(`${other_lines} lines hold no whole record.`);
  if (!head_found) lines.push('BROKEN   no record has the hash given with -head');
  lines.push(intact ? 'Intact.' : 'Not intact.');
  return lines.join('\n');
}

function describe({ node, records, first_seq, first_ms, last_ms, head }: ChainFinding): string[] {
  return [
    `node     ${node}`,
    `records  ${records}, ${first_seq} to ${head.seq}`,
    `time     ${timeText(first_ms)} to ${timeText(last_ms)}`,
    `head     ${Buffer.from(head.hash).toString('hex')}`,
    '',
  ];
}

function jsonOf({ chains, other_lines, intact, head_found }: Outcome): string {
  const nodes = chains.map(({ node, records, first_seq, first_ms, last_ms, head, broken }) => ({
    node,
    records,
    first_seq,
    last_seq: records === 0 ? undefined : head.seq,
    first_time: timeText(first_ms),
    last_time: timeText(last_ms),
    head: records === 0 ? undefined : Buffer.from(head.hash).toString('hex'),
    broken: broken?.because,
  }));
  return JSON.stringify({ intact, head_found, other_lines, nodes }, null, 2);
}

function timeText(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}
