import type { Client } from 'pg';

/** What the rows have in common in some columns: expressions, in which `i` is the number of the row. */
const COMMON: Readonly<Record<string, string>> = {
  mount_id: "'m'",
  status: "'active'",
  created_ms: '2 + i % 7',
  updated_ms: '2 + i % 7',
  not_after: '2 + i % 7',
  expires_at: 'case when i % 2 = 0 then 2 + i % 7 else 1000000000 + i end',
  role: "'r'",
  issuer_id: "'i'",
  month: "'2026-11'",
  reversed: "'tset.' || i",
  to_id: "'u'",
  org_id: "'o'",
  scope_id: "'o'",
  mount_accessor: "'a'",
  parent_id: "''",
  token_id: "case when i % 2 = 0 then '' else 'id-' || i end",
  'resource_link.kind': "(array['group-member', 'role-principal', 'log-in-account'])[1 + i % 3]",
  container_id: "'p'",
  body: "'{}'",
  kind: "'internal'",
  'resource.type':
    "(array['session', 'auth-token', 'user', 'account', 'target', 'role', 'group', 'alias'])[1 + i % 8]",
  'resource.owner_id': "case when i % 2 = 0 then 'u' else 'u' || i end",
};

interface Column {
  table_name: string;
  column_name: string;
  data_type: string;
}

/** Of these there is one row for each server. */
const LEFT_OUT = [
  'migration',
  'node',
  'seal',
  'job_lease',
  'audit_head',
  'config_version',
  'permission_version',
];

/** Fills all tables of a database, without regard to what refers to what, and has them analyzed. */
export async function fillTables(client: Client, rows: number): Promise<void> {
  const { rows: columns } = await client.query<Column>(
    `select table_name, column_name, data_type from information_schema.columns
     where table_schema = 'public' and is_generated = 'NEVER' and is_identity = 'NO' order by table_name`,
  );
  const tables = Map.groupBy(columns, ({ table_name }) => table_name);
  await client.query('set session_replication_role = replica');
  for (const [table, of] of tables) {
    if (LEFT_OUT.some((one) => table.startsWith(one))) continue;
    const names = of.map(({ column_name }) => `"${column_name}"`);
    await client.query(
      `insert into "${table}" (${names}) select ${of.map(expressionOf)} from generate_series(1, ${rows}) as i
       on conflict do nothing`,
    );
  }
  await client.query('set session_replication_role = origin');
  await client.query('vacuum analyze');
}

function expressionOf({ table_name, column_name, data_type }: Column): string {
  const common = COMMON[`${table_name}.${column_name}`] ?? COMMON[column_name];
  if (common !== undefined) return common;
  if (data_type === 'text') return `'${column_name}-' || i`;
  return data_type === 'bytea' ? "'\\x00'::bytea" : 'i';
}
