import { z } from 'zod';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { undeclared } from '../../app/output.ts';
import type { VaultResult } from '../../app/result.ts';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { Failure } from '../../core/failure.ts';
import { text } from '../../core/fields.ts';
import { derBody, pemBody } from './bodies.ts';
import { crlConfigSchema, crlPatchSchema } from './config.ts';
import { type PublishedCrl, readCrl, rotateCrls } from './operations.ts';
import { readCrlConfig, writeCrlConfig } from './settings.operations.ts';

const DER_TYPE = 'application/pkix-crl';
const PEM_TYPE = 'application/x-pem-file';

type Form = 'der' | 'pem' | 'json' | 'json-of-old';

function dressCrl({ der, modified_at_ms }: PublishedCrl, form: Form): VaultResult {
  const last_modified = modified_at_ms;
  switch (form) {
    case 'der':
      return { raw: { content_type: DER_TYPE, body: derBody(der) }, last_modified };
    case 'pem':
      return { raw: { content_type: PEM_TYPE, body: pemBody(der, '\n', '') }, last_modified };
    case 'json':
      return {
        data: { crl: '' },
        long_text: { field: 'crl', body: pemBody(der, '\\n', '\\n') },
        last_modified,
      };
    case 'json-of-old':
      return {
        data: { certificate: '', revocation_time: 0, revocation_time_rfc3339: '' },
        long_text: { field: 'certificate', body: pemBody(der, '\\n', '') },
        last_modified,
      };
  }
}

async function fetchCrl(app: App, caller: Caller, ref: string, form: Form): Promise<VaultResult> {
  let crl: PublishedCrl | undefined;
  try {
    crl = await readCrl(app, caller.mount.id, ref);
  } catch (error) {
    // A mount without an issuer has no list, which raw readers hear as an empty answer.
    const none = error instanceof Failure && error.kind === 'unresolved' && ref === 'default';
    if (!none || form === 'json' || form === 'json-of-old') throw error;
  }
  if (crl) return dressCrl(crl, form);
  if (form === 'json' || form === 'json-of-old') {
    throw new Failure('unresolved', `unable to find CRL for issuer: ${ref}`);
  }
  return { raw: { content_type: DER_TYPE, body: '' } };
}

const READS: readonly [id: string, path: string, form: Form][] = [
  ['crl-der', 'crl', 'der'],
  ['crl-pem', 'crl/pem', 'pem'],
  ['cert-crl', 'cert/crl', 'json-of-old'],
  ['cert-crl-raw', 'cert/crl/raw', 'der'],
  ['cert-crl-raw-pem', 'cert/crl/raw/pem', 'pem'],
];
const ISSUER_READS: readonly [id: string, path: string, form: Form][] = [
  ['issuer-crl', 'crl', 'json'],
  ['issuer-crl-der', 'crl/der', 'der'],
  ['issuer-crl-pem', 'crl/pem', 'pem'],
];

export const crlRoutes: AnyRoute[] = [
  ...READS.map(([id, path, form]) =>
    vaultRoute({
      id: `pki-read-${id}`,
      method: 'GET',
      path: `/v1/{mount}/${path}`,
      summary: 'Read the complete CRL of the default issuer',
      see: ['RFC 5280 §5'],
      access: 'public',
      counted: true,
      input: z.object({}),
      output: undeclared,
      failures: ['unresolved'],
      run: (app, caller) => fetchCrl(app, caller, 'default', form),
    }),
  ),
  ...ISSUER_READS.map(([id, path, form]) =>
    vaultRoute({
      id: `pki-read-${id}`,
      method: 'GET',
      path: `/v1/{mount}/issuer/{issuer_ref}/${path}`,
      name_forms: { issuer_ref: 'default_word' },
      summary: 'Read the complete CRL of an issuer',
      see: ['RFC 5280 §5'],
      access: 'public',
      counted: true,
      input: z.object({ issuer_ref: text() }),
      output: undeclared,
      failures: ['unresolved'],
      run: (app, caller, { issuer_ref }) => fetchCrl(app, caller, issuer_ref, form),
    }),
  ),
  vaultRoute({
    id: 'pki-rotate-crl',
    method: 'GET',
    path: '/v1/{mount}/crl/rotate',
    summary: 'Build the CRLs of all issuers now',
    access: { capability: 'read' },
    input: z.object({}),
    output: z.object({ success: z.boolean() }),
    failures: ['conflict'],
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
    failures: ['invalid'],
    run: writeCrlConfig,
  }),
];
