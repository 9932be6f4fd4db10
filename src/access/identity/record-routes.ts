import { z } from 'zod';
import { nothing, type Output } from '../../app/output.ts';
import { type AnyRoute, type Route, vaultRoute } from '../../app/route.ts';
import { text } from '../../core/fields.ts';

export const id = text().describe('Id of the record.');
export const optional_id = text('').describe(
  'Id of the record to change; a new one when left out.',
);
export const name = text().describe('Name; upper and lower case count as the same.');
export const optional_name = text('').describe('Name; a random one is made when left out.');
/** Names of people and teams are not as narrow as those of roles. */
const path_forms = { name: /^[^\p{Cc}/]+$/u };
const name_forms = { name: 'lower_case' } as const;

export const aliasSettings = {
  name: text('').describe('What the mount calls the entity: its user name, or role ID.'),
  mount_accessor: text('').describe('Accessor of the auth method, from sys/auth.'),
  canonical_id: text('').describe('Id of what it is an alias of.'),
};
export const lookupFields = {
  id: text('').describe('By id.'),
  name: text('').describe('By name.'),
  alias_id: text('').describe('By the id of an alias.'),
  alias_name: text('').describe('By the name of an alias, with alias_mount_accessor.'),
  alias_mount_accessor: text('').describe('Accessor of the mount that alias_name is of.'),
};

/** How a kind of record is listed, read and removed by one of its keys. */
export function keyRoutes<
  Key extends z.ZodObject,
  List extends z.ZodType,
  Answer extends z.ZodType,
>(declared: {
  base: `/v1/${string}`;
  key: Key;
  /** Of which the operations' ids are made: `entity-list-by-id`, `entity-read-alias-by-id`. */
  named: readonly [kind: string, one?: string, all?: string];
  what: string;
  plural: string;
  /** Another list, of what this one tells beside its keys. */
  lists_also?: readonly `/v1/${string}`[];
  listed: List;
  answer: Answer;
  run: {
    list: Route<typeof none, List>['run'];
    read: Route<Key, Answer>['run'];
    remove: Route<Key, typeof nothing>['run'];
  };
}): AnyRoute[] {
  const { base, key, what, run } = declared;
  const [kind, one = '', all = ''] = declared.named;
  const [by = ''] = Object.keys(key.shape);
  const at = { path: `${base}/{${by}}`, path_forms, name_forms, input: key } as const;
  return [
    vaultRoute({
      id: `${kind}-list${all}-by-${by}`,
      method: 'LIST',
      path: base,
      summary: `List ${declared.plural}`,
      access: { capability: 'list' },
      sets_also: declared.lists_also?.map((path) => ({ path, fields: [], when: [] })),
      input: none,
      output: declared.listed,
      failures: ['not_found'],
      run: run.list,
    }),
    vaultRoute({
      id: `${kind}-read${one}-by-${by}`,
      method: 'GET',
      summary: `Read ${what}`,
      access: { capability: 'read' },
      ...at,
      output: declared.answer,
      failures: ['not_found'],
      run: run.read,
    }),
    vaultRoute({
      id: `${kind}-delete${one}-by-${by}`,
      method: 'DELETE',
      summary: `Delete ${what}`,
      access: { capability: 'delete' },
      ...at,
      audit: [by],
      output: nothing,
      failures: ['conflict'],
      run: run.remove,
    }),
  ];
}

const none = z.object({});

export function writeRoute<In extends z.ZodObject, Out extends Output>(
  declared: Pick<Route<In, Out>, 'id' | 'path' | 'summary' | 'input' | 'output' | 'run'>,
): AnyRoute {
  return vaultRoute({
    ...declared,
    method: 'POST',
    access: { capability: 'update' },
    path_forms,
    name_forms,
    audit: Object.keys(declared.input.shape),
    failures: ['invalid', 'conflict'],
  });
}
