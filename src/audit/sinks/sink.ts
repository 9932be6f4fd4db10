import type { Config } from '../../config/config.ts';
import type { SinkLine } from '../sink-line.ts';

/** A record on its way to a sink. */
export interface FedRecord extends SinkLine {
  /** When the committer took the record in, Unix milliseconds. */
  time_ms: number;
}

/** Where records are put besides the database. One `put` at a time. */
export interface Sink {
  /**
   * Resolves when the sink has taken all of them for good, as far as its kind can tell. After a
   * refusal all of them are put again.
   */
  put(records: readonly FedRecord[]): Promise<void>;
  /** Opens its file anew at the next `put`, after log rotation moved the old one. */
  reopen(): void;
  /**
   * Ends it: a `put` that is under way is refused as soon as may be, what it has opened is closed, and nothing
   * more is put.
   */
  close(): Promise<void>;
  /** Only of a kind that takes records before they are read, and is not told when they are. */
  reading?: Reading;
}

/** What is known of how far a sink was read. */
export interface Reading {
  /** The last record that surely was read, of those put; undefined as long as none was. */
  sure(): number | undefined;
  /** Why those after it may be lost, told once. They are put again then, as after a `put` that was refused. */
  findBreak(): Error | undefined;
  /** Before `close`: lets the other side read all that was put, and looks whether it has, within a second. */
  finish(): Promise<void>;
}

/** Folders of the server's own, which no sink may write into. */
export function ownFolders({ storage }: Pick<Config, 'storage'>): string[] {
  return storage.type === 'sqlite' ? [storage.directory] : [];
}

const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 30_000;

/**
 * How long to leave a sink alone that has refused so many times in a row.
 *
 * @param failures 1 or more
 * @returns milliseconds: 250, 500, 1000, … up to 30 seconds
 */
export function retryPause(failures: number): number {
  return Math.min(FIRST_PAUSE * 2 ** Math.min(failures - 1, 10), LONGEST_PAUSE);
}
