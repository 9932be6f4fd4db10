import type { RecordedRequest } from '../app/audit-trail.ts';
import type { TokenFacts } from '../app/caller.ts';
import { CallerTally } from './caller-tally.ts';
import { buildCallerCountRecord, buildCountRecord, type NamedToken, nameToken } from './record.ts';
import { type RefusalKind, RefusalTally } from './refusal-tally.ts';

/** Counts of what was refused are recorded this often, in milliseconds. */
const COUNT_TIME = 10_000;

/** What unseals, seals, or makes keys and root tokens by shares. */
const OF_SEAL =
  /^sys\/(?:init|seal|unseal|rekey|rekey-recovery-key|rotate\/root|rotate\/recovery|generate-root|generate-root-token)(?:\/[^/]+)?$/;

function kindOf({ record, unknown_token }: RecordedRequest): RefusalKind {
  const isRead = record.operation === 'read' || record.operation === 'list';
  if (!isRead && OF_SEAL.test(record.path)) return 'seal';
  return unknown_token ? 'unknown_token' : 'other';
}

/** Refused requests that have no records of their own: how many there were is recorded now and then. */
export class RefusalCounts {
  readonly #unauthenticated = new RefusalTally();
  readonly #callers = new CallerTally<NamedToken>();
  readonly #now: () => number;
  readonly #record: (counts: readonly string[]) => void;
  #counting: { since: number; timer: NodeJS.Timeout } | undefined;

  constructor(now: () => number, record: (counts: readonly string[]) => void) {
    this.#now = now;
    this.#record = record;
  }

  /**
   * Takes in a refusal of somebody unknown.
   *
   * @returns true when it is to have a record of its own, false when it was counted
   */
  take(request: RecordedRequest, now: number, isRoom: boolean): boolean {
    const { remote_address, route } = request.record;
    const refusal = { remote_address, kind: kindOf(request), route };
    if (this.#unauthenticated.take(now, refusal, isRoom)) return true;
    this.#begin(now);
    return false;
  }

  /** As {@link take}, of somebody known who asks too often. */
  takeTooMany(
    { token, record }: RecordedRequest & { token: TokenFacts },
    now: number,
    isRoom: boolean,
  ): boolean {
    this.#begin(now);
    const asked = { party: token.entity_id || token.id, route: record.route };
    return this.#callers.take(asked, () => nameToken(token), isRoom);
  }

  #begin(now: number): void {
    this.#counting ??= { since: now, timer: setTimeout(() => this.drain(), COUNT_TIME).unref() };
  }

  /** Records what was counted. */
  drain(): void {
    if (!this.#counting) return;
    const { since, timer } = this.#counting;
    clearTimeout(timer);
    this.#counting = undefined;
    const now = this.#now();
    this.#record([
      ...this.#unauthenticated.drain().map((count) => buildCountRecord(count, since, now)),
      ...this.#callers.drain().map((count) => buildCallerCountRecord(count, since, now)),
    ]);
  }
}
