import { readPermissions } from '../../../access/permissions/operations.ts';
import { judgeAccess } from '../../../acl/acl.ts';
import { readerOfFields } from '../../../acl/parameter-reader.ts';
import type { App } from '../../../app/app.ts';
import { fullPath, type Mount } from '../../../app/mount.ts';
import { issueSchema } from '../../../pki/profile/request.ts';
import type { Write } from '../../../store/write.ts';
import { lockResource, lockResources } from '../../resource/holds.store.ts';
import { findResource } from '../../resource/store.ts';
import type { SavedBy } from './library.ts';

const reader = readerOfFields(issueSchema.shape);

/**
 * Whether somebody may ask the certificate authority for something, by what their policies say
 * now, as long as the user is there, and the account or name by which they had logged in: as if they had sent it to `<mount>/issue/<role>` themselves.
 *
 * @param asked.fields as they would be sent
 */
export async function mayIssue(
  app: App,
  saved_by: SavedBy,
  asked: { mount: Mount; role: string; fields: Readonly<Record<string, unknown>> },
): Promise<boolean> {
  if (!(await isMakerThere(app, saved_by))) return false;
  const permissions = await readPermissions(app, saved_by);
  if (!permissions) return false;
  const verdict = await judgeAccess(permissions.acl, {
    path: `${fullPath(asked.mount)}issue/${asked.role}`,
    operation: 'update',
    sudoRequired: false,
    parameters: asked.fields,
    reader,
  });
  return verdict.allowed;
}

async function isMakerThere(app: App, { user_id, account_id }: SavedBy): Promise<boolean> {
  if (user_id && !(await findResource(app.db, user_id))) return false;
  return !account_id || (await findResource(app.db, account_id))?.owner_id === user_id;
}

/** Refuses its write set unless whoever saved a library is there as they were. */
export function holdMaker({ user_id, account_id }: SavedBy): Write[] {
  return [
    ...(user_id ? [lockResource(user_id)] : []),
    ...lockResources(account_id ? [account_id] : [], user_id),
  ];
}
