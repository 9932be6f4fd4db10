import type { SharedTexts } from '../core/shared-texts.ts';
import type { AuditEntry } from '../store/write.ts';
import type { Caller, TokenFacts } from './caller.ts';

/**
 * Where records of requests go. A request with an effect has its record in the write set of
 * that effect; every other authenticated request is noted, and notes are written in groups.
 */
export interface AuditTrail {
  /** The record of a request, to be committed with its effect. */
  entryOf(caller: Caller): AuditEntry;
  /**
   * Notes a request without an effect.
   *
   * @returns when the note is durable, if the server is set to wait for that; else at once
   * @throws Failure `unavailable` when notes can no longer be written: nothing is answered then
   */
  note(caller: RecordedRequest, end: RecordedEnd): Promise<void>;
  /**
   * Notes a request of somebody unknown that changed nothing, refused or without effect, in bounds:
   * a flood of them leaves some whole records and the number of the rest. Never waits, never throws.
   */
  refuse(request: RecordedRequest, end: RecordedEnd): void;
  /**
   * Notes a request of somebody known that was refused because there were too many, in bounds: of each caller and
   * endpoint now and then one, and the number of the rest. Never waits, never throws.
   */
  refuseTooMany(request: RecordedRequest & { token: TokenFacts }): void;
  /**
   * Notes what is done whether or not it can be recorded now: it waits in memory. For what is rare.
   * Never waits, never throws.
   */
  keep(request: RecordedRequest, end: RecordedEnd): void;
  /** Counts a public read that leaves no record. */
  count(route: string): void;
  counts(): ReadonlyMap<string, number>;
  /** From now on records that need not be waited for go to another thread, which writes them whatever becomes of this one. */
  handOn(to: RecordsElsewhere): void;
  /** Writes what another thread has put there from now on. @returns takes the last of it, once that thread has ended */
  collect(from: SharedTexts): () => void;
  /** Something waits to be collected. */
  expect(): void;
  /** Tries to write what waits, where it could not be written. */
  recover(): Promise<void>;
  /** Writes what is waiting. */
  close(): Promise<void>;
}

/** Where a thread's records go that another one writes. */
export interface RecordsElsewhere {
  records: SharedTexts;
  /** That one's {@link AuditTrail.expect}. */
  tell(): void;
  /** That one's {@link AuditTrail.recover}. */
  recover(): Promise<void>;
}

/** How a request ended, as far as its record goes. */
export interface RecordedEnd {
  status: 'done' | 'refused' | 'failed';
  /** The refusal's own words; they never carry a secret. */
  error?: string;
}

/** What a record needs to know of a request. */
export type RecordedRequest = Pick<Caller, 'request_id' | 'record' | 'mount'> &
  Partial<Pick<Caller, 'token'>> & {
    /** Keyed hash of a token that came with the request and is not one of ours. */
    unknown_token?: Uint8Array | undefined;
  };
