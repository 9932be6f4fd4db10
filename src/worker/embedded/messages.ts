import type { FailureKind } from '../../core/failure.ts';
import type { WorkerCredentials } from '../carrying/worker-credentials.ts';
import type { Call, Carried, Cut } from '../upstream.ts';
import type { Brought, Errand } from '../wire/hop.ts';

// What the server and the threads that carry its sessions say to each other.

export type FromThread =
  | { type: 'listening'; port: number }
  | { type: 'failed'; message: string; code: string; port: number }
  | ({ type: 'call'; id: number } & Call)
  | { type: 'carried'; id: number; carried: Carried }
  | ({ type: 'brought'; id: number } & Brought)
  | { type: 'not brought'; id: number; why: string }
  | { type: 'closed' };

export type ToThread =
  | { type: 'listen'; host: string; port: number }
  | { type: 'answered'; id: number; answer: unknown }
  | { type: 'refused'; id: number; kind: FailureKind; message: string }
  | { type: 'cut'; cuts: readonly Cut[]; connection_ids: readonly string[] }
  | { type: 'prove'; credentials: WorkerCredentials }
  | { type: 'bring'; id: number; errand: Errand }
  | { type: 'cut all' }
  | { type: 'report'; id: number }
  | { type: 'close' };
