import { hash } from 'node:crypto';
import type { App } from '../../../app.ts';
import { Breath } from '../../../core/breath.ts';
import { type VaultConnection, VaultFault } from '../../vault-client/answer.ts';
import { openConnection } from '../../vault-tokens/operations.ts';
import { listTokensInUse } from '../../vault-tokens/store.ts';
import { saysDenied, saysNoSuchToken, type VaultToken } from '../../vault-tokens/token.ts';
import { type Asked, askAwake } from '../asking/operations.ts';

/** Whether a store works with a token. */
export type IsInUse = (connection: VaultConnection) => Promise<boolean>;

const PAGE = 200;
/** So long a look at all tokens serves whoever asks, in milliseconds. */
const LOOK_MS = 2_000;

/**
 * Tells, for one run of a job, whether a store works with a token still: it was given back to it, or to another. All
 * tokens are opened for that, so it is done once for all who ask at about the same time.
 */
export function tellingInUse(app: App): IsInUse {
  let look: { until: number; found: Promise<ReadonlySet<string>> } | undefined;
  const start = (): NonNullable<typeof look> => {
    const fresh = { until: Number.POSITIVE_INFINITY, found: readTokensInUse(app) };
    const end = (): void => {
      fresh.until = performance.now() + LOOK_MS;
    };
    fresh.found.then(end, end);
    return fresh;
  };
  return async ({ token }) => {
    if (!look || look.until <= performance.now()) look = start();
    return (await look.found).has(hashOf(token));
  };
}

const hashOf = (token: string): string => hash('sha256', token, 'base64url');

async function readTokensInUse(app: App): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  const breath = new Breath();
  for (let after = ''; ; ) {
    const page = await listTokensInUse(app.db, { after, limit: PAGE });
    for (const token of page) {
      found.add(hashOf(openConnection(app, token).token));
      await breath.take();
    }
    after = page.at(-1)?.id ?? '';
    if (page.length === 0) return found;
  }
}

/** @returns whether nothing more is to be done about the token */
export async function revokeToken(
  app: App,
  token: VaultToken,
  { isInUse, asked }: { isInUse: IsInUse; asked: Asked },
): Promise<boolean> {
  const connection = openConnection(app, token);
  if (await isInUse(connection)) return true;
  try {
    const request = { method: 'PUT', path: 'auth/token/revoke-self', body: '{}' } as const;
    await askAwake(app, connection, request, asked);
    return true;
  } catch (err) {
    if (!(err instanceof VaultFault)) throw err;
    if (await isGone(app, connection, { fault: err, asked })) return true;
    app.log.warn({ err, store_id: token.store_id }, 'an old token could not be revoked yet');
    return false;
  }
}

/**
 * Whether a server that refused a token something has it no longer. Some say no more of that than of a token that may
 * not do what was asked: that one may still look itself up, as a store requires.
 */
export async function isGone(
  app: App,
  connection: VaultConnection,
  { fault, asked }: { fault: VaultFault; asked: Asked },
): Promise<boolean> {
  if (!saysDenied(fault)) return saysNoSuchToken(fault);
  try {
    await askAwake(app, connection, { method: 'GET', path: 'auth/token/lookup-self' }, asked);
    return false;
  } catch (err) {
    if (!(err instanceof VaultFault)) throw err;
    return saysDenied(err) || saysNoSuchToken(err);
  }
}
