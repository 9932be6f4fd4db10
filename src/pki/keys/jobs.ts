import { generateKeyPair, type KeyObject } from 'node:crypto';
import { makeKeyInTurn } from '../../access/concurrency/operations.ts';
import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { inOnePlace, oneForAll } from '../../app/one-for-all.ts';
import { Failure } from '../../core/failure.ts';
import type { Asker } from '../../core/fairness/asker.ts';
import { OWN_PARTY } from '../../core/fairness/party.ts';

/** Keys that may wait for a taker, by size: making one takes 40 ms to seconds of a core. */
const MOST: Readonly<Record<number, number>> = { 2048: 16, 3072: 6, 4096: 2 };

interface Shelf {
  ready: KeyObject[];
  /** How many are kept ready; doubles whenever there was none. */
  target: number;
  filling: boolean;
}

interface Pool {
  shelves: Map<number, Shelf>;
  /** Changes when the server seals, so that keys made before are not kept. */
  term: number;
  closed: boolean;
}

const poolOf = perApp<Pool>((app) => {
  const pool: Pool = { shelves: new Map(), term: 0, closed: false };
  const empty = (): void => {
    pool.term += 1;
    pool.shelves.clear();
  };
  app.barrier.onSeal(empty);
  app.onClose(() => {
    pool.closed = true;
    empty();
  });
  return pool;
});

type Aside = NonNullable<Caller['aside']>;

/**
 * A fresh RSA key that nobody else gets: from those made in the background, or, when there is
 * none, made when it is the asker's turn, so that a burst is slowed to what the cores can make.
 * Sizes that nobody asks for are never made.
 *
 * @param aside does what has to be waited for
 * @throws Failure `rate_limited` when too many keys are waited for
 */
export function takeRsaKey(
  app: App,
  asker: Asker,
  bits: number,
  aside: Aside = (work) => work(),
): Promise<KeyObject> {
  // On another thread it is waited for in any case.
  if (oneForAll(app).ask) return aside(() => takeInOnePlace(app, { asker: placeOf(asker), bits }));
  return take(app, asker, bits, aside);
}

const takeInOnePlace = inOnePlace(
  'pki/rsa-key',
  (app, { asker, bits }: { asker: Asker; bits: number }) => take(app, asker, bits),
);

/** Who asks, as another thread can be told. */
const placeOf = ({ onGone: _, ...asker }: Asker): Asker => asker;

async function take(
  app: App,
  asker: Asker,
  bits: number,
  aside: Aside = (work) => work(),
): Promise<KeyObject> {
  const pool = poolOf(app);
  const most = MOST[bits];
  const make = (): Promise<KeyObject> =>
    aside(() => makeKeyInTurn(app, asker, () => generateRsa(bits)));
  if (most === undefined) return make();
  let shelf = pool.shelves.get(bits);
  if (shelf === undefined) {
    shelf = { ready: [], target: 0, filling: false };
    pool.shelves.set(bits, shelf);
  }
  const ready = shelf.ready.pop();
  if (ready === undefined) shelf.target = Math.min(most, Math.max(1, shelf.target * 2));
  const key = ready ?? (await make());
  fill(app, pool, shelf, bits);
  return key;
}

/** How many keys of a size lie ready. */
export function countReadyKeys(app: App, bits: number): number {
  return poolOf(app).shelves.get(bits)?.ready.length ?? 0;
}

/** One key at a time, and as one of those who wait: requests that find none come first or as often. */
function fill(app: App, pool: Pool, shelf: Shelf, bits: number): void {
  if (shelf.filling || pool.closed || shelf.ready.length >= shelf.target) return;
  const { term } = pool;
  shelf.filling = true;
  makeKeyInTurn(app, { party: OWN_PARTY }, () => generateRsa(bits))
    .then((key) => {
      shelf.filling = false;
      if (pool.term !== term) return;
      shelf.ready.push(key);
      fill(app, pool, shelf, bits);
    })
    .catch((err: unknown) => {
      shelf.filling = false;
      // Too many wait for keys of their own; the next who takes one begins this anew.
      if (err instanceof Failure) return;
      app.log.error({ err }, 'no RSA key could be made in advance');
    });
}

function generateRsa(bits: number): Promise<KeyObject> {
  const { promise, resolve, reject } = Promise.withResolvers<KeyObject>();
  generateKeyPair('rsa', { modulusLength: bits }, (error, _publicKey, privateKey) => {
    if (error) reject(error);
    else resolve(privateKey);
  });
  return promise;
}
