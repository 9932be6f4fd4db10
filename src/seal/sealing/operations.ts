import { judgeAccess } from '../../access/acl.ts';
import type { TokenFacts } from '../../access/caller.ts';
import { judgeAddress } from '../../access/tokens/addresses.ts';
import type { Authenticated } from '../../access/tokens/authentication/operations.ts';
import { tokenId } from '../../access/tokens/minting/operations.ts';
import { type App, perApp } from '../../app.ts';

/**
 * Who may seal this node while the database cannot be asked. Sealing is what remains to be done in an
 * emergency, and it only ever takes something away: whoever was permitted to lately still is.
 */
interface Sealers {
  may: Map<string, { token: TokenFacts; judged_at: number }>;
  /** When the others were judged, by their ids. */
  others: Map<string, number>;
}

const sealersOf = perApp<Sealers>((app) => {
  const sealers: Sealers = { may: new Map(), others: new Map() };
  app.barrier.onLock(() => {
    sealers.may.clear();
    sealers.others.clear();
  });
  return sealers;
});

/** So long, in milliseconds, a token is taken for what it was. */
const REMEMBERED = 12 * 3_600_000;
/** So long it is not judged again. */
const JUDGED = 60_000;
const MOST = 4096;

const SEAL = { path: 'sys/seal', operation: 'update', sudoRequired: true, parameters: {} } as const;

/** Keeps in mind whether a token that the database knew may seal. */
export function rememberSealer(app: App, { token, acl }: Authenticated): void {
  const { may, others } = sealersOf(app);
  const { id } = token;
  const now = app.now();
  if (now - (may.get(id)?.judged_at ?? others.get(id) ?? -Infinity) < JUDGED) return;
  may.delete(id);
  others.delete(id);
  // One that is counted, or that ends with another, cannot be judged by itself.
  const isLasting = token.num_uses === 0 && token.type === 'service';
  if (isLasting && judgeAccess(acl, SEAL).allowed) {
    makeRoom(may);
    may.set(id, { token, judged_at: now });
  } else {
    makeRoom(others);
    others.set(id, now);
  }
}

/** The longest unjudged goes first. */
function makeRoom(kept: Map<string, unknown>): void {
  const [oldest] = kept.size >= MOST ? kept.keys() : [];
  if (oldest !== undefined) kept.delete(oldest);
}

/** Forgets a token that the database does not know any more. */
export function forgetSealer(app: App, text: string): void {
  sealersOf(app).may.delete(tokenId(app, text));
}

/** Somebody who may seal although nothing can be looked up; undefined for everybody else. */
export function findSealer(app: App, text: string, remote_address: string): TokenFacts | undefined {
  const { token, judged_at } = sealersOf(app).may.get(tokenId(app, text)) ?? {};
  if (!token || judged_at === undefined) return undefined;
  const now = app.now();
  const isLate = now - judged_at > REMEMBERED || (token.expires_at ?? Infinity) * 1000 <= now;
  return isLate || !judgeAddress(token.bound_cidrs, remote_address) ? undefined : token;
}
