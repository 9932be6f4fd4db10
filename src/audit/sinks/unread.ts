import { performance } from 'node:perf_hooks';

/**
 * More than the systems on both sides hold of a connection that nobody reads: what Linux lets these buffers grow
 * to, 4 MiB here (`tcp_wmem`) and 32 MiB there (`tcp_rmem`, 6 MiB before Linux 6.16), and some more.
 */
const HELD_BYTES = 40 << 20;
/** What a connection took so long ago counts as read, so that records are not kept for ever behind a quiet one. */
const HELD_MS = 86_400_000;
/** How long what was sent may be on its way. */
export const ON_ITS_WAY_MS = 10_000;
/** A server that ends a connection in good order may lose what it read in so long: some read on while they hang. */
const READ_ON_MS = 600_000;
/** Positions are remembered in no finer steps, so that there are few: 640 by bytes, 1,440 by time. */
const STEP_BYTES = 64 << 10;
const STEP_MS = 60_000;

/** Of what a sink was given, what it may not have read. */
export interface Unread {
  /** Adds records that were taken in, by the number of the last and the bytes of all. */
  add(seq: number, bytes: number): void;
  /** The last record that surely was read; undefined as long as none was. */
  sure(): number | undefined;
  /** Says that all was read. */
  settleAll(): void;
  /**
   * Says that the server ended the connection in good order: it had what had come to it. What it was given first a
   * while ago counts as read, or where connections are ended often the same would come again without end.
   */
  settleEnded(): void;
  /** Forgets what may not have been read, which is put again. @returns whether there was any */
  forget(): boolean;
}

interface Mark {
  seq: number;
  bytes: number;
  /** When the first and the last of its records were taken in. */
  from_ms: number;
  to_ms: number;
}

/**
 * Remembers positions in the chain, not records: those are read from the database again.
 *
 * @param held_ms what was taken in longer ago counts as read
 */
export function createUnread(
  held_ms: number = HELD_MS,
  now: () => number = () => performance.now(),
): Unread {
  let marks: Mark[] = [];
  /** When records were taken in first, a minute in one: the last while's, and the end of those before. */
  let firsts: { seq: number; from_ms: number; to_ms: number }[] = [];
  let bytes_held = 0;
  let sure: number | undefined;

  const settleWhile = (isRead: (oldest: Mark) => boolean): void => {
    const kept = marks.findIndex((mark) => {
      if (!isRead(mark)) return true;
      sure = mark.seq;
      bytes_held -= mark.bytes;
      return false;
    });
    marks = kept < 0 ? [] : marks.slice(kept);
  };
  const addFirst = (seq: number, at: number): void => {
    const newest = firsts.at(-1);
    if (newest && seq <= newest.seq) return;
    if (newest && at - newest.from_ms < STEP_MS) Object.assign(newest, { seq, to_ms: at });
    else firsts.push({ seq, from_ms: at, to_ms: at });
    const before = firsts.findLastIndex(({ to_ms }) => at - to_ms >= READ_ON_MS);
    firsts = firsts.slice(Math.max(0, before));
  };
  return {
    add(seq, bytes) {
      const at = now();
      addFirst(seq, at);
      const newest = marks.at(-1);
      bytes_held += bytes;
      if (newest && newest.bytes + bytes <= STEP_BYTES && at - newest.from_ms < STEP_MS) {
        newest.seq = seq;
        newest.bytes += bytes;
        newest.to_ms = at;
      } else marks.push({ seq, bytes, from_ms: at, to_ms: at });
    },
    sure() {
      const at = now();
      settleWhile(({ bytes, to_ms }) => bytes_held - bytes >= HELD_BYTES || at - to_ms >= held_ms);
      return sure;
    },
    settleAll: () => settleWhile(() => true),
    settleEnded() {
      const at = now();
      const old = firsts.findLast(({ to_ms }) => at - to_ms >= READ_ON_MS)?.seq ?? 0;
      settleWhile(({ seq, to_ms }) => seq <= old && at - to_ms >= ON_ITS_WAY_MS);
    },
    forget() {
      const had = marks.length > 0;
      marks = [];
      bytes_held = 0;
      return had;
    },
  };
}
