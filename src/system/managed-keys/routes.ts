import { z } from 'zod';
import { nothing } from '../../app/output.ts';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { flag, text } from '../../core/fields.ts';
import { managedKeyFields, managedKeySchema } from './managed-key.ts';
import {
  listManagedKeyNames,
  readManagedKey,
  removeManagedKey,
  writeManagedKey,
} from './operations.ts';
import { testManagedKey } from './signing.operations.ts';

const type = text().describe('Kind of device: `pkcs11`.');
const name = text().describe('Name of the managed key; upper case counts as lower case.');
const ofName = {
  path: '/v1/sys/managed-keys/{type}/{name}',
  name_forms: { name: 'lower_case' },
} as const;
const { pin: _, ...recorded } = managedKeyFields;

export const managedKeyRoutes: AnyRoute[] = [
  vaultRoute({
    id: 'managed-keys-list',
    on_any_thread: true,
    method: 'LIST',
    path: '/v1/sys/managed-keys/{type}',
    summary: 'List the managed keys',
    access: { capability: 'list' },
    input: z.object({ type }),
    output: z.object({ keys: z.array(z.string()) }),
    failures: ['invalid', 'not_found'],
    run: listManagedKeyNames,
  }),
  vaultRoute({
    ...ofName,
    id: 'managed-keys-read',
    on_any_thread: true,
    method: 'GET',
    summary: 'Read where a managed key is; what opens its token is never answered',
    access: { capability: 'read' },
    input: z.object({ type, name }),
    output: managedKeySchema,
    failures: ['invalid', 'not_found'],
    run: readManagedKey,
  }),
  vaultRoute({
    ...ofName,
    id: 'managed-keys-write',
    method: 'POST',
    summary: 'Say where a managed key is',
    access: { capability: 'update' },
    audit: ['type', 'name', ...Object.keys(recorded)],
    input: z.object({ type, name, ...managedKeyFields }),
    output: nothing,
    failures: ['invalid', 'conflict'],
    run: writeManagedKey,
  }),
  vaultRoute({
    ...ofName,
    id: 'managed-keys-delete',
    method: 'DELETE',
    summary: 'Forget a managed key; the key in the token stays',
    access: { capability: 'delete' },
    audit: ['type', 'name'],
    input: z.object({ type, name }),
    output: nothing,
    failures: ['invalid', 'conflict'],
    run: removeManagedKey,
  }),
  vaultRoute({
    ...ofName,
    id: 'managed-keys-test-sign',
    method: 'POST',
    path: '/v1/sys/managed-keys/{type}/{name}/test/sign',
    summary: 'Sign something random with a managed key, and verify it',
    access: { capability: 'update' },
    audit: ['type', 'name', 'hash_algorithm', 'use_pss'],
    input: z.object({
      type,
      name,
      hash_algorithm: text('sha2-256').describe(
        '`sha2-256`, `sha2-384` or `sha2-512`; a mechanism that names a hash has its own.',
      ),
      use_pss: flag(false).describe('Sign PSS with an RSA key, as its mechanism must be.'),
    }),
    output: nothing,
    failures: ['invalid', 'not_found', 'rate_limited', 'unavailable'],
    run: testManagedKey,
  }),
];
