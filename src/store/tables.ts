/**
 * The rows of every table, as queries see them. A feature adds its table here and creates
 * it in its migration.
 *
 * Three types only: `string`, `number` (a whole number within ±(2^53 − 1)) and `Uint8Array`.
 * Booleans are 0 or 1, instants are seconds since 1970 (milliseconds where the name ends in
 * `_ms`), JSON is text, and a column that holds a sealed secret ends in `_sealed`.
 */
export interface Tables {
  config_version: ConfigVersionRow;
  job_lease: JobLeaseRow;
  audit_entry: AuditEntryRow;
  audit_sink: AuditSinkRow;
}

/** One row; grows with every write set that changes configuration. */
interface ConfigVersionRow {
  id: 1;
  version: number;
}

/** Which node does a periodic job at present; see `lease.ts`. */
export interface JobLeaseRow {
  name: string;
  holder: string;
  expires_at_ms: number;
  /** Grows by one with every new holder, so that the work of a former one can be refused. */
  fence: number;
}

/** One audit record, chained to the one before it of the same node; see `audit/chain.ts`. */
export interface AuditEntryRow {
  node: string;
  /** 1 for a node's first record, without gaps. */
  seq: number;
  /** When the committer took the record in; the record itself says when the request came. */
  time_ms: number;
  record: string;
  prev_hash: Uint8Array;
  hash: Uint8Array;
}

/** How far a sink (a file, syslog, a webhook) has been fed with the records of a node. */
interface AuditSinkRow {
  name: string;
  node: string;
  /** The last record that the sink has taken. */
  seq: number;
}
