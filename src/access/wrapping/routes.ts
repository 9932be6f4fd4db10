import { z } from 'zod';
import { flat, storedOutput, wrapOutput } from '../../app/output.ts';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { text } from '../../core/fields.ts';
import { lookUpWrapping, rewrap, unwrap, wrapData } from './operations.ts';

const token = text('').describe('The wrapping token; without it the one in X-Vault-Token.');

// A wrapping token is nobody's: it does not authenticate its bearer, it is what is asked about.
const byToken = {
  on_any_thread: true,
  method: 'POST',
  access: 'public',
  identify: true,
  token_field: 'token',
  input: z.object({ token }),
  failures: ['invalid', 'forbidden'],
} as const;

const wrapping = flat(
  z.object({
    creation_path: z.string().describe('Where the answer came from.'),
    creation_time: z.string().describe('RFC 3339.'),
    creation_ttl: z.int().describe('Seconds.'),
  }),
);

export const wrappingRoutes: readonly AnyRoute[] = [
  vaultRoute({
    id: 'wrap',
    on_any_thread: true,
    method: 'POST',
    path: '/v1/sys/wrapping/wrap',
    summary: 'Wrap what is sent; needs the header X-Vault-Wrap-TTL',
    access: { capability: 'update' },
    input: z.looseObject({}),
    output: z.record(z.string(), z.unknown()).describe('What was sent; it is answered wrapped.'),
    failures: ['invalid'],
    run: (_app, caller, input) => wrapData(caller, input),
  }),
  vaultRoute({
    ...byToken,
    id: 'unwrap',
    path: '/v1/sys/wrapping/unwrap',
    summary: 'Take the answer that a wrapping token stands for',
    output: storedOutput,
    run: unwrap,
  }),
  vaultRoute({
    ...byToken,
    id: 'rewrap',
    path: '/v1/sys/wrapping/rewrap',
    summary: 'Put a wrapped answer under a new token',
    output: wrapOutput,
    run: rewrap,
  }),
  vaultRoute({
    ...byToken,
    id: 'look-up-wrapping',
    path: '/v1/sys/wrapping/lookup',
    summary: 'Look up what a wrapping token stands for',
    output: wrapping,
    run: lookUpWrapping,
  }),
  vaultRoute({
    ...byToken,
    id: 'look-up-own-wrapping',
    method: 'GET',
    path: '/v1/sys/wrapping/lookup',
    summary: 'Look up what the own wrapping token stands for',
    output: wrapping,
    run: lookUpWrapping,
  }),
];
