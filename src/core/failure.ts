/** Why a request is turned down; each dialect (`http/vault/wire.ts`, `http/boundary/wire.ts`) gives every kind its protocol's form. */
export type FailureKind =
  | 'invalid' // the input cannot be accepted as it stands
  | 'unauthenticated'
  | 'forbidden'
  | 'not_found'
  | 'unsupported' // the path exists, not for this method
  | 'conflict' // the input is fine, the present state is not
  | 'precondition' // as conflict, where the state must be changed by another request first
  | 'too_large'
  | 'unsupported_media_type'
  | 'rate_limited'
  | 'unresolved' // a reference to an issuer or key that resolves to nothing
  | 'unavailable'; // sealed, or a dependency is down; worth retrying

export interface FailureDetail {
  /** What is wrong with each named field. */
  fields?: Record<string, string>;
  /** Seconds until a retry may succeed. */
  retry_after?: number;
  /** Said beside the refusal, where the protocol has a place for it. */
  warnings?: string[];
  /** Told by the record in place of the message, which repeats what somebody else wrote. */
  recorded?: string;
  cause?: unknown;
}

/**
 * A refusal the caller may see. The message is written for them: it names what was
 * refused and what would be accepted, and never carries a secret.
 */
export class Failure extends Error {
  readonly kind: FailureKind;
  readonly detail: FailureDetail;

  constructor(kind: FailureKind, message: string, detail: FailureDetail = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.name = 'Failure';
    this.kind = kind;
    this.detail = detail;
  }
}

/** The refusal of input that cannot be accepted as it stands. */
export function invalid(message: string, detail?: FailureDetail): Failure {
  return new Failure('invalid', message, detail);
}

/** Whether the present state refuses what was fine in itself: somebody else was quicker, or it is taken. */
export function isConflict(error: unknown): error is Failure {
  return error instanceof Failure && error.kind === 'conflict';
}
