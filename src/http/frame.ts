import { randomUUID } from 'node:crypto';
import { type App, perApp } from '../app/app.ts';
import { Failure } from '../core/failure.ts';
import { type Soon, whenThere } from '../core/steps.ts';
import { countRequest } from '../metrics/meters.operations.ts';
import type { Credentials, Dialect, Exchange, FramedRoute, Stages } from './dialect.ts';
import type { Fault } from './faults.ts';
import { recordRefused, recordTooMany } from './refused-early.ts';
import { refuseUnread } from './refused-unread.ts';
import type { HttpRequest } from './request.ts';
import { recordDone, startTrace, tellRefused } from './request-record.ts';
import type { HttpResponse, SentResponse } from './response.ts';
import { isLong, whilePermitted } from './while-permitted.ts';

/** Answers the requests of one dialect. */
export interface RequestHandler {
  accepts(target: string): boolean;
  handle(request: HttpRequest): Promise<SentResponse>;
  /** An answer that needs nothing else, and is given however much is under way. */
  answerAtOnce?(request: HttpRequest): Promise<HttpResponse>;
  /** Refuses what cannot be looked at, in the dialect's words. */
  encodeFault(fault: Fault): HttpResponse;
  /** As {@link encodeFault}, of what can be recorded by who asked, and for what. */
  refuseUnread(request: HttpRequest, fault: Fault): Promise<HttpResponse>;
}

/** Sees each answer before it is sent: tests hold them against what is declared. */
export const answerWatch = perApp<{
  see?: (route: FramedRoute | undefined, answer: HttpResponse) => HttpResponse;
}>(() => ({}));

/** By which a request has come: the API's listener, or the one for relying parties, which has less to give. */
export type Door = 'api' | 'relying parties';

/** Answers what is answered in one place for several threads; absent on the thread that does, and where there is one. */
export const answeredElsewhere = perApp<{
  ask?: (request: HttpRequest, door: Door) => Promise<SentResponse>;
}>(() => ({}));

export function handlerOf<S extends Stages>(
  app: App,
  dialect: Dialect<S>,
  door: Door = 'api',
): RequestHandler {
  return {
    accepts: dialect.accepts,
    handle: (request) => handle(app, dialect, request, door),
    encodeFault: dialect.encodeFault,
    refuseUnread: (request, fault) => refuseUnread(app, dialect, request, fault),
  };
}

async function handle<S extends Stages>(
  app: App,
  dialect: Dialect<S>,
  request: HttpRequest,
  door: Door,
): Promise<SentResponse> {
  const started = performance.now();
  const trace = startTrace(randomUUID(), request.remote_address);
  const exchange: Exchange = { request, has_come: request.hasCome(), trace, headers: {} };
  const { ask } = answeredElsewhere(app);
  let found: S['found'] | undefined;
  if (ask) {
    const finding = findHere(app, dialect, exchange);
    found = finding instanceof Promise ? await finding : finding;
    if (!found) return ask(request, door);
  }
  const greeting = dialect.greet?.(app, request);
  let response = greeting?.answered;
  try {
    response ??= await answer(app, dialect, exchange, found);
  } catch (thrown) {
    response = await refuse(app, dialect, exchange, thrown);
  }
  Object.assign(response.headers, exchange.headers, greeting?.headers);
  countRequest(app, trace.record.route, response.status, (performance.now() - started) / 1000);
  const { see } = answerWatch(app);
  return see ? see(trace.route, response) : response;
}

/** Where a request leads whose answer needs nothing that is in one place; whatever else there is to say is said there. */
function findHere<S extends Stages>(
  app: App,
  dialect: Dialect<S>,
  exchange: Exchange,
): Soon<S['found'] | undefined> {
  if (app.barrier.sealed) return undefined;
  try {
    const finding = whenThere(dialect.find(app, exchange), (found) =>
      whenThere(dialect.isForAny(app, found), (isHere) => (isHere ? found : undefined)),
    );
    return finding instanceof Promise ? finding.catch(() => undefined) : finding;
  } catch {
    return undefined;
  }
}

async function refuse<S extends Stages>(
  app: App,
  dialect: Dialect<S>,
  exchange: Exchange,
  thrown: unknown,
): Promise<HttpResponse> {
  const { request, trace } = exchange;
  const rescued = await dialect.rescue?.(app, exchange, thrown);
  if (rescued) return rescued;
  const { remote_address } = request;
  const askedBy = { texts: () => dialect.listCredentials(request), remote_address };
  const error = await recordRefused(app, trace, thrown, askedBy).then(
    () => thrown,
    (unrecorded: unknown) => unrecorded,
  );
  const refused = dialect.encodeFailure(error, tellRefused(trace));
  if (refused) return refused;
  const id = trace.request_id;
  app.log.error({ err: error, request_id: id }, 'a request failed');
  const because = `internal error, see the server's log for request ${id}`;
  return dialect.encodeFault({ status: 500, because });
}

/** What is answered before anything is run, or instead. */
class Answered {
  readonly response: HttpResponse;

  constructor(response: HttpResponse) {
    this.response = response;
  }
}

/**
 * Admits, runs, answers, records. What is there at once is not waited for: each promise is a noticeable part of what a
 * short request takes.
 */
async function answer<S extends Stages>(
  app: App,
  dialect: Dialect<S>,
  exchange: Exchange,
  found: S['found'] | undefined,
): Promise<HttpResponse> {
  const permitted = await admit(app, dialect, exchange, found);
  if (permitted instanceof Answered) return permitted.response;
  const { caller, route } = permitted;
  const encoding = dialect.encode(app, permitted, await dialect.run(app, permitted));
  const response = encoding instanceof Promise ? await encoding : encoding;
  const token = dialect.bearerOf ? dialect.bearerOf(exchange) : caller.token;
  const recording = recordDone(app, caller, route, token);
  if (recording) await recording;
  requireStillOpen(app, dialect, route);
  if (!isLong(response.body)) return response;
  // What is read while it is sent waits for its client.
  permitted.letGo?.();
  return whilePermitted(response, async () => {
    await caller.standing?.renew();
    requireStillOpen(app, dialect, route);
    permitted.letGo?.();
  });
}

/**
 * Finds, identifies, reads, permits. Permission comes before whatever is costly to read: nobody's body is read who could
 * not be permitted with any.
 */
async function admit<S extends Stages>(
  app: App,
  dialect: Dialect<S>,
  exchange: Exchange,
  known: S['found'] | undefined,
): Promise<S['permitted'] | Answered> {
  const finding = known ?? dialect.find(app, exchange);
  const found = finding instanceof Promise ? await finding : finding;
  if (app.barrier.sealed && !found.route?.while_sealed) {
    throw new Failure('unavailable', dialect.sealed);
  }
  dialect.requireHead(exchange, found);
  const identifying = identify(app, dialect, exchange, found);
  const asker = identifying instanceof Promise ? await identifying : identifying;
  if (asker instanceof Answered) return asker;
  const describing = dialect.describe?.(app, exchange, found, asker);
  if (describing) return new Answered(await describing);
  const judging = dialect.requirePossible(app, exchange, found, asker);
  const possible = judging instanceof Promise ? await judging : judging;
  const reading = dialect.read(app, exchange, possible, asker);
  const input = reading instanceof Promise ? await reading : reading;
  const permitting = dialect.permit(app, exchange, possible, asker, input);
  return permitting instanceof Promise ? await permitting : permitting;
}

/** By itself: what was found of the credentials is not held while a body is waited for. */
function identify<S extends Stages>(
  app: App,
  dialect: Dialect<S>,
  exchange: Exchange,
  found: S['found'],
): Soon<S['asker'] | Answered> {
  const identifyBy = (credentials: Credentials): Soon<S['asker'] | Answered> => {
    return whenThere(dialect.takeQuota?.(app, exchange, found, credentials), (answered) => {
      if (!answered) return dialect.identify(app, exchange, found, credentials);
      return recordTooMany(app, exchange.trace, credentials).then(() => new Answered(answered));
    });
  };
  return whenThere(dialect.findCredentials(app, exchange), identifyBy);
}

/**
 * What was begun before a sealing is not answered after it.
 *
 * @throws Failure `unavailable`: what the request did may be done
 */
function requireStillOpen<S extends Stages>(
  app: App,
  dialect: Dialect<S>,
  { while_sealed, seals }: FramedRoute,
): void {
  if (app.barrier.sealed && !while_sealed && !seals) {
    throw new Failure('unavailable', dialect.sealed);
  }
}
