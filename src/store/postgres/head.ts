import type { Client } from 'pg';
import { type ChainHead, chainStart } from '../../core/record-chain.ts';

// Where a node's chain of records ends in PostgreSQL, and whether it still goes on from what the node knows.

/** What was durable is not there any more, as when a replica takes over that had not got all: this node knows of what never was. */
export class RecordsLost extends Error {}

/** @throws RecordsLost */
export async function requireKept(
  client: Client,
  node: string,
  { durable, head }: { durable: ChainHead | undefined; head: ChainHead },
): Promise<void> {
  if (!durable) return;
  const { rows } = await client.query<Pick<ChainHead, 'hash'>>(
    'select hash from audit_entry where node = $1 and seq = $2',
    [node, durable.seq],
  );
  // Of records that are kept no longer only the newest one is always there.
  const [kept = head.seq > durable.seq ? durable : undefined] = rows;
  if (durable.seq > 0 && (!kept || !Buffer.from(kept.hash).equals(durable.hash))) {
    throw new RecordsLost(
      'the database has lost records that were durable: this node ends, to begin anew',
    );
  }
}

export async function readHead(client: Client, node: string): Promise<ChainHead> {
  const { rows } = await client.query<ChainHead>(
    'select seq, hash from audit_entry where node = $1 order by seq desc limit 1',
    [node],
  );
  return rows[0] ?? chainStart(node);
}
