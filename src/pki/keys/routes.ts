import { z } from 'zod';
import { nothing } from '../../app/output.ts';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { choice, integer, optional, text } from '../../core/fields.ts';
import { KEY_TYPES, keySize, managedKeyFields, newNameText } from '../fields/key-field-kinds.ts';
import { keySchema } from '../mount-state/key.ts';
import { generateStoredKey, listKeyInfo, readKey, removeKey, updateKey } from './operations.ts';

const key_ref = text().describe('Id or name of the key, or "default".');
const ofKey = {
  path: '/v1/{mount}/key/{key_ref}',
  name_forms: { key_ref: 'default_word' },
} as const;

export const keyRoutes: readonly AnyRoute[] = [
  vaultRoute({
    id: 'pki-list-keys',
    on_any_thread: true,
    method: 'LIST',
    path: '/v1/{mount}/keys',
    summary: 'List the keys of the mount',
    access: { capability: 'list' },
    input: z.object({
      after: optional(text()).describe('Only keys after this id.'),
      limit: optional(integer()).describe('At most so many; all when left out.'),
    }),
    output: z.object({
      keys: z.array(z.string()).describe('Ids.'),
      key_info: z.record(z.string(), z.object({ key_name: z.string(), is_default: z.boolean() })),
    }),
    failures: ['invalid', 'not_found'],
    run: listKeyInfo,
  }),
  vaultRoute({
    id: 'pki-generate-key',
    method: 'POST',
    path: '/v1/{mount}/keys/generate/{exported}',
    summary: 'Make a key and keep it in the mount',
    access: { capability: 'update' },
    input: z.object({
      exported: choice(['internal', 'exported', 'kms'] as const).describe(
        '"exported" answers the private key, once; "internal" never does; "kms" is a key of a device.',
      ),
      key_name: optional(newNameText()).describe('A name for the key, unique in the mount.'),
      key_type: optional(choice(KEY_TYPES)).describe('Type of key; by default rsa. Not for "kms".'),
      key_bits: optional(keySize()).describe(
        'Size; 0: 2048 for RSA, 256 for EC, 65 for ML-DSA, 128 for SLH-DSA. Not for "kms".',
      ),
      ...managedKeyFields,
    }),
    output: keySchema.extend({
      private_key: z.string().optional().describe('PEM; only with "exported".'),
    }),
    failures: ['invalid', 'conflict', 'rate_limited', 'unavailable'],
    audit: ['exported', 'key_name', 'key_type', 'key_bits', ...Object.keys(managedKeyFields)],
    run: generateStoredKey,
  }),
  vaultRoute({
    ...ofKey,
    id: 'pki-read-key',
    on_any_thread: true,
    method: 'GET',
    summary: 'Read a key; its private part cannot be read',
    access: { capability: 'read' },
    input: z.object({ key_ref }),
    output: keySchema.extend({
      managed_key_id: z.string().optional().describe('Of a key that a device has.'),
      managed_key_name: z.string().optional().describe('The same.'),
      subject_key_id: z.string().describe('RFC 5280 §4.2.1.2 (1), colon hex.'),
    }),
    failures: ['unresolved'],
    audit: ['key_ref'],
    run: readKey,
  }),
  vaultRoute({
    ...ofKey,
    id: 'pki-update-key',
    method: 'POST',
    summary: 'Name a key anew',
    access: { capability: 'update' },
    input: z.object({
      key_ref,
      key_name: optional(newNameText()).describe('The new name; empty for none.'),
    }),
    output: keySchema,
    failures: ['invalid', 'unresolved', 'conflict'],
    audit: ['key_ref', 'key_name'],
    run: updateKey,
  }),
  vaultRoute({
    ...ofKey,
    id: 'pki-delete-key',
    method: 'DELETE',
    summary: 'Delete a key that no issuer uses',
    access: { capability: 'delete' },
    input: z.object({ key_ref }),
    output: nothing,
    failures: ['invalid', 'conflict'],
    audit: ['key_ref'],
    run: removeKey,
  }),
];
