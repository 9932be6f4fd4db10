import { z } from 'zod';
import { either, nothing } from '../../app/output.ts';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { integer, optional, text } from '../../core/fields.ts';
import { pemText, serialText } from '../fields/field-kinds.ts';
import { listRequested, listRevoked, listUnifiedRevoked } from './lists.operations.ts';
import { revokeCertificate, revokeWithKey } from './operations.ts';
import { reasonField } from './reasons.ts';

const which = {
  serial_number: optional(serialText()).describe(
    'Serial number, hex in pairs set apart by colons or hyphens; this or certificate.',
  ),
  certificate: optional(pemText()).describe('The certificate, PEM; this or serial_number.'),
  ...reasonField,
};
/** Nothing of one that has run out but a warning. */
const revoked = z.object({
  revocation_time: z.int().describe('Unix seconds.'),
  revocation_time_rfc3339: z.string(),
  state: z.literal('revoked'),
});
const pending = z.object({
  state: z.literal('pending').describe('Another cluster is asked to revoke it.'),
});

/** What of a list of serial numbers is wanted. */
const serialPage = {
  after: text('').describe('Begin after this serial number.'),
  limit: integer(0).describe('Most serial numbers in the answer; 0: all.'),
};

export const revocationRoutes: AnyRoute[] = [
  vaultRoute({
    id: 'pki-revoke',
    method: 'POST',
    path: '/v1/{mount}/revoke',
    summary: 'Revoke a certificate',
    access: { capability: 'update' },
    on_any_thread: true,
    audit: ['serial_number', 'reason'],
    input: z.object(which),
    output: either(revoked, pending, nothing),
    failures: ['invalid', 'conflict'],
    run: revokeCertificate,
  }),
  vaultRoute({
    id: 'pki-revoke-with-key',
    method: 'POST',
    path: '/v1/{mount}/revoke-with-key',
    summary: 'Revoke a certificate whose private key the caller has',
    access: { capability: 'update' },
    on_any_thread: true,
    audit: ['serial_number', 'reason'],
    input: z.object({
      ...which,
      private_key: pemText('').describe('The private key of the certificate, PEM.'),
    }),
    output: either(revoked, nothing),
    failures: ['invalid', 'conflict', 'rate_limited'],
    run: revokeWithKey,
  }),
  vaultRoute({
    id: 'pki-list-revoked-certs',
    on_any_thread: true,
    method: 'LIST',
    path: '/v1/{mount}/certs/revoked',
    summary: 'List the serial numbers of certificates that this cluster revoked',
    access: { capability: 'list' },
    input: z.object(serialPage),
    output: z.object({ keys: z.array(z.string()).describe('Serial numbers.') }),
    failures: ['invalid', 'not_found'],
    run: listRevoked,
  }),
  vaultRoute({
    id: 'pki-list-unified-revoked-certs',
    on_any_thread: true,
    method: 'LIST',
    path: '/v1/{mount}/certs/unified-revoked',
    summary: 'List the serial numbers of certificates that any cluster revoked',
    access: { capability: 'list' },
    // It tells the serial numbers that this list tells.
    sets_also: [{ path: '/v1/{mount}/certs/revoked', method: 'LIST', fields: [], when: [] }],
    input: z.object(serialPage),
    output: z.object({
      keys: z.array(z.string()).describe('Serial numbers.'),
      key_info: z
        .record(
          z.string(),
          z.object({ revoking_clusters: z.array(z.string()).describe('Names of clusters.') }),
        )
        .describe('By serial number.'),
    }),
    failures: ['invalid', 'not_found'],
    run: listUnifiedRevoked,
  }),
  vaultRoute({
    id: 'pki-list-certs-revocation-queue',
    on_any_thread: true,
    method: 'LIST',
    path: '/v1/{mount}/certs/revocation-queue',
    summary: 'List the serial numbers that clusters have asked others to revoke',
    access: { capability: 'list' },
    // They are of stored certificates, which this list tells.
    sets_also: [{ path: '/v1/{mount}/certs', method: 'LIST', fields: [], when: [] }],
    input: z.object(serialPage),
    output: z.object({
      keys: z.array(z.string()).describe('Serial numbers.'),
      key_info: z
        .record(
          z.string(),
          z.object({
            requesting_cluster: z.string().describe('Name of the cluster that asked first.'),
            state: z.literal('pending'),
          }),
        )
        .describe('By serial number.'),
    }),
    failures: ['invalid', 'not_found'],
    run: listRequested,
  }),
];
