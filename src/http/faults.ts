import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpResponse } from './response.ts';

export type Refuse = (request: IncomingMessage, response: ServerResponse, fault: Fault) => void;

/** Browsers and proxies send some dozens. */
export const MOST_FIELDS = 200;

/** Why a request is refused before it reaches a dialect. */
export interface Fault {
  status: 400 | 417 | 421 | 429 | 431 | 500;
  because: string;
  /** Seconds after which to come again. */
  retry_after?: number;
}

/** In the words of whichever dialect the target belongs to. What follows on the connection is not read. */
export function refuseAll(
  handler: { encodeFault(fault: Fault): HttpResponse },
  fault: Fault,
): HttpResponse {
  const encoded = handler.encodeFault(fault);
  const headers: HttpResponse['headers'] = { ...encoded.headers, connection: 'close' };
  if (fault.retry_after !== undefined) headers['retry-after'] = String(fault.retry_after);
  return { ...encoded, headers };
}

export const NOT_OURS: Fault = {
  status: 421,
  because: "this server does not answer to the name in the request's Host header",
};
export const TOO_MANY_FIELDS: Fault = {
  status: 431,
  because: `a request has fewer than ${MOST_FIELDS} header fields`,
};
export const UNKNOWN_EXPECTATION: Fault = {
  status: 417,
  because: 'the only expectation that is met is 100-continue',
};
export const MANY_UNATTENDED: Fault = {
  status: 429,
  because:
    'too many requests from here are worked on whose clients have gone, try again in a second',
  retry_after: 1,
};
