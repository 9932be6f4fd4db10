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
import { COMPLETE, type CrlKind, DELTA, UNIFIED, UNIFIED_DELTA } from './kind.ts';
import { readCrl, requireCrl } from './operations.ts';
import { rotateCrls, rotateDeltaCrls } from './rotation.operations.ts';
import { readCrlConfig, writeCrlConfig } from './settings.operations.ts';

const publicRead = {
  method: 'GET',
  see: ['RFC 5280 §5'],
  access: 'public',
  relying_parties: true,
  counted: true,
  on_any_thread: true,
  statuses: [304],
  failures: ['unresolved', 'conflict', 'unavailable'],
} as const;

/** A CRL as bytes: an empty answer where there is none, or where the mount has no default issuer. */
const asBytes = (kind: CrlKind, media_type: string, encode: (der: Uint8Array) => SizedBody) => ({
  output: bytes(media_type),
  run: async (
    app: App,
    caller: Caller,
    { issuer_ref: ref = 'default' }: { issuer_ref?: string },
  ): Promise<BytesResult> => {
    const crl = await readCrl(app, caller.mount.id, ref, kind).catch((error: unknown) => {
      if (error instanceof Failure && error.kind === 'unresolved' && ref === 'default') return;
      throw error;
    });
    return crl ? { bytes: encode(crl.der), last_modified: crl.modified_at_ms } : { bytes: '' };
  },
});

/** Where CRLs of one kind are read. */
interface Addresses {
  kind: CrlKind;
  /** What they are, in summaries. */
  what: string;
  /** Of operation ids. */
  id: string;
  /** Of the default issuer: raw, and as certificates are read. */
  raw: `/v1/{mount}/${string}`;
  cert: `/v1/{mount}/cert/${string}`;
  /** Beneath an issuer. */
  issuer: `/v1/{mount}/issuer/{issuer_ref}/${string}`;
}

const complete: Addresses = {
  kind: COMPLETE,
  what: 'complete CRL',
  id: 'crl',
  raw: '/v1/{mount}/crl',
  cert: '/v1/{mount}/cert/crl',
  issuer: '/v1/{mount}/issuer/{issuer_ref}/crl',
};
const unified: Addresses = {
  kind: UNIFIED,
  what: 'complete CRL of all clusters',
  id: 'unified-crl',
  raw: '/v1/{mount}/unified-crl',
  cert: '/v1/{mount}/cert/unified-crl',
  issuer: '/v1/{mount}/issuer/{issuer_ref}/unified-crl',
};
const unifiedDelta: Addresses = {
  kind: UNIFIED_DELTA,
  what: 'delta CRL of all clusters',
  id: 'unified-delta-crl',
  raw: '/v1/{mount}/unified-crl/delta',
  cert: '/v1/{mount}/cert/unified-delta-crl',
  issuer: '/v1/{mount}/issuer/{issuer_ref}/unified-crl/delta',
};
const delta: Addresses = {
  kind: DELTA,
  what: 'delta CRL',
  id: 'delta-crl',
  raw: '/v1/{mount}/crl/delta',
  cert: '/v1/{mount}/cert/delta-crl',
  issuer: '/v1/{mount}/issuer/{issuer_ref}/crl/delta',
};

function readRoutes({ kind, what, id, raw, cert, issuer }: Addresses): AnyRoute[] {
  const ofDefault = {
    ...publicRead,
    summary: `Read the ${what} of the default issuer`,
    input: z.object({}),
  } as const;
  const ofIssuer = {
    ...publicRead,
    name_forms: { issuer_ref: 'default_word' },
    summary: `Read the ${what} of an issuer`,
    input: z.object({ issuer_ref: text() }),
  } as const;
  const asDer = asBytes(kind, 'application/pkix-crl', derBody);
  const asPem = asBytes(kind, 'application/x-pem-file', (der) => pemBody(der, '\n', ''));
  return [
    vaultRoute({ ...ofDefault, ...asDer, id: `pki-read-${id}-der`, path: raw }),
    vaultRoute({ ...ofDefault, ...asPem, id: `pki-read-${id}-pem`, path: `${raw}/pem` }),
    vaultRoute({
      ...ofDefault,
      id: `pki-read-cert-${id}`,
      path: cert,
      output: certificateReading,
      run: async (app, caller) => {
        const { der, modified_at_ms } = await requireCrl(app, caller.mount.id, 'default', kind);
        return {
          data: describeUnrevocable(''),
          long_text: { field: 'certificate', body: pemBody(der, '\\n', '') },
          last_modified: modified_at_ms,
        };
      },
    }),
    vaultRoute({ ...ofDefault, ...asDer, id: `pki-read-cert-${id}-raw`, path: `${cert}/raw` }),
    vaultRoute({
      ...ofDefault,
      ...asPem,
      id: `pki-read-cert-${id}-raw-pem`,
      path: `${cert}/raw/pem`,
    }),
    vaultRoute({
      ...ofIssuer,
      id: `pki-read-issuer-${id}`,
      path: issuer,
      output: z.object({ crl: z.string().describe('PEM.') }),
      run: async (app, caller, { issuer_ref }) => {
        const { der, modified_at_ms } = await requireCrl(app, caller.mount.id, issuer_ref, kind);
        return {
          data: { crl: '' },
          long_text: { field: 'crl', body: pemBody(der, '\\n', '\\n') },
          last_modified: modified_at_ms,
        };
      },
    }),
    vaultRoute({ ...ofIssuer, ...asDer, id: `pki-read-issuer-${id}-der`, path: `${issuer}/der` }),
    vaultRoute({ ...ofIssuer, ...asPem, id: `pki-read-issuer-${id}-pem`, path: `${issuer}/pem` }),
  ];
}

export const crlRoutes: AnyRoute[] = [
  ...readRoutes(complete),
  ...readRoutes(delta),
  ...readRoutes(unified),
  ...readRoutes(unifiedDelta),
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
    id: 'pki-rotate-delta-crl',
    method: 'GET',
    path: '/v1/{mount}/crl/rotate-delta',
    summary: 'Build the delta CRLs of all issuers now',
    access: { capability: 'read' },
    input: z.object({}),
    output: z.object({ success: z.boolean() }),
    failures: ['conflict', 'unavailable'],
    run: (app, caller) => rotateDeltaCrls(app, caller),
  }),
  vaultRoute({
    id: 'pki-read-crl-configuration',
    on_any_thread: true,
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
