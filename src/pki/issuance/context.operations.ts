import { tellKeptFacts } from '../../access/identity/facts.operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { effectiveLeaseTtls, fullPath, type Mount } from '../../app/mount.ts';
import { Failure } from '../../core/failure.ts';
import type { IdentityFacts } from '../../core/identity-template.ts';
import type { Soon } from '../../core/steps.ts';
import { readMounts } from '../../mounts/operations.ts';
import { settingsTagOf } from '../../mounts/store.ts';
import type { Write } from '../../store/write.ts';
import { findSharding, type Sharding } from '../crl/shards.operations.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import type { Key } from '../mount-state/key.ts';
import { chooseUrls, readMountState } from '../mount-state/operations.ts';
import { type MountState, resolveSigningIssuer } from '../mount-state/state.ts';
import type { IntermediateContext } from '../profile/intermediate.ts';
import { describeIssuing } from '../profile/issuing.ts';
import type { LeafContext } from '../profile/leaf.ts';
import { listLookedUp } from '../roles/compiled-rules.ts';
import { requireRole } from '../roles/operations.ts';
import type { Role } from '../roles/role.ts';
import { holdCelContext, holdIssuanceContext, holdRolelessContext } from './store.ts';

export interface Target {
  /** Name of the role. */
  role: string;
  /** Of the path; without it the role's own counts. */
  issuer_ref?: string | undefined;
  /** Unix seconds: no certificate ends later. */
  latest?: number | undefined;
}

export interface IssuanceContext<OfRole extends Role | undefined = Role> {
  role: OfRole;
  /** Refuses the write set once role, issuers or keys are not these any more. */
  held: Write;
  issuer: Issuer;
  key: Key;
  context: LeafContext;
  /** How a certificate is told which shard of the CRL it is on; undefined: of none. */
  sharding: Sharding | undefined;
}

export async function readIssuanceContext(
  app: App,
  caller: Caller,
  target: Target,
): Promise<IssuanceContext> {
  const mount = await readMountOf(app, caller);
  const { role, body_tag } = await requireRole(app, caller, target.role);
  const basis = await readBasis(app, mount, target.issuer_ref ?? role.issuer_ref);
  const told = readIdentity(app, caller, role);
  const identity = told instanceof Promise ? await told : told;
  const { issuer, key, context, sharding, ids } = basis;
  return {
    role,
    held: holdIssuanceContext({ ...ids, role: target.role, role_tag: body_tag }),
    issuer,
    key,
    context: { ...context, identity, latest: target.latest },
    sharding,
  };
}

/** Where the role is named by nobody, the mount's default issuer signs unless the path names another. */
export async function readVerbatimContext(
  app: App,
  caller: Caller,
  target: Partial<Pick<Target, 'role' | 'issuer_ref'>>,
): Promise<IssuanceContext<Role | undefined>> {
  const mount = await readMountOf(app, caller);
  const { role: name = '' } = target;
  const found = name === '' ? undefined : await requireRole(app, caller, name);
  const ref = target.issuer_ref ?? found?.role.issuer_ref ?? 'default';
  const { ids, ...basis } = await readBasis(app, mount, ref);
  const held = found
    ? holdIssuanceContext({ ...ids, role: name, role_tag: found.body_tag })
    : holdRolelessContext(ids);
  return { role: found?.role, held, ...basis };
}

/** What a certificate rests on that a program has described. */
export async function readCelContext(
  app: App,
  caller: Caller,
  { role, role_tag, issuer_ref }: { role: string; role_tag: string; issuer_ref: string },
): Promise<IssuerContext & { context: LeafContext }> {
  const { ids, ...basis } = await readBasis(app, await readMountOf(app, caller), issuer_ref);
  return { held: holdCelContext({ ...ids, role, role_tag }), ...basis };
}

/** Who signs, and under which settings of the mount. */
async function readBasis(app: App, mount: Mount, issuer_ref: string) {
  const mountState = await readMountState(app, mount.id);
  return basisOf(app, mount, mountState, resolveSigningIssuer(mountState, issuer_ref));
}

/** What a certificate rests on besides a role, and the ids by which a write set holds it. */
export function basisOf(
  app: App,
  mount: Mount,
  mountState: MountState,
  { issuer, key }: { issuer: Issuer; key: Key },
) {
  const context: LeafContext = {
    issuer: describeIssuing(issuer, key, chooseUrls(mountState, issuer)),
    mount: effectiveLeaseTtls(mount.config),
    now: Math.floor(app.now() / 1000),
  };
  const sharding = findSharding(mountState, issuer);
  const ids = {
    mount_id: mount.id,
    issuing_version: mountState.defaults.issuing_version,
    issuer_id: issuer.id,
    issuer_version: issuer.version,
    key_id: key.id,
    mount_tag: settingsTagOf(mount) ?? '',
  };
  return { issuer, key, context, sharding, ids };
}

/** What a certificate of a CA rests on: no role, but all else that those of a role do. */
export interface IssuerContext {
  /** Refuses the write set once issuers, keys or the mount's settings are not these any more. */
  held: Write;
  issuer: Issuer;
  key: Key;
  context: IntermediateContext;
  sharding: Sharding | undefined;
}

export async function readIssuerContext(
  app: App,
  caller: Caller,
  issuer_ref: string,
): Promise<IssuerContext> {
  const { ids, ...basis } = await readBasis(app, await readMountOf(app, caller), issuer_ref);
  return { held: holdRolelessContext(ids), ...basis };
}

/** Of the caller, as far as the role's templates name it. */
function readIdentity(app: App, { identity }: Caller, role: Role): Soon<IdentityFacts | undefined> {
  const named = listLookedUp(role);
  return identity && named.selectors.length > 0 ? tellKeptFacts(app, identity, named) : identity;
}

/**
 * As it is now: it may have been tuned since the request came.
 *
 * @throws Failure as a request is refused that comes when it was moved or removed
 */
export async function readMountOf(app: App, { mount, standing }: Caller): Promise<Mount> {
  const present = (await readMounts(app)).get(fullPath(mount));
  if (present?.id === mount.id) return present;
  await standing?.renew();
  throw new Failure('not_found', 'the mount was moved or removed');
}
