import { ListTokenFailure } from '../../broker/resource/lists/token.ts';
import type { BoundaryAnswer } from '../../broker/resource/route.ts';
import { Failure, type FailureKind } from '../../core/failure.ts';
import type { ApiStyle } from '../openapi.ts';
import type { HttpResponse } from '../response.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

/** Dresses what an operation handed back as the broker's API does. */
export function dressBoundaryAnswer(answer: BoundaryAnswer): HttpResponse {
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

/** What documents say of this API's answers: a resource stands bare, and a deletion says nothing. */
export const BOUNDARY_STYLE: ApiStyle = {
  wrap: (payload) => payload,
  status: (kind) => FORMS[kind].status,
  patch_type: 'application/json',
  without_content: ['DELETE'],
};

/**
 * Dresses a refusal; `undefined` for what is no refusal but a bug.
 *
 * @param ended says what the request has ended before it was refused
 */
export function dressBoundaryFailure(error: unknown, ended?: string): HttpResponse | undefined {
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
  const dressed = refusal(form.status, {
    kind: form.kind,
    message: [form.message ?? error.message, ...(ended === undefined ? [] : [ended])].join(' '),
    ...(request_fields.length > 0 ? { details: { request_fields } } : {}),
  });
  if (retry_after !== undefined) dressed.headers['retry-after'] = String(retry_after);
  return dressed;
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
