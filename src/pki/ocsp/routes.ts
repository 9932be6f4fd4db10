import { z } from 'zod';
import { undeclared } from '../../app/output.ts';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { text } from '../../core/fields.ts';
import { decodeOcspPath, MAX_OCSP_REQUEST_BYTES } from '../../x509/ocsp.ts';
import { respond } from './operations.ts';

const NO_REQUEST = new Uint8Array(0);

export const ocspRoutes: AnyRoute[] = [
  vaultRoute({
    id: 'pki-query-ocsp',
    method: 'POST',
    path: '/v1/{mount}/ocsp',
    summary: 'Ask whether a certificate is revoked',
    see: ['RFC 6960 §2', 'RFC 9654'],
    access: 'public',
    counted: true,
    body: 'bytes',
    max_body: MAX_OCSP_REQUEST_BYTES - 1,
    drop_long_body: true,
    input: z.object({ body: z.instanceof(Uint8Array) }),
    output: undeclared,
    failures: [],
    run: (app, caller, { body }) => respond(app, caller, body),
  }),
  vaultRoute({
    id: 'pki-query-ocsp-with-get',
    method: 'GET',
    path: '/v1/{mount}/ocsp',
    summary: 'Ask without a request: answered as the malformed one it is',
    see: ['RFC 6960 §A.1'],
    access: 'public',
    counted: true,
    input: z.object({}),
    output: undeclared,
    failures: [],
    run: (app, caller) => respond(app, caller, NO_REQUEST),
  }),
  vaultRoute({
    id: 'pki-query-ocsp-with-get-req',
    method: 'GET',
    path: '/v1/{mount}/ocsp/{request+}',
    raw_rest: true,
    summary: 'Ask whether a certificate is revoked, the request in the path as base64',
    see: ['RFC 6960 §A.1'],
    access: 'public',
    counted: true,
    input: z.object({ request: text() }),
    output: undeclared,
    failures: [],
    run: (app, caller, { request }) => respond(app, caller, decodeOrNothing(request)),
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
