import { z } from 'zod';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { type BytesResult, bytes } from '../../app/output.ts';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { integer, optional, text } from '../../core/fields.ts';
import { type Issuer, pemOf } from '../mount-state/issuer.ts';
import { dateOfCertificate } from './dates.ts';
import { detailsSchema } from './detailed/details.ts';
import { listDetailed } from './detailed/operations.ts';
import { storedPem } from './kept.operations.ts';
import {
  findBySerial,
  findDefaultChain,
  findDefaultIssuer,
  listCertificateSerials,
  noDefaultIssuer,
  requireCertificate,
  requireDefaultIssuer,
  searchCertificates,
} from './operations.ts';
import {
  CERTIFICATE_DER,
  CERTIFICATE_PEM,
  certificateReading,
  describeCertificate,
  describeUnrevocable,
} from './readings.ts';
import { foundSchema, searchSchema } from './search.ts';

const publicRead = { method: 'GET', access: 'public', counted: true } as const;
const ofAuthority = { ...publicRead, relying_parties: true, on_any_thread: true } as const;

interface IssuerForm {
  summary: string;
  media_type: string;
  statuses: readonly 304[];
  encode(issuer: Issuer): BytesResult;
}

const DER: IssuerForm = {
  summary: 'Fetch the default issuer as DER',
  media_type: CERTIFICATE_DER,
  statuses: [304],
  encode: ({ certificate, modified_at_ms }) => ({
    bytes: certificate.raw,
    last_modified: modified_at_ms,
  }),
};
const PEM: IssuerForm = {
  summary: 'Fetch the default issuer as PEM',
  media_type: CERTIFICATE_PEM,
  statuses: [304],
  encode: ({ certificate, modified_at_ms }) => ({
    bytes: pemOf(certificate),
    last_modified: modified_at_ms,
  }),
};

/** The default issuer as bytes; nothing while there is none. */
function issuerRoute(id: string, path: `/v1/${string}`, form: IssuerForm): AnyRoute {
  return vaultRoute({
    ...ofAuthority,
    id,
    path,
    summary: form.summary,
    input: z.object({}),
    output: bytes(form.media_type),
    statuses: form.statuses,
    failures: [],
    run: async (app, caller) => {
      const issuer = await findDefaultIssuer(app, caller);
      return issuer ? form.encode(issuer) : { bytes: '' };
    },
  });
}

const ofChain = { ...ofAuthority, input: z.object({}), statuses: [304], failures: [] } as const;

async function readChainPem(app: App, caller: Caller): Promise<BytesResult> {
  const found = await findDefaultChain(app, caller);
  return found ? { bytes: found.pem, last_modified: found.last_modified } : { bytes: '' };
}

const ofSerial = {
  ...publicRead,
  path: '/v1/{mount}/cert/{serial}',
  // Hexadecimal digits with or without separators; the special values have routes of their own.
  path_forms: { serial: /^[0-9A-Fa-f](?:[0-9A-Fa-f:-]*[0-9A-Fa-f])?$/ },
  input: z.object({
    serial: text().describe('Serial number in hex, with ":" or "-" between bytes.'),
  }),
  statuses: [304],
} as const;

const searchRoutes = (['GET', 'LIST'] as const).map((method) =>
  vaultRoute({
    id: method === 'GET' ? 'pki-search-certs' : 'pki-list-certs-search',
    on_any_thread: true,
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
    input: searchSchema,
    output: foundSchema,
    failures: ['invalid', 'not_found', 'rate_limited'],
    audit: Object.keys(searchSchema.shape),
    run: async (app, caller, input) => ({ data: await searchCertificates(app, caller, input) }),
  }),
);

export const certificateRoutes: readonly AnyRoute[] = [
  issuerRoute('pki-read-ca-der', '/v1/{mount}/ca', DER),
  issuerRoute('pki-read-ca-pem', '/v1/{mount}/ca/pem', PEM),
  vaultRoute({
    ...ofChain,
    id: 'pki-read-ca-chain-pem',
    path: '/v1/{mount}/ca_chain',
    summary: 'Fetch the chain of the default issuer as PEM',
    // That of DER, as clients know it.
    output: bytes(CERTIFICATE_DER),
    run: readChainPem,
  }),
  issuerRoute('pki-read-cert-ca-raw-der', '/v1/{mount}/cert/ca/raw', DER),
  issuerRoute('pki-read-cert-ca-raw-pem', '/v1/{mount}/cert/ca/raw/pem', PEM),
  vaultRoute({
    ...ofAuthority,
    id: 'pki-read-cert-ca',
    path: '/v1/{mount}/cert/ca',
    summary: 'Fetch the default issuer',
    input: z.object({}),
    output: certificateReading,
    statuses: [304],
    failures: ['invalid'],
    run: async (app, caller) => {
      const { certificate, modified_at_ms } = await requireDefaultIssuer(app, caller);
      return { data: describeUnrevocable(pemOf(certificate)), last_modified: modified_at_ms };
    },
  }),
  vaultRoute({
    ...ofAuthority,
    id: 'pki-read-cert-ca-chain',
    path: '/v1/{mount}/cert/ca_chain',
    summary: 'Fetch the chain of the default issuer',
    input: z.object({}),
    output: certificateReading.extend({
      ca_chain: z.string().describe('The same as certificate.'),
    }),
    statuses: [304],
    failures: ['invalid'],
    run: async (app, caller) => {
      const chain = await findDefaultChain(app, caller);
      if (!chain) throw noDefaultIssuer();
      const { pem: ca_chain, last_modified } = chain;
      return { data: { ...describeUnrevocable(ca_chain), ca_chain }, last_modified };
    },
  }),
  vaultRoute({
    ...ofChain,
    id: 'pki-read-cert-ca-chain-raw-der',
    path: '/v1/{mount}/cert/ca_chain/raw',
    summary: 'Fetch the chain of the default issuer as DER, one certificate after the other',
    output: bytes(CERTIFICATE_DER),
    run: async (app, caller) => {
      const found = await findDefaultChain(app, caller);
      if (!found) return { bytes: '' };
      const der = Buffer.concat(found.chain.map(({ raw }) => raw));
      return { bytes: der, last_modified: found.last_modified };
    },
  }),
  vaultRoute({
    ...ofChain,
    id: 'pki-read-cert-ca-chain-raw-pem',
    path: '/v1/{mount}/cert/ca_chain/raw/pem',
    summary: 'Fetch the chain of the default issuer as PEM, with its own media type',
    output: bytes(CERTIFICATE_PEM),
    run: readChainPem,
  }),
  vaultRoute({
    ...ofSerial,
    id: 'pki-read-cert',
    on_any_thread: true,
    summary: 'Fetch a certificate by its serial number',
    output: certificateReading.extend({
      issuer_id: z.string().optional().describe('Of a revoked certificate, where it is known.'),
    }),
    failures: ['not_found'],
    run: async (app, caller, { serial }) => {
      const stored = await requireCertificate(app, caller, serial);
      return {
        data: describeCertificate(storedPem(stored), stored),
        last_modified: dateOfCertificate(stored, app.now()),
      };
    },
  }),
  vaultRoute({
    ...ofSerial,
    id: 'pki-read-cert-raw-der',
    on_any_thread: true,
    path: `${ofSerial.path}/raw`,
    summary: 'Fetch a certificate as DER',
    output: bytes(CERTIFICATE_DER),
    failures: [],
    run: async (app, caller, { serial }) => {
      const stored = await findBySerial(app, caller, serial);
      if (!stored) return { bytes: '' };
      return { bytes: stored.der, last_modified: dateOfCertificate(stored, app.now()) };
    },
  }),
  vaultRoute({
    ...ofSerial,
    id: 'pki-read-cert-raw-pem',
    on_any_thread: true,
    path: `${ofSerial.path}/raw/pem`,
    summary: 'Fetch a certificate as PEM',
    output: bytes(CERTIFICATE_PEM),
    failures: [],
    run: async (app, caller, { serial }) => {
      const stored = await findBySerial(app, caller, serial);
      if (!stored) return { bytes: '' };
      const pem = storedPem(stored);
      return { bytes: pem, last_modified: dateOfCertificate(stored, app.now()) };
    },
  }),
  vaultRoute({
    id: 'pki-list-certs',
    on_any_thread: true,
    method: 'LIST',
    path: '/v1/{mount}/certs',
    summary: 'List the serial numbers of stored certificates',
    access: { capability: 'list' },
    input: z.object({
      after: optional(text()).describe('Only serial numbers after this one.'),
      limit: optional(integer()).describe('At most so many; all when left out.'),
    }),
    output: z.object({ keys: z.array(z.string()).describe('Serial numbers.') }),
    failures: ['invalid', 'not_found'],
    run: listCertificateSerials,
  }),
  vaultRoute({
    id: 'pki-list-certs-detailed',
    on_any_thread: true,
    method: 'LIST',
    path: '/v1/{mount}/certs/detailed',
    summary: 'List stored certificates with what is told of each',
    access: { capability: 'list' },
    // It tells the serial numbers that this list tells.
    sets_also: [{ path: '/v1/{mount}/certs', method: 'LIST', fields: [], when: [] }],
    input: z.object({
      after: optional(text()).describe('Only serial numbers after this one.'),
      limit: optional(integer()).describe('At most so many; all when left out.'),
    }),
    output: z.object({
      keys: z.array(z.string()).describe('Serial numbers.'),
      key_info: z.record(z.string(), detailsSchema).describe('By serial number.'),
    }),
    failures: ['invalid', 'not_found'],
    run: listDetailed,
  }),
  ...searchRoutes,
];
