import { z } from 'zod';
import { nothing } from '../../app/output.ts';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { integer, optional, text } from '../../core/fields.ts';
import { listRoles, readRole, removeRole, updateRole, writeRole } from './operations.ts';
import { roleFields, rolePatchSchema, roleReplySchema } from './role.ts';

const name = text().describe('Name of the role.');
const path = '/v1/{mount}/roles/{name}';
const change = {
  path,
  output: roleReplySchema,
  failures: ['invalid', 'conflict'],
  audit: ['name', ...Object.keys(roleFields)],
  places: ['policy_identifiers'],
} as const;

export const roleRoutes: readonly AnyRoute[] = [
  vaultRoute({
    id: 'pki-list-roles',
    on_any_thread: true,
    method: 'LIST',
    path: '/v1/{mount}/roles',
    summary: 'List the names of roles',
    access: { capability: 'list' },
    input: z.object({
      after: optional(text()).describe('Only names after this one.'),
      limit: optional(integer()).describe('At most so many names.'),
    }),
    output: z.object({ keys: z.array(z.string()).describe('Names.') }),
    failures: ['invalid', 'not_found'],
    run: listRoles,
  }),
  vaultRoute({
    id: 'pki-read-role',
    on_any_thread: true,
    method: 'GET',
    path,
    summary: 'Read a role',
    access: { capability: 'read' },
    input: z.object({ name }),
    output: roleReplySchema,
    failures: ['not_found'],
    audit: ['name'],
    run: readRole,
  }),
  vaultRoute({
    ...change,
    id: 'pki-write-role',
    method: 'POST',
    summary: 'Create a role, or replace it whole',
    access: { capability: 'update' },
    input: z.object({ name, ...roleFields }),
    run: writeRole,
  }),
  vaultRoute({
    ...change,
    id: 'pki-patch-role',
    method: 'PATCH',
    summary: 'Change some fields of a role',
    access: { capability: 'patch' },
    input: rolePatchSchema.extend({ name }),
    run: updateRole,
  }),
  vaultRoute({
    id: 'pki-delete-role',
    method: 'DELETE',
    path,
    summary: 'Delete a role',
    access: { capability: 'delete' },
    input: z.object({ name }),
    output: nothing,
    failures: [],
    audit: ['name'],
    run: removeRole,
  }),
];
