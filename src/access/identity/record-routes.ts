import { z } from 'zod';
import type { Output } from '../../app/output.ts';
import { type AnyRoute, type Route, vaultRoute } from '../../app/route.ts';
import { text } from '../../core/fields.ts';

const id = text().describe('Id of the record.');
const optional_id = text('').describe('Id of the record to change; a new one when left out.');
const name = text().describe('Name; upper and lower case count as the same.');
const optional_name = text('').describe('Name; a random one is made when left out.');
const other_name = text('').describe('Another name.');
const aliasSettings = {
  name: text('').describe('What the mount calls the entity: its user name, or role ID.'),
  mount_accessor: text('').describe('Accessor of the auth method, from sys/auth.'),
  canonical_id: text('').describe('Id of what it is an alias of.'),
};

export const none = z.object({});
export const byId = z.object({ id });
export const byName = z.object({ name });

/** What comes in with a write: of a record that the body names, and of one that the path names. */
export const recordInputs = <Settings extends z.core.$ZodLooseShape>(settings: Settings) => ({
  any: z.object({ id: optional_id, name: optional_name, ...settings }),
  by_id: z.object({ id, name: other_name, ...settings }),
  by_name: z.object({ name, ...settings }),
});
export const aliasInputs = <Settings extends z.core.$ZodLooseShape>(settings: Settings) => ({
  any: z.object({ id: optional_id, ...aliasSettings, ...settings }),
  by_id: z.object({ id, ...aliasSettings, ...settings }),
});

/** Names of people and teams are not as narrow as those of roles. */
const path_forms = { name: /^[^\p{Cc}/]+$/u };
const forms = { path_forms, name_forms: { name: 'lower_case' } } as const;

const write = {
  method: 'POST',
  access: { capability: 'update' },
  failures: ['invalid', 'conflict'],
  ...forms,
} as const;

const VERBS = {
  list: {
    method: 'LIST',
    on_any_thread: true,
    access: { capability: 'list' },
    failures: ['not_found'],
  },
  read: {
    method: 'GET',
    on_any_thread: true,
    access: { capability: 'read' },
    failures: ['not_found'],
    ...forms,
  },
  write,
  // It is sent as a write.
  look_up: { ...write, on_any_thread: true },
  remove: { method: 'DELETE', access: { capability: 'delete' }, failures: ['conflict'], ...forms },
} as const;

type Path = `/v1/{mount}/${string}`;

/** Where an endpoint is, and what it is called; and another list, of what it tells beside its keys. */
export type Place = readonly [
  verb: keyof typeof VERBS,
  id: string,
  path: Path,
  summary: string,
  lists_also?: Path,
];

type Does = (place: Place) => AnyRoute;

/** What an endpoint does, wherever it is. */
export const does =
  <In extends z.ZodObject, Out extends Output>(
    input: In,
    output: Out,
    run: Route<In, Out>['run'],
  ): Does =>
  ([verb, id, path, summary, lists_also]) =>
    vaultRoute({
      ...VERBS[verb],
      ...{ id, path, summary, input, output, run },
      audit: verb === 'list' || verb === 'read' ? [] : Object.keys(input.shape),
      sets_also: lists_also && [{ path: lists_also, fields: [], when: [] }],
    });

const declare = <Name extends string>(
  places: Readonly<Record<Name, Place>>,
  run: Readonly<Record<Name, Does>>,
): AnyRoute[] => (Object.keys(places) as Name[]).map((name) => run[name](places[name]));

type Kind = 'entity' | 'group';
type RecordEndpoint =
  | `${'write' | 'list' | 'read' | 'remove'}${'ById' | 'ByName'}`
  | 'write'
  | 'lookUp';

/** The endpoints that entities and groups have alike. @param one as in a sentence, "an entity", and several */
export function recordRoutes(
  kind: Kind,
  [one, several]: readonly [one: string, several: string],
  run: Readonly<Record<RecordEndpoint, Does>>,
): AnyRoute[] {
  const at = `/v1/{mount}/${kind}` as const;
  const [ids, names] = [`${at}/id`, `${at}/name`] as const;
  const [by_id, by_name] = [`${ids}/{id}`, `${names}/{name}`] as const;
  return declare<RecordEndpoint>(
    {
      write: ['write', `${kind}-create`, at, `Write ${one}`],
      listById: ['list', `${kind}-list-by-id`, ids, `List the ids of ${several}`, names],
      readById: ['read', `${kind}-read-by-id`, by_id, `Read ${one} by its id`],
      removeById: ['remove', `${kind}-delete-by-id`, by_id, `Delete ${one} by its id`],
      writeById: ['write', `${kind}-update-by-id`, by_id, `Change ${one} by its id`],
      listByName: ['list', `${kind}-list-by-name`, names, `List the names of ${several}`],
      readByName: ['read', `${kind}-read-by-name`, by_name, `Read ${one} by its name`],
      removeByName: ['remove', `${kind}-delete-by-name`, by_name, `Delete ${one} by its name`],
      writeByName: ['write', `${kind}-update-by-name`, by_name, `Write ${one} by its name`],
      lookUp: ['look_up', `${kind}-look-up`, `/v1/{mount}/lookup/${kind}`, `Find ${one}`],
    },
    run,
  );
}

/** The endpoints that the aliases of both have alike. @param one as in a sentence, "an alias of an entity" */
export function aliasRoutes(
  kind: Kind,
  one: string,
  run: Readonly<Record<'write' | 'writeById' | 'list' | 'read' | 'remove', Does>>,
): AnyRoute[] {
  const at = `/v1/{mount}/${kind}-alias` as const;
  const by_id = `${at}/id/{id}` as const;
  return declare(
    {
      write: ['write', `${kind}-create-alias`, at, `Write ${one}`],
      writeById: ['write', `${kind}-update-alias-by-id`, by_id, `Change ${one}`],
      list: ['list', `${kind}-list-aliases-by-id`, `${at}/id`, `List the ids of ${kind} aliases`],
      read: ['read', `${kind}-read-alias-by-id`, by_id, `Read ${one}`],
      remove: ['remove', `${kind}-delete-alias-by-id`, by_id, `Delete ${one}`],
    },
    run,
  );
}
