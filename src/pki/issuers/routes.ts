import { z } from 'zod';
import { bytes, nothing } from '../../app/output.ts';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { integer, optional, text } from '../../core/fields.ts';
import { CERTIFICATE_DER, CERTIFICATE_PEM } from '../certificates/readings.ts';
import { describeIssuer, describeIssuerChain, issuerSchema, pemOf } from '../mount-state/issuer.ts';
import { requireIssuer } from '../mount-state/operations.ts';
import { URL_FIELDS } from '../mount-state/urls.ts';
import { reasonField } from '../revocation/reasons.ts';
import {
  listIssuerInfo,
  removeIssuer,
  removeRoot,
  updateIssuer,
  writeIssuer,
} from './operations.ts';
import { revokeIssuer } from './revocation.operations.ts';
import { issuerFields, issuerPatch } from './settings.ts';

const issuer_ref = text().describe('Id or name of the issuer, or "default".');
const ofIssuer = {
  path: '/v1/{mount}/issuer/{issuer_ref}',
  name_forms: { issuer_ref: 'default_word' },
} as const;
const change = {
  ...ofIssuer,
  output: issuerSchema,
  failures: ['invalid', 'unresolved', 'conflict'],
  audit: ['issuer_ref', ...Object.keys(issuerFields)],
  places: URL_FIELDS,
} as const;
const publicRead = {
  ...ofIssuer,
  method: 'GET',
  access: 'public',
  relying_parties: true,
  on_any_thread: true,
  statuses: [304],
  counted: true,
  input: z.object({ issuer_ref }),
  failures: ['unresolved'],
} as const;

export const issuerRoutes: readonly AnyRoute[] = [
  vaultRoute({
    id: 'pki-list-issuers',
    on_any_thread: true,
    method: 'LIST',
    path: '/v1/{mount}/issuers',
    summary: 'List the issuers of the mount',
    access: 'public',
    counted: true,
    input: z.object({
      after: optional(text()).describe('Only issuers after this id.'),
      limit: optional(integer()).describe('At most so many; all when left out.'),
    }),
    output: z.object({
      keys: z.array(z.string()).describe('Ids.'),
      key_info: z.record(
        z.string(),
        z.object({
          is_default: z.boolean(),
          issuer_name: z.string(),
          key_id: z.string(),
          serial_number: z.string(),
        }),
      ),
    }),
    failures: ['invalid', 'not_found'],
    run: async (app, caller, page) => ({ data: await listIssuerInfo(app, caller, page) }),
  }),
  vaultRoute({
    ...ofIssuer,
    id: 'pki-read-issuer',
    on_any_thread: true,
    method: 'GET',
    summary: 'Read an issuer and its settings',
    access: { capability: 'read' },
    input: z.object({ issuer_ref }),
    output: issuerSchema,
    failures: ['unresolved'],
    audit: ['issuer_ref'],
    run: async (app, caller, { issuer_ref: ref }) => ({
      data: describeIssuer(await requireIssuer(app, caller, ref)),
    }),
  }),
  vaultRoute({
    ...publicRead,
    id: 'pki-read-issuer-json',
    path: `${ofIssuer.path}/json`,
    summary: 'Fetch the certificate and chain of an issuer',
    output: issuerSchema.pick({
      ca_chain: true,
      certificate: true,
      issuer_id: true,
      issuer_name: true,
    }),
    run: async (app, caller, { issuer_ref: ref }) => {
      const issuer = await requireIssuer(app, caller, ref);
      return { data: describeIssuerChain(issuer), last_modified: issuer.modified_at_ms };
    },
  }),
  vaultRoute({
    ...publicRead,
    id: 'pki-read-issuer-pem',
    path: `${ofIssuer.path}/pem`,
    summary: 'Fetch the certificate of an issuer as PEM',
    output: bytes(CERTIFICATE_PEM),
    run: async (app, caller, { issuer_ref: ref }) => {
      const { certificate, modified_at_ms } = await requireIssuer(app, caller, ref);
      return { bytes: `${pemOf(certificate)}\n`, last_modified: modified_at_ms };
    },
  }),
  vaultRoute({
    ...publicRead,
    id: 'pki-read-issuer-der',
    path: `${ofIssuer.path}/der`,
    summary: 'Fetch the certificate of an issuer as DER',
    output: bytes(CERTIFICATE_DER),
    run: async (app, caller, { issuer_ref: ref }) => {
      const { certificate, modified_at_ms } = await requireIssuer(app, caller, ref);
      return { bytes: certificate.raw, last_modified: modified_at_ms };
    },
  }),
  vaultRoute({
    ...change,
    id: 'pki-write-issuer',
    method: 'POST',
    summary: 'Write the settings of an issuer whole',
    access: { capability: 'update' },
    input: z.object({ issuer_ref, ...issuerFields }),
    run: writeIssuer,
  }),
  vaultRoute({
    ...change,
    id: 'pki-patch-issuer',
    method: 'PATCH',
    summary: 'Change some settings of an issuer',
    access: { capability: 'patch' },
    input: issuerPatch.extend({ issuer_ref }),
    run: updateIssuer,
  }),
  vaultRoute({
    ...ofIssuer,
    id: 'pki-revoke-issuer',
    method: 'POST',
    path: `${ofIssuer.path}/revoke`,
    summary: 'Revoke an issuer, for good',
    see: ['RFC 5280 §5'],
    access: { capability: 'update' },
    input: z.object({ issuer_ref, ...reasonField }),
    output: issuerSchema,
    failures: ['invalid', 'unresolved', 'conflict'],
    audit: ['issuer_ref', 'reason'],
    run: revokeIssuer,
  }),
  vaultRoute({
    ...ofIssuer,
    id: 'pki-delete-issuer',
    method: 'DELETE',
    summary: 'Delete an issuer; its key stays',
    access: { capability: 'delete' },
    input: z.object({ issuer_ref }),
    // Always an envelope, as clients know it.
    output: z.null(),
    failures: ['invalid', 'conflict'],
    audit: ['issuer_ref'],
    run: removeIssuer,
  }),
  vaultRoute({
    id: 'pki-delete-root',
    method: 'DELETE',
    path: '/v1/{mount}/root',
    summary: 'Delete all issuers and keys of the mount',
    access: { capability: 'delete', sudo: true },
    input: z.object({}),
    output: nothing,
    failures: ['conflict'],
    run: removeRoot,
  }),
];
