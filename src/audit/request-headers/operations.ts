import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { VaultResult } from '../../app/route.ts';
import { invalid } from '../../core/failure.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import { hashSecret } from '../operations.ts';
import { MOST_HEADERS, parseHeaderName, tellHeaders } from './header.ts';
import { deleteAuditedHeader, listAuditedHeaders, saveAuditedHeader } from './store.ts';

/** What the record of a request tells of its headers. @param raw names and values in turn */
export async function headersForRecord(
  app: App,
  raw: readonly string[],
): Promise<Record<string, string[]> | undefined> {
  const headers = await app.cached('audit/request-headers', () => listAuditedHeaders(app.db));
  return headers.size === 0
    ? undefined
    : tellHeaders(headers, raw, (value) => hashSecret(app, value));
}

export async function describeAuditedHeaders(app: App): Promise<VaultResult> {
  const headers = await listAuditedHeaders(app.db);
  return { data: { headers: Object.fromEntries(headers) }, flat: true };
}

interface HeaderName {
  header: string;
}

/** @throws Failure `invalid`, by whose words clients know that there is none */
export async function readAuditedHeader(
  app: App,
  _caller: Caller,
  input: HeaderName,
): Promise<VaultResult> {
  const settings = (await listAuditedHeaders(app.db)).get(parseHeaderName(input.header));
  if (!settings) throw invalid('Could not find header in config');
  return { data: { [input.header]: settings } };
}

export async function writeAuditedHeader(
  app: App,
  caller: Caller,
  input: HeaderName & { hmac: boolean },
): Promise<VaultResult> {
  const name = parseHeaderName(input.header);
  const present = await listAuditedHeaders(app.db);
  if (!present.has(name) && present.size >= MOST_HEADERS) {
    throw invalid(`at most ${MOST_HEADERS} headers are recorded`);
  }
  await app.commit(caller, [saveAuditedHeader(name, input), bumpConfigVersion()]);
  return {};
}

/** None of the name is no mistake. */
export async function removeAuditedHeader(
  app: App,
  caller: Caller,
  input: HeaderName,
): Promise<VaultResult> {
  const name = parseHeaderName(input.header);
  await app.commit(caller, [deleteAuditedHeader(name), bumpConfigVersion()]);
  return {};
}
