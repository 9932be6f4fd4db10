import { z } from 'zod';
import type { AnyRoute } from '../../app/route.ts';
import { optional, shortList, text } from '../../core/fields.ts';
import { patchOf } from '../../core/patches.ts';
import { groupFields, MOST_NESTINGS } from './group.ts';
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
  byId,
  byName,
  id,
  lookupFields,
  name,
  optional_id,
  optional_name,
  recordRoutes,
  writeRoute,
} from './record-routes.ts';

const groupSettings = {
  ...patchOf(groupFields).shape,
  member_entity_ids: optional(shortList()).describe('Ids of the entities in the group.'),
  member_group_ids: optional(shortList()).describe(
    `Ids of the groups in the group. All groups together have at most ${MOST_NESTINGS}.`,
  ),
};
const groupAudit = ['id', 'name', ...Object.keys(groupSettings)];

const GROUP = '/v1/{mount}/group';
const GROUP_ALIAS = '/v1/{mount}/group-alias';

export const groupRoutes: AnyRoute[] = [
  writeRoute(
    { id: 'group-create', path: GROUP, summary: 'Write a group', audit: groupAudit },
    z.object({ id: optional_id, name: optional_name, ...groupSettings }),
    writeGroup,
  ),
  ...recordRoutes(
    `${GROUP}/id`,
    'id',
    {
      list: 'group-list-by-id',
      read: 'group-read-by-id',
      remove: 'group-delete-by-id',
      what: 'a group by its id',
      plural: 'the ids of groups',
      lists_also: [`${GROUP}/name`],
    },
    { list: (app) => listGroupIds(app), read: byId(readGroupById), remove: byId(removeGroupById) },
  ),
  writeRoute(
    {
      id: 'group-update-by-id',
      path: `${GROUP}/id/{id}`,
      summary: 'Change a group by its id',
      audit: groupAudit,
    },
    z.object({ id, name: text('').describe('Another name.'), ...groupSettings }),
    writeGroup,
  ),
  ...recordRoutes(
    `${GROUP}/name`,
    'name',
    {
      list: 'group-list-by-name',
      read: 'group-read-by-name',
      remove: 'group-delete-by-name',
      what: 'a group by its name',
      plural: 'the names of groups',
    },
    {
      list: (app) => listNamesOfGroups(app),
      read: byName(readGroupByName),
      remove: byName(removeGroupByName),
    },
  ),
  writeRoute(
    {
      id: 'group-update-by-name',
      path: `${GROUP}/name/{name}`,
      summary: 'Write a group by its name',
      audit: groupAudit,
    },
    z.object({ name, ...groupSettings }),
    (app, caller, input) => writeGroup(app, caller, { ...input, id: '' }),
  ),
  writeRoute(
    {
      id: 'group-look-up',
      path: '/v1/{mount}/lookup/group',
      summary: 'Find a group',
      audit: Object.keys(lookupFields),
    },
    z.object(lookupFields),
    lookUpGroup,
  ),
  writeRoute(
    {
      id: 'group-create-alias',
      path: GROUP_ALIAS,
      summary: 'Write the alias of an external group',
      audit: ['id', ...Object.keys(aliasSettings)],
    },
    z.object({ id: optional_id, ...aliasSettings }),
    writeGroupAlias,
  ),
  writeRoute(
    {
      id: 'group-update-alias-by-id',
      path: `${GROUP_ALIAS}/id/{id}`,
      summary: 'Change the alias of an external group',
      audit: ['id', ...Object.keys(aliasSettings)],
    },
    z.object({ id, ...aliasSettings }),
    writeGroupAlias,
  ),
  ...recordRoutes(
    `${GROUP_ALIAS}/id`,
    'id',
    {
      list: 'group-list-aliases-by-id',
      read: 'group-read-alias-by-id',
      remove: 'group-delete-alias-by-id',
      what: 'the alias of an external group',
      plural: 'the ids of group aliases',
    },
    {
      list: (app) => listGroupAliasIds(app),
      read: byId(readGroupAlias),
      remove: byId(removeGroupAlias),
    },
  ),
];
