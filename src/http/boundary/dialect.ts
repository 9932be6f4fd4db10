import { findLiving } from '../../access/permissions/authentication.operations.ts';
import type { App } from '../../app/app.ts';
import { visibleFields } from '../../broker/resource/answers.operations.ts';
import type { BoundaryAnswer } from '../../broker/resource/route.ts';
import { type CorsVerdict, judgeOrigin } from '../../core/cors.ts';
import { type Soon, whenThere } from '../../core/steps.ts';
import type { Credentials, Dialect, Exchange, Stages } from '../dialect.ts';
import type { Fault } from '../faults.ts';
import { type HttpRequest, header } from '../request.ts';
import type { HttpResponse } from '../response.ts';
import { type BoundaryAsker, findAsker } from './asker.ts';
import type { NamedFields } from './body.ts';
import { type BoundaryRouter, isBoundaryTarget } from './path.ts';
import {
  type Bare,
  type BoundaryPermitted,
  permit,
  readFields,
  requirePossible,
} from './permission.ts';
import { takeQuota } from './quota.ts';
import {
  credentialsOf,
  type FoundRoute,
  findBoundaryRoute,
  listCredentials,
  requireCorrelationId,
} from './routing.ts';
import { encodeBoundaryAnswer, encodeBoundaryFailure, refusal } from './wire.ts';

interface BoundaryStages extends Stages {
  found: FoundRoute;
  asker: BoundaryAsker;
  possible: Bare;
  input: NamedFields;
  permitted: BoundaryPermitted;
  result: BoundaryAnswer;
}

/** The broker's API: resources by id, permission by grants, answers that are the bare resource. */
export const boundaryDialect = (router: BoundaryRouter): Dialect<BoundaryStages> => ({
  accepts: isBoundaryTarget,
  sealed: 'the server is sealed',
  greet,
  find: (app, exchange) =>
    findBoundaryRoute(router, exchange.request, originOf(app, exchange.request), exchange.trace),
  isForAny: (app, { route: { on_any_thread: says }, id }) =>
    typeof says === 'function' ? says(app, id) : says === true,
  requireHead: ({ request }) => requireCorrelationId(request),
  findCredentials,
  takeQuota,
  identify: (app, { request, trace }, _found, credentials) =>
    findAsker(app, request, credentials, trace),
  requirePossible,
  read: readFields,
  permit,
  run,
  encode,
  bearerOf: ({ trace }) => trace.token,
  listCredentials,
  encodeFailure: encodeBoundaryFailure,
  encodeFault,
});

/** Browsers ask first whether they may ask; what another origin asks all the same is refused, and recorded. */
function greet(
  app: App,
  request: HttpRequest,
): { headers: Readonly<Record<string, string>>; answered?: HttpResponse } {
  const origin = originOf(app, request);
  const { headers } = origin;
  if (origin.go || origin.status === 403) return { headers };
  return { headers, answered: { status: origin.status, headers: {}, body: undefined } };
}

function originOf(app: App, request: HttpRequest): CorsVerdict {
  return judgeOrigin(app.config.cors, {
    method: request.method,
    origin: header(request, 'origin'),
    host: header(request, 'host'),
    requested: header(request, 'access-control-request-method'),
  });
}

/** Whether a token is good is told by a look at it; what it allows, and a use of it, come later. */
function findCredentials(app: App, { request, trace }: Exchange): Soon<Credentials> {
  const text = credentialsOf(request);
  trace.is_asker_sought = true;
  const finding = text === '' ? undefined : findLiving(app, text);
  return whenThere(finding, (living) => ({ text, living }));
}

function run(
  app: App,
  { caller, route, request, located, visible }: BoundaryPermitted,
): Promise<BoundaryAnswer> {
  return route.run(app, caller, request, located, visible());
}

/** Not more is shown than may be seen by the time it is written. */
function encode(
  _app: App,
  { located, visible }: BoundaryPermitted,
  result: BoundaryAnswer,
): HttpResponse {
  if (!located || !result.item) return encodeBoundaryAnswer(result);
  return encodeBoundaryAnswer({ ...result, item: visibleFields(result.item, visible()) });
}

const KINDS: Readonly<Record<number, string>> = { 429: 'ResourceExhausted', 500: 'Internal' };

function encodeFault({ status, because }: Fault): HttpResponse {
  return refusal(status, { kind: KINDS[status] ?? 'InvalidArgument', message: because });
}
