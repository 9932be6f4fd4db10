import type { SmtpServer } from '../../config/outgoing.ts';
import type { Reach } from '../../config/reach.client.ts';
import type { Channel } from './settings.ts';

/** A warning to be posted, as a value that a thread can be given. */
export interface WebhookOrder extends Reach {
  channel: 'webhook';
  url: string;
  /** JSON text. */
  body: string;
  headers: Readonly<Record<string, string>>;
  /** PEM; empty for the CAs that the runtime knows. */
  ca: string;
  timeout_ms: number;
}

/** A warning to be sent by mail. */
export interface MailOrder {
  channel: 'mail';
  server: SmtpServer;
  to: readonly string[];
  /** Of the message, the same each time that it is sent. */
  id: string;
  subject: string;
  text: string;
  /** For the connection, and again for its greeting. */
  answer_ms: number;
  /** For all of it. */
  timeout_ms: number;
}

export type Order = WebhookOrder | MailOrder;

/** That a message was taken. */
export interface Taken {
  /** For so many of those that it was for it was not. */
  refused: number;
}

/** Why a receiver did not take a message; says nothing of what was sent, nor where. */
export class DeliveryFault extends Error {
  override readonly name = 'DeliveryFault';
}

/** What went wrong beneath a protocol, by the code of the runtime's error. */
export function faultOfCode(code: unknown): DeliveryFault {
  const known = typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,60}$/.test(code) ? code : '';
  return new DeliveryFault(
    known === '' ? 'the connection failed' : `the connection failed: ${known}`,
  );
}

/** Warnings that were taken, and attempts that failed, since the server started. */
export type Counts = Record<Channel, { delivered: number; failed: number }>;
