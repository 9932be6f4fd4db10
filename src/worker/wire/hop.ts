import type { ReachRules } from '../../config/reach-rules.ts';

// How one worker brings a connection to another: TLS in which both prove themselves under the roots of
// workers, then a ticket, then the endpoint's bytes as they are.

/** Asked for by ALPN (RFC 7301), so that one port takes clients of sessions and workers. */
export const HOP_PROTOCOL = 'gatehouse-hop';
/** What is said first. */
export const TICKET_BYTES = 32;
/** A ticket that nobody has shown by then is not good any more. */
export const TICKET_MS = 30_000;

/** What a worker is asked to do for another one. */
export interface Errand {
  /** What it dials: a session's endpoint. */
  endpoint: string;
  /** Whose connection it becomes, by which it may have to be ended; of a connection to a server none. */
  session_id?: string | undefined;
  connection_id?: string | undefined;
  /** Where it brings the connection to, `host:port`, empty: to its server; … */
  address: string;
  /** … whom it must find there, … */
  worker_id: string;
  /** … and what it shows: 32 bytes in base64, good once. */
  ticket: string;
  /** Where it may lead, if not anywhere: a name is judged by what it resolves to where it is dialled. */
  reach?: ReachRules | undefined;
}

/** What it has reached. */
export interface Brought {
  endpoint_tcp_address: string;
  endpoint_tcp_port: number;
}

/** Of a certificate under the roots of workers: whose it is, a worker's or a server's. */
const WORKER_NAME = /^DNS:(w_[0-9A-Za-z]{1,32}|gatehouse-server)$/;

/** @param subjectAltName as Node tells it of a certificate that is verified */
export function workerOf(subjectAltName: string | undefined): string | undefined {
  return WORKER_NAME.exec(subjectAltName ?? '')?.[1];
}
