import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { DataResult, NothingResult } from '../../app/output.ts';
import { Failure, invalid } from '../../core/failure.ts';
import { listTold, type Tell } from '../../core/key-list.ts';
import { holdAccessor } from '../../mounts/store.ts';
import type { Db } from '../../store/database.ts';
import { bumpPermissionVersion } from '../../store/permission-version.ts';
import type { Effect, Write } from '../../store/write.ts';
import { type Beforehand, commitPlanned } from '../standing/attempts.operations.ts';
import { refuseDenied, refuseDeniedNow } from '../standing/operations.ts';
import { findAliasMount, readAliasMounts } from './operations.ts';
import { aliasPaths, CONCERNED, FOUND_ALIAS, NAMED_ALIAS, ownPaths } from './own-paths.ts';
import type { AliasMount, AliasRecord, NamedRecord, WrittenAlias } from './record.ts';
import type { RecordStore } from './records.store.ts';

export interface SentAlias {
  id: string;
  name: string;
  mount_accessor: string;
  canonical_id: string;
}

/** What is special to the aliases of one kind of record. */
export interface AliasKind<
  One extends AliasRecord,
  Sent extends SentAlias = SentAlias,
  Key extends { id: string } = { id: string },
  Answer = unknown,
  Info = unknown,
> {
  /** As refusals call one. */
  what: string;
  owners: Owners;
  ownerOf(one: One): string;
  find(db: Db, mount_accessor: string, name: string): Promise<One | undefined>;
  findById(db: Db, id: string): Promise<One | undefined>;
  listKeys(db: Db, last: Key | undefined): Promise<Key[]>;
  listById(db: Db, ids: readonly string[]): Promise<One[]>;
  describe(one: One, mount: AliasMount | undefined): Answer;
  /** What a list tells of each, of so many at once. */
  tell(one: One, mount: AliasMount | undefined): Info;
  told_at_once: number;
  /** Before anything is read. */
  check?(input: Sent): void;
  /** Before it is judged whose it may be. */
  requireOwner?(app: App, canonical_id: string): Promise<void>;
  plan(app: App, caller: Caller, input: Sent, existing: One | undefined): Promise<Change<One>>;
  /** @param held what refuses it once its owner is another one */
  planRemoval(app: App, caller: Caller, one: One, held: readonly Write[]): Promise<Removal>;
  /** Once something was written, or removed. */
  after?(app: App, caller: Caller): Promise<void>;
}

type Owners = Pick<RecordStore<NamedRecord>, 'kind' | 'findById' | 'hold'>;

interface Removal {
  effects: readonly Effect[];
  beforehand?: Beforehand | undefined;
}

interface Change<One> extends Removal {
  alias: One;
}

/** How aliases of a kind are written, read, removed and listed. */
export function aliasOperations<
  One extends AliasRecord,
  Sent extends SentAlias,
  Key extends { id: string },
  Answer,
  Info,
>(of: AliasKind<One, Sent, Key, Answer, Info>) {
  const { owners, ownerOf } = of;
  const { kind } = owners;
  const findSent = async (app: App, { id, mount_accessor, name }: Sent) => {
    if (id === '') return of.find(app.db, mount_accessor, name);
    const alias = await of.findById(app.db, id);
    if (!alias) throw invalid(`id: there is no ${of.what} "${id}"`);
    return alias;
  };
  const plan = async (app: App, caller: Caller, input: Sent) => {
    const { id, canonical_id } = input;
    const existing = await findSent(app, input);
    if (existing && id === '') {
      await refuseDeniedNow(caller, aliasPaths(caller, kind, existing.id, FOUND_ALIAS));
    }
    await of.requireOwner?.(app, canonical_id);
    const before = existing && ownerOf(existing);
    const held = await refuseDeniedOwners(owners, app, caller, [before, canonical_id || undefined]);
    const { alias, effects, beforehand } = await of.plan(app, caller, input, existing);
    const { mount_accessor } = alias;
    const owner = ownerOf(alias);
    return {
      effects: [...held, holdAccessor({ mount_accessor }), ...effects, ...bumpPermissionVersion()],
      result: { data: { id: alias.id, canonical_id: owner } },
      outcome: {
        alias_id: alias.id,
        [`${kind}_id`]: owner,
        ...(before !== undefined && before !== owner && { [`taken_from_${kind}_id`]: before }),
      },
      found: existing !== undefined,
      beforehand,
    };
  };
  return {
    of,
    /** Makes an alias, or changes the one that its id, or its name on its mount, stands for. */
    async write(app: App, caller: Caller, input: Sent): Promise<DataResult<WrittenAlias>> {
      of.check?.(input);
      await refuseDenied(caller, [
        ...aliasPaths(caller, kind, input.id, NAMED_ALIAS),
        ...ownPaths(caller, kind, { id: input.canonical_id }, CONCERNED),
      ]);
      const written = await commitPlanned(app, caller, () => plan(app, caller, input));
      await of.after?.(app, caller);
      return written;
    },

    async read(app: App, _caller: Caller, { id }: { id: string }): Promise<DataResult<Answer>> {
      const alias = await of.findById(app.db, id);
      if (!alias) throw new Failure('not_found', '');
      return { data: of.describe(alias, await findAliasMount(app, alias.mount_accessor)) };
    },

    async remove(app: App, caller: Caller, { id }: { id: string }): Promise<NothingResult> {
      await commitPlanned(app, caller, async () => {
        const alias = await of.findById(app.db, id);
        if (!alias) return { effects: [], result: undefined };
        const held = await refuseDeniedOwners(owners, app, caller, [ownerOf(alias)]);
        const plan = await of.planRemoval(app, caller, alias, held);
        const effects = [...plan.effects, ...bumpPermissionVersion()];
        return { ...plan, effects, result: undefined };
      });
      await of.after?.(app, caller);
      return {};
    },

    list: async (app: App) =>
      listTold(
        { read: (last: Key | undefined) => of.listKeys(app.db, last), keyOf: ({ id }) => id },
        tellOf(of, app, await readAliasMounts(app)),
      ),
  };
}

/** What a list tells of some, in their order. */
const tellOf = <One extends AliasRecord, Info>(
  of: Pick<AliasKind<One, never, never, unknown, Info>, 'listById' | 'tell' | 'told_at_once'>,
  app: App,
  mounts: ReadonlyMap<string, AliasMount>,
): Tell<{ id: string }, Info> =>
  async function* (some) {
    for (let at = 0; at < some.length; at += of.told_at_once) {
      const ids = some.slice(at, at + of.told_at_once).map(({ id }) => id);
      const found = new Map((await of.listById(app.db, ids)).map((one) => [one.id, one]));
      const aliases = ids.flatMap((id) => found.get(id) ?? []);
      yield Object.fromEntries(
        aliases.map((one) => [one.id, of.tell(one, mounts.get(one.mount_accessor))]),
      );
    }
  };

/**
 * Whoever has an alias, whatever is done to it, and whoever gets it: by an alias somebody is logged in.
 *
 * @returns what refuses the write set once they are called otherwise than they were judged by
 */
async function refuseDeniedOwners(
  owners: Owners,
  app: App,
  caller: Caller,
  ids: readonly (string | undefined)[],
): Promise<Write[]> {
  const held: Write[] = [];
  for (const id of new Set(ids)) {
    if (id === undefined) continue;
    const owner = await owners.findById(app.db, id);
    await refuseDeniedNow(caller, ownPaths(caller, owners.kind, owner ?? { id }, CONCERNED));
    if (owner) held.push(owners.hold(owner));
  }
  return held;
}

/** @throws Failure `invalid` unless it is that of a mounted way to log in */
export async function requireAccessor(app: App, accessor: string): Promise<string> {
  if (accessor === '') throw invalid('missing mount_accessor');
  if (await findAliasMount(app, accessor)) return accessor;
  throw invalid(
    `invalid mount accessor "${accessor}": mount_accessor is that of an auth method in sys/auth`,
  );
}
