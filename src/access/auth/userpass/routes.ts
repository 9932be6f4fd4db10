import { z } from 'zod';
import { authOutput, nothing } from '../../../app/output.ts';
import { type AnyRoute, vaultRoute } from '../../../app/route.ts';
import { optional, text } from '../../../core/fields.ts';
import { patchOf } from '../../../core/patches.ts';
import { policyList } from '../../tokens/field-kinds.ts';
import {
  isUser,
  listUsers,
  logInWithPassword,
  readUser,
  removeUser,
  replacePolicies,
  resetPassword,
  writeUser,
} from './operations.ts';
import { userFields } from './user.ts';

const username = text().describe('Name of the user; upper case counts as lower case.');
const name_forms = { username: 'lower_case' } as const;
const password = text('').describe('Password of the user.');
const policies = optional(policyList()).describe('Old name of token_policies.');

export const userpassRoutes: AnyRoute[] = [
  vaultRoute({
    id: 'userpass-list-users',
    on_any_thread: true,
    method: 'LIST',
    path: '/v1/auth/{mount}/users',
    summary: 'List users',
    access: { capability: 'list' },
    input: z.object({}),
    output: z.object({ keys: z.array(z.string()) }),
    failures: ['not_found'],
    run: (app, caller) => listUsers(app, caller),
  }),
  vaultRoute({
    id: 'userpass-read-user',
    on_any_thread: true,
    method: 'GET',
    path: '/v1/auth/{mount}/users/{username}',
    name_forms,
    summary: 'Read a user',
    access: { capability: 'read' },
    input: z.object({ username }),
    output: z.object(userFields),
    failures: ['not_found'],
    run: readUser,
  }),
  vaultRoute({
    id: 'userpass-write-user',
    method: 'POST',
    path: '/v1/auth/{mount}/users/{username}',
    name_forms,
    summary: 'Write a user',
    access: { capability: 'update', exists: isUser },
    audit: ['username', 'policies', ...Object.keys(userFields)],
    old_names: { policies: 'token_policies' },
    sets_also: [
      { path: '/v1/auth/{mount}/users/{username}/password', fields: ['password'] },
      { path: '/v1/auth/{mount}/users/{username}/policies', fields: ['token_policies'] },
    ],
    input: patchOf(userFields).extend({ username, password, policies }),
    output: nothing,
    failures: ['invalid', 'conflict', 'rate_limited'],
    run: writeUser,
  }),
  vaultRoute({
    id: 'userpass-delete-user',
    method: 'DELETE',
    path: '/v1/auth/{mount}/users/{username}',
    name_forms,
    summary: 'Delete a user',
    access: { capability: 'delete' },
    audit: ['username'],
    input: z.object({ username }),
    output: nothing,
    failures: [],
    run: removeUser,
  }),
  vaultRoute({
    id: 'userpass-reset-password',
    method: 'POST',
    path: '/v1/auth/{mount}/users/{username}/password',
    name_forms,
    summary: "Change a user's password",
    access: { capability: 'update' },
    audit: ['username'],
    input: z.object({ username, password: text().describe('The new password.') }),
    output: nothing,
    failures: ['invalid', 'conflict', 'rate_limited'],
    run: resetPassword,
  }),
  vaultRoute({
    id: 'userpass-update-policies',
    method: 'POST',
    path: '/v1/auth/{mount}/users/{username}/policies',
    name_forms,
    summary: "Change a user's policies",
    access: { capability: 'update' },
    audit: ['username', 'policies', 'token_policies'],
    old_names: { policies: 'token_policies' },
    input: z.object({
      username,
      token_policies: optional(policyList()).describe('Policies of its tokens.'),
      policies,
    }),
    output: nothing,
    failures: ['invalid', 'conflict'],
    run: async (app, caller, { username, token_policies, policies }) =>
      replacePolicies(app, caller, {
        username,
        token_policies: token_policies ?? policies ?? [],
      }),
  }),
  vaultRoute({
    id: 'userpass-login',
    method: 'POST',
    path: '/v1/auth/{mount}/login/{username}',
    name_forms,
    summary: 'Log in with a password',
    access: 'public',
    audit: ['username'],
    mistaken: ['username'],
    input: z.object({ username, password }),
    output: authOutput,
    failures: ['invalid', 'rate_limited', 'unavailable'],
    run: logInWithPassword,
  }),
];
