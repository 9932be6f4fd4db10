import { z } from 'zod';
import { type AnyRoute, vaultRoute } from '../../../app/route.ts';
import { text } from '../../../core/fields.ts';
import { resignCrls, signRevocationList } from './operations.ts';
import { crlList, crlRequestFields, entryList, extensionList, MOST_ENTRIES } from './request.ts';

const ofIssuer = {
  method: 'POST',
  name_forms: { issuer_ref: 'default_word' },
  see: ['RFC 5280 §5'],
  access: { capability: 'update' },
  audit: ['issuer_ref', 'crl_number', 'delta_crl_base_number', 'next_update', 'format'],
  output: z.object({ crl: z.string().describe('PEM, or base64 of the DER.') }),
  failures: ['invalid', 'unresolved', 'rate_limited'],
} as const;
const issuer_ref = text().describe('Id or name of the issuer, or "default".');

export const crlSigningRoutes: AnyRoute[] = [
  vaultRoute({
    ...ofIssuer,
    id: 'pki-resign-crls',
    path: '/v1/{mount}/issuer/{issuer_ref}/resign-crls',
    summary: 'Make one CRL of several that the issuer has signed',
    input: z.object({
      issuer_ref,
      ...crlRequestFields,
      crls: crlList().describe('The CRLs, PEM.'),
    }),
    run: resignCrls,
  }),
  vaultRoute({
    ...ofIssuer,
    id: 'pki-sign-revocation-list',
    path: '/v1/{mount}/issuer/{issuer_ref}/sign-revocation-list',
    summary: 'Sign a CRL with the entries that are named',
    input: z.object({
      issuer_ref,
      ...crlRequestFields,
      revoked_certs: entryList([]).describe(
        `Entries, at most ${MOST_ENTRIES.toLocaleString('en')}: serial_number, revocation_time (Unix seconds or RFC 3339), extensions.`,
      ),
      extensions: extensionList([]).describe(
        'Extensions of the CRL: id, critical, value (base64).',
      ),
    }),
    run: signRevocationList,
  }),
];
