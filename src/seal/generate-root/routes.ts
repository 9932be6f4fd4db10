import { z } from 'zod';
import { TOKEN_LENGTH } from '../../access/tokens/token-format.ts';
import { nothing } from '../../app/output.ts';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { longText, optional, text } from '../../core/fields.ts';
import { type AnswerForm, outputAs, resultAs } from '../answer-form.ts';
import { rejectPgpKeys } from '../initialisation.ts';
import {
  cancelRootGeneration,
  readRootGeneration,
  startRootGeneration,
  updateRootGeneration,
} from './operations.ts';
import { describeStatus, type RootStatus, rootStatusSchema } from './status.ts';

const told = (form: AnswerForm, status: RootStatus) => resultAs(form, describeStatus(status));

/** Paths of one endpoint, each with the end of its operations' ids: command lines of before ask for the first two, present ones for the third. */
const ATTEMPTS = [
  { path: '/v1/sys/generate-root/attempt', end: '', form: 'bare' },
  { path: '/v1/sys/generate-root', end: '-2', form: 'bare' },
  { path: '/v1/sys/generate-root-token/attempt', end: '-3', form: 'data' },
] as const;

const UPDATES = [
  { path: '/v1/sys/generate-root/update', end: '', form: 'bare' },
  { path: '/v1/sys/generate-root-token/update', end: '-2', form: 'data' },
] as const;

// Started by anybody and authorised by shares, for a server whose root tokens are all revoked.
// Cancelling undoes what others did, and so it takes a token that may.
function attemptRoutes({ path, end, form }: (typeof ATTEMPTS)[number]): AnyRoute[] {
  return [
    vaultRoute({
      id: `root-token-generation-read-progress${end}`,
      method: 'GET',
      path,
      summary: 'Read how a root generation stands',
      access: 'public',
      input: z.object({}),
      output: outputAs(form, rootStatusSchema),
      failures: ['invalid'],
      run: async (app) => told(form, await readRootGeneration(app)),
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
      output: outputAs(form, rootStatusSchema),
      failures: ['invalid'],
      run: async (app, caller, { pgp_key, otp, key }) => {
        rejectPgpKeys({ pgp_key });
        return told(form, await startRootGeneration(app, caller, { otp, key }));
      },
    }),
    vaultRoute({
      id: `root-token-generation-cancel${end}`,
      method: 'DELETE',
      path,
      summary: 'Cancel a root generation',
      access: { capability: 'delete', sudo: true },
      sets_also: ATTEMPTS.flatMap((other) =>
        other.path === path ? [] : [{ path: other.path, fields: [], when: [] }],
      ),
      input: z.object({}),
      output: nothing,
      failures: [],
      run: async (app, caller) => {
        await cancelRootGeneration(app, caller);
        return {};
      },
    }),
  ];
}

export const generateRootRoutes: AnyRoute[] = [
  ...ATTEMPTS.flatMap(attemptRoutes),
  ...UPDATES.map(({ path, end, form }) =>
    vaultRoute({
      id: `root-token-generation-update${end}`,
      method: 'POST',
      path,
      summary: 'Give one share for a root generation',
      access: 'public',
      input: z.object({
        key: optional(text()).describe('One share, as hex or base64.'),
        nonce: optional(text()).describe('Names the attempt that the share is for.'),
      }),
      output: outputAs(form, rootStatusSchema),
      failures: ['invalid', 'conflict'],
      run: async (app, caller, input) => {
        const { key, nonce } = input;
        return told(form, await updateRootGeneration(app, caller, { key, nonce }));
      },
    }),
  ),
];
