import { z } from 'zod';
import { nothing } from '../../../app/output.ts';
import { type AnyRoute, vaultRoute } from '../../../app/route.ts';
import { text } from '../../../core/fields.ts';
import { lockedUsersSchema } from './locked-users.ts';
import { listLockedUsers, unlockUser } from './operations.ts';

const mount_accessor = text().describe(
  'Accessor of the auth mount, e.g. auth_userpass_1a2b3c4d, or the id of an auth method of the broker, e.g. ampw_1234567890.',
);

/** Of the Vault API; about log-ins on both. */
export const lockedUserRoutes: readonly AnyRoute[] = [
  vaultRoute({
    id: 'list-locked-users',
    on_any_thread: true,
    method: 'GET',
    path: '/v1/sys/locked-users',
    summary: 'List who is locked after failed log-ins, with the most locked first',
    access: { capability: 'read' },
    input: z.object({ mount_accessor: mount_accessor.prefault('') }),
    output: lockedUsersSchema,
    failures: ['invalid'],
    run: listLockedUsers,
  }),
  vaultRoute({
    id: 'unlock-user',
    method: 'POST',
    path: '/v1/sys/locked-users/{mount_accessor}/unlock/{alias_identifier}',
    summary: 'Let a user log in again who is locked after failed log-ins',
    access: { capability: 'update' },
    path_forms: { alias_identifier: /^[^/]+$/ },
    name_forms: { alias_identifier: 'lower_case' },
    audit: ['mount_accessor', 'alias_identifier'],
    input: z.object({ mount_accessor, alias_identifier: text().describe('Name of the user.') }),
    output: nothing,
    failures: ['invalid'],
    run: unlockUser,
  }),
];
