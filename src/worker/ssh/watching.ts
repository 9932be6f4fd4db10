/** What a channel was opened for, as far as its first requests say so. */
export interface ChannelFacts {
  /** As it was opened, e.g. `session` or `direct-tcpip`. */
  type: string;
  /** What was asked for of a `session`; `none` of every other type. */
  program: 'shell' | 'exec' | 'subsystem' | 'none';
  /** Of `exec`, or the name of the subsystem. */
  command?: string;
  pty?: { term: string; columns: number; rows: number };
}

/**
 * Sees what flows through one connection with injected credentials. Its promises are awaited before what
 * it was told goes on, so that a slow watcher slows the stream; a rejected one ends the connection.
 */
export interface SessionWatcher {
  openChannel(facts: ChannelFacts): Promise<ChannelWatcher>;
  close(end: { reason: string }): Promise<void>;
}

/** How a channel ended; `refused`: what it was begun for was not done, and something else was asked for. */
export interface ChannelExit {
  status?: number;
  signal?: string;
  refused?: true;
}

/** Sees one channel. */
export interface ChannelWatcher {
  output(bytes: Uint8Array, from: 'stdout' | 'stderr'): Promise<void>;
  input(bytes: Uint8Array): Promise<void>;
  resize(columns: number, rows: number): Promise<void>;
  close(exit: ChannelExit): Promise<void>;
}
