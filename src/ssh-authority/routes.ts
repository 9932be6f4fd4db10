import { z } from 'zod';
import { bytes, nothing } from '../app/output.ts';
import { type AnyRoute, vaultRoute } from '../app/route.ts';
import { choice, duration, flag, integer, optional, stringMap, text } from '../core/fields.ts';
import { pemText } from '../pki/fields/field-kinds.ts';
import { principalsText, publicKeyLine } from './field-kinds.ts';
import {
  listRoles,
  readAuthority,
  readPublicKey,
  readRole,
  removeAuthority,
  removeRole,
  writeAuthority,
  writeRole,
} from './operations.ts';
import { roleFields, roleSchema } from './role.ts';
import { issueKey, signKey } from './signing.operations.ts';

const name = text().describe('Name of the role.');
const role = text().describe('Name of the role.');
const publicKey = z.object({ public_key: z.string().describe('One line.') });
const requestFields = {
  valid_principals: principalsText('').describe(
    'Users or hosts that the certificate names, with commas between them; none: the default user of the role.',
  ),
  cert_type: choice(['user', 'host'], 'user').describe('Whom it is for.'),
  ttl: duration(0).describe('Validity. Seconds; 0: as the role has it.'),
  key_id: text('').describe('What servers log; only where the role lets requests say it.'),
  critical_options: stringMap({}).describe('Critical options; none: those of the role.'),
  extensions: stringMap({}).describe('Extensions; none: those of the role.'),
};
const audit = ['role', ...Object.keys(requestFields)];
const signed = {
  serial_number: z.string().describe('Hexadecimal.'),
  signed_key: z.string().describe('The certificate, one line.'),
};
const signing = {
  on_any_thread: true,
  method: 'POST',
  access: { capability: 'update' },
  failures: ['invalid', 'conflict', 'rate_limited', 'unavailable'],
} as const;
const authority = { path: '/v1/{mount}/config/ca' } as const;

/** Endpoints of an authority of SSH, under `/v1/{mount}/`. */
export const sshRoutes: readonly AnyRoute[] = [
  vaultRoute({
    ...authority,
    id: 'ssh-configure-ca',
    method: 'POST',
    summary: 'Give the mount its authority: a key that is made, or one that is brought',
    access: { capability: 'update' },
    input: z.object({
      generate_signing_key: flag(true).describe('Make a key, unless private_key is sent.'),
      key_type: text('ssh-rsa').describe(
        '"ssh-rsa", "ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384" or "ecdsa-sha2-nistp521".',
      ),
      key_bits: integer(0).describe('0: as the type has it; 4096 of RSA.'),
      private_key: pemText('').describe(
        'PEM of PKCS #8, PKCS #1 or SEC 1, or as ssh-keygen writes it; without a passphrase.',
      ),
      public_key: publicKeyLine('').describe('Not looked at: the private key has it.'),
    }),
    output: publicKey,
    failures: ['invalid', 'conflict', 'rate_limited'],
    audit: ['generate_signing_key', 'key_type', 'key_bits', 'public_key'],
    run: writeAuthority,
  }),
  vaultRoute({
    ...authority,
    id: 'ssh-read-ca',
    on_any_thread: true,
    method: 'GET',
    summary: 'Read the public key of the authority',
    access: { capability: 'read' },
    input: z.object({}),
    output: publicKey,
    failures: ['invalid'],
    run: readAuthority,
  }),
  vaultRoute({
    ...authority,
    id: 'ssh-delete-ca',
    method: 'DELETE',
    summary: 'Delete the authority: it signs no more',
    access: { capability: 'delete' },
    input: z.object({}),
    output: nothing,
    failures: [],
    run: removeAuthority,
  }),
  vaultRoute({
    id: 'ssh-read-public-key',
    on_any_thread: true,
    method: 'GET',
    path: '/v1/{mount}/public_key',
    summary: 'Read the public key of the authority, as servers take it for TrustedUserCAKeys',
    access: 'public',
    input: z.object({}),
    output: bytes('text/plain'),
    failures: ['not_found'],
    run: readPublicKey,
  }),
  vaultRoute({
    id: 'ssh-list-roles',
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
    id: 'ssh-read-role',
    on_any_thread: true,
    method: 'GET',
    path: '/v1/{mount}/roles/{name}',
    summary: 'Read a role',
    access: { capability: 'read' },
    input: z.object({ name }),
    output: roleSchema,
    failures: ['not_found'],
    audit: ['name'],
    run: readRole,
  }),
  vaultRoute({
    id: 'ssh-write-role',
    method: 'POST',
    path: '/v1/{mount}/roles/{name}',
    summary: 'Create a role, or replace it whole',
    access: { capability: 'update' },
    input: z.object({ name, ...roleFields }),
    output: nothing,
    failures: ['invalid', 'conflict'],
    audit: ['name', ...Object.keys(roleFields)],
    run: writeRole,
  }),
  vaultRoute({
    id: 'ssh-delete-role',
    method: 'DELETE',
    path: '/v1/{mount}/roles/{name}',
    summary: 'Delete a role',
    access: { capability: 'delete' },
    input: z.object({ name }),
    output: nothing,
    failures: [],
    audit: ['name'],
    run: removeRole,
  }),
  vaultRoute({
    ...signing,
    id: 'ssh-sign',
    path: '/v1/{mount}/sign/{role}',
    summary: 'Sign a public key',
    input: z.object({
      role,
      public_key: publicKeyLine().describe('One line as ssh-keygen writes it.'),
      ...requestFields,
    }),
    output: z.object(signed),
    audit: [...audit, 'public_key'],
    run: signKey,
  }),
  vaultRoute({
    ...signing,
    id: 'ssh-issue',
    path: '/v1/{mount}/issue/{role}',
    summary: 'Make a key, and sign it',
    input: z.object({
      role,
      key_type: choice(['rsa', 'ec', 'ed25519'], 'rsa').describe('Kind of the key.'),
      key_bits: integer(0).describe('0: 4096 of rsa, 256 of ec.'),
      ...requestFields,
    }),
    output: z.object({
      ...signed,
      private_key: z.string().describe('In the form of OpenSSH; kept nowhere.'),
      private_key_type: z.string(),
    }),
    audit: [...audit, 'key_type', 'key_bits'],
    run: issueKey,
  }),
];
