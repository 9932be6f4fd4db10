import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { Connections } from './connections.ts';
import { MOST_FIELDS, type Refuse, TOO_MANY_FIELDS } from './faults.ts';
import { noteHead } from './feeding.ts';
import { faultOfHost } from './host-header.ts';
import { refuseClosing, refuseOutside } from './outside.ts';
import { GatheredRequest } from './request-body.ts';
import type { HttpResponse } from './response.ts';
import { send } from './sending.ts';

/** What is done with requests as they come: those that can be looked at are answered in their turn. */
export function answerRequests(
  server: Server,
  connections: Connections,
  ways: { isClosing(): boolean; answer: RequestListener; refuse: Refuse },
): void {
  const begin: RequestListener = (request, response) => {
    const because = faultOfHost(request.rawHeaders, request.httpVersion);
    if (request.rawHeaders.length >= 2 * MOST_FIELDS)
      ways.refuse(request, response, TOO_MANY_FIELDS);
    else if (because !== undefined) ways.refuse(request, response, { status: 400, because });
    else {
      const refused = ways.isClosing() ? refuseClosing() : refuseStray(request);
      if (refused) send(request, response, refused);
      else ways.answer(request, response);
    }
  };
  const inTurn =
    (next: RequestListener): RequestListener =>
    (request, response) => {
      noteHead(request);
      connections.begin(request, response, () => next(request, response));
    };
  server.on('request', inTurn(begin));
  server.on(
    'checkContinue',
    inTurn((request, response) => {
      // Only whoever may have the body read is to send it; Node would ask everybody for it at once.
      if (request instanceof GatheredRequest) request.askForBody = () => response.writeContinue();
      begin(request, response);
    }),
  );
  server.on(
    'checkExpectation',
    inTurn((request, response) => {
      // Refused where its record can tell who asked, and for what.
      if (request instanceof GatheredRequest) request.expectsUnknown = true;
      begin(request, response);
    }),
  );
}

const refuseStray = (request: IncomingMessage): HttpResponse | undefined =>
  request.url?.startsWith('/v1/') ? undefined : refuseOutside(request);
