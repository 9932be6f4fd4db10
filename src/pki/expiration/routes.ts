import { z } from 'zod';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { readWarningsAnswer, writeWarnings } from './settings.operations.ts';
import { warningAnswerSchema, warningPatchSchema } from './settings.ts';

const PATH = '/v1/{mount}/config/expiration-warnings';

export const expirationRoutes: readonly AnyRoute[] = [
  vaultRoute({
    id: 'pki-read-expiration-warnings-configuration',
    on_any_thread: true,
    method: 'GET',
    path: PATH,
    summary: 'Read who is warned before certificates end',
    access: { capability: 'read' },
    input: z.object({}),
    output: warningAnswerSchema,
    failures: [],
    run: async (app, caller) => ({ data: await readWarningsAnswer(app, caller) }),
  }),
  vaultRoute({
    id: 'pki-configure-expiration-warnings',
    method: 'POST',
    path: PATH,
    summary: 'Choose who is warned before certificates end; fields left out stay',
    access: { capability: 'update' },
    input: warningPatchSchema,
    output: warningAnswerSchema,
    failures: ['invalid', 'conflict'],
    // The path of a receiver's URL may let somebody in.
    audit: ['enabled', 'before', 'mail_to', 'roles', 'issuers', 'webhook_ca'],
    run: async (app, caller, input) => ({ data: await writeWarnings(app, caller, input) }),
  }),
];
