import { z } from 'zod';
import { formsOf } from '../../app/output.ts';
import { ListTokenFailure } from '../../broker/resource/lists/token.ts';
import type { BoundaryAnswer } from '../../broker/resource/route.ts';
import { Failure, type FailureKind } from '../../core/failure.ts';
import type { ApiStyle } from '../documented-api.ts';
import type { HttpResponse } from '../response.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

/** Encodes what an operation handed back as the broker's API does. */
export function encodeBoundaryAnswer(answer: BoundaryAnswer): HttpResponse {
  if (answer.bytes) {
    const { content_type, body } = answer.bytes;
    return { status: 200, headers: { 'content-type': content_type }, body };
  }
  const body = answer.item ?? answer.body;
  if (!body) return { status: 204, headers: {}, body: undefined };
  return {
    status: 200,
    headers: { ...JSON_TYPE },
    ...(answer.cookies ? { cookies: answer.cookies } : {}),
    body: JSON.stringify(body),
  };
}

interface Form {
  status: number;
  kind: string;
  /** Instead of the refusal's own words. */
  message?: string;
}

const NOT_UNIQUE =
  'Invalid request.  Request attempted to make second resource with the same field value that must be unique.';

const FORMS: Readonly<Record<FailureKind, Form>> = {
  invalid: { status: 400, kind: 'InvalidArgument' },
  precondition: { status: 400, kind: 'FailedPrecondition' },
  unauthenticated: { status: 401, kind: 'Unauthenticated' },
  forbidden: { status: 403, kind: 'PermissionDenied' },
  not_found: { status: 404, kind: 'NotFound' },
  unsupported: { status: 405, kind: 'Unimplemented' },
  conflict: { status: 400, kind: 'InvalidArgument', message: NOT_UNIQUE },
  too_large: { status: 413, kind: 'InvalidArgument' },
  unsupported_media_type: { status: 415, kind: 'InvalidArgument' },
  rate_limited: { status: 429, kind: 'ResourceExhausted' },
  unresolved: { status: 500, kind: 'Internal' },
  unavailable: { status: 503, kind: 'Unavailable' },
};

const REFUSAL = z.object({
  kind: z.string().describe('Of the refusal, e.g. `NotFound`.'),
  message: z.string(),
  op: z.string().optional(),
  details: z
    .object({
      request_fields: z.array(z.object({ name: z.string(), description: z.string() })),
    })
    .optional()
    .describe('What is wrong with each field.'),
});

const BYTES = { type: 'string', format: 'binary' };

/** What documents say of this API's answers: a resource stands bare, and a deletion says nothing. */
export const BOUNDARY_STYLE: ApiStyle = {
  name: 'Boundary',
  schemas: { BoundaryError: REFUSAL },
  refusal: 'BoundaryError',
  refused_everywhere: 'What leads nowhere, or comes too often, may be refused without a body.',
  answersOf: ({ output, bytes: media_type, failures }, ref) => {
    if (media_type !== undefined)
      return [{ status: 200, says: 'bytes', body: { media_type, schema: BYTES } }];
    return formsOf(output).flatMap((form) => {
      const isRefused = failures.length === 1 && failures[0] === 'unsupported';
      if (isRefused) return [];
      const payload = 'schema' in form ? form.schema : z.null();
      if (payload instanceof z.ZodNull) return [{ status: 204, says: 'no content' }];
      const body = { media_type: 'application/json', schema: ref(payload) };
      return [{ status: 200, says: 'an object', body, payload }];
    });
  },
  status: (kind) => FORMS[kind].status,
  patch_type: 'application/json',
};

/**
 * Encodes a refusal; `undefined` for what is no refusal but a bug.
 *
 * @param ended says what the request has ended before it was refused
 */
export function encodeBoundaryFailure(error: unknown, ended?: string): HttpResponse | undefined {
  if (!(error instanceof Failure)) return undefined;
  if (error instanceof BareFailure) return { status: error.status, headers: {}, body: undefined };
  if (error instanceof ListTokenFailure) {
    return refusal(400, {
      kind: 'invalid list token',
      op: 'listtoken.Validate',
      message: error.message,
    });
  }
  const form = FORMS[error.kind];
  const { fields, retry_after } = error.detail;
  const request_fields = Object.entries(fields ?? {})
    .map(([name, description]) => ({ name, description }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const encoded = refusal(form.status, {
    kind: form.kind,
    message: [form.message ?? error.message, ...(ended === undefined ? [] : [ended])].join(' '),
    ...(request_fields.length > 0 ? { details: { request_fields } } : {}),
  });
  if (retry_after !== undefined) encoded.headers['retry-after'] = String(retry_after);
  return encoded;
}

export function refusal(status: number, body: Record<string, unknown>): HttpResponse {
  return { status, headers: { ...JSON_TYPE }, body: JSON.stringify(body) };
}

const BARE = {
  400: ['invalid', 'unknown action or unreadable path'],
  404: ['not_found', 'unsupported path'],
  405: ['unsupported', 'unsupported operation'],
} as const;

/** A refusal of the path or method alone, which has no body: its words are the record's. */
export class BareFailure extends Failure {
  readonly status: keyof typeof BARE;

  constructor(status: keyof typeof BARE) {
    const [kind, words] = BARE[status];
    super(kind, words);
    this.status = status;
  }
}
