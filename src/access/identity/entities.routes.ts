import { z } from 'zod';
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
import { entityFields } from './entity.ts';
import { listEntityIds, listNamesOfEntities } from './entity-listing.operations.ts';
import {
  removeEntityBatch,
  removeEntityById,
  removeEntityByName,
} from './entity-removal.operations.ts';
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

const entitySettings = patchOf(entityFields).shape;

const entityAliasSettings = {
  ...aliasSettings,
  custom_metadata: optional(stringMap()).describe('Names with values, for templates.'),
};
const entityAudit = ['id', 'name', ...Object.keys(entityFields)];
const aliasAudit = ['id', ...Object.keys(entityAliasSettings)];

const ENTITY = '/v1/{mount}/entity';
const ENTITY_ALIAS = '/v1/{mount}/entity-alias';

export const entityRoutes: AnyRoute[] = [
  writeRoute(
    { id: 'entity-create', path: ENTITY, summary: 'Write an entity', audit: entityAudit },
    z.object({ id: optional_id, name: optional_name, ...entitySettings }),
    writeEntity,
  ),
  ...recordRoutes(
    `${ENTITY}/id`,
    'id',
    {
      list: 'entity-list-by-id',
      read: 'entity-read-by-id',
      remove: 'entity-delete-by-id',
      what: 'an entity by its id',
      plural: 'the ids of entities',
      lists_also: [`${ENTITY}/name`],
    },
    {
      list: (app) => listEntityIds(app),
      read: byId(readEntityById),
      remove: byId(removeEntityById),
    },
  ),
  writeRoute(
    {
      id: 'entity-update-by-id',
      path: `${ENTITY}/id/{id}`,
      summary: 'Change an entity by its id',
      audit: entityAudit,
    },
    z.object({ id, name: text('').describe('Another name.'), ...entitySettings }),
    writeEntityById,
  ),
  ...recordRoutes(
    `${ENTITY}/name`,
    'name',
    {
      list: 'entity-list-by-name',
      read: 'entity-read-by-name',
      remove: 'entity-delete-by-name',
      what: 'an entity by its name',
      plural: 'the names of entities',
    },
    {
      list: (app) => listNamesOfEntities(app),
      read: byName(readEntityByName),
      remove: byName(removeEntityByName),
    },
  ),
  writeRoute(
    {
      id: 'entity-update-by-name',
      path: `${ENTITY}/name/{name}`,
      summary: 'Write an entity by its name',
      audit: entityAudit,
    },
    z.object({ name, ...entitySettings }),
    (app, caller, input) => writeEntity(app, caller, { ...input, id: '' }),
  ),
  writeRoute(
    {
      id: 'entity-batch-delete',
      path: `${ENTITY}/batch-delete`,
      summary: 'Delete several entities',
      audit: ['entity_ids'],
    },
    z.object({ entity_ids: shortList([]).describe('Ids of the entities.') }),
    removeEntityBatch,
  ),
  writeRoute(
    {
      id: 'entity-look-up',
      path: '/v1/{mount}/lookup/entity',
      summary: 'Find an entity',
      audit: Object.keys(lookupFields),
    },
    z.object(lookupFields),
    lookUpEntity,
  ),
  writeRoute(
    {
      id: 'entity-create-alias',
      path: ENTITY_ALIAS,
      summary: 'Write an alias of an entity',
      audit: aliasAudit,
    },
    z.object({ id: optional_id, ...entityAliasSettings }),
    writeAlias,
  ),
  writeRoute(
    {
      id: 'entity-update-alias-by-id',
      path: `${ENTITY_ALIAS}/id/{id}`,
      summary: 'Change an alias of an entity',
      audit: aliasAudit,
    },
    z.object({ id, ...entityAliasSettings }),
    writeAlias,
  ),
  ...recordRoutes(
    `${ENTITY_ALIAS}/id`,
    'id',
    {
      list: 'entity-list-aliases-by-id',
      read: 'entity-read-alias-by-id',
      remove: 'entity-delete-alias-by-id',
      what: 'an alias of an entity',
      plural: 'the ids of entity aliases',
    },
    { list: (app) => listAliasIds(app), read: byId(readAlias), remove: byId(removeAlias) },
  ),
];
