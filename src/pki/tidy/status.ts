import { z } from 'zod';
import type { PkiTidyRow } from '../../store/tables.ts';
import { TIDY_FLAGS, type TidyFlag, type TidyRequest } from './fields.ts';

/** What has been removed, or in a dry run would be; and what was found out meanwhile. */
export const COUNTS = [
  'cert_store_deleted_count',
  'revoked_cert_deleted_count',
  'missing_issuer_cert_count',
  'issuer_deleted_count',
  'revocation_queue_deleted_count',
  'cross_revoked_cert_deleted_count',
  'cert_metadata_deleted_count',
  'cmpv2_nonce_deleted_count',
  'total_acme_account_count',
  'acme_account_deleted_count',
  'acme_account_revoked_count',
  'acme_orders_deleted_count',
] as const;
export type TidyCounts = Record<(typeof COUNTS)[number], number>;

export const NO_COUNTS: TidyCounts = Object.fromEntries(
  COUNTS.map((name) => [name, 0]),
) as TidyCounts;

export const STATES = [
  'Inactive',
  'Running',
  'Finished',
  'Error',
  'Cancelling',
  'Cancelled',
] as const;
export type TidyState = (typeof STATES)[number];

/** How far a tidying has come. */
export interface TidyProgress {
  /** Which of its works is under way; empty: none is. */
  work: TidyFlag | '';
  /** Rows that are to go, as far as they are known when it begins. */
  total: number;
  /** Rows that are dealt with. */
  done: number;
}
export const NO_PROGRESS: TidyProgress = { work: '', total: 0, done: 0 };

/** The last tidying of a mount, or that there was none. */
export interface TidyRun {
  run_id: string;
  state: TidyState;
  request: TidyRequest | undefined;
  counts: TidyCounts;
  progress: TidyProgress;
  error: string | null;
  started_at_ms: number | null;
  finished_at_ms: number | null;
  last_finished_at_ms: number;
}

export const NO_RUN: TidyRun = {
  run_id: '',
  state: 'Inactive',
  request: undefined,
  counts: NO_COUNTS,
  progress: NO_PROGRESS,
  error: null,
  started_at_ms: null,
  finished_at_ms: null,
  last_finished_at_ms: 0,
};

export function parseRun(row: PkiTidyRow): TidyRun {
  if (row.run_id === '') return { ...NO_RUN, last_finished_at_ms: row.last_finished_at_ms };
  const { run_id, error, started_at_ms, finished_at_ms, last_finished_at_ms } = row;
  return {
    run_id,
    state: z.enum(STATES).parse(row.state),
    request: JSON.parse(row.request),
    counts: { ...NO_COUNTS, ...JSON.parse(row.counts) },
    progress: { ...NO_PROGRESS, ...JSON.parse(row.progress) },
    error,
    started_at_ms,
    finished_at_ms,
    last_finished_at_ms,
  };
}

export const isUnderWay = ({ state }: Pick<TidyRun, 'state'>): boolean =>
  state === 'Running' || state === 'Cancelling';

const count = z.int().nullable();
const of = <Name extends string, Value>(names: readonly Name[], value: Value) =>
  Object.fromEntries(names.map((name) => [name, value])) as Record<Name, Value>;

export const statusSchema = z.object({
  state: z.enum(STATES),
  error: z.string().nullable(),
  message: z.string().nullable().describe('What is being done; null once it is over.'),
  time_started: z.string().nullable(),
  time_finished: z.string().nullable(),
  last_auto_tidy_finished: z
    .string()
    .optional()
    .describe('When one ended well last; not there before the first. The year 1: none has.'),
  ...of(TIDY_FLAGS, z.boolean().nullable()),
  safety_buffer: count,
  revoked_safety_buffer: count,
  issuer_safety_buffer: count,
  acme_account_safety_buffer: count,
  revocation_queue_safety_buffer: count,
  pause_duration: z.string().nullable(),
  page_size: count,
  dry_run: z.boolean().nullable().describe('Whether the counts are of what would be removed.'),
  ...of(COUNTS, count),
  total_count: count.describe('Rows that are to go, as far as that is known before.'),
  processed_count: count.describe('Rows of these that are dealt with.'),
  current_cert_store_count: count.describe('Certificates stored; null unless that is maintained.'),
  current_revoked_cert_count: count,
  internal_backend_uuid: z.string(),
});
export type TidyStatus = z.output<typeof statusSchema>;

const ZERO_TIME = '0001-01-01T00:00:00Z';
const timeOf = (ms: number | null): string | null =>
  ms === null ? null : new Date(ms).toISOString();

/** @param stored how many certificates and revocations there are, where that is told */
export function describeStatus(
  mount_id: string,
  run: TidyRun,
  stored: { certificates: number; revocations: number } | undefined,
): TidyStatus {
  const { state, request, counts, progress } = run;
  const known = request !== undefined;
  const numbers = known ? counts : of(COUNTS, null);
  return {
    state,
    error: run.error,
    message: isUnderWay(run) ? messageOf(progress) : null,
    time_started: timeOf(run.started_at_ms),
    time_finished: timeOf(run.finished_at_ms),
    ...(known && {
      last_auto_tidy_finished: run.last_finished_at_ms
        ? new Date(run.last_finished_at_ms).toISOString()
        : ZERO_TIME,
    }),
    ...(request ?? {
      ...of(TIDY_FLAGS, null),
      safety_buffer: null,
      revoked_safety_buffer: null,
      issuer_safety_buffer: null,
      acme_account_safety_buffer: null,
      revocation_queue_safety_buffer: null,
      pause_duration: null,
      page_size: null,
      dry_run: null,
    }),
    ...numbers,
    total_count: known ? progress.total : null,
    processed_count: known ? progress.done : null,
    current_cert_store_count: stored?.certificates ?? null,
    current_revoked_cert_count: stored?.revocations ?? null,
    internal_backend_uuid: mount_id,
  };
}

function messageOf({ work, done, total }: TidyProgress): string {
  if (work === '') return 'Tidying is about to begin.';
  return `Tidying, by ${work}: ${done} of ${Math.max(done, total)} done.`;
}
