import { z } from 'zod';
import { type AnyRoute, vaultRoute } from '../../../app/route.ts';
import { integer, optional, text } from '../../../core/fields.ts';
import { listMetadata, readMetadata } from './operations.ts';

export const metadataRoutes: readonly AnyRoute[] = [
  vaultRoute({
    id: 'pki-read-cert-metadata',
    on_any_thread: true,
    method: 'GET',
    path: '/v1/{mount}/cert-metadata/{serial}',
    // Hexadecimal digits with or without separators.
    path_forms: { serial: /^[0-9A-Fa-f](?:[0-9A-Fa-f:-]*[0-9A-Fa-f])?$/ },
    summary: 'Read what is kept with a certificate',
    access: { capability: 'read' },
    input: z.object({
      serial: text().describe('Serial number in hex, with ":" or "-" between bytes.'),
    }),
    output: z.object({
      serial_number: z.string().describe('Colon hex.'),
      issuer_id: z.string(),
      role: z.string().describe('Name of the role that it was asked for by.'),
      expiration: z.string().describe('End of the certificate, RFC 3339.'),
      cert_metadata: z.string().describe('Base64 of the bytes that were sent.'),
    }),
    failures: ['not_found'],
    run: readMetadata,
  }),
  vaultRoute({
    id: 'pki-list-cert-metadata',
    on_any_thread: true,
    method: 'LIST',
    path: '/v1/{mount}/cert-metadata',
    summary: 'List the serial numbers of certificates that something is kept with',
    access: { capability: 'list' },
    // It tells serial numbers that this list tells, and those of other clusters.
    sets_also: [{ path: '/v1/{mount}/certs', method: 'LIST', fields: [], when: [] }],
    input: z.object({
      after: optional(text()).describe('Only serial numbers after this one.'),
      limit: optional(integer()).describe('At most so many; all when left out.'),
    }),
    output: z.object({ keys: z.array(z.string()).describe('Serial numbers.') }),
    failures: ['invalid', 'not_found'],
    run: listMetadata,
  }),
];
