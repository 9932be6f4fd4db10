import type { LogInAlias, TokenBounds, TokenFacts } from '../../app/caller.ts';

export type TokenType = 'service' | 'batch';

/** What is fixed when a token is made. */
export interface TokenBody {
  policies: string[];
  /** Where it was made, e.g. `auth/token/create`. */
  path: string;
  meta: Record<string, string> | null;
  display_name: string;
  /** 0: unlimited. */
  num_uses: number;
  created_at: number;
  /** Seconds it was made for; 0 for a token that does not run out. */
  creation_ttl: number;
  /** A bound that was asked for; 0: none. */
  explicit_max_ttl: number;
  /** The bound its role or account set; 0: none but the mount's. */
  role_max_ttl: number;
  /** Renewals give this many seconds each, without end; 0: an ordinary token. */
  period: number;
  renewable: boolean;
  /** The token role it was made by, or empty. */
  role: string;
  entity_id: string;
  /** Addresses it may be used from; empty: all. */
  bound_cidrs: string[];
  /**
   * Made with less than what it was made from: its policies are all that it has, whatever the
   * entity behind it has besides. Absent in tokens of an older server.
   */
  restricted?: boolean;
  /** How its log-in was called. Absent in any other token, and in those of an older server. */
  alias?: LogInAlias | undefined;
  /** What its makers may do. Absent in tokens of an older server, and where nothing is bounded. */
  bounds?: TokenBounds | undefined;
}

/** A token, as stored or as read out of a batch token's text. Times in Unix seconds. */
export interface Token extends TokenBody {
  /** Keyed hash of its text. */
  id: string;
  /** Empty for a batch token. */
  accessor: string;
  type: TokenType;
  /** Undefined for an orphan. */
  parent_id: string | undefined;
  /**
   * Of the token that a batch token was made by: another may have its id later. Absent in any other token, and
   * in those of an older server.
   */
  parent_accessor?: string | undefined;
  /** The auth mount that made it; empty for `token/`. */
  mount_id: string;
  /** Undefined for a token that does not run out. */
  expires_at: number | undefined;
  /** Uses left when `num_uses` is not 0. */
  uses_left: number;
  renewed_at: number | undefined;
}

/** Whether a token, or a secret ID, can still be used on its own account: parents are another question. */
export function isAlive(
  { expires_at, num_uses, uses_left }: Pick<Token, 'expires_at' | 'num_uses' | 'uses_left'>,
  now: number,
): boolean {
  return (expires_at === undefined || expires_at > now) && (num_uses <= 0 || uses_left > 0);
}

/**
 * Says whether a token is the one that a batch token was made by, as the same id may be chosen again for a new one.
 * A batch token of an older server tells only when it was made itself.
 */
export function isParentOf(
  parent: Pick<Token, 'accessor' | 'created_at'>,
  batch: Pick<Token, 'parent_accessor' | 'created_at'>,
): boolean {
  if (batch.parent_accessor !== undefined) return parent.accessor === batch.parent_accessor;
  return parent.created_at <= batch.created_at;
}

/** A token as a request's checks and operations see it. */
export function tokenFacts(token: Token): TokenFacts {
  return {
    id: token.id,
    accessor: token.accessor,
    policies: token.policies,
    identity_policies: [],
    display_name: token.display_name,
    entity_id: token.entity_id,
    type: token.type,
    orphan: token.parent_id === undefined,
    path: token.path,
    meta: token.meta,
    mount_id: token.mount_id,
    restricted: token.restricted ?? false,
    alias: token.alias,
    bounds: token.bounds,
    bound_cidrs: token.bound_cidrs,
    num_uses: token.num_uses === 0 ? 0 : token.uses_left,
    expires_at: token.expires_at,
  };
}

/** A token that is yet without a text. */
export type PlannedToken = Omit<Token, 'id' | 'accessor'>;

/** A service token without anything that only some have: of nobody, and without end. */
export const plainToken = () => ({
  type: 'service' as const,
  parent_id: undefined,
  mount_id: '',
  expires_at: undefined,
  uses_left: 0,
  renewed_at: undefined,
  meta: null,
  num_uses: 0,
  creation_ttl: 0,
  explicit_max_ttl: 0,
  role_max_ttl: 0,
  period: 0,
  renewable: false,
  role: '',
  entity_id: '',
  bound_cidrs: [],
});

/**
 * The first token of a server: everything is allowed to it, for ever.
 *
 * @param now Unix seconds
 */
export function planRootToken(now: number): PlannedToken {
  const path = 'auth/token/root';
  return { ...plainToken(), policies: ['root'], path, display_name: 'root', created_at: now };
}

/** `ci job` becomes `token-ci-job`; nothing asked for is `token`. @see S-48 */
export function displayName(wanted: string): string {
  // As many hyphens as there were characters: clients compare what they sent with what they read.
  const plain = wanted.replace(/[^a-zA-Z0-9-]/g, '-').replace(/-$/, '');
  return plain === '' || wanted === 'token' ? 'token' : `token-${plain}`;
}
