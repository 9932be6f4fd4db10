import { z } from 'zod';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { text } from '../../core/fields.ts';
import { rootFields } from '../profile/root.ts';
import { generatedRoot } from './generated-root.ts';
import { generateRoot, rotateRoot } from './operations.ts';

const paths = [
  ['pki-generate-root', '/v1/{mount}/root/generate/{exported}'],
  ['pki-issuers-generate-root', '/v1/{mount}/issuers/generate/root/{exported}'],
  ['pki-rotate-root', '/v1/{mount}/root/rotate/{exported}'],
] as const;
const ROTATION = 'pki-rotate-root';
const fields = Object.keys(rootFields);

export const rootRoutes: readonly AnyRoute[] = paths.map(([id, path]) =>
  vaultRoute({
    id,
    method: 'POST',
    path,
    summary:
      id === ROTATION
        ? 'Make the next root, which is named so unless another issuer is'
        : 'Make a root: a key and a certificate signed by it',
    see: ['RFC 5280 §4.1', 'RFC 5280 §4.2'],
    access: { capability: 'update' },
    input: z.object({
      exported: text().describe(
        '"internal"; "exported" to be given the private key, once; "existing" for a key of the mount; "kms" for a key of a device.',
      ),
      ...rootFields,
    }),
    output: generatedRoot,
    failures: ['invalid', 'unresolved', 'conflict', 'rate_limited', 'unavailable'],
    audit: ['exported', ...fields],
    sets_also: paths.flatMap(([, other]) =>
      other === path ? [] : [{ path: other, fields, when: [] }],
    ),
    run: id === ROTATION ? rotateRoot : generateRoot,
  }),
);
