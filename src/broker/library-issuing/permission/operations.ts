import { judgeAccess } from '../../../access/acl.ts';
import { readPermissions } from '../../../access/identity/operations.ts';
import { readerOfFields } from '../../../access/parameter-reader.ts';
import type { App } from '../../../app.ts';
import { fullPath, type Mount } from '../../../mounts/mount.ts';
import { issueSchema } from '../../../pki/certificates/request.ts';
import type { SavedBy } from '../../credential-libraries/library.ts';
import { findResource } from '../../resources/store.ts';

const reader = readerOfFields(issueSchema.shape);

/**
 * Whether somebody may ask the certificate authority for something, by what their policies say
 * now, as long as the user is there, and the name by which they had logged in: as if they had sent it to `<mount>/issue/<role>` themselves.
 *
 * @param asked.fields as they would be sent
 */
export async function mayIssue(
  app: App,
  saved_by: SavedBy,
  asked: { mount: Mount; role: string; fields: Readonly<Record<string, unknown>> },
): Promise<boolean> {
  const { user_id } = saved_by;
  if (user_id !== undefined && !(await findResource(app.db, user_id))) return false;
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
