import { z } from 'zod';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { type BytesResult, bytes } from '../../app/output.ts';
import type { SizedBody } from '../../app/result.ts';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { Failure } from '../../core/failure.ts';
import { text } from '../../core/fields.ts';
import { certificateReading, describeUnrevocable } from '../certificates/readings.ts';
import { derBody, pemBody } from './bodies.ts';
import { crlConfigSchema, crlPatchSchema } from './config.ts';
import { readCrl, requireCrl, rotateCrls } from './operations.ts';
import { readCrlConfig, writeCrlConfig } from './settings.operations.ts';

const publicRead = {
  method: 'GET',
  see: ['RFC 5280 §5'],
  access: 'public',
  relying_parties: true,
  counted: true,
  statuses: [304],
  failures: ['unresolved', 'conflict', 'unavailable'],
} as const;
const ofDefault = {
  ...publicRead,
  summary: 'Read the complete CRL of the default issuer',
  input: z.object({}),
} as const;
const ofIssuer = {
  ...publicRead,
  name_forms: { issuer_ref: 'default_word' },
  summary: 'Read the complete CRL of an issuer',
  input: z.object({ issuer_ref: text() }),
} as const;

/** A CRL as bytes: an empty answer where there is none, or where the mount has no default issuer. */
const asBytes = (media_type: string, encode: (der: Uint8Array) => SizedBody) => ({
  output: bytes(media_type),
  run: async (
    app: App,
    caller: Caller,
    { issuer_ref: ref = 'default' }: { issuer_ref?: string },
  ): Promise<BytesResult> => {
    const crl = await readCrl(app, caller.mount.id, ref).catch((error: unknown) => {
      if (error instanceof Failure && error.kind === 'unresolved' && ref === 'default') return;
      throw error;
    });
    return crl ? { bytes: encode(crl.der), last_modified: crl.modified_at_ms } : { bytes: '' };
  },
});
const asDer = asBytes('application/pkix-crl', derBody);
const asPem = asBytes('application/x-pem-file', (der) => pemBody(der, '\n', ''));

export const crlRoutes: AnyRoute[] = [
  vaultRoute({ ...ofDefault, ...asDer, id: 'pki-read-crl-der', path: '/v1/{mount}/crl' }),
  vaultRoute({ ...ofDefault, ...asPem, id: 'pki-read-crl-pem', path: '/v1/{mount}/crl/pem' }),
  vaultRoute({
    ...ofDefault,
    id: 'pki-read-cert-crl',
    path: '/v1/{mount}/cert/crl',
    output: certificateReading,
    run: async (app, caller) => {
      const { der, modified_at_ms } = await requireCrl(app, caller.mount.id, 'default');
      return {
        data: describeUnrevocable(''),
        long_text: { field: 'certificate', body: pemBody(der, '\\n', '') },
        last_modified: modified_at_ms,
      };
    },
  }),
  vaultRoute({
    ...ofDefault,
    ...asDer,
    id: 'pki-read-cert-crl-raw',
    path: '/v1/{mount}/cert/crl/raw',
  }),
  vaultRoute({
    ...ofDefault,
    ...asPem,
    id: 'pki-read-cert-crl-raw-pem',
    path: '/v1/{mount}/cert/crl/raw/pem',
  }),
  vaultRoute({
    ...ofIssuer,
    id: 'pki-read-issuer-crl',
    path: '/v1/{mount}/issuer/{issuer_ref}/crl',
    output: z.object({ crl: z.string().describe('PEM.') }),
    run: async (app, caller, { issuer_ref }) => {
      const { der, modified_at_ms } = await requireCrl(app, caller.mount.id, issuer_ref);
      return {
        data: { crl: '' },
        long_text: { field: 'crl', body: pemBody(der, '\\n', '\\n') },
        last_modified: modified_at_ms,
      };
    },
  }),
  vaultRoute({
    ...ofIssuer,
    ...asDer,
    id: 'pki-read-issuer-crl-der',
    path: '/v1/{mount}/issuer/{issuer_ref}/crl/der',
  }),
  vaultRoute({
    ...ofIssuer,
    ...asPem,
    id: 'pki-read-issuer-crl-pem',
    path: '/v1/{mount}/issuer/{issuer_ref}/crl/pem',
  }),
  vaultRoute({
    id: 'pki-rotate-crl',
    method: 'GET',
    path: '/v1/{mount}/crl/rotate',
    summary: 'Build the CRLs of all issuers now',
    access: { capability: 'read' },
    input: z.object({}),
    output: z.object({ success: z.boolean() }),
    failures: ['conflict', 'unavailable'],
    run: (app, caller) => rotateCrls(app, caller),
  }),
  vaultRoute({
    id: 'pki-read-crl-configuration',
    method: 'GET',
    path: '/v1/{mount}/config/crl',
    summary: 'Read how CRLs are made',
    access: { capability: 'read' },
    input: z.object({}),
    output: crlConfigSchema,
    failures: [],
    run: async (app, caller) => ({ data: await readCrlConfig(app, caller.mount.id) }),
  }),
  vaultRoute({
    id: 'pki-configure-crl',
    method: 'POST',
    path: '/v1/{mount}/config/crl',
    summary: 'Set how CRLs are made; what is not sent stays',
    access: { capability: 'update' },
    audit: Object.keys(crlPatchSchema.shape),
    input: crlPatchSchema,
    output: crlConfigSchema,
    failures: ['invalid', 'conflict'],
    run: async (app, caller, patch) => ({ data: await writeCrlConfig(app, caller, patch) }),
  }),
];
