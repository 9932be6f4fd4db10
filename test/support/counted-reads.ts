import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Store } from '../../src/store/store.ts';
import { readingBy } from './reading-by.ts';

/** Node tells of each request by this, in the context that all it does then runs in. */
const REQUEST_STARTED = 'http.server.request.start';

/** How many reads one request has made so far. */
interface Reads {
  count: number;
}

/** Stands between a server and its store, and counts what each request reads from the database. */
export class ReadCounter {
  /** What the request that came last has read, without what the server reads at the same time. */
  last: Reads = { count: 0 };
  readonly #ofRequest = new AsyncLocalStorage<Reads>();
  readonly #begin = () => {
    this.last = { count: 0 };
    this.#ofRequest.enterWith(this.last);
  };

  constructor() {
    subscribe(REQUEST_STARTED, this.#begin);
  }

  [Symbol.dispose](): void {
    unsubscribe(REQUEST_STARTED, this.#begin);
  }

  /** Gives a server its store. */
  readonly over = (real: Store): Store => {
    const db = readingBy(real.db, (_text, read) => {
      const reads = this.#ofRequest.getStore();
      if (reads) reads.count += 1;
      return read();
    });
    return { ...real, db };
  };
}
