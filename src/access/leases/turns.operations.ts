import type { App } from '../../app/app.ts';
import type { Lease } from '../../app/lease.ts';
import { compareIds } from '../../store/in-blocks.ts';
import {
  type DueLease,
  giveTurns,
  listDue,
  listExpired,
  listMountsOfDue,
  listOfTurn,
  listTurns,
  listUnbound,
} from './turns.store.ts';

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
 * for themselves, and what comes meanwhile has its turn. Turns that have few share a page. Each lease is handed out once.
 *
 * @param take says which of the page are left, in its order
 */
export async function takeDueInTurns(
  app: App,
  work: Work,
  take: (page: Lease[]) => Promise<readonly Lease[]>,
): Promise<void> {
  const mounts = new MountTurns(app);
  for (let found = true; found && !work.stopping; ) {
    found = false;
    await giveAllTurns(app, work);
    for await (const page of mounts.round()) {
      if (work.stopping) return;
      found = true;
      const left = new Set(await take(page.map(({ lease }) => lease)));
      mounts.note(page.filter(({ lease }) => left.has(lease)));
    }
  }
}

/** Where each mount goes on. */
class MountTurns {
  readonly #app: App;
  /** The turn that a mount had last. */
  readonly #last = new Map<string, string>();
  /** Of turns of which any is left that was handed out, the last one: all others up to it are gone, or left as well. */
  readonly #left = new Map<string, string>();
  /** Of mounts of which nothing was found, the round that looks at them again. */
  readonly #idle = new Map<string, number>();
  #round = 0;

  constructor(app: App) {
    this.#app = app;
  }

  /** A page of each mount that has one. */
  async *round(): AsyncGenerator<DueLease[]> {
    this.#round += 1;
    for (const mount_id of await listMountsOfDue(this.#app.db)) {
      if ((this.#idle.get(mount_id) ?? 0) > this.#round) continue;
      const page = await this.#nextOf(mount_id);
      if (page) yield page;
      else this.#idle.set(mount_id, this.#round + ROUNDS_APART);
    }
  }

  /** @param left of what was handed out, in order */
  note(left: readonly DueLease[]): void {
    for (const due of left) this.#left.set(keyOfDue(due), due.lease.id);
  }

  /** What was not handed out yet of the next turns of a mount, once around. */
  async #nextOf(mount_id: string): Promise<DueLease[] | undefined> {
    const begin = this.#last.get(mount_id);
    for (let [after, isAround] = [begin, begin === undefined]; ; ) {
      const found = await listTurns(this.#app.db, mount_id, { after, limit: PAGE });
      const turn = found.at(-1)?.turn;
      if (turn === undefined) {
        if (isAround) return undefined;
        [after, isAround] = [undefined, true];
        continue;
      }
      const page = found.filter((due) => this.#isNew(due));
      // Of the last one there may be more.
      if (page.length === 0) page.push(...(await this.#restOf(mount_id, turn)));
      const [first] = page;
      const last = page.at(-1);
      if (first && last) {
        if (isAround && begin !== undefined && first.turn > begin) return undefined;
        this.#last.set(mount_id, last.turn);
        return page;
      }
      after = turn;
    }
  }

  async #restOf(mount_id: string, turn: string): Promise<DueLease[]> {
    const after = this.#left.get(keyOf({ mount_id, turn })) ?? '';
    return listOfTurn(this.#app.db, { mount_id, turn }, { after, limit: PAGE });
  }

  #isNew(due: DueLease): boolean {
    const left = this.#left.get(keyOfDue(due));
    return left === undefined || compareIds(due.lease.id, left) > 0;
  }
}

const keyOf = ({ mount_id, turn }: { mount_id: string; turn: string }): string =>
  JSON.stringify([mount_id, turn]);

const keyOfDue = ({ turn, lease: { mount_id } }: DueLease): string => keyOf({ mount_id, turn });
