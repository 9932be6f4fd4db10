import type { Expression } from 'kysely';
import type { EndedCounts } from '../core/ended-counts.ts';
import type { Effect } from '../store/write.ts';

/** What ends, so that whatever other features keep that stands on it ends in the same write set. */
export type Ended =
  /** Those of some tokens whose time is not after that: one may have been renewed meanwhile. */
  | { token_ids: readonly string[]; ended_by: number }
  /** Log-ins by some aliases, as a question to be answered when the set runs. */
  | { alias_ids: Expression<string> }
  /** Log-ins by a mount. */
  | { auth_mount: { id: string } }
  /** Some persons. */
  | { entity_ids: readonly string[] }
  /** A person who may come back, with the log-ins that they have. */
  | { disabled_entity_id: string };

/** How what ends is ended page by page, and by whom. */
export interface EndingPages {
  commit(effects: readonly Effect[], ended: EndedCounts): Promise<void>;
  /** The token of whoever ends and those above it: they, and the log-ins that they are of, are left to the end. */
  own_token_ids: readonly string[];
  /** For what is left to the write set itself; absent where nobody asks for it afterwards. */
  ending?: Ending | undefined;
}

/**
 * What a write set is about to end; once it is durable, what they were found by is gone. Every request has one, and few
 * end anything.
 */
export class Ending {
  #token_ids: Set<string> | undefined;
  #lease_ids: Set<string> | undefined;

  /** Tokens of log-ins. */
  get token_ids(): Set<string> {
    this.#token_ids ??= new Set();
    return this.#token_ids;
  }

  /** Leases of log-ins by batch tokens, which have no rows. */
  get lease_ids(): Set<string> {
    this.#lease_ids ??= new Set();
    return this.#lease_ids;
  }
}

/** More than these are the jobs': one request does not remove more. */
export const MOST_NOTED = { token_ids: 4_000, lease_ids: 2_000 } as const;

/** Whatever of it is there when the write set is durable has not been ended by it. */
export function noteEnding(
  { ending }: Pick<EndingPages, 'ending'>,
  kind: keyof Ending,
  ids: readonly string[],
): void {
  const noted = ending?.[kind];
  if (!noted) return;
  for (const id of ids.slice(0, MOST_NOTED[kind] - noted.size)) noted.add(id);
}
