import type { Caller } from '../../app/caller.ts';
import type { Freshness, VaultResult } from '../../app/result.ts';
import type { AnyRoute } from '../../app/route.ts';
import type { HttpResponse } from '../response.ts';
import { encodeAnswer } from './wire.ts';

/**
 * How long it may take from a change's date until everybody is answered by it: who asks by a date in
 * that time may have read what was before, and is answered whole.
 */
const COMMITTING_MS = 30_000;

/** Encodes what an operation handed back, with the date of what was read where its mount allows that. */
export function encodeResult(
  caller: Caller,
  route: AnyRoute,
  result: VaultResult,
  sent: { fields: Record<string, unknown>; params: Readonly<Record<string, string>> },
): HttpResponse {
  const { mount } = caller;
  const headers: Record<string, string> = {};
  if (result.last_modified !== undefined) {
    const since = Date.parse(caller.headers['if-modified-since'] ?? '');
    const allowed = mount.config.allowed_response_headers;
    if (allowed.some((name) => name.toLowerCase() === 'last-modified')) {
      headers['last-modified'] = new Date(result.last_modified).toUTCString();
    }
    if (result.last_modified + COMMITTING_MS < since)
      return { status: 304, headers, body: undefined };
  }
  const encoded = encodeAnswer(result, {
    id: caller.request_id,
    mount_type: mount.type,
    encoding: route.encoding,
    warnings: route.body === 'bytes' ? [] : parameterWarnings(route, sent),
  });
  Object.assign(encoded.headers, headers, result.freshness && cachingHeaders(result.freshness));
  return encoded;
}

const httpDate = (seconds: number): string => new Date(seconds * 1000).toUTCString();

const cachingHeaders = ({ since, now, until, tag }: Freshness): Record<string, string> => ({
  'cache-control': `max-age=${Math.max(0, until - now)}, public, no-transform, must-revalidate`,
  'last-modified': httpDate(since),
  expires: httpDate(until),
  etag: `"${tag}"`,
});

function parameterWarnings(
  route: AnyRoute,
  sent: { fields: Record<string, unknown>; params: Readonly<Record<string, string>> },
): string[] {
  const names = Object.keys(sent.fields);
  const takesAll = route.input.def.catchall !== undefined;
  const unknown = takesAll ? [] : names.filter((name) => !(name in route.input.shape)).sort();
  const replaced = names.filter((name) => name in sent.params).sort();
  const warnings: string[] = [];
  if (unknown.length > 0) {
    warnings.push(`Endpoint ignored these unrecognized parameters: [${unknown.join(' ')}]`);
  }
  if (replaced.length > 0) {
    warnings.push(
      `Endpoint replaced the value of these parameters with the values captured from the endpoint's path: [${replaced.join(' ')}]`,
    );
  }
  return warnings;
}
