import { type Config, nodeName } from '../config/config.ts';
import { type ChainedRecord, type ChainHead, chainStart } from '../core/record-chain.ts';
import { build, type Db, prepared, preparedWrite } from '../store/database.ts';
import { keyPages, listDistinct } from '../store/key-page.ts';
import { type Write, write } from '../store/write.ts';

interface TimedRecord extends ChainedRecord {
  time_ms: number;
}

/** The most bytes of records in one page, but for a single record that has more. */
const PAGE_BYTES = 4 * 1024 * 1024;

/** SQLite reads a row of this table whole, whatever is asked of it: sizes are looked at a few at a time. */
const STEP = 32;

const sizesAfter = prepared((build, p: { node: string; seq: number; limit: number }) =>
  build
    .selectFrom('audit_entry')
    .select((row) => ['seq', 'time_ms', row.fn<number>('octet_length', ['record']).as('bytes')])
    .where('node', '=', p.node)
    .where('seq', '>', p.seq)
    .orderBy('seq')
    .limit(p.limit),
);

const recordsBetween = prepared((build, p: { node: string; seq: number; last: number }) =>
  build
    .selectFrom('audit_entry')
    .select(['seq', 'time_ms', 'record', 'prev_hash', 'hash'])
    .where('node', '=', p.node)
    .where('seq', '>', p.seq)
    .where('seq', '<=', p.last)
    .orderBy('seq'),
);

/**
 * Records of a node's chain after the one numbered `seq`, in order: at most `limit`, and at most
 * 4 MiB of them, since a record may have as much as the request that it is of. Empty at the end.
 */
export async function listRecordsAfter(
  db: Db,
  from: { node: string; seq: number; limit: number },
): Promise<TimedRecord[]> {
  const last = (await listStampsAfter(db, from)).at(-1)?.seq;
  return last === undefined ? [] : recordsBetween.all(db, { node: from.node, seq: from.seq, last });
}

/**
 * As {@link listRecordsAfter}, without what stands in the records.
 */
export async function listStampsAfter(
  db: Db,
  from: { node: string; seq: number; limit: number },
): Promise<Pick<TimedRecord, 'seq' | 'time_ms'>[]> {
  const { node, limit } = from;
  const stamps: Pick<TimedRecord, 'seq' | 'time_ms'>[] = [];
  let sum = 0;
  for (let { seq } = from; stamps.length < limit; ) {
    const step = Math.min(STEP, limit - stamps.length);
    const rows = await sizesAfter.all(db, { node, seq, limit: step });
    for (const { bytes, ...stamp } of rows) {
      sum += Number(bytes);
      if (stamps.length > 0 && sum > PAGE_BYTES) return stamps;
      stamps.push(stamp);
      seq = stamp.seq;
    }
    if (rows.length < step) break;
  }
  return stamps;
}

/** What a chain goes on with behind one of its records. */
export function findHead(db: Db, node: string, seq: number): Promise<ChainHead | undefined> {
  return db
    .selectFrom('audit_entry')
    .select(['seq', 'hash'])
    .where('node', '=', node)
    .where('seq', '=', seq)
    .executeTakeFirst();
}

/** The names of all nodes that have records, of those that are gone too. */
export function listAuditNodes(db: Db): Promise<string[]> {
  return listDistinct(db, nodePages);
}

const nodePages = keyPages('audit_entry', 'node');

/** The head that the stored records of a chain follow: its start, or where it was cut. */
export async function readChainStart(db: Db, node: string): Promise<ChainHead> {
  const cut = await db
    .selectFrom('audit_cut')
    .select(['seq', 'hash'])
    .where('node', '=', node)
    .executeTakeFirst();
  return cut ?? chainStart(node);
}

/** Whether a record is one of a node's chain: kept, or from before the records that are. */
export async function hasRecord(db: Db, node: string, record: ChainHead): Promise<boolean> {
  const [found] = await listRecordsAfter(db, { node, seq: record.seq - 1, limit: 1 });
  const known = found?.seq === record.seq ? found : await readChainStart(db, node);
  if (known.seq !== record.seq) return record.seq < known.seq;
  return Buffer.from(known.hash).equals(record.hash);
}

/** This node's own chain, as what a file of its records goes on with. */
export function chainOf(
  config: Config,
  { db }: { db: Db },
): { node: string; has(record: ChainHead): Promise<boolean> } {
  const node = nodeName(config);
  return { node, has: (record) => hasRecord(db, node, record) };
}

/** The number of a chain's last record; 0 for a chain without records. */
export async function readLastSeq(db: Db, node: string): Promise<number> {
  const row = await db
    .selectFrom('audit_entry')
    .select('seq')
    .where('node', '=', node)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.seq ?? 0;
}

/** Deletes the records up to `head` and keeps it as the start of what is left. */
export function cutChain(node: string, head: ChainHead): Write[] {
  const { seq, hash } = head;
  return [
    write(build.deleteFrom('audit_entry').where('node', '=', node).where('seq', '<=', seq)),
    write(
      build
        .insertInto('audit_cut')
        .values({ node, seq, hash })
        .onConflict((clash) => clash.column('node').doUpdateSet({ seq, hash })),
      { rows: 1 },
    ),
  ];
}

const upsertCursor = preparedWrite(
  (build, p: { name: string; node: string; seq: number }) =>
    build
      .insertInto('audit_sink')
      .values({ name: p.name, node: p.node, seq: p.seq })
      .onConflict((clash) =>
        clash.columns(['name', 'node']).doUpdateSet((row) => ({ seq: row.ref('excluded.seq') })),
      ),
  { rows: 1 },
);

/** How far a sink of a node has been fed; undefined for a new one. */
export async function findCursor(
  db: Db,
  key: { name: string; node: string },
): Promise<number | undefined> {
  const row = await db
    .selectFrom('audit_sink')
    .select('seq')
    .where('name', '=', key.name)
    .where('node', '=', key.node)
    .executeTakeFirst();
  return row?.seq;
}

export function saveCursor(cursor: { name: string; node: string; seq: number }): Write {
  return upsertCursor(cursor);
}

/** Sinks of a node and how far each was fed. */
export function listCursors(db: Db, node: string): Promise<{ name: string; seq: number }[]> {
  return db.selectFrom('audit_sink').select(['name', 'seq']).where('node', '=', node).execute();
}

/** Forgets a sink that is there no more: of one node, or of all. */
export function deleteCursor(name: string, node?: string): Write {
  const query = build.deleteFrom('audit_sink').where('name', '=', name);
  return write(node === undefined ? query : query.where('node', '=', node));
}
