import { type App, perApp } from '../../app/app.ts';
import { inOnePlace, oneForAll } from '../../app/one-for-all.ts';
import { ownWorker } from './embedded.operations.ts';
import { areFresh, listAlive, reportsReadAt } from './status.operations.ts';

/** Which workers can be given sessions. */
interface Presence {
  /** When the reports were read by which this was judged. */
  at: number;
  alive: ReadonlySet<string>;
  /** This server's own one, once it is registered: it is there as long as it can ask. */
  own: string | undefined;
}

/**
 * Who is there is judged by one thread, which looks all the time: who looks now and then does not know who is silent. The
 * others are told, and go by that no longer than that thread goes by what it has read.
 */
export function readPresence(app: App): Promise<Presence> {
  if (!oneForAll(app).ask) return judgePresence(app);
  const told = toldOf(app);
  if (told.last && areFresh(told.last.at, app.now())) return Promise.resolve(told.last);
  told.asking ??= judgeInOnePlace(app, undefined)
    .then((presence) => {
      // Before it is registered it may be so at any moment.
      told.last = presence.own === undefined ? undefined : presence;
      return presence;
    })
    .finally(() => {
      told.asking = undefined;
    });
  return told.asking;
}

const toldOf = perApp(
  (): { last?: Presence | undefined; asking?: Promise<Presence> | undefined } => ({}),
);

async function judgePresence(app: App): Promise<Presence> {
  const alive = await listAlive(app);
  return { at: reportsReadAt(app), alive, own: ownWorker(app)?.id };
}

const judgeInOnePlace = inOnePlace('broker/presence', judgePresence);
