/** What a statement looked at. */
export interface Looked {
  /** Rows that were read of tables, whether they were wanted or not. */
  rows: number;
  /** Blocks of tables and indexes. */
  blocks: number;
  /** Tables that were gone through without an index. */
  scans: string[];
  text: string;
}

/** Of a plan as PostgreSQL tells it with `explain (analyze, buffers, format json)`. */
export function lookedAt(told: unknown): Looked {
  const [{ Plan: top }] = told as [{ Plan: Node }];
  const looked: Looked = { rows: 0, blocks: 0, scans: [], text: JSON.stringify(told) };
  looked.blocks = numberIn(top, 'Shared Hit Blocks') + numberIn(top, 'Shared Read Blocks');
  count(top, looked);
  return looked;
}

type Node = Record<string, unknown>;

const REMOVED = ['Rows Removed by Filter', 'Rows Removed by Index Recheck'];

function count(node: Node, looked: Looked): void {
  const type = String(node['Node Type']);
  if (/(?:Seq|Index|Index Only|Bitmap Heap) Scan$/.test(type)) {
    const each = ['Actual Rows', ...REMOVED].reduce((sum, name) => sum + numberIn(node, name), 0);
    looked.rows += each * numberIn(node, 'Actual Loops');
  }
  if (type === 'Seq Scan') looked.scans.push(String(node['Relation Name']));
  const plans = Array.isArray(node.Plans) ? (node.Plans as Node[]) : [];
  for (const below of plans) count(below, looked);
}

function numberIn(node: Node, name: string): number {
  const value = node[name];
  return typeof value === 'number' ? value : 0;
}
