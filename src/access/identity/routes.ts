import { z } from 'zod';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { type Answer, type AnyRoute, vaultRoute } from '../../app/route.ts';
import { optional, shortList, stringMap, text } from '../../core/fields.ts';
import { patchOf } from '../../core/patches.ts';
import { listAliasIds, readAlias, removeAlias, writeAlias } from './aliases.operations.ts';
import {
  listEntityIds,
  listNamesOfEntities,
  lookUpEntity,
  readEntityById,
  readEntityByName,
  removeEntityBatch,
  removeEntityById,
  removeEntityByName,
  writeEntity,
  writeEntityById,
} from './entities.operations.ts';
import { entityFields } from './entity.ts';
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

const anything = z.record(z.string(), z.unknown());
const id = text().describe('Id of the record.');
const optional_id = text('').describe('Id of the record to change; a new one when left out.');
const name = text().describe('Name; upper and lower case count as the same.');
const optional_name = text('').describe('Name; a random one is made when left out.');
/** Names of people and teams are not as narrow as those of roles. */
const path_forms = { name: /^[^\p{Cc}/]+$/u };
const name_forms = { name: 'lower_case' } as const;

const entitySettings = patchOf(entityFields).shape;
const groupSettings = {
  ...patchOf(groupFields).shape,
  member_entity_ids: optional(shortList()).describe('Ids of the entities in the group.'),
  member_group_ids: optional(shortList()).describe(
    `Ids of the groups in the group. All groups together have at most ${MOST_NESTINGS}.`,
  ),
};
const aliasSettings = {
  name: text('').describe('What the mount calls the entity: its user name, or role ID.'),
  mount_accessor: text('').describe('Accessor of the auth method, from sys/auth.'),
  canonical_id: text('').describe('Id of what it is an alias of.'),
};
const entityAliasSettings = {
  ...aliasSettings,
  custom_metadata: optional(stringMap()).describe('Names with values, for templates.'),
};
const lookupFields = {
  id: text('').describe('By id.'),
  name: text('').describe('By name.'),
  alias_id: text('').describe('By the id of an alias.'),
  alias_name: text('').describe('By the name of an alias, with alias_mount_accessor.'),
  alias_mount_accessor: text('').describe('Accessor of the mount that alias_name is of.'),
};
const entityAudit = ['id', 'name', ...Object.keys(entityFields)];
const groupAudit = ['id', 'name', ...Object.keys(groupSettings)];
const aliasAudit = ['id', ...Object.keys(entityAliasSettings)];

type Run<Input> = (app: App, caller: Caller, input: Input) => Promise<Answer>;

/** How a kind of record is listed, read and removed by one of its keys. */
function recordRoutes(
  base: `/v1/${string}`,
  by: 'id' | 'name',
  named: {
    list: string;
    read: string;
    remove: string;
    what: string;
    plural: string;
    /** Another list, of what this one tells beside its keys. */
    lists_also?: readonly `/v1/${string}`[];
  },
  run: {
    list: AnyRoute['run'];
    read: AnyRoute['run'];
    remove: AnyRoute['run'];
  },
): AnyRoute[] {
  const key = by === 'id' ? z.object({ id }) : z.object({ name });
  return [
    vaultRoute({
      id: named.list,
      method: 'LIST',
      path: base,
      summary: `List ${named.plural}`,
      access: { capability: 'list' },
      sets_also: named.lists_also?.map((path) => ({ path, fields: [], when: [] })),
      input: z.object({}),
      output: anything,
      failures: ['not_found'],
      run: run.list,
    }),
    vaultRoute({
      id: named.read,
      method: 'GET',
      path: `${base}/{${by}}`,
      summary: `Read ${named.what}`,
      access: { capability: 'read' },
      path_forms,
      name_forms,
      input: key,
      output: anything,
      failures: ['not_found'],
      run: run.read,
    }),
    vaultRoute({
      id: named.remove,
      method: 'DELETE',
      path: `${base}/{${by}}`,
      summary: `Delete ${named.what}`,
      access: { capability: 'delete' },
      path_forms,
      name_forms,
      audit: [by],
      input: key,
      output: anything,
      failures: [],
      run: run.remove,
    }),
  ];
}

/** A record is named by its key in the path; the schema has made sure of that. */
const byId =
  (run: Run<{ id: string }>): AnyRoute['run'] =>
  (app, caller, input) =>
    run(app, caller, { id: String(input.id) });
const byName =
  (run: Run<{ name: string }>): AnyRoute['run'] =>
  (app, caller, input) =>
    run(app, caller, { name: String(input.name) });

interface WriteNames {
  id: string;
  path: `/v1/${string}`;
  summary: string;
  audit: readonly string[];
}

function writeRoute<In extends z.ZodObject>(
  named: WriteNames,
  input: In,
  run: Run<z.output<In>>,
): AnyRoute {
  return vaultRoute({
    ...named,
    method: 'POST',
    access: { capability: 'update' },
    path_forms,
    name_forms,
    input,
    output: anything,
    failures: ['invalid', 'conflict'],
    run,
  });
}

const ENTITY = '/v1/{mount}/entity';
const GROUP = '/v1/{mount}/group';
const ENTITY_ALIAS = '/v1/{mount}/entity-alias';
const GROUP_ALIAS = '/v1/{mount}/group-alias';

const entityRoutes: AnyRoute[] = [
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

const groupRoutes: AnyRoute[] = [
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

export const identityRoutes: AnyRoute[] = [...entityRoutes, ...groupRoutes];
