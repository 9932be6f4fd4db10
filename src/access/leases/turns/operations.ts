import type { App } from '../../../app.ts';
import type { Lease } from '../lease.ts';
import {
  findTurn,
  giveTurns,
  listDue,
  listExpired,
  listMountsOfDue,
  listOfTurn,
  listUnbound,
} from './store.ts';

const PAGE = 200;
/** Leases to which one write set gives their turns. */
const GIVEN = 1_000;
/** A mount of which nothing was found is looked at again after so many rounds: of some nothing can be ended. */
const ROUNDS_APART = 10;

interface Work {
  readonly stopping: boolean;
}

/** Gives all that is due its turn, so that it is found by that: also what has come meanwhile. */
async function giveAllTurns(app: App, work: Work): Promise<void> {
  const now = Math.floor(app.now() / 1000);
  const lists = [() => listUnbound(app.db, GIVEN), () => listExpired(app.db, now, GIVEN)];
  for (const list of lists) {
    for (let ids = await list(); ids.length > 0 && !work.stopping; ids = await list()) {
      await app.store.commit([giveTurns(ids)]);
      if (ids.length < GIVEN) break;
    }
  }
}

/** Goes once through all that is due, a page at a time. */
export async function goThroughDue(
  app: App,
  work: Work,
  take: (page: Lease[]) => Promise<void>,
): Promise<void> {
  await giveAllTurns(app, work);
  let page = await listDue(app.db, { after: undefined, limit: PAGE });
  while (page.last && !work.stopping) {
    await take(page.leases);
    page = await listDue(app.db, { after: page.last, limit: PAGE });
  }
}

/**
 * Goes through all that is due in turns by mount, and of a mount by the token that had it: whoever has thousands waits
 * for themselves, and what comes meanwhile has its turn. Each lease is handed out once.
 *
 * @param take says whether any of the page is left
 */
export async function takeDueInTurns(
  app: App,
  work: Work,
  take: (page: Lease[]) => Promise<boolean>,
): Promise<void> {
  const mounts = new MountTurns(app);
  for (let found = true; found && !work.stopping; ) {
    found = false;
    await giveAllTurns(app, work);
    for await (const next of mounts.round()) {
      if (work.stopping) return;
      found = true;
      mounts.note(next, await take(next.page));
    }
  }
}

/** A page of due leases of one turn. */
interface NextPage {
  key: string;
  page: Lease[];
}

/** Where each mount goes on. */
class MountTurns {
  readonly #app: App;
  /** The turn that a mount had last. */
  readonly #last = new Map<string, string>();
  /** The last lease that was handed out, of turns that had more than a page, or have any left. */
  readonly #after = new Map<string, string>();
  /** Of mounts of which nothing was found, the round that looks at them again. */
  readonly #idle = new Map<string, number>();
  #round = 0;

  constructor(app: App) {
    this.#app = app;
  }

  /** A page of each mount that has one. */
  async *round(): AsyncGenerator<NextPage> {
    this.#round += 1;
    for (const mount_id of await listMountsOfDue(this.#app.db)) {
      if ((this.#idle.get(mount_id) ?? 0) > this.#round) continue;
      const next = await this.#nextOf(mount_id);
      if (next) yield next;
      else this.#idle.set(mount_id, this.#round + ROUNDS_APART);
    }
  }

  note({ key, page }: NextPage, isLeft: boolean): void {
    const last = page.at(-1);
    // Of a turn that has few, all of which are gone, nothing needs to be known.
    const isMore = isLeft || page.length >= PAGE || this.#after.has(key);
    if (last && isMore) this.#after.set(key, last.id);
  }

  /** The next turn of a mount of which anything is left, once around. */
  async #nextOf(mount_id: string): Promise<NextPage | undefined> {
    const begin = this.#last.get(mount_id);
    const { db } = this.#app;
    for (let [after, isAround] = [begin, begin === undefined]; ; ) {
      const turn = await findTurn(db, mount_id, after);
      if (turn === undefined) {
        if (isAround) return undefined;
        [after, isAround] = [undefined, true];
        continue;
      }
      if (isAround && begin !== undefined && turn > begin) return undefined;
      const key = JSON.stringify([mount_id, turn]);
      const page = await listOfTurn(
        db,
        { mount_id, turn },
        { after: this.#after.get(key) ?? '', limit: PAGE },
      );
      if (page.length > 0) {
        this.#last.set(mount_id, turn);
        return { key, page };
      }
      after = turn;
    }
  }
}
