import { z } from 'zod';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { type BytesResult, bytes } from '../../app/output.ts';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { text } from '../../core/fields.ts';
import { derBody, pemBody } from './bodies.ts';
import { readShard } from './operations.ts';

const read = {
  method: 'GET',
  see: ['RFC 5280 §5.2.5'],
  access: 'public',
  relying_parties: true,
  counted: true,
  on_any_thread: true,
  statuses: [304],
  path_forms: { crl_shard: /^(?:all|\d{1,4}-of-\d{1,4})$/ },
  failures: ['not_found', 'unresolved', 'conflict', 'unavailable'],
} as const;

const crl_shard = text().describe(
  'E.g. `3-of-64`, as certificates name it; `all`: the complete CRL.',
);
const ofDefault = { ...read, input: z.object({ crl_shard }) } as const;
const ofIssuer = {
  ...read,
  name_forms: { issuer_ref: 'default_word' },
  input: z.object({ issuer_ref: text(), crl_shard }),
} as const;

interface Asked {
  issuer_ref?: string;
  crl_shard: string;
}

const asDer = {
  output: bytes('application/pkix-crl'),
  run: async (app: App, caller: Caller, asked: Asked): Promise<BytesResult> => {
    const { der, modified_at_ms } = await readShard(app, caller, asked);
    return { bytes: derBody(der), last_modified: modified_at_ms };
  },
};
const asPem = {
  output: bytes('application/x-pem-file'),
  run: async (app: App, caller: Caller, asked: Asked): Promise<BytesResult> => {
    const { der, modified_at_ms } = await readShard(app, caller, asked);
    return { bytes: pemBody(der, '\n', ''), last_modified: modified_at_ms };
  },
};

const OF_DEFAULT = '/v1/{mount}/crl/shard/{crl_shard}';
const OF_ISSUER = '/v1/{mount}/issuer/{issuer_ref}/crl/shard/{crl_shard}';

/** Where the CRLs for a part of the certificates are read. */
export const shardRoutes: AnyRoute[] = [
  vaultRoute({
    ...ofDefault,
    ...asDer,
    id: 'pki-read-crl-shard-der',
    path: OF_DEFAULT,
    summary: 'Read a shard of the CRL of the default issuer',
  }),
  vaultRoute({
    ...ofDefault,
    ...asPem,
    id: 'pki-read-crl-shard-pem',
    path: `${OF_DEFAULT}/pem`,
    summary: 'Read a shard of the CRL of the default issuer',
  }),
  vaultRoute({
    ...ofIssuer,
    id: 'pki-read-issuer-crl-shard',
    path: OF_ISSUER,
    summary: 'Read a shard of the CRL of an issuer',
    output: z.object({ crl: z.string().describe('PEM.') }),
    run: async (app, caller, asked) => {
      const { der, modified_at_ms } = await readShard(app, caller, asked);
      return {
        data: { crl: '' },
        long_text: { field: 'crl', body: pemBody(der, '\\n', '\\n') },
        last_modified: modified_at_ms,
      };
    },
  }),
  vaultRoute({
    ...ofIssuer,
    ...asDer,
    id: 'pki-read-issuer-crl-shard-der',
    path: `${OF_ISSUER}/der`,
    summary: 'Read a shard of the CRL of an issuer',
  }),
  vaultRoute({
    ...ofIssuer,
    ...asPem,
    id: 'pki-read-issuer-crl-shard-pem',
    path: `${OF_ISSUER}/pem`,
    summary: 'Read a shard of the CRL of an issuer',
  }),
];
