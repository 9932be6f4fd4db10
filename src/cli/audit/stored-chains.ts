import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { listAuditNodes, listRecordsAfter, readChainStart } from '../../audit/store.ts';
import { Failure } from '../../core/failure.ts';
import { verifyChain } from '../../core/record-chain.ts';
import type { Db } from '../../store/database.ts';
import { openReading } from '../../store/reading.ts';
import type { StoreOptions } from '../../store/store.ts';
import { addRecord, type ChainFinding, newFinding } from './finding.ts';

/** Records read at a time. */
const PAGE = 1000;

/**
 * Checks the chain of every node in a database, beside the servers that work on it.
 *
 * @param sought is shown each record's hash, to find one that was kept elsewhere
 * @throws Failure `unavailable` when it cannot be read
 */
export async function checkStoredChains(
  place: StoreOptions,
  sought: (hash: Uint8Array) => void,
): Promise<ChainFinding[]> {
  const reading = await openReading(placeOf(place));
  try {
    const findings: ChainFinding[] = [];
    for (const node of await listAuditNodes(reading.db)) {
      findings.push(await checkChain(reading.db, node, sought));
    }
    return findings;
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    throw new Failure('unavailable', 'the audit records cannot be read from the database', {
      cause,
    });
  } finally {
    await reading.close();
  }
}

function placeOf(place: StoreOptions): Parameters<typeof openReading>[0] {
  if (place.engine === 'postgres') return { engine: 'postgres', url: place.url };
  const file = join(place.directory, 'gatehouse.db');
  if (!existsSync(file)) {
    throw new Failure('unavailable', `there is no database in "${place.directory}"`);
  }
  return { engine: 'sqlite', file };
}

async function checkChain(
  db: Db,
  node: string,
  sought: (hash: Uint8Array) => void,
): Promise<ChainFinding> {
  const start = await readChainStart(db, node);
  const finding = newFinding(node, start);
  // The last record that was deleted in its time may be the one that was kept elsewhere.
  sought(start.hash);
  for (;;) {
    const { seq } = finding.head;
    const page = await listRecordsAfter(db, { node, seq, limit: PAGE });
    const verdict = verifyChain(finding.head, page);
    if (!verdict.intact) {
      // Old records may have been deleted in their time while this was going on.
      const now = await readChainStart(db, node);
      if (now.seq > start.seq) return checkChain(db, node, sought);
      return { ...finding, broken: verdict };
    }
    for (const record of page) {
      addRecord(finding, record, record.time_ms);
      sought(record.hash);
    }
    if (page.length === 0) return finding;
  }
}
