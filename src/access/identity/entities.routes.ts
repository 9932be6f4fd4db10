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

const inputs = recordInputs(patchOf(entityFields).shape);
const alias_inputs = aliasInputs({
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

export const entityRoutes: AnyRoute[] = [
  ...recordRoutes('entity', ['an entity', 'entities'], {
    write: does(inputs.any, written, writeEntity),
    listById: does(none, toldSchema(entityInfoSchema), entities.listIds),
    readById: does(byId, entityAnswerSchema, entities.readById),
    removeById: does(byId, nothing, entities.removeById),
    writeById: does(inputs.by_id, nothing, writeEntityById),
    listByName: does(none, namesSchema, entities.listNames),
    readByName: does(byName, entityAnswerSchema, entities.readByName),
    removeByName: does(byName, nothing, entities.removeByName),
    writeByName: does(inputs.by_name, written, writeEntity),
    lookUp: does(lookupInput, either(entityAnswerSchema, nothing), entities.lookUp),
  }),
  does(batch, nothing, removeEntityBatch)(BATCH),
  ...aliasRoutes('entity', 'an alias of an entity', {
    write: does(alias_inputs.any, writtenAliasSchema, entityAliases.write),
    writeById: does(alias_inputs.by_id, writtenAliasSchema, entityAliases.write),
    list: does(none, toldSchema(aliasInfoSchema), entityAliases.list),
    read: does(byId, aliasAnswerSchema, entityAliases.read),
    remove: does(byId, nothing, entityAliases.remove),
  }),
];
