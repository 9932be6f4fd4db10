import { ZodError } from 'zod';
import type { Encoding } from '../../app/output.ts';
import type {
  LongList,
  PagedBody,
  RawAnswer,
  SizedBody,
  VaultResult,
  WrapInfo,
} from '../../app/result.ts';
import { Failure, type FailureKind } from '../../core/failure.ts';
import { fieldErrors } from '../../core/fields.ts';
import type { HttpResponse } from '../response.ts';

/** Copied into each answer: further headers are added to it there. */
const JSON_TYPE = { 'content-type': 'application/json' };

const AS_USUAL: Encoding = { flat: false, media_type: undefined, status: undefined };

/** Encodes what an operation handed back as the Vault API does. @see S-13 */
export function encodeAnswer(
  answer: VaultResult,
  request: { id: string; mount_type: string; warnings: readonly string[]; encoding?: Encoding },
): HttpResponse {
  if (answer.wrap_info) return encodeWrapped(answer.wrap_info);
  const { encoding = AS_USUAL } = request;
  if (answer.raw) return encodeBytes(answer.raw, answer.status);
  if (answer.bytes !== undefined) {
    const content_type = encoding.media_type ?? 'application/octet-stream';
    return encodeBytes({ content_type, body: answer.bytes }, answer.status);
  }
  const status = answer.status ?? encoding.status;
  const { flat } = encoding;
  if (answer.bare) {
    const body = `${JSON.stringify(answer.bare)}\n`;
    return { status: status ?? 200, headers: { ...JSON_TYPE }, body };
  }
  const warnings = [...(answer.warnings ?? []), ...request.warnings];
  if (answer.data === undefined && !answer.auth && !answer.lease && !answer.warnings?.length) {
    return { status: status ?? 204, headers: { ...JSON_TYPE }, body: undefined };
  }
  const envelope = {
    request_id: request.id,
    lease_id: answer.lease?.id ?? '',
    renewable: answer.lease?.renewable ?? false,
    lease_duration: answer.lease?.seconds ?? 0,
    data: answer.data ?? null,
    wrap_info: null,
    warnings: warnings.length > 0 ? warnings : null,
    auth: answer.auth ?? null,
    mount_type: request.mount_type,
  };
  // Old readers of sys/ look for the payload's keys beside the envelope's own.
  const whole = flat ? { ...(answer.data as object), ...envelope } : envelope;
  const body = `${JSON.stringify(whole)}\n`;
  const { long_text: long, long_list: list, written_data: written } = answer;
  if (written) {
    const whole = putIn(body, 'data', '{}', inPieces(written));
    return { status: 200, headers: { ...JSON_TYPE }, body: whole };
  }
  if (answer.long_data) {
    const { pieces, kept } = answer.long_data;
    const paged = { ...putLongData(body, pieces, flat), kept };
    return { status: 200, headers: { ...JSON_TYPE }, body: paged };
  }
  return {
    status: status ?? 200,
    headers: { ...JSON_TYPE },
    body: long
      ? putIn(body, long.field, '""', long.body)
      : list
        ? putLongList(body, list, flat)
        : body,
  };
}

function encodeBytes({ body, content_type }: RawAnswer, status: number | undefined): HttpResponse {
  if (body.length === 0) return { status: status ?? 204, headers: {}, body: undefined };
  return { status: status ?? 200, headers: { 'content-type': content_type }, body };
}

/** Puts what is long, or was written before, in the place of the field's empty value. */
function putIn(json: string, field: string, empty: '""' | '{}', body: SizedBody): SizedBody {
  const [before, after] = splitAt(json, field, empty);
  return {
    length: before.length + body.length + after.length,
    *pieces() {
      yield before;
      yield* body.pieces();
      yield after;
    },
  };
}

const inPieces = (written: Uint8Array): SizedBody => ({
  length: written.length,
  *pieces() {
    for (let at = 0; at < written.length; at += PIECE) yield written.subarray(at, at + PIECE);
  },
});

/** Puts what is written piece by piece in the place of the empty `data`, and before the envelope's own fields. */
function putLongData(json: string, pieces: Iterable<string>, flat = false): PagedBody {
  const at = json.indexOf('"data":{') + '"data":{'.length;
  return {
    length: undefined,
    async *pieces() {
      yield Buffer.from('{');
      if (flat) {
        for (const piece of pieces) yield Buffer.from(piece);
        yield Buffer.from(',');
      }
      yield Buffer.from(json.slice('{'.length, at));
      for (const piece of pieces) yield Buffer.from(piece);
      yield Buffer.from(json.slice(at));
    },
  };
}

/** Bytes that are handed on at once. */
const PIECE = 64 << 10;

/** Puts a list's pages in the place of the field's empty one, and those of what is told of it. */
function putLongList(
  json: string,
  { field, pages, kept, info }: LongList,
  flat = false,
): PagedBody {
  const fields = [{ field, pages }, ...(info ? [info] : [])];
  // What is beside the envelope's own fields stands before them.
  const places = flat ? [...fields, ...fields] : fields;
  return {
    length: undefined,
    kept,
    async *pieces() {
      let sent = flat ? 0 : json.indexOf('"data":');
      yield Buffer.from(json.slice(0, sent));
      for (const { field, pages } of places) {
        // No text has such a quotation mark in it, and what is empty ends where it begins.
        const at = json.indexOf(`"${field}":`, sent) + `"${field}":[`.length;
        yield Buffer.from(json.slice(sent, at));
        yield* withCommas(pages);
        sent = at;
      }
      yield Buffer.from(json.slice(sent));
    },
  };
}

/** What stands in each array or object, one after the other. */
async function* withCommas(pages: AsyncIterable<object>): AsyncGenerator<Buffer, void, undefined> {
  let comma = '';
  for await (const page of pages) {
    yield Buffer.from(comma + JSON.stringify(page).slice(1, -1));
    comma = ',';
  }
}

/** What stands before and after a field's value; nothing before `data` is a caller's. */
function splitAt(json: string, field: string, empty: string): [before: Buffer, after: Buffer] {
  const whole = `${JSON.stringify(field)}:${empty}`;
  const at = json.indexOf(whole, json.indexOf('"data":')) + whole.length - 1;
  return [Buffer.from(json.slice(0, at)), Buffer.from(json.slice(at))];
}

/** The envelope that stands for a wrapped answer. @see S-21 */
export function encodeWrapped(wrap_info: WrapInfo): HttpResponse {
  const envelope = {
    request_id: '',
    lease_id: '',
    renewable: false,
    lease_duration: 0,
    data: null,
    wrap_info,
    warnings: null,
    auth: null,
  };
  return { status: 200, headers: { ...JSON_TYPE }, body: `${JSON.stringify(envelope)}\n` };
}

export const STATUS: Readonly<Record<FailureKind, number>> = {
  invalid: 400,
  unauthenticated: 403,
  forbidden: 403,
  not_found: 404,
  unsupported: 405,
  conflict: 400,
  precondition: 400,
  too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  // Client libraries tell an unknown issuer or key by this status.
  unresolved: 500,
  unavailable: 503,
};

/** Upstream formats refusals of its core, unlike those of an engine, as a list of one. */
const listOfOne = (text: string): string => `1 error occurred:\n\t* ${text}\n\n`;

/**
 * Encodes a refusal; `undefined` for what is no refusal but a bug.
 *
 * @param ended says what the request has ended before it was refused
 */
export function encodeFailure(error: unknown, ended?: string): HttpResponse | undefined {
  if (error instanceof ZodError) {
    const [text = 'the request could not be read'] = Object.entries(fieldErrors(error)).map(
      ([field, wanted]) =>
        `Field validation failed: error converting input for field "${field}": ${wanted}`,
    );
    return refusal(400, [text]);
  }
  if (!(error instanceof Failure)) return undefined;
  // By itself: clients know refusals by their words.
  const texts = [...failureTexts(error), ...(ended === undefined ? [] : [ended])];
  const encoded = refusal(STATUS[error.kind], texts, error.detail.warnings);
  if (error.detail.retry_after !== undefined) {
    encoded.headers['retry-after'] = String(error.detail.retry_after);
  }
  return encoded;
}

function failureTexts(error: Failure): string[] {
  switch (error.kind) {
    case 'unauthenticated':
    case 'forbidden':
    case 'unsupported':
      return [listOfOne(error.message)];
    case 'not_found':
      if (error.message === '') return [];
      return error.message === 'unsupported path' ? [listOfOne(error.message)] : [error.message];
    default:
      return [error.message];
  }
}

/** An error body: `{"errors":[…]}`, with warnings where there are any. */
export function refusal(status: number, errors: string[], warnings?: string[]): HttpResponse {
  const body = warnings?.length ? { errors, warnings } : { errors };
  return { status, headers: { ...JSON_TYPE }, body: `${JSON.stringify(body)}\n` };
}
