import type { AccessRequest } from '../acl/access-request.ts';
import type { Acl } from '../acl/acl.ts';
import type { OwnJudge } from '../acl/own-judge.ts';
import type { EndedCounts } from '../core/ended-counts.ts';
import type { IdentityFacts } from '../core/identity-template.ts';
import type { Soon } from '../core/steps.ts';
import type { Ending } from './ended.ts';
import type { Mount } from './mount.ts';
import type { Standing } from './standing.ts';

/** A token as the request's checks saw it; the token itself is not kept. */
export interface TokenFacts {
  /** Keyed hash of the token, the key of its row. */
  id: string;
  accessor: string;
  policies: readonly string[];
  identity_policies: readonly string[];
  display_name: string;
  entity_id: string;
  type: 'service' | 'batch';
  orphan: boolean;
  /** Where it was made, e.g. `auth/token/create`. */
  path: string;
  meta: Readonly<Record<string, string>> | null;
  /** The auth mount whose log-in made it; empty for one that was made from another token. */
  mount_id: string;
  /** Made with less than what it was made from: it has its own policies and nothing else. */
  restricted: boolean;
  /** How its log-in was called; undefined for any other token. */
  alias: LogInAlias | undefined;
  /** What its makers may do, where that is not the same. */
  bounds: TokenBounds | undefined;
  /** Addresses it may be used from; empty: all. */
  bound_cidrs: readonly string[];
  /** 0: unlimited; otherwise uses left, this request counted. */
  num_uses: number;
  /** Unix seconds; undefined for a token that does not run out. */
  expires_at: number | undefined;
}

/** Request facts that the audit record of a call is built from. */
export interface RecordFacts {
  route: string;
  operation: string;
  path: string;
  remote_address: string;
  /** Those that `sys/config/auditing/request-headers` names, as records tell them. */
  headers?: Readonly<Record<string, readonly string[]>> | undefined;
  /** Allow-listed request fields. */
  request: Record<string, unknown>;
  /** Set by an operation that has found what the request names: it is no secret in the wrong place. */
  recognised?: boolean;
  /** Allow-listed facts of the outcome, added by the operation (`serial_number`, `lease_id`). */
  outcome: Record<string, unknown>;
  /** What its pages have ended before the request is done itself: told if that comes to nothing. */
  readonly ended_before: EndedCounts;
}

/**
 * Who is asking, through which mount, and what may be said about it afterwards.
 * One object a request; operations pass it on and never build one, but for jobs (`systemCaller`).
 */
export interface Caller {
  readonly request_id: string;
  /** Undefined on public endpoints and for the server's own periodic work. */
  token: TokenFacts | undefined;
  /** Undefined exactly when `token` is. Replaced, as token and identity are, when it is judged again. */
  acl: Acl | undefined;
  /** The mount that the path led to. */
  readonly mount: Mount;
  /** Values for `{{identity.…}}` templates; undefined without an entity. */
  identity: IdentityFacts | undefined;
  /** Request headers that the mount passes through, lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Seconds asked for with X-Vault-Wrap-TTL. */
  readonly wrap_ttl: number | undefined;
  readonly record: RecordFacts;
  /**
   * Calls a listener once the client has gone before it was answered, and returns what takes the
   * listener away. Undefined where nobody waits at the other end.
   */
  readonly onGone?: ((listener: () => void) => () => void) | undefined;
  /**
   * Does what others may have to be waited for. What the caller may do is let go of meanwhile, as it may be much to
   * hold, and found again then; until then nothing is granted. Absent where nothing is held.
   *
   * @throws Failure `unauthenticated` when the token has ended by then
   */
  readonly aside?: (<Result>(work: () => Promise<Result>) => Promise<Result>) | undefined;
  /** What the permission rests on; absent for the server's own work. */
  standing?: Standing | undefined;
  /**
   * Judges by the conditions on fields what came in another form than they; absent where nobody's
   * permission was asked.
   *
   * @param list what they come to; not called for those who may do anything
   */
  readonly mayBring?: (list: () => Readonly<Record<string, unknown>>) => Soon<boolean>;
  /** Judges by the paths of what the request names or finds; absent where no policies are asked. */
  readonly own?: () => OwnJudge;
  /**
   * The request as policies judge it, on open endpoints that ask who comes with a token; absent
   * everywhere else, where it is judged before it gets here.
   */
  readonly asked?: AccessRequest | undefined;
  /** Whether what the path names was there when it was permitted; undefined where nobody asked. */
  found?: boolean | undefined;
  /** Log-ins that its write sets end: once these are committed, the request removes their tokens and ends their leases. */
  readonly ending: Ending;
  /** Set once a write set carried the record, so that the pipeline adds no second one. */
  recorded: boolean;
}

/** Policies, and for whom their templates are filled: an entity, or empty for nobody. */
export interface PolicySet {
  policies: readonly string[];
  entity_id: string;
}

/**
 * What those may do who made a token, and its makers, out of theirs: what is handed on is never more
 * than what whoever hands it on has. Policies go by their names, so that what they say later counts.
 */
export interface TokenBounds {
  /** What makers had as their own, the nearest first. */
  ceilings: readonly PolicySet[];
  /**
   * Of an orphan: what the entity that it comes from, and its groups, had when it was made. A token
   * that stands for an entity has of it what that has now.
   */
  entity_policies: readonly string[];
}

/** By what somebody came who logged in: the token stands for their entity as long as that has it. */
export interface LogInAlias {
  id: string;
  mount_accessor: string;
  /** As names are compared. */
  name_key: string;
  /** How often it had become another one by then; absent for never. */
  moves?: number;
}
