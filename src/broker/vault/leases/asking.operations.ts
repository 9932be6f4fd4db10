import { createHash } from 'node:crypto';
import { type App, perApp } from '../../../app/app.ts';
import type { Asked } from '../../../app/lease.ts';
import type { Outcome, Whose } from '../../../core/fairness/piece.ts';
import { type VaultConnection, VaultFault } from '../client/answer.ts';
import { askVault, type VaultRequest } from '../client/client.ts';
import { mayOpen, tryOpening } from '../tokens/operations.ts';
import { findTokenOf } from '../tokens/store.ts';
import type { TokenOwner, VaultToken } from '../tokens/token.ts';

/**
 * Servers that did not answer a store lately, and until when nobody waits for that (Unix ms). Each store has its own
 * silence, and so has each path that leases come from, and each thing that is asked for: what stands behind one can take
 * the server long, or be away, and others go on. Leases are renewed whose like cannot be revoked.
 */
const silentServers = perApp(() => new Map<string, number>());
const SILENCE_MS = 30_000;
/** Of more than so many at once each is waited for. */
const MOST_SILENT = 16_384;

/** A server that did not answer a moment ago was not asked. */
export class NotAsked extends VaultFault {
  constructor() {
    super('unreachable', 'the Vault server did not answer a moment ago');
  }
}

export const outcomeOf = (fault: VaultFault): Outcome =>
  fault instanceof NotAsked || fault.kind === 'busy' ? 'not asked' : 'in vain';

/** What a server that was silent lately has for its answer, in milliseconds. */
const HURRY_MS = 3_000;

const silenceKey = (
  { address, namespace, token }: VaultConnection,
  { path }: VaultRequest,
  lease_id: string,
): string => {
  const of = [address, namespace, token, path, lease_id.split('/').slice(0, -1)];
  return createHash('sha256').update(JSON.stringify(of)).digest('base64');
};

function noteSilence(silent: Map<string, number>, key: string, now: number): void {
  // All last equally long: who was silent first is over first.
  for (const [known, until] of silent) {
    if (until > now) break;
    silent.delete(known);
  }
  silent.delete(key);
  if (silent.size < MOST_SILENT) silent.set(key, now + SILENCE_MS);
}

/** As {@link askVault}, but gives up at once on a server that did not answer a moment ago. */
export async function askAwake(
  app: App,
  connection: VaultConnection,
  request: VaultRequest,
  { whose, hurry = false, lease_id = '' }: Asked & { lease_id?: string } = {},
): ReturnType<typeof askVault> {
  const silent = silentServers(app);
  const key = silenceKey(connection, request, lease_id);
  if ((silent.get(key) ?? 0) > app.now()) {
    throw new NotAsked();
  }
  const how = { ...(whose ? { whose } : {}), ...(hurry ? { timeout_ms: HURRY_MS } : {}) };
  try {
    return await askVault(app, connection, { ...request, ...how });
  } catch (error) {
    if (error instanceof VaultFault && error.kind === 'unreachable') {
      noteSilence(silent, key, app.now());
    }
    throw error;
  }
}

/**
 * Tells for whom a token's server is asked: the project of its store, within its organization, though they may be gone.
 * Where they are not known it counts by the server's name. Undefined where nobody can be asked, as its connection does not open.
 */
function whoseToken(app: App, token: VaultToken & TokenOwner): Whose | undefined {
  const connection = tryOpening(app, token);
  if (!connection) return undefined;
  const { host, hostname } = new URL(connection.address);
  const party = token.project_id ?? hostname;
  return { whom: host, party, site: token.org_id ?? party };
}

type WhoseToken = (by: { token_id: string; token_mac: string }) => Promise<Whose | undefined>;

/** For one run of a job, as many leases hang on the same token: tells for whom what was made with it is asked. */
export function whoseTokens(app: App): WhoseToken {
  const known = new Map<string, Whose | undefined>();
  return async (by) => {
    const key = `${by.token_id} ${by.token_mac}`;
    if (known.has(key)) return known.get(key);
    const token = mayOpen(app, by.token_id) ? await findTokenOf(app.db, by) : undefined;
    const whose = token && whoseToken(app, token);
    known.set(key, whose);
    return whose;
  };
}
