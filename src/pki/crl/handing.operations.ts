import { type App, perApp } from '../../app/app.ts';
import { heardOnThreads, inOnePlace, oneForAll } from '../../app/one-for-all.ts';
import { doAsMount, join, placeTold, type ToldPlace, toldOf } from './building.operations.ts';
import { type CrlContext, placeOf, readCrlContext } from './context.operations.ts';
import { type HandedCrl, HandedCrls, type PassedCrl } from './handed.ts';
import { crlName } from './kind.ts';
import { crlMemory, fetchCrl } from './publishing.operations.ts';
import { findCrl, type StoredCrl } from './store.ts';

// CRLs are in memory once for the whole process: the thread that supervises has them, and others read the same memory.

const handedCrls = perApp(() => new HandedCrls());

/** The bytes of a CRL, where this thread can read them. @param place see `placeOf` */
export function findReady(app: App, place: string, number: number): Uint8Array | undefined {
  if (oneForAll(app).ask) return handedCrls(app).find(place, number);
  return crlMemory(app).cache.find(place, number)?.crl.der;
}

/** Has {@link findReady} find a CRL, as far as that can be. */
export function makeReady(app: App, context: CrlContext, stored: StoredCrl): Promise<void> {
  if (!oneForAll(app).ask) return join(app, context, () => fetchCrl(app, context, stored));
  return join(app, context, () =>
    handedCrls(app).take(placeOf(context), () => handOver(app, toldOf(context))),
  );
}

const handOver = inOnePlace(
  'pki/crl/hand-over',
  (app, told: ToldPlace): Promise<HandedCrl | undefined> =>
    doAsMount(told, async () => {
      const place = await placeTold(app, told);
      const context = place && (await readCrlContext(app, place));
      const { mount_id } = told;
      const stored =
        context && (await findCrl(app.db, mount_id, crlName(context.issuers.id, told.kind)));
      if (!stored) return undefined;
      const { cache } = watchedMemory(app);
      const find = () => cache.handOver(placeOf(context), stored.number);
      const ready = find();
      if (ready) return ready;
      await join(app, context, () => fetchCrl(app, context, stored));
      return find();
    }),
);

/** Whoever was handed a CRL hears of its end. */
const watchedMemory = perApp((app) => {
  const memory = crlMemory(app);
  memory.cache.onPassed((passed) => tellPassed(app, passed));
  return memory;
});

const tellPassed = heardOnThreads('pki/crl/passed', (app, passed: PassedCrl) =>
  handedCrls(app).pass(passed),
);
