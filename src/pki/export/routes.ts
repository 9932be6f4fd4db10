import { z } from 'zod';
import { bytes } from '../../app/output.ts';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { referenceText } from '../fields/key-field-kinds.ts';
import { CSV, JSON_LINES } from './format.ts';
import { exportCertificates } from './operations.ts';

const FORMATS = [
  ['csv', CSV],
  ['jsonl', JSON_LINES],
] as const;

const LISTS = [
  '/v1/{mount}/certs',
  '/v1/{mount}/certs/detailed',
  '/v1/{mount}/certs/revoked',
  '/v1/{mount}/certs/unified-revoked',
] as const;

export const exportRoutes: readonly AnyRoute[] = FORMATS.map(([name, format]) =>
  vaultRoute({
    id: `pki-export-certs-${name}`,
    on_any_thread: true,
    method: 'GET',
    path: `/v1/{mount}/certs/export/${name}`,
    summary: `Export all stored certificates as ${name === 'csv' ? 'CSV' : 'JSON lines'}, signed`,
    see: ['RFC 9336'],
    access: { capability: 'read' },
    // It tells what these lists tell, and the other format the same.
    sets_also: [
      ...LISTS.map((list) => ({ path: list, method: 'LIST' as const, fields: [], when: [] })),
      ...FORMATS.filter(([other]) => other !== name).map(([other]) => ({
        path: `/v1/{mount}/certs/export/${other}` as const,
        method: 'GET' as const,
        fields: ['issuer_ref'],
        when: [],
      })),
    ],
    input: z.object({
      issuer_ref: referenceText('default').describe(
        'Id or name of the issuer that vouches for it.',
      ),
    }),
    output: bytes(format.media_type),
    failures: ['invalid', 'unresolved', 'rate_limited', 'unavailable'],
    audit: ['issuer_ref'],
    run: (app, caller, input) => exportCertificates(app, caller, input, format),
  }),
);
