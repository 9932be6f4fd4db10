import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import type { ConnectionLimits } from '../config/connections.ts';
import { invalid } from '../core/failure.ts';

/** Fewer are not enough for the database, the threads and a handful of clients. */
const LEAST = 128;
/** What the process keeps for itself: the database, threads, records, other servers that it asks. */
const OWN = 256;
/** What each further thread that answers has: its loop, its listeners, its readers of the database. */
const OF_THREAD = 24;
/**
 * For each thread that answers: its own, and connections enough to tell who has more of them. The system spreads them evenly
 * where they are many; of a few dozen of a thread one address may have one or three as it happens.
 */
const FOR_THREAD = 256;

/** How many threads can answer with so many files. */
export function threadsWithin(open_files: number | undefined): number {
  if (open_files === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(1, Math.floor(open_files / FOR_THREAD));
}

/**
 * Fits what a listener may have to the files that the process may have open: when there are none left the
 * system closes each new connection unseen, whoever it comes from, and none gives way to it.
 *
 * @param open_files undefined: as many as it likes
 * @param from.others connections that other listeners may have: where there are too few files, each has its share
 * @param from.threads that answer
 * @throws Failure `invalid` where there are too few to begin with
 */
export function fitConnections(
  limits: ConnectionLimits,
  open_files: number | undefined,
  { others = 0, threads = 1 } = {},
): ConnectionLimits {
  if (open_files === undefined) return limits;
  if (open_files < LEAST) {
    throw invalid(
      `the process may have ${open_files} files open, and needs ${LEAST} or more (ulimit -n, LimitNOFILE=)`,
    );
  }
  const own = OWN + (threads - 1) * OF_THREAD;
  const whole = open_files - Math.min(own, Math.floor(open_files / 2));
  const wanted = limits.max_connections;
  const room = Math.floor((whole * wanted) / (wanted + others));
  if (room >= limits.max_connections) return limits;
  return {
    ...limits,
    max_connections: room,
    // Of fewer, too, nobody has all.
    max_connections_per_address: Math.min(limits.max_connections_per_address, Math.floor(room / 2)),
  };
}

/** Says where it had to be less; once the server is up, since of a failure to start one line tells. */
export function tellConnections(
  log: Logger,
  set: ConnectionLimits,
  fitted: ConnectionLimits,
): void {
  if (fitted === set) return;
  const { max_connections, max_connections_per_address } = fitted;
  log.warn(
    { open_files: readOpenFileLimit(), max_connections, max_connections_per_address },
    'the listener has fewer connections than configured: the process may not have more files open (ulimit -n, LimitNOFILE=)',
  );
}

/** @returns undefined where there is no limit, or none can be learnt */
export function readOpenFileLimit(): number | undefined {
  return parseProcLimits(readLimits()) ?? limitInReport();
}

/** @param text of `/proc/self/limits`; the soft limit stands first */
export function parseProcLimits(text: string): number | undefined {
  const soft = /^Max open files +(\d+) /m.exec(text)?.[1];
  return soft === undefined ? undefined : Number(soft);
}

function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'latin1');
  } catch {
    // Systems other than Linux.
    return '';
  }
}

/** Where there is no such file; a report takes longer. */
function limitInReport(): number | undefined {
  // Looking up the names of its addresses could take seconds.
  Object.assign(process.report, { excludeNetwork: true });
  const report: { userLimits?: { open_files?: { soft?: unknown } } } = process.report.getReport();
  const soft = report.userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : undefined;
}
