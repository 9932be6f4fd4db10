import { either, nothing } from '../../app/output.ts';
import type { AnyRoute } from '../../app/route.ts';
import { optional, shortList } from '../../core/fields.ts';
import { patchOf } from '../../core/patches.ts';
import {
  groupAliasSchema,
  groupAnswerSchema,
  groupFields,
  groupInfoSchema,
  MOST_NESTINGS,
  writtenGroupSchema,
} from './group.ts';
import { groupAliases } from './group-aliases.operations.ts';
import { groups, writeGroup } from './groups.operations.ts';
import { lookupInput } from './lookup.ts';
import { namesSchema, toldSchema, writtenAliasSchema } from './record.ts';
import {
  aliasInputs,
  aliasRoutes,
  byId,
  byName,
  does,
  none,
  recordInputs,
  recordRoutes,
} from './record-routes.ts';

const inputs = recordInputs({
  ...patchOf(groupFields).shape,
  member_entity_ids: optional(shortList()).describe('Ids of the entities in the group.'),
  member_group_ids: optional(shortList()).describe(
    `Ids of the groups in the group. All groups together have at most ${MOST_NESTINGS}.`,
  ),
});
const alias_inputs = aliasInputs({});

export const groupRoutes: AnyRoute[] = [
  ...recordRoutes('group', ['a group', 'groups'], {
    write: does(inputs.any, writtenGroupSchema, writeGroup),
    listById: does(none, toldSchema(groupInfoSchema), groups.listIds),
    readById: does(byId, groupAnswerSchema, groups.readById),
    removeById: does(byId, nothing, groups.removeById),
    writeById: does(inputs.by_id, writtenGroupSchema, writeGroup),
    listByName: does(none, namesSchema, groups.listNames),
    readByName: does(byName, groupAnswerSchema, groups.readByName),
    removeByName: does(byName, nothing, groups.removeByName),
    writeByName: does(inputs.by_name, writtenGroupSchema, writeGroup),
    lookUp: does(lookupInput, either(groupAnswerSchema, nothing), groups.lookUp),
  }),
  ...aliasRoutes('group', 'the alias of an external group', {
    write: does(alias_inputs.any, writtenAliasSchema, groupAliases.write),
    writeById: does(alias_inputs.by_id, writtenAliasSchema, groupAliases.write),
    list: does(none, toldSchema(groupAliasSchema), groupAliases.list),
    read: does(byId, groupAliasSchema, groupAliases.read),
    remove: does(byId, nothing, groupAliases.remove),
  }),
];
