import { type App, perApp } from '../../app/app.ts';
import { inOnePlace, oneForAll } from '../../app/one-for-all.ts';
import { threadsOf } from '../../config/threads.ts';
import { ROOMS } from '../../core/rooms.ts';
import type { Soon } from '../../core/steps.ts';
import { KeptAnswers } from './kept-answers.ts';

/** Answers that are kept, and by what their places are told from those of before configuration last changed. */
export interface KeptHere {
  era: number;
  answers: KeptAnswers;
}

/** Signed answers kept by one server, whichever of its threads signed them. */
export function readKept(app: App): Soon<KeptHere> {
  return app.cached('pki/ocsp-answers', async () => {
    // Nothing that was read before has to do with a later one.
    const era = app.store.seen('config');
    return { era, answers: await keptOf(app)() };
  });
}

const keptOf = perApp((app) => {
  let kept: Promise<KeptAnswers> | undefined;
  const open = async (): Promise<KeptAnswers> => {
    const { place = 0 } = oneForAll(app);
    const threads = threadsOf(app.config);
    return new KeptAnswers(await takeRoom(app, {}), {
      of: threads > 1 ? threads + 1 : 1,
      own: place,
    });
  };
  return () => {
    kept ??= open().catch((error: unknown) => {
      kept = undefined;
      throw error;
    });
    return kept;
  };
});

/** Some ten thousand of P-256, fewer of longer signatures. */
const roomOf = perApp(() => new SharedArrayBuffer(ROOMS.ocsp_answers));
const takeRoom = inOnePlace('pki/ocsp/room', async (app, _: object) => roomOf(app));
