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

type Ask = (app: App, caller: Caller, request: Uint8Array) => Promise<BytesResult>;

const answering =
  (unified: boolean): Ask =>
  async (app, caller, request) => {
    const { freshness: _, ...told } = await answeringCaches(unified)(app, caller, request);
    return told;
  };

/** As {@link answering}, of a GET, which caches on the way may keep. @see RFC 5019 §6 */
const answeringCaches =
  (unified: boolean): Ask =>
  async (app, caller, request) => {
    const responded = await respond(app, caller, request, { unified });
    if (typeof responded === 'string') {
      return { bytes: OCSP_ERRORS[responded], status: STATUS[responded] };
    }
    const { body, freshness } = responded;
    return freshness ? { bytes: body, freshness } : { bytes: body };
  };

const question = {
  access: 'public',
  relying_parties: true,
  counted: true,
  on_any_thread: true,
  output: bytes('application/ocsp-response'),
  statuses: [400, 401, 500, 503],
  failures: [],
} as const;

/** The responder of this cluster's revocations, and that of all clusters'. */
function responderRoutes(name: 'ocsp' | 'unified-ocsp', whose: string): AnyRoute[] {
  const unified = name === 'unified-ocsp';
  const summary = `Ask whether a certificate is revoked${whose}`;
  return [
    vaultRoute({
      ...question,
      id: `pki-query-${name}`,
      method: 'POST',
      path: `/v1/{mount}/${name}`,
      summary,
      see: ['RFC 6960 §2', 'RFC 9654'],
      body: 'bytes',
      max_body: MAX_OCSP_REQUEST_BYTES - 1,
      drop_long_body: true,
      input: z.object({ body: z.instanceof(Uint8Array) }),
      run: (app, caller, { body }) => answering(unified)(app, caller, body),
    }),
    vaultRoute({
      ...question,
      id: `pki-query-${name}-with-get`,
      method: 'GET',
      path: `/v1/{mount}/${name}`,
      summary: 'Ask without a request: answered as the malformed one it is',
      see: ['RFC 6960 §A.1'],
      input: z.object({}),
      run: (app, caller) => answering(unified)(app, caller, NO_REQUEST),
    }),
    vaultRoute({
      ...question,
      id: `pki-query-${name}-with-get-req`,
      method: 'GET',
      path: `/v1/{mount}/${name}/{request+}`,
      raw_rest: true,
      summary: `${summary}, the request in the path as base64`,
      see: ['RFC 6960 §A.1'],
      input: z.object({ request: text() }),
      run: (app, caller, { request }) =>
        answeringCaches(unified)(app, caller, decodeOrNothing(request)),
    }),
  ];
}

export const ocspRoutes: AnyRoute[] = [
  ...responderRoutes('ocsp', ''),
  ...responderRoutes('unified-ocsp', ' by any cluster'),
];

/** What is no base64 is answered as the malformed request it is, in the protocol's own form. */
function decodeOrNothing(request: string): Uint8Array {
  try {
    return decodeOcspPath(request);
  } catch {
    return NO_REQUEST;
  }
}
