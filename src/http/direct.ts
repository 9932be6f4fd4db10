import type { IncomingMessage, RequestListener, Server } from 'node:http';
import { COMMON_HEADERS } from './common-headers.ts';
import type { Connections } from './connections.ts';
import { MOST_FIELDS, type Refuse, TOO_MANY_FIELDS } from './faults.ts';
import { noteHead } from './feeding.ts';
import { faultOfHost } from './host-header.ts';
import { GatheredRequest } from './request-body.ts';

/**
 * Answers the API's requests without the framework's own steps for each, which took a fifth
 * of the CPU time of a read: there is one handler, and it needs none of them. Other paths, and everything
 * once the server is closing, go the framework's way.
 */
export function answerDirectly(
  server: Server,
  connections: Connections,
  ways: { isClosing(): boolean; answer: RequestListener; refuse: Refuse },
): void {
  const others = server.listeners('request');
  server.removeAllListeners('request');
  const begin: RequestListener = (request, response) => {
    const because = faultOfHost(request.rawHeaders, request.httpVersion);
    if (request.rawHeaders.length >= 2 * MOST_FIELDS)
      ways.refuse(request, response, TOO_MANY_FIELDS);
    else if (because !== undefined) ways.refuse(request, response, { status: 400, because });
    else if (!ways.isClosing() && isOfApi(request)) ways.answer(request, response);
    else {
      // What the framework answers by itself has them, too.
      for (const [name, value] of Object.entries(COMMON_HEADERS)) response.setHeader(name, value);
      for (const other of others) other.call(server, request, response);
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

const isOfApi = ({ url }: IncomingMessage): boolean => url?.startsWith('/v1/') ?? false;
