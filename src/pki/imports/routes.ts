import { z } from 'zod';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { optional } from '../../core/fields.ts';
import { pemText } from '../fields/field-kinds.ts';
import { newNameText } from '../fields/key-field-kinds.ts';
import { keySchema } from '../mount-state/key.ts';
import { MOST_BUNDLE_BYTES } from './bundle.ts';
import { importKey } from './key.operations.ts';
import { importAuthorities } from './operations.ts';

const ids = (what: string) =>
  z.array(z.string()).nullable().describe(`Ids of ${what}; null: none.`);

const output = z.object({
  mapping: z
    .record(z.string(), z.string())
    .describe('Of each issuer in the request, new or not, the id of its key; empty without one.'),
  imported_issuers: ids('issuers that are new'),
  imported_keys: ids('keys that are new'),
  existing_issuers: ids('issuers that the mount had'),
  existing_keys: ids('keys that the mount had'),
});

const pem_bundle = optional(pemText()).describe('Certificates of authorities, PEM, in any order.');
const certificate = optional(pemText()).describe('The same as pem_bundle, by its other name.');
const bundle = optional(pemText()).describe(
  'Certificates of authorities and their private keys, PEM, unencrypted, in any order.',
);

const WITH_KEYS = {
  summary: 'Import certificates of authorities, with private keys or without',
  mayHaveKeys: true,
  input: z.object({ pem_bundle: bundle }),
};
const WITHOUT_KEYS = {
  summary: 'Import certificates of authorities, without private keys',
  mayHaveKeys: false,
  input: z.object({ pem_bundle, certificate }),
};

/** All do the same; which take private keys is said here. */
const PATHS = [
  { id: 'pki-configure-ca', path: '/v1/{mount}/config/ca', ...WITH_KEYS },
  { id: 'pki-issuers-import-bundle', path: '/v1/{mount}/issuers/import/bundle', ...WITH_KEYS },
  { id: 'pki-issuers-import-cert', path: '/v1/{mount}/issuers/import/cert', ...WITHOUT_KEYS },
  {
    id: 'pki-set-signed-intermediate',
    path: '/v1/{mount}/intermediate/set-signed',
    ...WITHOUT_KEYS,
  },
] as const;

const authorityRoutes: readonly AnyRoute[] = PATHS.map(
  ({ id, path, summary, mayHaveKeys, input }) =>
    vaultRoute({
      id,
      method: 'POST',
      path,
      summary,
      see: ['RFC 7468 §5', 'RFC 7468 §10'],
      access: { capability: 'update' },
      input,
      output,
      failures: ['invalid', 'conflict', 'rate_limited'],
      max_body: MOST_BUNDLE_BYTES,
      // What takes keys does without them what the others do.
      sets_also: PATHS.flatMap((other) =>
        other.path === path || (other.mayHaveKeys && !mayHaveKeys)
          ? []
          : [{ path: other.path, fields: ['pem_bundle'], when: [] }],
      ),
      run: (app, caller, fields) => importAuthorities(app, caller, fields, { mayHaveKeys }),
    }),
);

export const importRoutes: readonly AnyRoute[] = [
  ...authorityRoutes,
  vaultRoute({
    id: 'pki-import-key',
    method: 'POST',
    path: '/v1/{mount}/keys/import',
    summary: 'Import a private key',
    see: ['RFC 7468 §10'],
    access: { capability: 'update' },
    input: z.object({
      pem_bundle: pemText('').describe('One private key, PEM, unencrypted.'),
      key_name: optional(newNameText()).describe('A name for the key, unique in the mount.'),
    }),
    output: keySchema,
    failures: ['invalid', 'conflict', 'rate_limited'],
    audit: ['key_name'],
    run: importKey,
  }),
];
