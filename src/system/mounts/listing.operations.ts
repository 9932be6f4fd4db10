import { whileConnected } from '../../access/presence.ts';
import { type Acl, judgeAccess } from '../../acl/acl.ts';
import { hasAccessBeneath } from '../../acl/grants-beneath.ts';
import { RuleWalk } from '../../acl/rule-walk.ts';
import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import {
  effectiveLeaseTtls,
  fullPath,
  type Mount,
  type MountKind,
  type Place,
  placeOf,
} from '../../app/mount.ts';
import { Failure, invalid } from '../../core/failure.ts';
import { Breath } from '../../core/fairness/breath.ts';
import { FewInTurn } from '../../core/fairness/few-in-turn.ts';
import type { Soon } from '../../core/steps.ts';
import { describeMount, describeSettings } from '../../mounts/description.ts';
import { readMounts } from '../../mounts/operations.ts';
import { refuseToTune } from '../../mounts/rules.ts';
import { presentKinds, presentMounts, type Said } from './answer.ts';

async function findByPath(app: App, input: Place): Promise<Mount | undefined> {
  const mount = (await readMounts(app)).get(fullPath(placeOf(input)));
  // `auth/up` as the path of a secret engine is not the way to log in that is mounted at `up`.
  return mount?.kind === input.kind ? mount : undefined;
}

/** All mounts of a kind, as `sys/mounts` and `sys/auth` answer them. */
export async function describeMounts(app: App, kind: MountKind) {
  const all = [...(await readMounts(app)).values()];
  const mounts = all.filter((mount) => mount.kind === kind);
  return presentMounts([{ mounts, about: describeMount }]);
}

export async function readMount(app: App, input: Place) {
  const mount = await findByPath(app, input);
  if (!mount) {
    const what = input.kind === 'auth' ? 'No auth engine at' : 'No secret engine mount at';
    throw invalid(`${what} ${input.path.replace(/\/$/, '')}/`);
  }
  return { data: describeMount(mount) };
}

export async function readTune(app: App, input: Place) {
  const mount = await findByPath(app, input);
  if (!mount) throw refuseToTune(input);
  const { default_ttl, max_ttl } = effectiveLeaseTtls(mount.config);
  const { config } = mount;
  return {
    data: {
      description: mount.description,
      default_lease_ttl: default_ttl,
      max_lease_ttl: max_ttl,
      force_no_cache: config.force_no_cache,
      ...(mount.options && Object.keys(mount.options).length > 0 ? { options: mount.options } : {}),
      ...describeSettings(mount),
    },
  };
}

/** What the caller may see of the mounts; without a token, those listed for everybody. */
export async function listVisibleMounts(app: App, caller: Caller) {
  if (!caller.acl && caller.wrap_ttl === undefined) {
    return { data: {}, written_data: await readListed(app) };
  }
  const find = () =>
    whileConnected(caller, (requireConnected) =>
      groupVisible(app, caller.acl, new RuleWalk(requireConnected)),
    );
  const { size } = await readMounts(app);
  return presentKinds(size > MANY ? await listingOf(app).run(find) : await find());
}

/** Of more mounts few callers at once are told which they see: what is found is kept until it is all. */
const MANY = 500;

const listingOf = perApp(() => new FewInTurn(4));

type SeenMount = ReturnType<typeof describeMount> | ReturnType<typeof describeListed>;

async function groupVisible(
  app: App,
  acl: Acl | undefined,
  walk: RuleWalk,
): Promise<Record<MountKind, Said<SeenMount>>> {
  const seen: Record<MountKind, Mount[]> = { secret: [], auth: [] };
  const listed: Record<MountKind, Mount[]> = { secret: [], auth: [] };
  const breath = new Breath();
  for (const mount of (await readMounts(app)).values()) {
    await breath.take();
    if (acl && (await hasAccessBeneath(acl, fullPath(mount), walk))) {
      seen[mount.kind].push(mount);
    } else if (mount.config.listing_visibility === 'unauth') {
      listed[mount.kind].push(mount);
    }
  }
  const saidOf = (kind: MountKind): Said<SeenMount> => [
    { mounts: seen[kind], about: describeMount },
    { mounts: listed[kind], about: describeListed },
  ];
  return { secret: saidOf('secret'), auth: saidOf('auth') };
}

const describeListed = ({ type, description, options }: Mount) => ({ type, description, options });

/** What everybody may see. It may have megabytes, and anybody asks as often as they like: it is written once. */
export function readListed(app: App): Soon<Uint8Array> {
  return app.cached('mounts that everybody sees', () => writeListed(app), ['mounts']);
}

async function writeListed(app: App): Promise<Uint8Array> {
  const groups: Record<MountKind, string[]> = { secret: [], auth: [] };
  const breath = new Breath();
  for (const mount of (await readMounts(app)).values()) {
    await breath.take();
    if (mount.config.listing_visibility !== 'unauth') continue;
    const about = JSON.stringify(describeListed(mount));
    groups[mount.kind].push(`${JSON.stringify(mount.path)}:${about}`);
  }
  return Buffer.from(`"secret":{${groups.secret.join()}},"auth":{${groups.auth.join()}}`);
}

export async function readVisibleMount(app: App, caller: Caller, input: { path: string }) {
  const wanted = input.path.replace(/\/$/, '');
  const walk = new RuleWalk();
  for (const [path, mount] of await readMounts(app)) {
    if (!`${wanted}/`.startsWith(path)) continue;
    const verdict =
      caller.acl &&
      (await judgeAccess(caller.acl, { path: wanted, operation: 'read', sudoRequired: false }));
    if (verdict?.allowed || (caller.acl && (await hasAccessBeneath(caller.acl, path, walk)))) {
      return { data: { ...describeMount(mount), path: mount.path } };
    }
  }
  throw new Failure(
    'forbidden',
    `preflight capability check returned 403, please ensure client's policies grant access to path "${wanted}/"`,
  );
}
