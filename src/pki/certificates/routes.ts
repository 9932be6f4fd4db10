import { z } from 'zod';
import { undeclared } from '../../app/output.ts';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { choice, instant, integer, optional, text } from '../../core/fields.ts';
import { nameText, serialText } from '../fields/field-kinds.ts';
import { referenceText } from '../fields/key-field-kinds.ts';
import {
  listCertificateSerials,
  readCaChain,
  readCaChainJson,
  readCaDer,
  readCaJson,
  readCaPem,
  readCertificate,
  readCertificateDer,
  readCertificatePem,
  searchCertificates,
} from './operations.ts';

/** Hexadecimal digits with or without separators; the special values have routes of their own. */
const SERIAL = /^[0-9A-Fa-f](?:[0-9A-Fa-f:-]*[0-9A-Fa-f])?$/;
const path_forms = { serial: SERIAL };
const serial = text().describe('Serial number in hex, with ":" or "-" between bytes.');

const reading = z.object({
  certificate: z.string().describe('PEM.'),
  revocation_time: z.int().describe('Unix seconds; 0: not revoked.'),
  revocation_time_rfc3339: z.string(),
  issuer_id: z.string().optional().describe('Of a revoked certificate.'),
  ca_chain: z.string().optional().describe('Of cert/ca_chain: the same as certificate.'),
});

type RawRead = typeof readCaDer;

function rawRoute(id: string, path: `/v1/${string}`, summary: string, run: RawRead): AnyRoute {
  return vaultRoute({
    id,
    method: 'GET',
    path,
    summary,
    access: 'public',
    counted: true,
    input: z.object({}),
    output: undeclared,
    failures: [],
    run,
  });
}

const searchFields = {
  name: optional(nameText()).describe(
    'A common name or alternative name, in any case; "*.example.com" is everything beneath it.',
  ),
  serial_number: optional(serialText()).describe(
    'A serial number; other conditions are then ignored.',
  ),
  issuer_ref: optional(referenceText()).describe('Id or name of the issuer, or "default".'),
  role: optional(text()).describe('Name of the role.'),
  state: optional(choice(['valid', 'expired', 'revoked'] as const)).describe(
    'valid: neither expired nor revoked. expired: past its end, revoked or not.',
  ),
  expires_after: optional(instant()).describe('Ends then or later: RFC 3339 or Unix seconds.'),
  expires_before: optional(instant()).describe('Ends before then: RFC 3339 or Unix seconds.'),
  after: optional(text()).describe('The "next" of the page before.'),
  limit: integer(100).describe('Certificates in a page, at most 1000.'),
};
const found = z.object({
  keys: z.array(z.string()).describe('Serial numbers, those that end first coming first.'),
  key_info: z.record(
    z.string(),
    z.object({
      common_name: z.string(),
      issuer_id: z.string(),
      role: z.string(),
      not_before: z.string(),
      not_after: z.string(),
      state: z.enum(['valid', 'expired', 'revoked']),
      revocation_time: z.int().describe('Unix seconds; 0: not revoked.'),
    }),
  ),
  next: z
    .string()
    .describe(
      'For "after" of the next page; empty: this was the last. A page may have fewer keys than asked for, ' +
        'or none, and be not the last: where few match, a request looks at some thousands only.',
    ),
});

const searchRoutes = (['GET', 'LIST'] as const).map((method) =>
  vaultRoute({
    id: method === 'GET' ? 'pki-search-certs' : 'pki-list-certs-search',
    method,
    path: '/v1/{mount}/certs/search',
    summary:
      'Find stored certificates by name, serial number, issuer, role, state and end, a page at a time',
    // Whoever may read single certificates may not therefore see all that there are.
    access: { capability: 'list' },
    // It tells the serial numbers that these lists tell.
    sets_also: (['certs', 'certs/revoked'] as const).map((list) => ({
      path: `/v1/{mount}/${list}` as const,
      method: 'LIST',
      fields: [],
      when: [],
    })),
    input: z.object(searchFields),
    output: found,
    failures: ['invalid', 'not_found'],
    audit: Object.keys(searchFields),
    run: searchCertificates,
  }),
);

export const certificateRoutes: readonly AnyRoute[] = [
  rawRoute('pki-read-ca-der', '/v1/{mount}/ca', 'Fetch the default issuer as DER', readCaDer),
  rawRoute('pki-read-ca-pem', '/v1/{mount}/ca/pem', 'Fetch the default issuer as PEM', readCaPem),
  rawRoute(
    'pki-read-ca-chain-pem',
    '/v1/{mount}/ca_chain',
    'Fetch the chain of the default issuer as PEM',
    readCaChain,
  ),
  rawRoute(
    'pki-read-cert-ca-raw-der',
    '/v1/{mount}/cert/ca/raw',
    'Fetch the default issuer as DER',
    readCaDer,
  ),
  rawRoute(
    'pki-read-cert-ca-raw-pem',
    '/v1/{mount}/cert/ca/raw/pem',
    'Fetch the default issuer as PEM',
    readCaPem,
  ),
  vaultRoute({
    id: 'pki-read-cert-ca',
    method: 'GET',
    path: '/v1/{mount}/cert/ca',
    summary: 'Fetch the default issuer',
    access: 'public',
    counted: true,
    input: z.object({}),
    output: reading,
    failures: ['invalid'],
    run: readCaJson,
  }),
  vaultRoute({
    id: 'pki-read-cert-ca-chain',
    method: 'GET',
    path: '/v1/{mount}/cert/ca_chain',
    summary: 'Fetch the chain of the default issuer',
    access: 'public',
    counted: true,
    input: z.object({}),
    output: reading,
    failures: ['invalid'],
    run: readCaChainJson,
  }),
  vaultRoute({
    id: 'pki-read-cert',
    method: 'GET',
    path: '/v1/{mount}/cert/{serial}',
    summary: 'Fetch a certificate by its serial number',
    access: 'public',
    counted: true,
    input: z.object({ serial }),
    output: reading,
    failures: ['not_found'],
    path_forms,
    run: readCertificate,
  }),
  vaultRoute({
    id: 'pki-read-cert-raw-der',
    method: 'GET',
    path: '/v1/{mount}/cert/{serial}/raw',
    summary: 'Fetch a certificate as DER',
    access: 'public',
    counted: true,
    input: z.object({ serial }),
    output: undeclared,
    failures: [],
    path_forms,
    run: readCertificateDer,
  }),
  vaultRoute({
    id: 'pki-read-cert-raw-pem',
    method: 'GET',
    path: '/v1/{mount}/cert/{serial}/raw/pem',
    summary: 'Fetch a certificate as PEM',
    access: 'public',
    counted: true,
    input: z.object({ serial }),
    output: undeclared,
    failures: [],
    path_forms,
    run: readCertificatePem,
  }),
  vaultRoute({
    id: 'pki-list-certs',
    method: 'LIST',
    path: '/v1/{mount}/certs',
    summary: 'List the serial numbers of stored certificates',
    access: { capability: 'list' },
    input: z.object({
      after: optional(text()).describe('Only serial numbers after this one.'),
      limit: optional(integer()).describe('At most so many; all when left out.'),
    }),
    output: z.object({ keys: z.array(z.string()) }),
    failures: ['not_found'],
    run: listCertificateSerials,
  }),
  ...searchRoutes,
];
