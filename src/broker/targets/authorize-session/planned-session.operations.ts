import type { App } from '../../../app/app.ts';
import { Failure } from '../../../core/failure.ts';
import type { BrokerCaller } from '../../resource/caller.ts';
import { newResourceId } from '../../resource/ids.ts';
import type { Resource } from '../../resource/resource.ts';
import { type Endpoint, formatEndpoint } from '../../sessions/endpoint.ts';
import { makeSessionCertificate } from '../../sessions/session-certificate.ts';
import { requireWorkers } from '../../workers/selection.operations.ts';
import { findEndpoint } from '../endpoints/operations.ts';
import type { TargetBody } from '../target.ts';

/** 9999-12-31T23:59:59Z, the last instant that a certificate can name (RFC 5280 §4.1.2.5). */
const LAST_MS = 253_402_300_799_000;

export interface PlannedSession {
  id: string;
  endpoint: Endpoint;
  url: string;
  port: number;
  worker_filter: string;
  ingress_worker_filter: string;
  worker_addresses: readonly string[];
  created_ms: number;
  expires_ms: number;
  certificate: Uint8Array;
  /** 64 bytes. */
  private_key: Uint8Array;
}

export async function planSession(
  app: App,
  caller: BrokerCaller,
  { target, host_id }: { target: Resource<TargetBody>; host_id: string },
): Promise<PlannedSession> {
  const { body } = target;
  const port = body.default_port;
  if (port === 0) {
    throw new Failure('precondition', 'Target does not have default port defined.');
  }
  const endpoint = await findEndpoint(app, caller, { target, host_id });
  const formatted = formatEndpoint(target.subtype, endpoint.address, port);
  if (!formatted.valid) throw new Failure('unresolved', formatted.because);
  const worker_filter = body.egress_worker_filter || body.worker_filter;
  const { workers, ingress_worker_filter } = await requireWorkers(app, {
    worker_filter,
    ingress_worker_filter: body.ingress_worker_filter ?? '',
  });
  const worker_addresses = workers.map((worker) => worker.address);
  // Drawn at once, since each draw has its price.
  const random = app.randomBytes(72);
  const seed = random.subarray(0, 32);
  const id = newResourceId('s', random.subarray(40));
  const created_ms = app.now();
  const expires_ms = Math.min(
    created_ms + body.session_max_seconds * 1000,
    endOfBatchToken(caller),
    LAST_MS,
  );
  const made = makeSessionCertificate({
    session_id: id,
    worker_addresses,
    seed,
    serial: random.subarray(32, 40),
    now: Math.floor(created_ms / 1000),
    expires_at: Math.floor(expires_ms / 1000),
  });
  seed.fill(0);
  const url = formatted.url;
  return {
    id,
    endpoint,
    url,
    port,
    worker_filter,
    ingress_worker_filter,
    worker_addresses,
    created_ms,
    expires_ms,
    ...made,
  };
}

/** It is never renewed, and nothing but its own text tells of it. */
function endOfBatchToken({ token }: BrokerCaller): number {
  const isBatch = token?.type === 'batch';
  return isBatch ? (token.expires_at ?? Number.POSITIVE_INFINITY) * 1000 : LAST_MS;
}
