import { z } from 'zod';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { flag, optional } from '../../core/fields.ts';
import { referenceText } from '../fields/key-field-kinds.ts';
import { readMountState } from '../mount-state/operations.ts';
import {
  clusterPatchSchema,
  clusterSchema,
  URL_FIELDS,
  urlPatchSchema,
  urlSettingsSchema,
} from '../mount-state/urls.ts';
import {
  replaceDefaultIssuer,
  writeCluster,
  writeIssuersConfig,
  writeKeysConfig,
  writeUrls,
} from './operations.ts';

const issuersConfig = z.object({
  default: z.string().describe('Id of the default issuer; empty for none.'),
  default_follows_latest_issuer: z.boolean(),
});
const keysConfig = z.object({
  default: z.string().describe('Id of the default key; empty for none.'),
});

export const configRoutes: readonly AnyRoute[] = [
  vaultRoute({
    id: 'pki-read-issuers-configuration',
    on_any_thread: true,
    method: 'GET',
    path: '/v1/{mount}/config/issuers',
    summary: 'Read which issuer is the default one',
    access: { capability: 'read' },
    input: z.object({}),
    output: issuersConfig,
    failures: [],
    run: async (app, caller) => {
      const { defaults } = await readMountState(app, caller.mount.id);
      const { default_issuer, default_follows_latest_issuer } = defaults;
      return { data: { default: default_issuer, default_follows_latest_issuer } };
    },
  }),
  vaultRoute({
    id: 'pki-configure-issuers',
    method: 'POST',
    path: '/v1/{mount}/config/issuers',
    summary: 'Choose the default issuer',
    access: { capability: 'update' },
    sets_also: [{ path: '/v1/{mount}/root/replace', fields: ['default'] }],
    input: z.object({
      default: referenceText('').describe('Id or name of an issuer.'),
      default_follows_latest_issuer: optional(flag()).describe(
        'Let each new issuer with a key become the default one. False when left out.',
      ),
    }),
    output: issuersConfig,
    failures: ['invalid', 'conflict'],
    audit: ['default', 'default_follows_latest_issuer'],
    run: writeIssuersConfig,
  }),
  vaultRoute({
    id: 'pki-replace-root',
    method: 'POST',
    path: '/v1/{mount}/root/replace',
    summary: 'Make another issuer the default one',
    access: { capability: 'update' },
    sets_also: [{ path: '/v1/{mount}/config/issuers', fields: ['default'], when: [] }],
    input: z.object({ default: referenceText('next').describe('Id or name of an issuer.') }),
    output: issuersConfig,
    failures: ['invalid', 'conflict'],
    audit: ['default'],
    run: replaceDefaultIssuer,
  }),
  vaultRoute({
    id: 'pki-read-keys-configuration',
    on_any_thread: true,
    method: 'GET',
    path: '/v1/{mount}/config/keys',
    summary: 'Read which key is the default one',
    access: { capability: 'read' },
    input: z.object({}),
    output: keysConfig,
    failures: [],
    run: async (app, caller) => {
      const { defaults } = await readMountState(app, caller.mount.id);
      return { data: { default: defaults.default_key } };
    },
  }),
  vaultRoute({
    id: 'pki-configure-keys',
    method: 'POST',
    path: '/v1/{mount}/config/keys',
    summary: 'Choose the default key',
    access: { capability: 'update' },
    input: z.object({ default: referenceText('').describe('Id or name of a key.') }),
    output: keysConfig,
    failures: ['invalid', 'conflict'],
    audit: ['default'],
    run: async (app, caller, input) => ({ data: await writeKeysConfig(app, caller, input) }),
  }),
  vaultRoute({
    id: 'pki-read-urls-configuration',
    on_any_thread: true,
    method: 'GET',
    path: '/v1/{mount}/config/urls',
    summary: 'Read the URLs that certificates carry',
    access: { capability: 'read' },
    input: z.object({}),
    output: urlSettingsSchema,
    failures: [],
    run: async (app, caller) => ({ data: (await readMountState(app, caller.mount.id)).urls }),
  }),
  vaultRoute({
    id: 'pki-configure-urls',
    method: 'POST',
    path: '/v1/{mount}/config/urls',
    summary: 'Change the URLs that certificates carry; those left out stay',
    see: ['RFC 5280 §4.2.2.1', 'RFC 5280 §4.2.1.13'],
    access: { capability: 'update' },
    input: urlPatchSchema,
    output: urlSettingsSchema,
    failures: ['invalid', 'conflict'],
    audit: Object.keys(urlPatchSchema.shape),
    places: URL_FIELDS,
    run: writeUrls,
  }),
  vaultRoute({
    id: 'pki-read-cluster-configuration',
    on_any_thread: true,
    method: 'GET',
    path: '/v1/{mount}/config/cluster',
    summary: 'Read where this cluster is reached',
    access: { capability: 'read' },
    input: z.object({}),
    output: clusterSchema,
    failures: [],
    run: async (app, caller) => ({ data: (await readMountState(app, caller.mount.id)).cluster }),
  }),
  vaultRoute({
    id: 'pki-configure-cluster',
    method: 'POST',
    path: '/v1/{mount}/config/cluster',
    summary: 'Set where this cluster is reached; what is not sent stays',
    access: { capability: 'update' },
    input: clusterPatchSchema,
    output: clusterSchema,
    failures: ['invalid', 'conflict'],
    audit: Object.keys(clusterPatchSchema.shape),
    run: writeCluster,
  }),
];
