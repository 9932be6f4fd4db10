import type { Authenticated } from '../access/permissions/authentication.operations.ts';
import { readPermissions } from '../access/permissions/operations.ts';
import { readPermissionVersion } from '../access/standing/operations.ts';
import { listLiving } from '../access/tokens/line.store.ts';
import { nowSeconds, tokenId } from '../access/tokens/minting.operations.ts';
import { findToken } from '../access/tokens/store.ts';
import type { Token } from '../access/tokens/token.ts';
import { judgeAccess } from '../acl/acl.ts';
import { refuse } from '../acl/verdict.ts';
import { type App, perApp } from '../app/app.ts';
import type { TokenFacts } from '../app/caller.ts';
import { inOnePlace, oneForAll } from '../app/one-for-all.ts';
import { judgeAddress } from '../config/cidrs.ts';
import { BoundedMap } from '../core/bounded-map.ts';
import { Failure } from '../core/failure.ts';
import { Breath } from '../core/fairness/breath.ts';
import { onceAtATime } from '../core/fairness/once-at-a-time.ts';
import type { Soon } from '../core/steps.ts';

/**
 * Who may seal this node while the database cannot be asked. Sealing is what remains to be done in an
 * emergency, and it only ever takes something away: whoever was permitted to lately still is.
 */
interface Sealers {
  may: Map<string, Sealer>;
  /** When the others were judged, by their ids. */
  others: Map<string, number>;
}

interface Sealer {
  token: TokenFacts;
  judged_at: number;
  /** Of what is permitted; undefined for whom that does not matter. */
  version: number | undefined;
}

const sealersOf = perApp<Sealers>((app) => {
  const sealers: Sealers = { may: new BoundedMap(MOST), others: new BoundedMap(MOST) };
  app.barrier.onSeal(() => {
    sealers.may.clear();
    sealers.others.clear();
  });
  // Of several threads the one that seals looks for all.
  if (oneForAll(app).ask) return sealers;
  const look = onceAtATime(() => forgetEnded(app, sealers));
  app.store.onWrite('token', look);
  app.store.onConfigChange(look);
  return sealers;
});

/** Tokens that are asked about in one read: this goes on with each write to a token. */
const AT_ONCE = 200;

async function maySeal(app: App, token: Token): Promise<boolean> {
  try {
    const permissions = await readPermissions(app, token);
    return permissions !== undefined && (await judgeAccess(permissions.acl, SEAL)).allowed;
  } catch (error) {
    // One that has more policies than are read may do nothing at all.
    if (error instanceof Failure && error.kind === 'forbidden') return false;
    throw error;
  }
}

/** What this node has ended itself, or heard of, while there is a database to ask. */
async function forgetEnded(app: App, { may }: Sealers): Promise<void> {
  if (may.size === 0) return;
  try {
    const version = await readPermissionVersion(app);
    const breath = new Breath();
    const ids = [...may.keys()];
    for (let at = 0; at < ids.length; at += AT_ONCE) {
      await breath.take();
      const some = ids.slice(at, at + AT_ONCE);
      const living = await listLiving(app.db, some, nowSeconds(app));
      for (const id of some) {
        // Another may have been made with an id that was chosen for it.
        if (living.get(id) !== may.get(id)?.token.accessor) may.delete(id);
      }
    }
    for (const [id, known] of [...may]) {
      if (known.version === undefined || known.version === version) continue;
      await breath.take();
      const token = await findToken(app.db, id);
      if (token && (await maySeal(app, token))) may.set(id, { ...known, version });
      else may.delete(id);
    }
  } catch {
    // It cannot be asked: so it is what was known last.
  }
}

/** So long, in milliseconds, a token is taken for what it was. */
const REMEMBERED = 12 * 3_600_000;
/** So long it is not judged again. */
const JUDGED = 60_000;
/** Whoever was judged longest ago goes first. */
const MOST = 4096;

const SEAL = { path: 'sys/seal', operation: 'update', sudoRequired: true, parameters: {} } as const;

/** Keeps in mind whether a token that the database knew may seal. */
export function rememberSealer(app: App, known: Authenticated): Soon<void> {
  const { may, others } = sealersOf(app);
  const { id, accessor } = known.token;
  const one = may.get(id);
  if (one && one.token.accessor !== accessor) may.delete(id);
  const judged_at = may.get(id)?.judged_at ?? others.get(id) ?? -Infinity;
  if (app.now() - judged_at >= JUDGED) return judgeSealer(app, known);
}

async function judgeSealer(app: App, known: Authenticated): Promise<void> {
  const { token, acl, permission_version: version } = known;
  const { may, others } = sealersOf(app);
  const { id } = token;
  const now = app.now();
  may.delete(id);
  others.delete(id);
  // One that is counted, or that ends with another, cannot be judged by itself.
  const isLasting = token.num_uses === 0 && token.type === 'service';
  const verdict = isLasting ? judgeAccess(acl, SEAL) : refuse('it does not last');
  const isHeld = !(verdict instanceof Promise);
  const { allowed } = isHeld ? verdict : await verdict;
  // It may have ended while it was judged.
  if (allowed && (isHeld || (await findToken(app.db, id)))) {
    const sealer = { token, judged_at: now, version };
    may.set(id, sealer);
    // No request is refused for this.
    if (oneForAll(app).ask) await keepInOnePlace(app, { id, sealer }).catch(() => {});
  } else {
    others.set(id, now);
  }
}

const keepInOnePlace = inOnePlace(
  'seal/keep-sealer',
  async (app, { id, sealer }: { id: string; sealer: Sealer }) => {
    const { may } = sealersOf(app);
    const { token } = sealer;
    // It may have ended meanwhile, and another may have been made with the same id.
    if ((await findToken(app.db, id))?.accessor === token.accessor) may.set(id, sealer);
    else if (may.get(id)?.token.accessor === token.accessor) may.delete(id);
  },
);

/** Forgets a token that the database does not know any more. */
export function forgetSealer(app: App, text: string): void {
  const id = tokenId(app, text);
  sealersOf(app).may.delete(id);
  // Another thread may have told of it.
  if (oneForAll(app).ask) forgetInOnePlace(app, id).catch(() => {});
}

const forgetInOnePlace = inOnePlace('seal/forget-sealer', async (app, id: string) => {
  sealersOf(app).may.delete(id);
});

/** Somebody who may seal although nothing can be looked up; undefined for everybody else. */
export function findSealer(app: App, text: string, remote_address: string): TokenFacts | undefined {
  const { token, judged_at } = sealersOf(app).may.get(tokenId(app, text)) ?? {};
  if (!token || judged_at === undefined) return undefined;
  const now = app.now();
  const isLate = now - judged_at > REMEMBERED || (token.expires_at ?? Infinity) * 1000 <= now;
  return isLate || !judgeAddress(token.bound_cidrs, remote_address) ? undefined : token;
}
