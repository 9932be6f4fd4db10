import { z } from 'zod';
import { nothing } from '../../app/output.ts';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { integer, optional, text } from '../../core/fields.ts';
import {
  listCelRoles,
  readCelRole,
  removeCelRole,
  updateCelRole,
  writeCelRole,
} from './operations.ts';
import { programField, programPatch, programSchema } from './program.ts';

const name = text().describe('Name of the role.');
const path = '/v1/{mount}/cel/roles/{name}';
const PROGRAM = 'The program: its variables in their order, and its main expression, in CEL.';
const output = z.object({ name: z.string(), cel_program: programSchema.describe(PROGRAM) });
const change = {
  path,
  output,
  failures: ['invalid', 'conflict', 'rate_limited', 'unavailable'],
  audit: ['name', 'cel_program'],
} as const;

export const celRoleRoutes: readonly AnyRoute[] = [
  vaultRoute({
    id: 'pki-list-cel-roles',
    on_any_thread: true,
    method: 'LIST',
    path: '/v1/{mount}/cel/roles',
    summary: 'List the names of CEL roles',
    access: { capability: 'list' },
    input: z.object({
      after: optional(text()).describe('Only names after this one.'),
      limit: optional(integer()).describe('At most so many names.'),
    }),
    output: z.object({ keys: z.array(z.string()).describe('Names.') }),
    failures: ['invalid', 'not_found'],
    run: listCelRoles,
  }),
  vaultRoute({
    id: 'pki-read-cel-role',
    on_any_thread: true,
    method: 'GET',
    path,
    summary: 'Read a CEL role',
    access: { capability: 'read' },
    input: z.object({ name }),
    output,
    failures: ['not_found'],
    audit: ['name'],
    run: readCelRole,
  }),
  vaultRoute({
    ...change,
    id: 'pki-write-cel-role',
    method: 'POST',
    summary: 'Create a CEL role, or replace it whole',
    access: { capability: 'update' },
    input: z.object({ name, cel_program: programField().describe(PROGRAM) }),
    run: writeCelRole,
  }),
  vaultRoute({
    ...change,
    id: 'pki-patch-cel-role',
    method: 'PATCH',
    summary: 'Change expressions of a CEL role',
    access: { capability: 'patch' },
    input: z.object({
      name,
      cel_program: optional(programPatch()).describe(
        'What is to be another: the main expression, and variables by their names.',
      ),
    }),
    run: updateCelRole,
  }),
  vaultRoute({
    id: 'pki-delete-cel-role',
    method: 'DELETE',
    path,
    summary: 'Delete a CEL role',
    access: { capability: 'delete' },
    input: z.object({ name }),
    output: nothing,
    failures: [],
    audit: ['name'],
    run: removeCelRole,
  }),
];
