import { AsyncLocalStorage } from 'node:async_hooks';
import { OWN_PARTY, partyOf } from './party.ts';

/** So many turns a usual request has at most; one that had more is a long one. */
export const USUAL_TURNS = 8;

/** A usual request reads less that is long. */
const USUAL_READ = 256 << 10;

/** Whom work is done for, as far as sharing out turns is concerned: one request, or the server itself. */
export class Asking {
  readonly #address: string;
  #party: string | undefined;
  /** Who it is, once that is known: an entity, a user, or what somebody is permitted. */
  account = '';
  /** Turns that it had after waiting. */
  turns = 0;
  /** Characters of what was read for it that is long. */
  read = 0;
  /** How much it does that others wait for, too. */
  shared = 0;
  /** Whether it is done at some time, which {@link onEnd} is told. */
  readonly ends: boolean;
  onEnd: (() => void) | undefined;

  /** @param address of the socket; empty: the server's own work */
  constructor(address: string, { ends = false } = {}) {
    this.#address = address;
    this.ends = ends;
  }

  /** Whether it had more turns than usual requests, or most likely holds more. */
  get isLong(): boolean {
    return this.turns >= USUAL_TURNS || this.read > USUAL_READ;
  }

  /** Found out only for those that have to wait, which few do. */
  get party(): string {
    this.#party ??= this.#address === OWN_PARTY ? OWN_PARTY : partyOf(this.#address);
    return this.#party;
  }
}

const asking = new AsyncLocalStorage<Asking>();
/** What is done for nobody in particular. */
export const OWN_WORK = new Asking(OWN_PARTY);

/** Runs work, and all that it starts, on behalf of a request from an address. */
export function doFor<Result>(address: string, work: () => Result): Result {
  return asking.run(new Asking(address), work);
}

/** Does a request, which is done once it is answered. */
export async function doRequest<Result>(
  address: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const who = new Asking(address, { ends: true });
  try {
    return await asking.run(who, work);
  } finally {
    who.onEnd?.();
  }
}

/** Runs work that others wait for, too: whatever keeps its own request waiting must not keep them. */
export async function doShared<Result>(work: () => Promise<Result>): Promise<Result> {
  const who = whoAsks();
  who.shared += 1;
  try {
    return await work();
  } finally {
    who.shared -= 1;
  }
}

/** Says that the work under way holds from now on what others wait for. */
export function holdShared(): void {
  whoAsks().shared += 1;
}

/** Pieces that are made while they are taken: for a request from an address, whoever takes them. */
export function makeFor<Piece>(
  address: string,
  pieces: AsyncIterable<Piece>,
): AsyncIterable<Piece> {
  const who = new Asking(address);
  return {
    [Symbol.asyncIterator]() {
      const made = pieces[Symbol.asyncIterator]();
      return {
        next: () => asking.run(who, () => made.next()),
        return: async () => (await made.return?.()) ?? { done: true, value: undefined },
      };
    },
  };
}

/** Says whose account the work under way is for, of those who ask from one address. */
export function noteAccount(account: string): void {
  const who = asking.getStore();
  if (who) who.account = account;
}

/** Says that so many characters of what is long were read for the work under way. */
export function noteRead(length: number): void {
  const who = asking.getStore();
  if (who) who.read += length;
}

/** On whose behalf the work under way is done. */
export function whoAsks(): Asking {
  return asking.getStore() ?? OWN_WORK;
}
