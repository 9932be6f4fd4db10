import { randomUUID } from 'node:crypto';
import { findLiving } from '../access/permissions/authentication.operations.ts';
import { type App, perApp } from '../app/app.ts';
import { TOO_OFTEN } from '../audit/record.ts';
import { Failure, invalid } from '../core/failure.ts';
import type { Credentials, Dialect, Exchange, Stages } from './dialect.ts';
import { type Fault, refuseAll } from './faults.ts';
import { recordRefused, recordTooMany } from './refused-early.ts';
import type { HttpRequest } from './request.ts';
import { startTrace } from './request-record.ts';
import type { HttpResponse } from './response.ts';

/** Of so many at once it is looked up who sent them; they are refused because too much goes on already. */
const MOST_LOOKUPS = 32;

const lookupsOf = perApp(() => ({ count: 0 }));

/** Refuses a request for what keeps it from being answered, whatever it says; its record tells who asked, and for what. */
export async function refuseUnread<S extends Stages>(
  app: App,
  dialect: Dialect<S>,
  request: HttpRequest,
  fault: Fault,
): Promise<HttpResponse> {
  const trace = startTrace(randomUUID(), request.remote_address);
  const exchange: Exchange = { request, has_come: request.hasCome(), trace, headers: {} };
  const texts = (): string[] => dialect.listCredentials(request);
  try {
    if (fault.status === 429) await recordOneOfMany(app, dialect, exchange, texts);
    else {
      await traceUnread(app, dialect, exchange);
      const askedBy = { texts, remote_address: request.remote_address };
      await recordRefused(app, trace, invalid(fault.because), askedBy);
    }
  } catch (error) {
    const unrecorded = dialect.encodeFailure(error);
    if (!unrecorded) throw error;
    return unrecorded;
  }
  return refuseAll(dialect, fault);
}

/** Notes the route of a request. What else is wrong with it is no matter. */
async function traceUnread<S extends Stages>(
  app: App,
  dialect: Dialect<S>,
  exchange: Exchange,
): Promise<void> {
  try {
    await dialect.find(app, exchange);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
  }
}

/** Counts a request by who sends it and what for; where many come at once, or while sealed, by where it comes from. */
async function recordOneOfMany<S extends Stages>(
  app: App,
  dialect: Dialect<S>,
  exchange: Exchange,
  texts: () => readonly string[],
): Promise<void> {
  const { trace } = exchange;
  const lookups = lookupsOf(app);
  if (lookups.count >= MOST_LOOKUPS || app.barrier.sealed) {
    app.audit.refuse(trace, { status: 'refused', error: TOO_OFTEN });
    return;
  }
  lookups.count += 1;
  try {
    await traceUnread(app, dialect, exchange);
    await recordTooMany(app, trace, await findGood(app, texts()));
  } finally {
    lookups.count -= 1;
  }
}

/** The first good one of some tokens; where none is, the first. */
async function findGood(app: App, texts: readonly string[]): Promise<Credentials> {
  for (const text of texts) {
    const living = await findLiving(app, text);
    if (living) return { text, living };
  }
  return { text: texts[0] ?? '', living: undefined };
}
