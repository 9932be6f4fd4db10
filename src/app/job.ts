import type { Effect } from '../store/write.ts';
import type { App } from './app.ts';

/**
 * Periodic work, done by one node at a time: whichever holds the row `name` of `job_lease`.
 * A node that is killed while it works is followed by another within {@link LEASE_MS}, one
 * that is killed between two runs is followed when the next run is due; one whose clock was ahead
 * when it was killed, once its lease has said the same for as long as that.
 */
export interface Job {
  /** Names its lease, its log lines and its audit records: `<feature>/<work>`. */
  name: string;
  /** Milliseconds from the end of one run to the beginning of the next, on whichever node. */
  every_ms: number;
  /** Whether each cluster does it for itself: then one node of each cluster at a time does, by a lease of that cluster. */
  of_cluster?: boolean;
  /** Whether this server does it, by its configuration; unless given, it does. */
  isWanted?(app: Pick<App, 'config'>): boolean;
  /**
   * One run. Work in bounded pages, and commit each of them with `turn.commit`: the set is
   * refused once another node has taken over, and the run ends with that. Look at
   * `turn.stopping` between pages. Not called while the server is sealed.
   */
  run(app: App, turn: JobRun): Promise<void>;
}

/** One run of a job, and the right to it. */
export interface JobRun {
  /**
   * Makes a write set durable with an audit record, if this node still has the job.
   *
   * @param outcome facts for the record, e.g. `{ lease_id }`
   */
  commit(effects: readonly Effect[], outcome?: Record<string, unknown>): Promise<void>;
  /** For sets given to `app.store.commit`, without an audit record: refuses them once the job has moved. */
  fence(): Effect;
  /** True when the server is being stopped or sealed: end with the page at hand. */
  readonly stopping: boolean;
}

/** How long the holder of a job may be silent. */
export const LEASE_MS = 10_000;

/** How often whoever works says that it is there. */
export const BEAT_MS = LEASE_MS / 4;
