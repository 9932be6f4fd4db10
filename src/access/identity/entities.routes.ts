import { z } from 'zod';
import { either, nothing } from '../../app/output.ts';
import type { AnyRoute } from '../../app/route.ts';
import { optional, shortList, stringMap, text } from '../../core/fields.ts';
import { patchOf } from '../../core/patches.ts';
import { listAliasIds, readAlias, removeAlias, writeAlias } from './aliases.operations.ts';
import {
  lookUpEntity,
  readEntityById,
  readEntityByName,
  writeEntity,
  writeEntityById,
} from './entities.operations.ts';
import {
  aliasSchema,
  entityAnswerSchema,
  entityFields,
  entityInfoSchema,
  namespace_id,
  namesSchema,
  toldSchema,
  writtenAliasSchema,
  writtenEntitySchema,
} from './entity.ts';
import { listEntityIds, listNamesOfEntities } from './entity-listing.operations.ts';
import {
  removeEntityBatch,
  removeEntityById,
  removeEntityByName,
} from './entity-removal.operations.ts';
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

const entitySettings = patchOf(entityFields).shape;

const entityAliasSettings = {
  ...aliasSettings,
  custom_metadata: optional(stringMap()).describe('Names with values, for templates.'),
};

const ENTITY = '/v1/{mount}/entity';
const ENTITY_ALIAS = '/v1/{mount}/entity-alias';

export const entityRoutes: AnyRoute[] = [
  writeRoute({
    id: 'entity-create',
    path: ENTITY,
    summary: 'Write an entity',
    input: z.object({ id: optional_id, name: optional_name, ...entitySettings }),
    output: either(writtenEntitySchema, nothing),
    run: writeEntity,
  }),
  ...keyRoutes({
    base: `${ENTITY}/id`,
    key: z.object({ id }),
    named: ['entity'],
    what: 'an entity by its id',
    plural: 'the ids of entities',
    lists_also: [`${ENTITY}/name`],
    listed: toldSchema(entityInfoSchema),
    answer: entityAnswerSchema,
    run: { list: listEntityIds, read: readEntityById, remove: removeEntityById },
  }),
  writeRoute({
    id: 'entity-update-by-id',
    path: `${ENTITY}/id/{id}`,
    summary: 'Change an entity by its id',
    input: z.object({ id, name: text('').describe('Another name.'), ...entitySettings }),
    output: nothing,
    run: writeEntityById,
  }),
  ...keyRoutes({
    base: `${ENTITY}/name`,
    key: z.object({ name }),
    named: ['entity'],
    what: 'an entity by its name',
    plural: 'the names of entities',
    listed: namesSchema,
    answer: entityAnswerSchema,
    run: { list: listNamesOfEntities, read: readEntityByName, remove: removeEntityByName },
  }),
  writeRoute({
    id: 'entity-update-by-name',
    path: `${ENTITY}/name/{name}`,
    summary: 'Write an entity by its name',
    input: z.object({ name, ...entitySettings }),
    output: either(writtenEntitySchema, nothing),
    run: (app, caller, input) => writeEntity(app, caller, { ...input, id: '' }),
  }),
  writeRoute({
    id: 'entity-batch-delete',
    path: `${ENTITY}/batch-delete`,
    summary: 'Delete several entities',
    input: z.object({ entity_ids: shortList([]).describe('Ids of the entities.') }),
    output: nothing,
    run: removeEntityBatch,
  }),
  writeRoute({
    id: 'entity-look-up',
    path: '/v1/{mount}/lookup/entity',
    summary: 'Find an entity',
    input: z.object(lookupFields),
    output: either(entityAnswerSchema, nothing),
    run: lookUpEntity,
  }),
  writeRoute({
    id: 'entity-create-alias',
    path: ENTITY_ALIAS,
    summary: 'Write an alias of an entity',
    input: z.object({ id: optional_id, ...entityAliasSettings }),
    output: writtenAliasSchema,
    run: writeAlias,
  }),
  writeRoute({
    id: 'entity-update-alias-by-id',
    path: `${ENTITY_ALIAS}/id/{id}`,
    summary: 'Change an alias of an entity',
    input: z.object({ id, ...entityAliasSettings }),
    output: writtenAliasSchema,
    run: writeAlias,
  }),
  ...keyRoutes({
    base: `${ENTITY_ALIAS}/id`,
    key: z.object({ id }),
    named: ['entity', '-alias', '-aliases'],
    what: 'an alias of an entity',
    plural: 'the ids of entity aliases',
    listed: toldSchema(aliasSchema),
    answer: aliasSchema.extend({ namespace_id }),
    run: { list: listAliasIds, read: readAlias, remove: removeAlias },
  }),
];
