import { z } from 'zod';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { undeclared } from '../../app/output.ts';
import type { VaultResult } from '../../app/result.ts';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { text } from '../../core/fields.ts';

const anything = undeclared;
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

type Run<Input> = (app: App, caller: Caller, input: Input) => Promise<VaultResult>;

/** How a kind of record is listed, read and removed by one of its keys. */
export function recordRoutes(
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
export const byId =
  (run: Run<{ id: string }>): AnyRoute['run'] =>
  (app, caller, input) =>
    run(app, caller, { id: String(input.id) });
export const byName =
  (run: Run<{ name: string }>): AnyRoute['run'] =>
  (app, caller, input) =>
    run(app, caller, { name: String(input.name) });

interface WriteNames {
  id: string;
  path: `/v1/${string}`;
  summary: string;
  audit: readonly string[];
}

export function writeRoute<In extends z.ZodObject>(
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
