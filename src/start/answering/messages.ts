import type { HandedKeys } from '../../barrier/barrier.ts';
import type { Config } from '../../config/config.ts';
import type { FailureDetail, FailureKind } from '../../core/failure.ts';
import type { Door } from '../../http/frame.ts';
import type { TlsFiles } from '../../http/node-server.ts';
import type { SharedStore } from '../../store/store.ts';

/** What a thread that answers is started with. */
export interface AnsweringOptions {
  /** Among the threads that answer, from 1. */
  place: number;
  config: Config;
  store: SharedStore;
  /** Absent while the server is sealed. */
  keys: HandedKeys | undefined;
  /** Of the listener, where it has TLS: as they were read last by the supervisor. */
  tls: TlsFiles | undefined;
  /** Where its audit records are collected from: they are written whatever becomes of it. */
  records: SharedArrayBuffer;
}

/** A request as it is handed on; its body stays where it came until it is asked for. */
export interface ForwardedHead {
  door: Door;
  method: string;
  url: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  raw_headers: readonly string[];
  remote_address: string;
  has_come: boolean;
}

/** A body in pieces, which are asked for one by one. */
export interface ForwardedPieces {
  length: number | undefined;
  kept: { waiting: number; sent: number } | undefined;
}

export interface ForwardedAnswer {
  status: number;
  headers: Record<string, string>;
  cookies: readonly string[] | undefined;
  body: string | Uint8Array | ForwardedPieces | undefined;
}

/** A refusal on its way between threads. */
export interface SentFailure {
  kind: FailureKind;
  message: string;
  detail: Omit<FailureDetail, 'cause'>;
}

/** What either side asks of the other one; each is answered once. */
export type Asked =
  // Of the thread that answers.
  | { type: 'keys'; keys: HandedKeys }
  | { type: 'seal' }
  | { type: 'read body'; request: number; limit: number }
  | { type: 'meters' }
  | { type: 'write records' }
  | { type: 'stop' }
  // Of the supervisor.
  | { type: 'request'; request: number; head: ForwardedHead }
  | { type: 'piece'; request: number }
  /** See `inOnePlace`. */
  | { type: 'do'; name: string; argument: unknown }
  | { type: 'confirm config' }
  | { type: 'refresh config' };

/** What either side says, without an answer. */
export type Said =
  | {
      type: 'listening';
      address: { host: string; port: number };
      public_address: { host: string; port: number } | undefined;
    }
  | { type: 'gone'; request: number }
  | { type: 'let go'; request: number }
  /** See `notedInOnePlace` and `heardOnThreads`. */
  | { type: 'tell'; name: string; told: unknown }
  | { type: 'tls'; files: TlsFiles };
