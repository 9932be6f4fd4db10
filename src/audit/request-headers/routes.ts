import { z } from 'zod';
import { flat, nothing } from '../../app/output.ts';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { flag, text } from '../../core/fields.ts';
import { headerSettingsSchema } from './header.ts';
import {
  describeAuditedHeaders,
  readAuditedHeader,
  removeAuditedHeader,
  writeAuditedHeader,
} from './operations.ts';

const header = text().describe('Name of the header; upper case counts as lower case.');
const HEADER = '/v1/sys/config/auditing/request-headers/{header}';
const ofName = {
  name_forms: { header: 'lower_case' },
  path_forms: { header: /^[^/]+$/ },
} as const;
const headers = z.record(z.string().describe('Name of the header.'), headerSettingsSchema);

export const auditHeaderRoutes: AnyRoute[] = [
  vaultRoute({
    id: 'auditing-list-request-headers',
    on_any_thread: true,
    method: 'GET',
    path: '/v1/sys/config/auditing/request-headers',
    summary: 'List the request headers that audit records tell',
    access: { capability: 'read', sudo: true },
    input: z.object({}),
    output: flat(z.object({ headers })),
    failures: [],
    run: (app) => describeAuditedHeaders(app),
  }),
  vaultRoute({
    id: 'auditing-read-request-header-information',
    on_any_thread: true,
    method: 'GET',
    path: HEADER,
    ...ofName,
    summary: 'Read how a request header is told',
    access: { capability: 'read', sudo: true },
    input: z.object({ header }),
    output: headers,
    failures: ['invalid'],
    run: readAuditedHeader,
  }),
  vaultRoute({
    id: 'auditing-enable-request-header',
    method: 'POST',
    path: HEADER,
    ...ofName,
    summary: 'Have audit records tell a request header',
    access: { capability: 'update', sudo: true },
    audit: ['header', 'hmac'],
    input: z.object({
      header,
      hmac: flag(false).describe(
        'Tell its values as keyed hashes. Those of credentials, and long ones, always are.',
      ),
    }),
    output: nothing,
    failures: ['invalid'],
    run: writeAuditedHeader,
  }),
  vaultRoute({
    id: 'auditing-disable-request-header',
    method: 'DELETE',
    path: HEADER,
    ...ofName,
    summary: 'Have audit records tell a request header no more',
    access: { capability: 'delete', sudo: true },
    audit: ['header'],
    input: z.object({ header }),
    output: nothing,
    failures: ['invalid'],
    run: removeAuditedHeader,
  }),
];
