import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { DataResult, NothingResult } from '../../app/output.ts';
import { invalid, isConflict } from '../../core/failure.ts';
import { type Soon, whenThere } from '../../core/steps.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import type { Write } from '../../store/write.ts';
import { hashSecret } from '../operations.ts';
import { type HeaderSettings, MOST_HEADERS, parseHeaderName, tellHeaders } from './header.ts';
import {
  deleteAuditedHeader,
  holdHeaderRoom,
  listAuditedHeaders,
  saveAuditedHeader,
} from './store.ts';

/** What the record of a request tells of its headers. @param raw names and values in turn */
export function headersForRecord(
  app: App,
  raw: readonly string[],
): Soon<Record<string, string[]> | undefined> {
  return whenThere(
    app.cached('audit/request-headers', () => listAuditedHeaders(app.db)),
    (headers) =>
      headers.size === 0 ? undefined : tellHeaders(headers, raw, (value) => hashSecret(app, value)),
  );
}

export async function describeAuditedHeaders(
  app: App,
): Promise<DataResult<{ headers: Record<string, HeaderSettings> }>> {
  return { data: { headers: Object.fromEntries(await listAuditedHeaders(app.db)) } };
}

interface HeaderName {
  header: string;
}

/** @throws Failure `invalid`, by whose words clients know that there is none */
export async function readAuditedHeader(
  app: App,
  _caller: Caller,
  input: HeaderName,
): Promise<DataResult<Record<string, HeaderSettings>>> {
  const settings = (await listAuditedHeaders(app.db)).get(parseHeaderName(input.header));
  if (!settings) throw invalid('Could not find header in config');
  return { data: { [input.header]: settings } };
}

export async function writeAuditedHeader(
  app: App,
  caller: Caller,
  input: HeaderName & { hmac: boolean },
): Promise<NothingResult> {
  const name = parseHeaderName(input.header);
  const room = await planRoom(app, name);
  try {
    await app.commit(caller, [saveAuditedHeader(name, input), bumpConfigVersion(), ...room]);
  } catch (error) {
    // Others that were added at once may have the last room.
    if (isConflict(error)) await planRoom(app, name);
    throw error;
  }
  return {};
}

/** @throws Failure `invalid` where there is no room for one more */
async function planRoom(app: App, name: string): Promise<Write[]> {
  const present = await listAuditedHeaders(app.db);
  if (present.has(name)) return [];
  if (present.size >= MOST_HEADERS) throw invalid(`at most ${MOST_HEADERS} headers are recorded`);
  return [holdHeaderRoom()];
}

/** None of the name is no mistake. */
export async function removeAuditedHeader(
  app: App,
  caller: Caller,
  input: HeaderName,
): Promise<NothingResult> {
  const name = parseHeaderName(input.header);
  await app.commit(caller, [deleteAuditedHeader(name), bumpConfigVersion()]);
  return {};
}
