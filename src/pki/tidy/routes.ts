import { z } from 'zod';
import { accepted, either, nothing } from '../../app/output.ts';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { autoTidyPatchSchema, autoTidySchema, tidySchema } from './fields.ts';
import {
  cancelTidying,
  readAutoTidy,
  readTidyStatus,
  startTidying,
  writeAutoTidy,
} from './operations.ts';
import { statusSchema } from './status.ts';

export const tidyRoutes: readonly AnyRoute[] = [
  vaultRoute({
    id: 'pki-tidy',
    method: 'POST',
    path: '/v1/{mount}/tidy',
    summary: 'Begin to remove what has ended',
    access: { capability: 'update' },
    audit: Object.keys(tidySchema.shape),
    input: tidySchema,
    output: either(accepted, nothing),
    old_names: { tidy_revocation_list: 'tidy_revoked_certs' },
    failures: ['invalid', 'conflict'],
    run: startTidying,
  }),
  vaultRoute({
    id: 'pki-tidy-cancel',
    method: 'POST',
    path: '/v1/{mount}/tidy-cancel',
    summary: 'Stop a tidying that is under way',
    access: { capability: 'update' },
    input: z.object({}),
    output: either(statusSchema, nothing),
    failures: ['conflict'],
    run: cancelTidying,
  }),
  vaultRoute({
    id: 'pki-tidy-status',
    method: 'GET',
    path: '/v1/{mount}/tidy-status',
    summary: 'Read how the last tidying went, or how far it has come',
    access: { capability: 'read' },
    input: z.object({}),
    output: statusSchema,
    failures: [],
    run: async (app, caller) => ({ data: await readTidyStatus(app, caller) }),
  }),
  vaultRoute({
    id: 'pki-read-auto-tidy-configuration',
    on_any_thread: true,
    method: 'GET',
    path: '/v1/{mount}/config/auto-tidy',
    summary: 'Read how the mount is tidied by itself',
    access: { capability: 'read' },
    input: z.object({}),
    output: autoTidySchema,
    failures: [],
    run: async (app, caller) => ({ data: await readAutoTidy(app, caller.mount.id) }),
  }),
  vaultRoute({
    id: 'pki-configure-auto-tidy',
    method: 'POST',
    path: '/v1/{mount}/config/auto-tidy',
    summary: 'Set how the mount is tidied by itself; what is not sent stays',
    access: { capability: 'update' },
    audit: Object.keys(autoTidyPatchSchema.shape),
    input: autoTidyPatchSchema,
    output: autoTidySchema,
    failures: ['invalid', 'conflict'],
    run: async (app, caller, patch) => ({ data: await writeAutoTidy(app, caller, patch) }),
  }),
];
