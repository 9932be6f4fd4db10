import { z } from 'zod';
import { either, nothing } from '../../app/output.ts';
import type { AnyRoute } from '../../app/route.ts';
import { optional, shortList, stringMap } from '../../core/fields.ts';
import { patchOf } from '../../core/patches.ts';
import { entityAliases } from './aliases.operations.ts';
import { entities, writeEntity, writeEntityById } from './entities.operations.ts';
import {
  aliasAnswerSchema,
  aliasInfoSchema,
  entityAnswerSchema,
  entityFields,
  entityInfoSchema,
  writtenEntitySchema,
} from './entity.ts';
import { removeEntityBatch } from './entity-removal.operations.ts';
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
  type Place,
  recordInputs,
  recordRoutes,
} from './record-routes.ts';

const entity = recordInputs(patchOf(entityFields).shape);
const entity_alias = aliasInputs({
  custom_metadata: optional(stringMap()).describe('Names with values, for templates.'),
});
const written = either(writtenEntitySchema, nothing);
const batch = z.object({ entity_ids: shortList([]).describe('Ids of the entities.') });
const BATCH: Place = [
  'write',
  'entity-batch-delete',
  '/v1/{mount}/entity/batch-delete',
  'Delete several entities',
];

const entityRoutes: AnyRoute[] = [
  ...recordRoutes('entity', ['an entity', 'entities'], {
    write: does(entity.any, written, writeEntity),
    listById: does(none, toldSchema(entityInfoSchema), entities.listIds),
    readById: does(byId, entityAnswerSchema, entities.readById),
    removeById: does(byId, nothing, entities.removeById),
    writeById: does(entity.by_id, nothing, writeEntityById),
    listByName: does(none, namesSchema, entities.listNames),
    readByName: does(byName, entityAnswerSchema, entities.readByName),
    removeByName: does(byName, nothing, entities.removeByName),
    writeByName: does(entity.by_name, written, writeEntity),
    lookUp: does(lookupInput, either(entityAnswerSchema, nothing), entities.lookUp),
  }),
  does(batch, nothing, removeEntityBatch)(BATCH),
  ...aliasRoutes('entity', 'an alias of an entity', {
    write: does(entity_alias.any, writtenAliasSchema, entityAliases.write),
    writeById: does(entity_alias.by_id, writtenAliasSchema, entityAliases.write),
    list: does(none, toldSchema(aliasInfoSchema), entityAliases.list),
    read: does(byId, aliasAnswerSchema, entityAliases.read),
    remove: does(byId, nothing, entityAliases.remove),
  }),
];

const group = recordInputs({
  ...patchOf(groupFields).shape,
  member_entity_ids: optional(shortList()).describe('Ids of the entities in the group.'),
  member_group_ids: optional(shortList()).describe(
    `Ids of the groups in the group. All groups together have at most ${MOST_NESTINGS}.`,
  ),
});
const group_alias = aliasInputs({});

const groupRoutes: AnyRoute[] = [
  ...recordRoutes('group', ['a group', 'groups'], {
    write: does(group.any, writtenGroupSchema, writeGroup),
    listById: does(none, toldSchema(groupInfoSchema), groups.listIds),
    readById: does(byId, groupAnswerSchema, groups.readById),
    removeById: does(byId, nothing, groups.removeById),
    writeById: does(group.by_id, writtenGroupSchema, writeGroup),
    listByName: does(none, namesSchema, groups.listNames),
    readByName: does(byName, groupAnswerSchema, groups.readByName),
    removeByName: does(byName, nothing, groups.removeByName),
    writeByName: does(group.by_name, writtenGroupSchema, writeGroup),
    lookUp: does(lookupInput, either(groupAnswerSchema, nothing), groups.lookUp),
  }),
  ...aliasRoutes('group', 'the alias of an external group', {
    write: does(group_alias.any, writtenAliasSchema, groupAliases.write),
    writeById: does(group_alias.by_id, writtenAliasSchema, groupAliases.write),
    list: does(none, toldSchema(groupAliasSchema), groupAliases.list),
    read: does(byId, groupAliasSchema, groupAliases.read),
    remove: does(byId, nothing, groupAliases.remove),
  }),
];

export const identityRoutes: AnyRoute[] = [...entityRoutes, ...groupRoutes];
