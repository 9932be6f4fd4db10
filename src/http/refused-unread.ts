import { randomUUID } from 'node:crypto';
import { findLiving } from '../access/tokens/authentication/operations.ts';
import type { Token } from '../access/tokens/token.ts';
import { type App, perApp } from '../app.ts';
import { TOO_OFTEN } from '../audit/record.ts';
import { Failure } from '../core/failure.ts';
import { leadBoundary, listCredentials } from './boundary/leading.ts';
import { isBoundaryTarget } from './boundary/path.ts';
import { dressBoundaryFailure } from './boundary/wire.ts';
import { type Fault, refuseAll } from './faults.ts';
import { recordRefused, recordTooMany } from './refused-early.ts';
import type { HttpRequest } from './request.ts';
import { listTokens } from './request-headers.ts';
import { startTrace, type Trace } from './request-record.ts';
import { lead } from './vault/leading.ts';
import type { Routers } from './vault/target.ts';
import { type Dressed, dressFailure } from './vault/wire.ts';

/** So many at once are looked at for who sent them; they are refused because too much goes on already. */
const MOST_LOOKS = 32;

const looksOf = perApp(() => ({ count: 0 }));

/** Refuses a request for what keeps it from being answered, whatever it says; its record tells who asked, and for what. */
export async function refuseUnread(
  app: App,
  routers: Routers,
  request: HttpRequest,
  fault: Fault,
): Promise<Dressed> {
  const trace = startTrace(randomUUID(), request.remote_address);
  const isBoundary = isBoundaryTarget(request.url);
  const texts = (): string[] => (isBoundary ? listCredentials(request) : listTokens(request));
  try {
    if (fault.status === 429) await recordOneOfMany(app, routers, request, { trace, texts });
    else {
      await traceUnread(app, routers, request, trace);
      const askedBy = { texts, remote_address: request.remote_address };
      await recordRefused(app, trace, new Failure('invalid', fault.because), askedBy);
    }
  } catch (error) {
    const unrecorded = isBoundary ? dressBoundaryFailure(error) : dressFailure(error);
    if (!unrecorded) throw error;
    return unrecorded;
  }
  return refuseAll(request.url, fault);
}

/** Notes where a request leads. What else is wrong with it is no matter. */
async function traceUnread(
  app: App,
  routers: Routers,
  request: HttpRequest,
  trace: Trace,
): Promise<void> {
  try {
    if (!isBoundaryTarget(request.url)) await lead(app, routers, request, trace);
    else leadBoundary(routers.boundary, request, { go: true, headers: {} }, trace);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
  }
}

/** Counts a request by who sends it and what for; where many come at once, or while sealed, by where it comes from. */
async function recordOneOfMany(
  app: App,
  routers: Routers,
  request: HttpRequest,
  { trace, texts }: { trace: Trace; texts(): readonly string[] },
): Promise<void> {
  const looks = looksOf(app);
  if (looks.count >= MOST_LOOKS || app.barrier.sealed) {
    app.audit.refuse(trace, { status: 'refused', error: TOO_OFTEN });
    return;
  }
  looks.count += 1;
  try {
    await traceUnread(app, routers, request, trace);
    await recordTooMany(app, trace, await findGood(app, texts()));
  } finally {
    looks.count -= 1;
  }
}

/** The first good one of some tokens; where none is, the first. */
async function findGood(
  app: App,
  texts: readonly string[],
): Promise<{ text: string; living: Token | undefined }> {
  for (const text of texts) {
    const living = await findLiving(app, text);
    if (living) return { text, living };
  }
  return { text: texts[0] ?? '', living: undefined };
}
