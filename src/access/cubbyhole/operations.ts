import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { DataResult, NothingResult } from '../../app/output.ts';
import { Failure, invalid } from '../../core/failure.ts';
import { commitPlanned } from '../standing/attempts.operations.ts';
import {
  deleteEntry,
  findEntry,
  findKept,
  holdWithin,
  listPaths,
  MOST,
  saveEntry,
} from './store.ts';

/** Storage of one token's own: nobody else can reach it, not even a root token. */
function ownerOf(caller: Caller): string {
  const { token } = caller;
  if (!token) throw new Failure('unauthenticated', 'permission denied');
  if (token.type !== 'service') {
    throw invalid("cubbyhole operations are only supported by 'service' type tokens");
  }
  return token.id;
}

const placeOf = (token_id: string, path: string) => ({
  table: 'cubbyhole',
  column: 'value_sealed',
  row: `${token_id}/${path}`,
});

export async function readEntry(
  app: App,
  caller: Caller,
  { path }: { path: string },
): Promise<DataResult<Record<string, unknown>>> {
  const token_id = ownerOf(caller);
  const sealed = await findEntry(app.db, token_id, path);
  if (!sealed) throw new Failure('not_found', '');
  const opened = app.barrier.decrypt('response', placeOf(token_id, path), sealed);
  const data: Record<string, unknown> = JSON.parse(Buffer.from(opened).toString('utf8'));
  return { data };
}

export async function isEntry(
  app: App,
  caller: Caller,
  params: Readonly<Record<string, string>>,
): Promise<boolean> {
  return (await findEntry(app.db, ownerOf(caller), params.path ?? '')) !== undefined;
}

/** Keeps what was sent, in place of what was there. */
export async function writeEntry(
  app: App,
  caller: Caller,
  { path, ...data }: { path: string; [field: string]: unknown },
): Promise<NothingResult> {
  const token_id = ownerOf(caller);
  if (Object.keys(data).length === 0) throw invalid('missing data fields');
  const text = Buffer.from(JSON.stringify(data), 'utf8');
  const sealed = app.barrier.encrypt('response', placeOf(token_id, path), text);
  return commitPlanned<NothingResult>(app, caller, async () => {
    const kept = await findKept(app.db, token_id, path);
    requireRoom({
      entries: kept.entries + 1,
      bytes: kept.bytes + sealed.length,
      path_characters: kept.path_characters + path.length,
    });
    const found = (await findEntry(app.db, token_id, path)) !== undefined;
    return {
      effects: [saveEntry({ token_id, path, found }, sealed), holdWithin({ id: token_id })],
      result: {},
      found,
    };
  });
}

/** @throws Failure `invalid` for more than a token may keep */
function requireRoom({ entries, bytes, path_characters }: typeof MOST): void {
  if (entries > MOST.entries) {
    throw invalid(`a token keeps at most ${MOST.entries} entries in its cubbyhole`);
  }
  if (bytes > MOST.bytes) {
    throw invalid(`a token keeps at most ${MOST.bytes >> 20} MiB in its cubbyhole`);
  }
  if (path_characters > MOST.path_characters) {
    throw invalid(
      `path: the paths in a token's cubbyhole have at most ${MOST.path_characters} characters in all`,
    );
  }
}

export async function removeEntry(
  app: App,
  caller: Caller,
  { path }: { path: string },
): Promise<NothingResult> {
  await app.commit(caller, [deleteEntry(ownerOf(caller), path)]);
  return {};
}

/** Names right beneath a path; one that has more beneath it ends in a slash. */
export async function listEntries(
  app: App,
  caller: Caller,
  { path }: { path: string },
): Promise<DataResult<{ keys: string[] }>> {
  const folder = path === '' ? '' : `${path}/`;
  const paths = await listPaths(app.db, ownerOf(caller), folder);
  const keys = new Set(
    paths.map((one) => {
      const rest = one.slice(folder.length);
      const slash = rest.indexOf('/');
      return slash < 0 ? rest : rest.slice(0, slash + 1);
    }),
  );
  if (keys.size === 0) throw new Failure('not_found', '');
  return { data: { keys: [...keys] } };
}
