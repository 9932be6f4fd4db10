import type { IncomingMessage, ServerResponse } from 'node:http';
import { isBoundaryTarget } from './boundary-path.ts';
import { refusal as refuseBoundary } from './wire/boundary.ts';
import { type Dressed, refusal } from './wire/vault.ts';

export type Refuse = (request: IncomingMessage, response: ServerResponse, fault: Fault) => void;

/** Browsers and proxies send some dozens. */
export const MOST_FIELDS = 200;

/** What keeps a request from being looked at at all. */
export interface Fault {
  status: 400 | 417 | 421 | 431;
  because: string;
}

/** In the words of whichever API the path belongs to. What follows on the connection is not read. */
export function refuseAll(target: string, { status, because }: Fault): Dressed {
  const dressed = isBoundaryTarget(target)
    ? refuseBoundary(status, { kind: 'InvalidArgument', message: because })
    : refusal(status, [because]);
  return { ...dressed, headers: { ...dressed.headers, connection: 'close' } };
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
