import type { App } from '../../app/app.ts';
import { Failure, invalid } from '../../core/failure.ts';
import { aliasOperations, requireAccessor, type SentAlias } from './alias-records.operations.ts';
import { describeGroupAlias, type GroupAlias } from './group.ts';
import {
  deleteGroupAlias,
  findAliasOfGroup,
  findGroupAlias,
  findGroupAliasById,
  GROUP_ALIAS_TAKEN,
  listGroupAliasesById,
  listGroupAliasKeys,
  saveGroupAlias,
} from './group-aliases.store.ts';
import { findGroupById, groupStore } from './groups.store.ts';

export const groupAliases = aliasOperations({
  what: 'group alias',
  owners: groupStore,
  ownerOf: ({ group_id }) => group_id,
  find: findGroupAlias,
  findById: findGroupAliasById,
  listKeys: listGroupAliasKeys,
  listById: listGroupAliasesById,
  describe: describeGroupAlias,
  tell: describeGroupAlias,
  told_at_once: 50,
  async plan(app, _caller, input: SentAlias, existing) {
    const alias = await planGroupAlias(app, input, existing);
    return { alias, effects: [saveGroupAlias(alias, existing)] };
  },
  planRemoval: async (_app, _caller, alias, held) => ({
    effects: [...held, deleteGroupAlias(alias)],
  }),
});

async function planGroupAlias(
  app: App,
  input: SentAlias,
  existing: GroupAlias | undefined,
): Promise<GroupAlias> {
  const name = input.name || existing?.name;
  if (!name) throw invalid('missing alias name: name is needed');
  const group_id = input.canonical_id || (existing?.group_id ?? '');
  const group = await findGroupById(app.db, group_id);
  if (!group) throw invalid(`canonical_id: there is no group "${group_id}"`);
  if (group.type !== 'external') throw invalid('alias can be set only for external groups');
  const now = app.now();
  const accessor = input.mount_accessor || (existing?.mount_accessor ?? '');
  const alias: GroupAlias = {
    id: existing?.id ?? app.newId(),
    group_id,
    mount_accessor: await requireAccessor(app, accessor),
    name,
    created_at_ms: existing?.created_at_ms ?? now,
    updated_at_ms: now,
  };
  const others = [
    await findAliasOfGroup(app.db, group_id),
    await findGroupAlias(app.db, alias.mount_accessor, name),
  ];
  if (others.every((other) => !other || other.id === alias.id)) return alias;
  throw new Failure('conflict', GROUP_ALIAS_TAKEN);
}
