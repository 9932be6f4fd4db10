import { z } from 'zod';
import { CLOSED_REASONS } from '../../broker/sessions/connections/connection.ts';
import { CONTROL } from '../../core/control-characters.ts';
import type { FailureKind } from '../../core/failure.ts';
import { type CallName, type Cut, MOST_CARRIED } from '../upstream.ts';
import type { Errand } from '../wire/hop.ts';

// What a worker that stands alone and its server say to each other: JSON, bytes in base64, one
// message a frame of a WebSocket over TLS on which both have proved who they are.

/** Where on the server's listener for workers, and what both speak. */
export const LINK_PATH = '/v1/link';
export const LINK_PROTOCOL = 'gatehouse-worker-v1';
export const ENROL_PATH = '/v1/enrol';

/**
 * What the connection of a worker is closed with whose key is not known any more (RFC 6455 §7.4.2). It is told so while
 * both sides still know each other: where the roots were replaced, it would not know who tells it afterwards.
 */
export const NOT_KNOWN_CODE = 4403;

/** A longer message is none. */
export const MESSAGE_BYTES = 4 << 20;
/** How often a worker reports. */
export const REPORT_MS = 5_000;

/** Of visible characters: databases do not take all others. */
const id = z.string().regex(/^[\x21-\x7e]{0,64}$/);
const count = z.int().min(0);
const port = z.int().min(0).max(65_535);
const text = z
  .string()
  .max(512)
  .refine((said) => !CONTROL.test(said), 'has control characters');
/** Of an endpoint, or of a client, which has its own ideas of what characters are. */
const words = z.string().max(512);
const bytes = z.base64().max(512);

/** Base64 on the way. */
const content = z
  .base64()
  .max(2 << 20)
  .transform((text) => Buffer.from(text, 'base64'));
const piece = { id, at: count, bytes: content, bytes_up: count, bytes_down: count };

/** A list that is read up to its first fault: one of thousands takes as many times as long to put into words. */
const listOf = <Item>(item: z.ZodType<Item>, most: number) =>
  z.custom<Item[]>(
    (value) =>
      Array.isArray(value) &&
      value.length <= most &&
      value.every((one) => item.safeParse(one).success),
  );

/** So many ends are told by one call. */
export const MOST_ENDS = 1_000;

/** The calls, as they come over the link. */
export const requests = {
  lookUp: z.strictObject({ session_id: id }),
  activate: z.strictObject({ session_id: id, tofu_token: words, version: count }),
  cancel: z.strictObject({ session_id: id }),
  authorize: z.strictObject({ session_id: id }),
  reach: z.strictObject({ connection_id: id, ticket: id }),
  connect: z.strictObject({
    connection_id: id,
    client_tcp_address: text,
    client_tcp_port: port,
    endpoint_tcp_address: text,
    endpoint_tcp_port: port,
  }),
  logIn: z.strictObject({ session_id: id }),
  close: z.strictObject({
    ends: listOf(
      z.strictObject({
        connection_id: id,
        bytes_up: count,
        bytes_down: count,
        reason: z.enum(CLOSED_REASONS),
        egress_worker_id: id.optional(),
        because: words.optional(),
      }),
      MOST_ENDS,
    ),
  }),
  record: z.discriminatedUnion('step', [
    z.strictObject({ step: z.literal('begin'), connection_id: id }),
    z.strictObject({
      step: z.literal('open'),
      id,
      channel: z.strictObject({
        type: text,
        program: z.enum(['shell', 'exec', 'subsystem', 'none']),
        command: z.string().max(256 << 10),
        has_pty: z.boolean(),
      }),
      bytes: content,
    }),
    z.strictObject({ step: z.literal('write'), ...piece }),
    z.strictObject({ step: z.literal('close'), ...piece }),
    z.strictObject({ step: z.literal('end'), id, reason: words }),
  ]),
} satisfies Record<CallName, z.ZodType>;

const callNames = Object.keys(requests) as [CallName, ...CallName[]];

/** What a worker says. */
export const fromWorker = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('hello'),
    name: text,
    description: text,
    /** `host:port` where clients and other workers reach it; empty: they do not. */
    address: text,
    release_version: text,
    tags: z.record(text, z.array(text).max(100)),
  }),
  z.strictObject({
    type: z.literal('report'),
    /** Said again once the report is taken in. */
    report_id: count,
    state: z.enum(['active', 'shutdown']),
    open: listOf(
      z.strictObject({ connection_id: id, bytes_up: count, bytes_down: count }),
      MOST_CARRIED,
    ),
    brought: listOf(id, MOST_CARRIED).optional(),
  }),
  z.strictObject({
    type: z.literal('call'),
    id: count,
    name: z.enum(callNames),
    request: z.unknown(),
  }),
  z.strictObject({ type: z.literal('renew'), public_key: bytes }),
  z.strictObject({
    type: z.literal('brought'),
    id: count,
    endpoint_tcp_address: text,
    endpoint_tcp_port: port,
  }),
  z.strictObject({ type: z.literal('not brought'), id: count, why: words }),
]);
export type FromWorker = z.output<typeof fromWorker>;

export type FromServer =
  | { type: 'welcome'; worker_id: string; grace_ms: number }
  | { type: 'heard'; report_id: number }
  | { type: 'answered'; id: number; answer: unknown }
  | { type: 'refused'; id: number; kind: FailureKind; message: string }
  | { type: 'bring'; id: number; errand: Errand }
  | { type: 'cut'; cuts: readonly Cut[]; connection_ids: readonly string[] }
  | { type: 'renewed'; certificate: string; roots: readonly string[] };

/** The first visit of a worker. */
export const enrolment = z.strictObject({
  /** DER of its subjectPublicKeyInfo. */
  public_key: bytes,
  /** Of the activation token; empty when it has made its own. */
  nonce: bytes.or(z.literal('')),
  proof: bytes,
});
export type EnrolmentRequest = z.output<typeof enrolment>;

/** What it is answered. */
export interface EnrolmentAnswer {
  worker_id: string;
  certificate: string;
  roots: readonly string[];
  proof: string;
}

export const base64 = (value: Uint8Array): string => Buffer.from(value).toString('base64');

/** Bytes as base64, by the names of their fields. */
export const portable = (message: object): object =>
  Object.fromEntries(
    Object.entries(message).map(([name, value]) => [
      name,
      value instanceof Uint8Array ? base64(value) : value,
    ]),
  );
