import { z } from 'zod';
import { TOKEN_LENGTH } from '../../access/tokens/token-format.ts';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { longText, optional, text } from '../../core/fields.ts';
import { refusePgp } from '../initialisation.ts';
import {
  cancelRootGeneration,
  type RootStatus,
  readRootGeneration,
  startRootGeneration,
  updateRootGeneration,
} from './operations.ts';

const anything = z.record(z.string(), z.unknown());

function bareOf(status: RootStatus): Record<string, unknown> {
  return {
    ...status,
    encoded_root_token: status.encoded_token,
    pgp_fingerprint: '',
    otp_length: TOKEN_LENGTH,
  };
}

/** Two paths of one endpoint. */
const ATTEMPTS = ['/v1/sys/generate-root', '/v1/sys/generate-root/attempt'] as const;

// Started by anybody and authorised by shares, for a server whose root tokens are all revoked.
// Cancelling undoes what others did, and so it takes a token that may.
function attemptRoutes(path: (typeof ATTEMPTS)[number], end: string) {
  return [
    vaultRoute({
      id: `root-token-generation-read-progress${end}`,
      method: 'GET',
      path,
      summary: 'Read how a root generation stands',
      access: 'public',
      input: z.object({}),
      output: anything,
      failures: ['invalid'],
      run: async (app) => ({ bare: bareOf(await readRootGeneration(app)) }),
    }),
    vaultRoute({
      id: `root-token-generation-initialize${end}`,
      method: 'POST',
      path,
      summary: 'Start to make a root token',
      access: 'public',
      input: z.object({
        otp: optional(text()).describe(
          `A one-time password of ${TOKEN_LENGTH} bytes; made and told once unless given.`,
        ),
        pgp_key: optional(longText()).describe('Not supported.'),
        key: optional(text()).describe(
          'One share: puts an attempt aside that nobody has given a share for. It does not count.',
        ),
      }),
      output: anything,
      failures: ['invalid'],
      run: async (app, caller, { pgp_key, otp, key }) => {
        refusePgp({ pgp_key });
        return { bare: bareOf(await startRootGeneration(app, caller, { otp, key })) };
      },
    }),
    vaultRoute({
      id: `root-token-generation-cancel${end}`,
      method: 'DELETE',
      path,
      summary: 'Cancel a root generation',
      access: { capability: 'delete', sudo: true },
      sets_also: ATTEMPTS.flatMap((other) =>
        other === path ? [] : [{ path: other, fields: [], when: [] }],
      ),
      input: z.object({}),
      output: anything,
      failures: [],
      run: async (app, caller) => {
        await cancelRootGeneration(app, caller);
        return {};
      },
    }),
  ];
}

export const generateRootRoutes: AnyRoute[] = [
  ...attemptRoutes('/v1/sys/generate-root/attempt', ''),
  ...attemptRoutes('/v1/sys/generate-root', '-2'),
  vaultRoute({
    id: 'root-token-generation-update',
    method: 'POST',
    path: '/v1/sys/generate-root/update',
    summary: 'Give one share for a root generation',
    access: 'public',
    input: z.object({
      key: optional(text()).describe('One share, as hex or base64.'),
      nonce: optional(text()).describe('Names the attempt that the share is for.'),
    }),
    output: anything,
    failures: ['invalid', 'conflict'],
    run: async (app, caller, input) => {
      const { key, nonce } = input;
      return { bare: bareOf(await updateRootGeneration(app, caller, { key, nonce })) };
    },
  }),
];
