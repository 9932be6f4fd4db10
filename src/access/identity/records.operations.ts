import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { DataResult, NothingResult } from '../../app/output.ts';
import { Failure, invalid } from '../../core/failure.ts';
import { listThings, listTold, type Tell } from '../../core/key-list.ts';
import { refuseDenied } from '../standing/operations.ts';
import type { AliasKind } from './alias-records.operations.ts';
import { type LookupInput, parseLookup } from './lookup.ts';
import { aliasPaths, LOOKED_UP, ownPaths } from './own-paths.ts';
import type { AliasRecord, NamedRecord } from './record.ts';
import type { Named, RecordStore } from './records.store.ts';

/** What is special to one kind of record. */
interface RecordKind<One extends NamedRecord, Alias extends AliasRecord, Answer, Info> {
  store: RecordStore<One>;
  aliases: Pick<AliasKind<Alias>, 'find' | 'findById' | 'ownerOf'>;
  describe(app: App, one: One): Promise<DataResult<Answer>>;
  /** What a list tells of each. */
  tell(app: App): Promise<Tell<Named, Info>>;
  /** @param find reads it, again whenever its removal is planned anew */
  remove(app: App, caller: Caller, find: () => Promise<One | undefined>): Promise<NothingResult>;
}

/** How records of a kind are read, listed, looked up and removed. */
export function recordOperations<One extends NamedRecord, Alias extends AliasRecord, Answer, Info>({
  store,
  aliases,
  describe,
  tell,
  remove,
}: RecordKind<One, Alias, Answer, Info>) {
  const { kind } = store;
  const describeFound = (app: App, one: One | undefined): Promise<DataResult<Answer>> => {
    if (!one) throw new Failure('not_found', '');
    return describe(app, one);
  };
  const findLookedUp = async (app: App, caller: Caller, input: LookupInput) => {
    const lookup = parseLookup(input);
    if (lookup.by === 'id' || lookup.by === 'name') {
      await refuseDenied(caller, ownPaths(caller, kind, lookup, LOOKED_UP));
      return lookup.by === 'id'
        ? store.findById(app.db, lookup.id)
        : store.findByName(app.db, lookup.name);
    }
    const alias =
      lookup.by === 'alias'
        ? await aliases.find(app.db, lookup.alias_mount_accessor, lookup.alias_name)
        : await aliases.findById(app.db, lookup.alias_id);
    await refuseDenied(caller, aliasPaths(caller, kind, alias?.id ?? '', LOOKED_UP));
    return alias && store.findById(app.db, aliases.ownerOf(alias));
  };
  const namesOf = ({ db }: App) => ({
    read: (last: Named | undefined) => store.listNames(db, last),
  });
  return {
    readById: async (app: App, _caller: Caller, { id }: { id: string }) =>
      describeFound(app, await store.findById(app.db, id)),
    readByName: async (app: App, _caller: Caller, { name }: { name: string }) =>
      describeFound(app, await store.findByName(app.db, name)),
    removeById: (app: App, caller: Caller, { id }: { id: string }) =>
      remove(app, caller, () => store.findById(app.db, id)),
    removeByName: (app: App, caller: Caller, { name }: { name: string }) =>
      remove(app, caller, () => store.findByName(app.db, name)),
    /** Ids with what they are called, so that a list can be read by people. */
    listIds: async (app: App) =>
      listTold({ ...namesOf(app), keyOf: ({ id }) => id }, await tell(app)),
    listNames: (app: App) => listThings({ ...namesOf(app), keyOf: ({ name }) => name }),

    /** Finds one by one of the things it is known by; nothing found is an empty answer. */
    async lookUp(
      app: App,
      caller: Caller,
      input: LookupInput,
    ): Promise<DataResult<Answer> | NothingResult> {
      const one = await findLookedUp(app, caller, input);
      if (!one) return {};
      await refuseDenied(caller, ownPaths(caller, kind, one, LOOKED_UP));
      return describe(app, one);
    },
  };
}

/** What a write is about: it is named by its id, or else by its name. */
export async function findSent<One extends NamedRecord>(
  store: RecordStore<One>,
  app: App,
  { id = '', name }: { id?: string; name: string },
): Promise<One | undefined> {
  if (id !== '') return requireSent(store, app, id);
  return name === '' ? undefined : store.findByName(app.db, name);
}

/** @throws Failure `invalid` where nothing has the id */
export async function requireSent<One extends NamedRecord>(
  store: RecordStore<One>,
  app: App,
  id: string,
): Promise<One> {
  const one = await store.findById(app.db, id);
  if (one) return one;
  throw invalid(`id: there is no ${store.kind} "${id}"`);
}

export async function requireFreeName<One extends NamedRecord>(
  store: RecordStore<One>,
  app: App,
  { id, name }: { id: string; name: string },
): Promise<void> {
  const other = await store.findByName(app.db, name);
  if (!other || other.id === id) return;
  throw new Failure('conflict', `${store.kind} name is already in use: ${name}`);
}
