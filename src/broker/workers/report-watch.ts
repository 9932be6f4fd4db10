import type { WorkerStatusRow } from '../../store/tables.ts';
import { GRACE_MS } from './worker.ts';

/** What the watch knows of a worker: whether it has reported within the grace. */
export type Hearing = 'heard' | 'silent' | 'not known';

interface Seen {
  says: string;
  /** It has said so since then at the latest. */
  by_ms: number;
  /** It had not said so yet by then; undefined for what was there at the first look. */
  after_ms: number | undefined;
}

/**
 * Judges by a monotonic clock whether workers report: by when their reports were seen to change, whatever time these
 * name. Clocks of nodes differ, and are set.
 */
export class ReportWatch {
  readonly #steady: () => number;
  #seen = new Map<string, Seen>();
  /** When the last look began. */
  #looked: number | undefined;

  /** @param steady milliseconds, from any beginning */
  constructor(steady = () => performance.now()) {
    this.#steady = steady;
  }

  /** Reads all reports, and notes which have changed. */
  async look(read: () => Promise<WorkerStatusRow[]>): Promise<WorkerStatusRow[]> {
    const began_ms = this.#steady();
    const rows = await read();
    const before_ms = this.#looked;
    // Another look that began later was faster: this one is of the past.
    if (before_ms !== undefined && before_ms > began_ms) return rows;
    this.#looked = began_ms;
    const ended_ms = this.#steady();
    this.#seen = new Map(
      rows.map(({ worker_id, last_status_ms, operational_state }) => {
        const says = `${last_status_ms} ${operational_state}`;
        const known = this.#seen.get(worker_id);
        const fresh = { says, by_ms: ended_ms, after_ms: before_ms };
        return [worker_id, known?.says === says ? known : fresh];
      }),
    );
    return rows;
  }

  /** `not known` where nobody has looked for so long, as after a start, that the last report may be of any time. */
  judge(worker_id: string): Hearing {
    const seen = this.#seen.get(worker_id);
    if (!seen || this.#looked === undefined) return 'not known';
    // When it was last looked, and not now: since then it may have reported.
    if (this.#looked - seen.by_ms > GRACE_MS) return 'silent';
    const { after_ms } = seen;
    const isRecent = after_ms !== undefined && this.#steady() - after_ms <= GRACE_MS;
    return isRecent ? 'heard' : 'not known';
  }
}
