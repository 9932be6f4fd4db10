import { askerOf, gone } from '../../access/concurrency/operations.ts';
import { wrapAnswer } from '../../access/wrapping/operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { SYSTEM_LEASE_TTL } from '../../app/mount.ts';
import type { VaultResult } from '../../app/result.ts';
import type { AnyRoute } from '../../app/route.ts';
import { parseDuration } from '../../core/durations.ts';
import { Failure, invalid } from '../../core/failure.ts';
import { doFor } from '../../core/fairness/asking.ts';
import { Breath } from '../../core/fairness/breath.ts';
import { FairTurns } from '../../core/fairness/fair-turns.ts';
import { SHARED_PARTY } from '../../core/fairness/party.ts';
import type { Soon } from '../../core/steps.ts';
import type { HttpResponse } from '../response.ts';
import { encodeWrapped } from './wire.ts';

/**
 * Reads the headers that ask for wrapping.
 *
 * @returns whole seconds that the answer is to be wrapped for; undefined when it is not
 * @throws Failure `invalid` for a request that cannot be fulfilled: nobody who counts on the
 *   wrapping is answered without it
 */
export function wrapTtlOf(
  route: AnyRoute | undefined,
  { ttl: asked, format }: { ttl: string | undefined; format: string | undefined },
): number | undefined {
  if (!asked) return undefined;
  const seconds = parseDuration(asked);
  if (seconds === undefined || seconds < 0) {
    throw invalid('header "X-Vault-Wrap-TTL" must be a duration of zero or more');
  }
  if (seconds === 0) return undefined;
  if (route?.while_sealed) {
    // Clients send the header with every request, also with those for the server's own state.
    if (route.method === 'GET') return undefined;
    throw invalid('answers of this path cannot be wrapped: leave out the header');
  }
  if (format) throw invalid('header "X-Vault-Wrap-Format" must be left out: one form only');
  if (seconds > SYSTEM_LEASE_TTL) {
    throw invalid(`header "X-Vault-Wrap-TTL" must be at most ${SYSTEM_LEASE_TTL / 3600}h`);
  }
  // Upwards: a fraction must not become an answer that is not wrapped.
  return Math.ceil(seconds);
}

/** Puts an answer away under a token of its own; what says nothing needs no wrapping. */
export function wrapIfAsked(
  app: App,
  caller: Caller,
  result: VaultResult,
  encoded: HttpResponse,
): Soon<HttpResponse> {
  const { wrap_ttl } = caller;
  if (wrap_ttl === undefined || result.wrap_info || encoded.status === 304) return encoded;
  if (encoded.body === undefined && !result.raw && result.bytes === undefined) return encoded;
  const wrap = async (): Promise<HttpResponse> => {
    const answer = {
      content_type: String(encoded.headers['content-type'] ?? ''),
      body: await wholeBody(encoded.body),
    };
    const wrapped_accessor = result.auth?.accessor ?? result.wrapped_accessor ?? '';
    return encodeWrapped(
      await wrapAnswer(app, caller, { answer, ttl: wrap_ttl, wrapped_accessor }),
    );
  };
  if (isShort(encoded.body)) return wrap();
  // Who has a place goes on as work that is shared: others wait for it.
  const weight = Math.ceil((encoded.body?.length ?? UNKNOWN) / 1024);
  return collecting.take({ ...askerOf(caller), weight }, () => doFor(SHARED_PARTY, wrap));
}

/**
 * Long answers that are collected and sealed at the same time: each takes twice its length meanwhile. A list is read by
 * turns among all lists of its network, which may be long in coming: one network has one place, and others the other.
 * What waits holds its answer, and is counted in KiB.
 */
const collecting = new FairTurns(
  { at_once: 2, at_once_site: 1, waiting: 32 << 10, waiting_each: 8 << 10 },
  (why) => {
    if (why === 'gone') return gone();
    const because = 'too many long answers are being wrapped, try again in some seconds';
    return new Failure('rate_limited', because, { retry_after: 5 });
  },
);
const SHORT = 64 << 10;
/** What is made while it is collected weighs so much. */
const UNKNOWN = 32 << 10;

function isShort(body: HttpResponse['body'] = ''): boolean {
  return body.length !== undefined && body.length <= SHORT;
}

/** Longer answers are not for wrapping: they would lie in the store whole. */
const MAX_WRAPPED = 8 << 20;

async function wholeBody(body: HttpResponse['body'] = ''): Promise<Uint8Array> {
  if (typeof body === 'string') return requireShort(Buffer.from(body, 'utf8'));
  if (body instanceof Uint8Array) return requireShort(body);
  if (body.length !== undefined) {
    requireShort(body);
    return Buffer.concat([...body.pieces()]);
  }
  const pieces: Uint8Array[] = [];
  const breath = new Breath();
  let length = 0;
  for await (const piece of body.pieces()) {
    await breath.take();
    length += piece.length;
    requireShort({ length });
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function requireShort<Sized extends { length: number }>(sized: Sized): Sized {
  if (sized.length > MAX_WRAPPED) {
    throw new Failure('too_large', `an answer of more than ${MAX_WRAPPED} bytes is not wrapped`);
  }
  return sized;
}
