/** What a worker tells of a recording, in the order in which it does; what it is told of before is known by an id. */
export type RecordStep =
  /** A connection whose session is recorded. */
  | { step: 'begin'; connection_id: string }
  /** One of its channels; `bytes` are the first of its file. */
  | { step: 'open'; id: string; channel: RecordedChannel; bytes: Uint8Array }
  | ({ step: 'write' } & ChannelPiece)
  /** The last of a channel. */
  | ({ step: 'close' } & ChannelPiece)
  /** The connection is over, whatever of its channels was closed. */
  | { step: 'end'; id: string; reason: string };

/** What a channel was opened for. */
export interface RecordedChannel {
  type: string;
  program: 'shell' | 'exec' | 'subsystem' | 'none';
  /** Of `exec`, or the name of the subsystem; empty else. */
  command: string;
  has_pty: boolean;
}

/** The next bytes of a channel's file. */
export interface ChannelPiece {
  /** Of the channel recording. */
  id: string;
  /** How many pieces came before it. */
  at: number;
  bytes: Uint8Array;
  /** That flowed through the channel so far. */
  bytes_up: number;
  bytes_down: number;
}

/** What the worker is answered. */
export interface Recorded {
  /** Of what was begun or opened; of what it was about else. */
  id: string;
  /** Whether what the user does is kept as well. */
  keeps_input: boolean;
  /** How long bytes may wait for others, in milliseconds. */
  flush_ms: number;
}
