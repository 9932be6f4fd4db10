import { z } from 'zod';
import { either, nothing } from '../../app/output.ts';
import type { AnyRoute } from '../../app/route.ts';
import { optional, shortList, text } from '../../core/fields.ts';
import { patchOf } from '../../core/patches.ts';
import { namesSchema, toldSchema, writtenAliasSchema } from './entity.ts';
import {
  groupAliasSchema,
  groupAnswerSchema,
  groupFields,
  groupInfoSchema,
  MOST_NESTINGS,
  writtenGroupSchema,
} from './group.ts';
import {
  listGroupAliasIds,
  readGroupAlias,
  removeGroupAlias,
  writeGroupAlias,
} from './group-aliases.operations.ts';
import {
  listGroupIds,
  listNamesOfGroups,
  lookUpGroup,
  readGroupById,
  readGroupByName,
  removeGroupById,
  removeGroupByName,
  writeGroup,
} from './groups.operations.ts';
import {
  aliasSettings,
  id,
  keyRoutes,
  lookupFields,
  name,
  optional_id,
  optional_name,
  writeRoute,
} from './record-routes.ts';

const groupSettings = {
  ...patchOf(groupFields).shape,
  member_entity_ids: optional(shortList()).describe('Ids of the entities in the group.'),
  member_group_ids: optional(shortList()).describe(
    `Ids of the groups in the group. All groups together have at most ${MOST_NESTINGS}.`,
  ),
};

const GROUP = '/v1/{mount}/group';
const GROUP_ALIAS = '/v1/{mount}/group-alias';

export const groupRoutes: AnyRoute[] = [
  writeRoute({
    id: 'group-create',
    path: GROUP,
    summary: 'Write a group',
    input: z.object({ id: optional_id, name: optional_name, ...groupSettings }),
    output: writtenGroupSchema,
    run: writeGroup,
  }),
  ...keyRoutes({
    base: `${GROUP}/id`,
    key: z.object({ id }),
    named: ['group'],
    what: 'a group by its id',
    plural: 'the ids of groups',
    lists_also: [`${GROUP}/name`],
    listed: toldSchema(groupInfoSchema),
    answer: groupAnswerSchema,
    run: { list: listGroupIds, read: readGroupById, remove: removeGroupById },
  }),
  writeRoute({
    id: 'group-update-by-id',
    path: `${GROUP}/id/{id}`,
    summary: 'Change a group by its id',
    input: z.object({ id, name: text('').describe('Another name.'), ...groupSettings }),
    output: writtenGroupSchema,
    run: writeGroup,
  }),
  ...keyRoutes({
    base: `${GROUP}/name`,
    key: z.object({ name }),
    named: ['group'],
    what: 'a group by its name',
    plural: 'the names of groups',
    listed: namesSchema,
    answer: groupAnswerSchema,
    run: { list: listNamesOfGroups, read: readGroupByName, remove: removeGroupByName },
  }),
  writeRoute({
    id: 'group-update-by-name',
    path: `${GROUP}/name/{name}`,
    summary: 'Write a group by its name',
    input: z.object({ name, ...groupSettings }),
    output: writtenGroupSchema,
    run: (app, caller, input) => writeGroup(app, caller, { ...input, id: '' }),
  }),
  writeRoute({
    id: 'group-look-up',
    path: '/v1/{mount}/lookup/group',
    summary: 'Find a group',
    input: z.object(lookupFields),
    output: either(groupAnswerSchema, nothing),
    run: lookUpGroup,
  }),
  writeRoute({
    id: 'group-create-alias',
    path: GROUP_ALIAS,
    summary: 'Write the alias of an external group',
    input: z.object({ id: optional_id, ...aliasSettings }),
    output: writtenAliasSchema,
    run: writeGroupAlias,
  }),
  writeRoute({
    id: 'group-update-alias-by-id',
    path: `${GROUP_ALIAS}/id/{id}`,
    summary: 'Change the alias of an external group',
    input: z.object({ id, ...aliasSettings }),
    output: writtenAliasSchema,
    run: writeGroupAlias,
  }),
  ...keyRoutes({
    base: `${GROUP_ALIAS}/id`,
    key: z.object({ id }),
    named: ['group', '-alias', '-aliases'],
    what: 'the alias of an external group',
    plural: 'the ids of group aliases',
    listed: toldSchema(groupAliasSchema),
    answer: groupAliasSchema,
    run: { list: listGroupAliasIds, read: readGroupAlias, remove: removeGroupAlias },
  }),
];
