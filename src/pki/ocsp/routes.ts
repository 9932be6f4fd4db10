import { z } from 'zod';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { type BytesResult, bytes } from '../../app/output.ts';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { text } from '../../core/fields.ts';
import { decodeOcspPath, MAX_OCSP_REQUEST_BYTES, OCSP_ERRORS } from '../../x509/ocsp.ts';
import { type OcspError, respond } from './operations.ts';

const NO_REQUEST = new Uint8Array(0);

/** @see P-130 */
const STATUS: Record<OcspError, number> = {
  malformedRequest: 400,
  internalError: 500,
  tryLater: 503,
  unauthorized: 401,
};

async function answer(app: App, caller: Caller, request: Uint8Array): Promise<BytesResult> {
  const { freshness: _, ...told } = await answerToCaches(app, caller, request);
  return told;
}

/** As {@link answer}, of a GET, which caches on the way may keep. @see RFC 5019 §6 */
async function answerToCaches(app: App, caller: Caller, request: Uint8Array): Promise<BytesResult> {
  const responded = await respond(app, caller, request);
  if (typeof responded === 'string') {
    return { bytes: OCSP_ERRORS[responded], status: STATUS[responded] };
  }
  const { body, freshness } = responded;
  return freshness ? { bytes: body, freshness } : { bytes: body };
}

const question = {
  summary: 'Ask whether a certificate is revoked',
  access: 'public',
  relying_parties: true,
  counted: true,
  output: bytes('application/ocsp-response'),
  statuses: [400, 401, 500, 503],
  failures: [],
} as const;

export const ocspRoutes: AnyRoute[] = [
  vaultRoute({
    ...question,
    id: 'pki-query-ocsp',
    method: 'POST',
    path: '/v1/{mount}/ocsp',
    see: ['RFC 6960 §2', 'RFC 9654'],
    body: 'bytes',
    max_body: MAX_OCSP_REQUEST_BYTES - 1,
    drop_long_body: true,
    input: z.object({ body: z.instanceof(Uint8Array) }),
    run: (app, caller, { body }) => answer(app, caller, body),
  }),
  vaultRoute({
    ...question,
    id: 'pki-query-ocsp-with-get',
    method: 'GET',
    path: '/v1/{mount}/ocsp',
    summary: 'Ask without a request: answered as the malformed one it is',
    see: ['RFC 6960 §A.1'],
    input: z.object({}),
    run: (app, caller) => answer(app, caller, NO_REQUEST),
  }),
  vaultRoute({
    ...question,
    id: 'pki-query-ocsp-with-get-req',
    method: 'GET',
    path: '/v1/{mount}/ocsp/{request+}',
    raw_rest: true,
    summary: 'Ask whether a certificate is revoked, the request in the path as base64',
    see: ['RFC 6960 §A.1'],
    input: z.object({ request: text() }),
    run: (app, caller, { request }) => answerToCaches(app, caller, decodeOrNothing(request)),
  }),
];

/** What is no base64 is answered as the malformed request it is, in the protocol's own form. */
function decodeOrNothing(request: string): Uint8Array {
  try {
    return decodeOcspPath(request);
  } catch {
    return NO_REQUEST;
  }
}
