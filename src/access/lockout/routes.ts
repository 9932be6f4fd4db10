import { z } from 'zod';
import { text } from '../../core/fields.ts';
import { type AnyRoute, vaultRoute } from '../../http/route.ts';
import { unlockUser } from './operations.ts';

export const lockoutRoutes: AnyRoute[] = [
  vaultRoute({
    id: 'unlock-user',
    method: 'POST',
    path: '/v1/sys/locked-users/{mount_accessor}/unlock/{alias_identifier}',
    summary: 'Let a user log in again who is locked after failed log-ins',
    access: { capability: 'update' },
    path_forms: { alias_identifier: /^[^/]+$/ },
    name_forms: { alias_identifier: 'lower_case' },
    audit: ['mount_accessor', 'alias_identifier'],
    input: z.object({
      mount_accessor: text().describe('Accessor of the auth mount, e.g. auth_userpass_1a2b3c4d.'),
      alias_identifier: text().describe('Name of the user.'),
    }),
    output: z.record(z.string(), z.unknown()),
    failures: ['invalid'],
    run: unlockUser,
  }),
];
