import { z } from 'zod';
import { nothing } from '../../../app/output.ts';
import { type AnyRoute, vaultRoute } from '../../../app/route.ts';
import { text } from '../../../core/fields.ts';
import { patchOf } from '../../../core/patches.ts';
import { tokenRoleFields, tokenRoleReply } from '../../tokens/role.ts';
import {
  isTokenRole,
  listTokenRoleNames,
  readTokenRole,
  removeTokenRole,
  writeTokenRole,
} from './roles.operations.ts';

const role_name = text().describe('Name of the role.');

export const tokenRoleRoutes: AnyRoute[] = [
  vaultRoute({
    id: 'token-list-roles',
    on_any_thread: true,
    method: 'LIST',
    path: '/v1/auth/{mount}/roles',
    summary: 'List token roles',
    access: { capability: 'list' },
    input: z.object({}),
    output: z.object({ keys: z.array(z.string()) }),
    failures: ['not_found'],
    run: (app) => listTokenRoleNames(app),
  }),
  vaultRoute({
    id: 'token-read-role',
    on_any_thread: true,
    method: 'GET',
    path: '/v1/auth/{mount}/roles/{role_name}',
    summary: 'Read a token role',
    access: { capability: 'read' },
    input: z.object({ role_name }),
    output: tokenRoleReply,
    failures: ['not_found'],
    run: readTokenRole,
  }),
  vaultRoute({
    id: 'token-write-role',
    method: 'POST',
    path: '/v1/auth/{mount}/roles/{role_name}',
    summary: 'Write a token role',
    access: { capability: 'update', exists: isTokenRole },
    audit: ['role_name', ...Object.keys(tokenRoleFields)],
    old_names: { period: 'token_period', explicit_max_ttl: 'token_explicit_max_ttl' },
    input: patchOf(tokenRoleFields).extend({ role_name }),
    output: nothing,
    failures: ['invalid', 'conflict'],
    run: writeTokenRole,
  }),
  vaultRoute({
    id: 'token-delete-role',
    method: 'DELETE',
    path: '/v1/auth/{mount}/roles/{role_name}',
    summary: 'Delete a token role',
    access: { capability: 'delete' },
    audit: ['role_name'],
    input: z.object({ role_name }),
    output: nothing,
    failures: [],
    run: removeTokenRole,
  }),
];
