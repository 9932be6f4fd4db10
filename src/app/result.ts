import { z } from 'zod';

/** What an operation of the Vault API hands back; `http/vault/wire.ts` makes the envelope of it. */
export interface VaultResult<Data = unknown> {
  /** The payload; `null` for an envelope without one, absent for an empty 204. */
  data?: Data;
  warnings?: string[];
  lease?: { id: string; seconds: number; renewable: boolean };
  auth?: AuthAnswer;
  /** Other than 200 (with payload) or 204 (without). */
  status?: number;
  /** Instead of an envelope, of the declared media type. Empty bytes are a 204. */
  bytes?: RawAnswer['body'];
  /** As `bytes`, of a media type that only the answer tells. */
  raw?: RawAnswer;
  /** A field of `data` whose text is long: ASCII, escaped for JSON already. */
  long_text?: { field: string; body: SizedBody };
  /** What stands in `data`, which is empty there: JSON without its braces, written before for many. */
  written_data?: Uint8Array;
  /** As `written_data`, of any length and in pieces, which begin anew each time: a `flat` answer has them twice. */
  long_data?: { pieces: Iterable<string>; kept: Kept };
  /** A field of `data` whose list, empty there, is given page by page. */
  long_list?: LongList;
  /** The answer is wrapped already; nothing else is set then. */
  wrap_info?: WrapInfo;
  /** JSON without an envelope (sys/health and its like). */
  bare?: Record<string, unknown>;
  /** Of what was made where that is no token: told beside an answer that is wrapped. */
  wrapped_accessor?: string;
  /** When what is read last changed, Unix milliseconds; answers conditional reads. */
  last_modified?: number;
  /** Caches on the way may keep it; absent: nobody may. */
  freshness?: Freshness;
}

/** How long a signed object is good for, as it says itself. Unix seconds. @see RFC 5019 §6.2 */
export interface Freshness {
  since: number;
  now: number;
  until: number;
  /** Tells it from others of the same address. */
  tag: string;
}

/**
 * `info`: what is told of each of them, in a field of its own, which is empty in `data`. In an answer that is
 * `flat` the pages are gone through twice.
 */
export interface LongList {
  field: string;
  pages: AsyncIterable<readonly string[]>;
  kept?: Kept;
  info?: {
    field: string;
    pages: AsyncIterable<readonly string[] | Readonly<Record<string, unknown>>>;
  };
}

export interface RawAnswer {
  content_type: string;
  body: Uint8Array | string | LongBody;
}

/** A body of any length, given piece by piece as fast as the client takes it. */
export type LongBody = SizedBody | PagedBody;

export interface SizedBody {
  /** Bytes of all pieces together. */
  length: number;
  /** Begins anew each time. */
  pieces(): Iterable<Uint8Array>;
}

/** Bytes that one takes that is made while it is sent: before it is begun, and then. */
interface Kept {
  waiting: number;
  sent: number;
}

/** One that is made while it is sent, and only once. */
export interface PagedBody {
  length: undefined;
  /** Where that may be more than usual. */
  kept?: Kept | undefined;
  pieces(): AsyncIterable<Uint8Array>;
}

/** What stands for a wrapped answer. */
export const wrapInfoSchema = z.object({
  token: z.string().describe('Good for taking the answer, once.'),
  accessor: z.string(),
  ttl: z.int().describe('Seconds.'),
  creation_time: z.string(),
  creation_path: z.string().describe('Where the answer came from, e.g. `pki/issue/web`.'),
  wrapped_accessor: z
    .string()
    .optional()
    .describe('Of the token or secret ID that the answer holds.'),
});
export type WrapInfo = z.output<typeof wrapInfoSchema>;

const names = z.array(z.string()).readonly();

/** The `auth` object of a log-in or a made token. */
export const authAnswerSchema = z.object({
  client_token: z.string(),
  accessor: z.string(),
  policies: names,
  token_policies: names,
  identity_policies: names.optional(),
  metadata: z.record(z.string(), z.string()).readonly().nullable(),
  lease_duration: z.int().describe('Seconds.'),
  renewable: z.boolean(),
  entity_id: z.string(),
  token_type: z.enum(['service', 'batch']),
  orphan: z.boolean(),
  mfa_requirement: z.null(),
  num_uses: z.int().describe('How often the token may be used; 0: without a bound.'),
});
export type AuthAnswer = z.output<typeof authAnswerSchema>;
