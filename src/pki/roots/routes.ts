import { z } from 'zod';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { text } from '../../core/fields.ts';
import { rootFields } from '../profile/root.ts';
import { generateRoot } from './operations.ts';

const generatedRoot = z.object({
  certificate: z.string(),
  issuing_ca: z.string(),
  serial_number: z.string(),
  expiration: z.int().describe('Unix seconds.'),
  issuer_id: z.string(),
  issuer_name: z.string(),
  key_id: z.string(),
  key_name: z.string(),
  private_key: z.string().optional().describe('Only with "exported".'),
  private_key_type: z.string().optional(),
});

const paths = [
  ['pki-generate-root', '/v1/{mount}/root/generate/{exported}'],
  ['pki-issuers-generate-root', '/v1/{mount}/issuers/generate/root/{exported}'],
] as const;
const fields = Object.keys(rootFields);

export const rootRoutes: readonly AnyRoute[] = paths.map(([id, path]) =>
  vaultRoute({
    id,
    method: 'POST',
    path,
    summary: 'Make a root: a key and a certificate signed by it',
    see: ['RFC 5280 §4.1', 'RFC 5280 §4.2'],
    access: { capability: 'update' },
    input: z.object({
      exported: text().describe(
        '"internal"; "exported" to be given the private key, once; "existing" for a key of the mount.',
      ),
      ...rootFields,
    }),
    output: generatedRoot,
    failures: ['invalid', 'unresolved', 'conflict'],
    audit: ['exported', ...fields],
    sets_also: paths.flatMap(([, other]) =>
      other === path ? [] : [{ path: other, fields, when: [] }],
    ),
    run: generateRoot,
  }),
);
