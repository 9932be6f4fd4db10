import { insertLease } from '../../../access/leases/store.ts';
import { holdPermissions } from '../../../access/standing/operations.ts';
import type { App } from '../../../app/app.ts';
import { Failure } from '../../../core/failure.ts';
import { findMountById } from '../../../mounts/operations.ts';
import { holdMount } from '../../../mounts/store.ts';
import { takeBackNames, writeNames } from '../../../pki/issuance/names.operations.ts';
import { planIssuance } from '../../../pki/issuance/operations.ts';
import { issueSchema } from '../../../pki/profile/request.ts';
import type { BrokerCaller } from '../../resource/caller.ts';
import { fillIssueFields, UnfitValue } from '../libraries/issue-request.ts';
import { holdMaker, mayIssue } from '../libraries/permission.operations.ts';
import { type Issued, type IssueRequest, sourceOf } from './issued.ts';
import { newLeaseId } from './leases.operations.ts';

/** A certificate of this server's own CA, that ends with the session at the latest. */
export async function issueFromAuthority(
  app: App,
  caller: BrokerCaller,
  request: IssueRequest,
): Promise<Issued> {
  const { library, session, facts } = request;
  const { attributes, mount_id, saved_by } = library.body;
  const mount = await findMountById(app, mount_id);
  if (!mount) {
    throw new Failure('unresolved', `credential library ${library.id}: its authority is gone`);
  }
  const now = Math.floor(app.now() / 1000);
  const { role = '' } = attributes;
  const fields = fillIssueFields(attributes, facts);
  if (fields.common_name?.trim() === '') throw new UnfitValue('a name is empty');
  const permitted = await holdPermissions(app);
  // What is filled in counts as if whoever saved the library had sent it.
  if (!saved_by || !(await mayIssue(app, saved_by, { mount, role, fields }))) {
    throw new UnfitValue(`whoever saved it may not ask for this at role "${role}"`);
  }
  // Nothing is asked for that was not judged: without a ttl the role's counts, and the session
  // only shortens it.
  const latest = Math.max(now + 1, session.expires_at);
  const input = { ...issueSchema.parse(fields), role, latest };
  // Several libraries of one target issue at once: what each has made is its own.
  const record = { ...caller.record, outcome: {} };
  const leaf = await planIssuance(app, { ...caller, mount, record }, input);
  const { names } = leaf;
  if (leaf.role.no_store) {
    throw new Failure(
      'unresolved',
      `credential library ${library.id}: role "${role}" has no_store, so its certificates could not be revoked`,
    );
  }
  const lease_id = newLeaseId(app, request);
  const lease = insertLease({
    id: lease_id,
    token_id: undefined,
    source_id: library.id,
    mount_id: mount.id,
    kind: 'certificate',
    data: { serial: leaf.serial },
    issued_at: now,
    expires_at: session.expires_at,
    renewed_at: undefined,
    renewable: false,
  });
  const credential = { ...leaf.answer };
  await writeNames(app, names);
  return {
    found: { source: sourceOf(library), secret: credential, credential },
    weight: 0,
    recorded: { source_id: library.id, lease_id, ...record.outcome },
    effects: [
      permitted,
      ...holdMaker(saved_by),
      holdMount({ id: mount.id }),
      ...leaf.effects,
      lease,
    ],
    // Nobody has seen it: uncommitted, it is nothing but some names.
    giveBack: () => takeBackNames(app, names),
  };
}
