import { findLiving, recognise } from '../access/permissions/authentication.operations.ts';
import { tokenId } from '../access/tokens/minting.operations.ts';
import type { App } from '../app/app.ts';
import { TOO_OFTEN } from '../audit/record.ts';
import { Failure } from '../core/failure.ts';
import type { Credentials } from './dialect.ts';
import { type RequestContext, recordRefusal } from './request-record.ts';

/** What a request says of who sends it. */
interface AskedBy {
  /** Of the tokens that came with it; at most two. */
  texts(): readonly string[];
  remote_address: string;
}

/**
 * Records a refusal as {@link recordRefusal} does. A request that was refused before it was authenticated is
 * authenticated for the record: a good token is named, whatever else is wrong with the request.
 */
export async function recordRefused(
  app: App,
  trace: RequestContext,
  error: unknown,
  askedBy: AskedBy,
): Promise<void> {
  const isRefusal = error instanceof Failure && error.kind !== 'unavailable';
  if (isRefusal && !trace.is_asker_sought && !app.barrier.sealed) {
    await findBearer(app, trace, askedBy);
  }
  await recordRefusal(app, trace, error);
}

async function findBearer(
  app: App,
  trace: RequestContext,
  { texts, remote_address }: AskedBy,
): Promise<void> {
  const sent = texts();
  for (const text of sent) {
    const living = await findLiving(app, text);
    trace.token = await recognise(app, { text, living }, remote_address);
    if (trace.token) return;
  }
  noteUnknown(app, trace, sent[0] ?? '');
}

function noteUnknown(app: App, trace: RequestContext, text: string): void {
  if (text !== '') trace.unknown_token = Buffer.from(tokenId(app, text), 'base64url');
}

/**
 * Records a request that is one of too many: of somebody known in counts that name them, of others as any
 * refusal of an unauthenticated request. Never waits for a record.
 *
 * @param asker what is known of them already, before a look at what they are allowed
 */
export async function recordTooMany(
  app: App,
  trace: RequestContext,
  asker: Credentials,
): Promise<void> {
  const { remote_address } = trace.record;
  const token = asker.living && (await recognise(app, asker, remote_address));
  if (token) return app.audit.refuseTooMany({ ...trace, token });
  noteUnknown(app, trace, asker.text);
  app.audit.refuse(trace, { status: 'refused', error: TOO_OFTEN });
}
