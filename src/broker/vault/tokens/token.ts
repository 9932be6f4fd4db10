import { createHmac } from 'node:crypto';
import { blake2b256 } from '../../../core/blake2b.ts';
import { withoutTrailing } from '../../../core/edges.ts';
import { isRecord, type Refusal, type VaultConnection } from '../client/answer.ts';
import { wholeSeconds } from '../client/made.ts';

/**
 * `maintaining`: replaced, and kept for the leases made with it. `expired`: it could not be renewed in time. `revoked`: its
 * server refuses it as one that it does not know. These two work again as soon as they can be renewed.
 */
export type VaultTokenStatus = 'current' | 'maintaining' | 'expired' | 'revoked';

/** One token of a store, as stored. */
export interface VaultToken {
  id: string;
  store_id: string;
  status: VaultTokenStatus;
  secret_sealed: Uint8Array;
  /** Unix seconds. */
  renew_at: number;
  expires_at: number;
  /** When another took its place, or its store was found gone. */
  replaced_at: number | null;
}

/**
 * For whom a token is asked for, also when its store is gone. Null for those from before this was kept whose store was gone
 * by then.
 */
export interface TokenOwner {
  project_id: string | null;
  org_id: string | null;
}

/** What the store asks of its Vault server, and the capability that each needs. */
export const NEEDED_CAPABILITIES: Readonly<Record<string, string>> = {
  'auth/token/lookup-self': 'read',
  'auth/token/renew-self': 'update',
  'auth/token/revoke-self': 'update',
  'sys/leases/renew': 'update',
  'sys/leases/revoke': 'update',
};

/** Why a token's look-up shows it to be unfit for a store, or undefined. */
export function faultOfToken(data: Readonly<Record<string, unknown>>): string | undefined {
  const faults = [
    data.orphan === true ? '' : 'vault token is not an orphan token',
    (wholeSeconds(data.period) ?? 0) > 0 ? '' : 'vault token is not a periodic token',
    data.renewable === true ? '' : 'vault token is not renewable',
    faultOfAccessor(data.accessor),
  ];
  return faults.find((fault) => fault !== '');
}

/** Characters; those of Vault servers have 24 to 40, and hashing one here takes the longer the longer it is. */
const LONGEST_ACCESSOR = 256;

function faultOfAccessor(accessor: unknown): string {
  if (typeof accessor !== 'string' || accessor === '') return 'vault token has no accessor';
  return accessor.length > LONGEST_ACCESSOR
    ? `vault token has an accessor of more than ${LONGEST_ACCESSOR} characters`
    : '';
}

/** What is missing of {@link NEEDED_CAPABILITIES} in the answer of `sys/capabilities-self`. */
export function listMissingCapabilities(body: Readonly<Record<string, unknown>>): string[] {
  const granted = isRecord(body.data) ? body.data : body;
  return Object.entries(NEEDED_CAPABILITIES)
    .filter(([path, needed]) => {
      const has = granted[path];
      return !(Array.isArray(has) && (has.includes(needed) || has.includes('root')));
    })
    .map(([path, needed]) => `"${needed}" on ${path}`);
}

/** How a token is recognised without being shown: 43 characters that change with it. */
export function tokenHmac(token: string, accessor: string): string {
  return createHmac('sha256', blake2b256(Buffer.from(accessor, 'utf8')))
    .update(token)
    .digest('base64url');
}

/**
 * What tells the server of a connection from others. By another name, port or path, or another name in TLS, that leads
 * elsewhere behind one address, somebody else may answer. A namespace is no other server: a token is the same in all of them.
 */
export function serverOf({ address, tls_server_name }: Place): string {
  const { protocol, hostname, port, pathname } = new URL(address);
  const host = withoutTrailing(hostname, '.');
  const name = protocol === 'https:' ? tls_server_name.toLowerCase() || host : '';
  return JSON.stringify([protocol, host, port, withoutTrailing(pathname, '/'), name]);
}

/**
 * Whether a store's token, now that it is reached in another way, is the one from before: at the same server, or at one
 * that has it by the same accessor, as a server does that was given another name. Any other has one of its own, though
 * the texts are the same.
 */
export function isSameToken(before: Reached, now: Reached): boolean {
  if (before.connection.token !== now.connection.token) return false;
  const isThere = serverOf(before.connection) === serverOf(now.connection);
  return isThere || before.token_hmac === now.token_hmac;
}

interface Reached {
  connection: Place & Pick<VaultConnection, 'token'>;
  token_hmac: string;
}

type Place = Pick<VaultConnection, 'address' | 'tls_server_name'>;

/** When a lease or token of some seconds is renewed: with half of them left. */
export function planRenewal(
  now: number,
  seconds: number,
): { renew_at: number; expires_at: number } {
  return { renew_at: now + Math.max(1, Math.floor(seconds / 2)), expires_at: now + seconds };
}

/** How long a renewal that failed waits at most: before what is left is over it is tried several times, in the unit of that. */
export const longestWait = (left: number): number => Math.max(0, left) / 4;

/** Seconds from one renewal to the end, by when half of them are left. */
export const spanOf = ({ renew_at, expires_at }: Times): number =>
  Math.max(0, 2 * (expires_at - renew_at));

type Times = Pick<VaultToken, 'renew_at' | 'expires_at'>;

/** Whether a token works, as far as this server knows. */
export const isWorking = ({ status }: Pick<VaultToken, 'status'>): boolean =>
  status === 'current' || status === 'maintaining';

/** What a token is that was renewed, whatever it was before. */
export const renewedStatus = ({
  replaced_at,
}: Pick<VaultToken, 'replaced_at'>): VaultTokenStatus =>
  replaced_at === null ? 'current' : 'maintaining';

/** Seconds that an end is tried at most, however long a server lets something live: it may have gone for good. */
export const LONGEST_TRIED = 366 * 86_400;

/**
 * When a server has ended a replaced token by itself, Unix seconds: also one whose last renewals were done there, while
 * their answers were lost. At most a year after its replacement.
 */
export function lastEndOf(token: Times & Pick<VaultToken, 'replaced_at'>): number {
  const { expires_at, replaced_at } = token;
  if (replaced_at === null) return expires_at;
  return Math.min(Math.max(expires_at, replaced_at + spanOf(token)), replaced_at + LONGEST_TRIED);
}

/** Seconds until a token that was replaced may go: who read it before has used it by then. */
const GRACE = 120;

/**
 * What is to be done about a token: it makes way, as its store is gone; it is revoked at its server, whatever is known of
 * it here, and goes; it is renewed.
 *
 * @param isUsed whether leases hang on it
 */
export function planCare(
  token: Omit<VaultToken, 'secret_sealed'> & { stored: boolean },
  isUsed: boolean,
  now: number,
): 'replace' | 'revoke' | 'renew' | undefined {
  const { replaced_at, renew_at } = token;
  if (!token.stored && replaced_at === null) return 'replace';
  if (replaced_at !== null && !isUsed && replaced_at + GRACE <= now) return 'revoke';
  return renew_at <= now ? 'renew' : undefined;
}

/**
 * Whether a server's refusal says that it has no such token. As of leases, the words count when they are all that it
 * says: what stands before a server refuses requests as well, and ends nothing.
 */
export const saysNoSuchToken = ({ status, words }: Refusal): boolean =>
  status === 403 &&
  /^([12] errors? occurred: (\* permission denied )?\* )?(bad|invalid) token$/i.test(words);

/** What servers say of a token that may not do something, and some of one that they do not know. */
export const saysDenied = ({ status, words }: Refusal): boolean =>
  status === 403 && /^(1 error occurred: \* )?permission denied$/i.test(words);
